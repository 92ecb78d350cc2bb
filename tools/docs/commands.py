"""The page of all commands, from the commands themselves."""

import inspect
import re
from collections.abc import Iterator
from typing import Final

import click

from nncache.commands.group import PROGRAM, nncache
from nncache.settings.commands import FORMS
from tools.docs.json_shapes import shapes

INTRODUCTION: Final = """\
Each command explains itself with the option --help.
Settings are flags, or keys of one TOML file that `--config FILE` names; a flag wins over the file.
They are described in [settings.md](settings.md).
Results go to standard output, remarks and errors to standard error, an error as one line that begins with `nncache:`.
`HADOOP_USER_NAME` and `HADOOP_CONF_DIR` count as they do for Hadoop's own clients.
"""
EXIT_CODES: Final = """\
## Exit codes

| code | meaning |
|---|---|
| 0 | Done. Also of a daemon, or `watch`, that was ended by SIGTERM or SIGINT. |
| 1 | Could not be done: nothing answers, HDFS refuses it, there is no such filter, an address is in use. |
| 2 | Wrong words: an option, an argument, a setting, or a file that does not say what it should. |
| 128 + n | Ended by signal n. |

After 1 another try may help, after 2 it does not.
`filters diff` follows diff(1): 0 for no difference, 1 for some, 2 where they could not be compared.
`audit` follows it, too: 0, no answer was wrong; 1, some were; 2, that is not known.
`filters apply` ends with 1 if a part could not be done; what was done stays.
`filters export` ends with 1 if filters are broken, which are not in the file.
"""
COMPLETION: Final = """\
## Completion

| shell | command | write what it prints to |
|---|---|---|
| bash | `nncache completion bash` | ~/.local/share/bash-completion/completions/nncache |
| zsh | `nncache completion zsh` | \\_nncache in a directory of $fpath |
| fish | `nncache completion fish` | ~/.config/fish/completions/nncache.fish |

A shell that is started afterwards completes commands and options.
"""
FILES: Final = """\
## A file of filters

`filters export` writes it, `filters apply` and `filters diff` read it.
`-` stands for standard output and standard input.

```text
[[filter]]
name = "joe"
glob = "/user/joe/*/_SUCCESS"
owner = "joe"
subscribers = ["alice", "bob"]
```

`owner` and `subscribers` may be left out: then they stay as they are.
A new filter belongs to the user who applies the file then, and has no subscribers.
`subscribers = []` means that there are none.
All errors of a file are named at once, with line, filter and key, before anything is changed.
`apply` never removes a filter that is not in the file, unless it is called with `--prune`.
It may be interrupted and repeated: each filter is there as a whole or not at all, and what was done is not done again.
It uses the RPC port of the active NameNode, as the NameNode itself names it, if that leads to the same namespace.
Else it uses WebHDFS, which takes several times as long.
"""


def commands_page() -> str:
    """Return the page as Markdown."""
    parts = ["# Commands\n", INTRODUCTION, EXIT_CODES]
    for words, command in leaves(nncache, ()):
        parts += _section(words, command)
    parts += [FILES, "## JSON\n"]
    for name, example, remark in shapes():
        parts += [f"`{PROGRAM} {name} --json`: {remark}\n", f"```json\n{example}\n```\n"]
    parts.append(COMPLETION)
    return "\n".join(parts)


def leaves(command: click.Command, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield every command that does something, with the words by which it is called."""
    if isinstance(command, click.Group):
        for name in sorted(command.commands):
            _, each, _ = command.resolve_command(click.Context(command), [name])
            assert each is not None
            yield from leaves(each, (*words, name))
    else:
        yield words, command


def _section(words: tuple[str, ...], command: click.Command) -> Iterator[str]:
    title = " ".join((PROGRAM, *words))
    context = click.Context(command, info_name=title)
    yield f"## {title}\n"
    usage = " ".join(command.collect_usage_pieces(context))
    yield f"Arguments: `{usage}`\n"
    text = inspect.cleandoc(command.help or "")
    yield (
        re.sub(
            r"(?<=\.) (?=[A-Z])", "\n", text.replace("\n\n", "\0").replace("\n", " ").replace("\0", "\n\n")
        )
        + "\n"
    )
    forms = {form.command: form for form in FORMS}
    name = next((name for name in (" ".join(words), words[0]) if name in forms), "")
    settings = {key.flag for key in forms[name].keys.values()} if name else set()
    options = [each for each in command.params if isinstance(each, click.Option) and not each.hidden]
    own = [each for each in options if each.opts[0] not in settings]
    if own:
        rows = "".join(f"| {_spelled(each)} | {_cell(each.help or '')} |\n" for each in own)
        yield f"| option | meaning |\n|---|---|\n{rows}"
    if len(own) < len(options):
        flags = ", ".join(f"`{each.opts[0]}`" for each in options if each.opts[0] in settings)
        yield f"Settings ([settings.md](settings.md#nncache-{name.replace(' ', '-')})): {flags}.\n"


def _spelled(option: click.Option) -> str:
    value = "" if option.is_flag else f" {option.metavar or option.type.name.upper()}"
    return f"`{option.opts[0]}{value}`" + (" (must be given)" if option.required else "")


def _cell(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("|", "\\|")
