"""The page of all checks, from their table."""

from typing import Final

from nncache.checks.table import CHECKS, SETTINGS

_TEXT: Final = """\
# Try the settings

The settings of a daemon can be tried on the servers that they name, before it is started or while it runs.
Put `check` before the words with which it is started:

```
nncache check proxy --config /etc/nncache/nncache.toml
nncache check publisher --config /etc/nncache/nncache.toml
nncache check proxy --hadoop-conf-dir /etc/hadoop/conf --glob '/user/*/*/_SUCCESS'
```

Run it on the host and as the user of the daemon: what can be reached, and how many files may be opened, depends on it.
It writes nothing in HDFS, makes no znode in ZooKeeper, and leaves nothing in a proxy's cache.
Independent servers are asked at once, and each question has a deadline.
It ends within about 10 seconds, whatever is silent.

Each line begins with a verdict and the name of the check:

| verdict | means |
|---|---|
| `ok` | it is as it should be |
| `warning` | the daemon can live with it; what to do is behind `to do:` |
| `failed` | the daemon cannot do its work, or not all of it; what to change, and to what, is behind `to do:` |
| `skipped` | nothing was looked at, and why |

A value that comes from a flag is named by the flag, one from a file by its key and the file, one from `hadoop_conf_dir`
by the directory.
`--json` prints one object with the exit code (exit_code) and a list, `findings`, of `check`, `verdict`, `text` and
`remedy` each.

| exit code | means |
|---|---|
| 0 | nothing failed |
| 1 | something failed; with `--strict`, or there is a warning |
| 2 | an option, a key or a value is wrong, as at the start of the daemon: all are listed, and no server is asked |

## The checks

What explains others comes first: where `addresses` fails, mend that, and try again.
Where `identity` fails, what needs a login is skipped `because of identity`.

| check | what is looked at |
|---|---|
"""

_SETTINGS_MEANING: Final = (
    "The file, its keys and all flags can be read, and go together. Every fault that can be found is listed."
)


def checks_page() -> str:
    """Return the page as Markdown."""
    rows = [(SETTINGS, _SETTINGS_MEANING), *((check.name, check.meaning) for check in CHECKS)]
    return _TEXT + "".join(f"| `{name}` | {meaning} |\n" for name, meaning in rows)
