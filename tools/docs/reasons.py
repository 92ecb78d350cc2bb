"""The page of what `Cache-Status` says, from the table of all reasons."""

from typing import Final

from nncache.proxy.cache_status import COLLAPSED, NOT_ADMITTED, NOT_WEBHDFS, REASONS, forwarded
from nncache.proxy.headers import HIT
from nncache.proxy.messages import Header
from tools.docs.tables import NOTE

_INTRODUCTION: Final = """\
Each reply of the proxy has one `Cache-Status` header (RFC 9211), which says how the reply was made.
`stored` among its parameters says that the cache has kept the reply, whatever the reason was to ask.
`detail`, or `fwd` where there is no detail, is also the label `reason` of `nncache_forwarded_total`, and the answer of
`nncache explain PATH` on the proxy's own host.
"""
_FOR_ALL: Final = """\
## What follows from the request, the settings or the whole proxy

Every caller reads these.
"""
_FOR_SOME: Final = """\
## What follows from the path

Only callers to whom the NameNode shows the path read these.
All others read `fwd=miss`, whatever the cache knows of the path.
"""
_SHOWN: Final = (
    ("hit", HIT, "it is answered from memory", "Nothing."),
    (
        "collapsed",
        COLLAPSED,
        "it is answered with the reply to the same question of the same caller, which was on its way",
        "Nothing.",
    ),
)
_OPEN: Final = (
    (
        "not-webhdfs",
        NOT_WEBHDFS,
        "the target is not below /webhdfs/v1: it is answered 404",
        "Correct the client's URL: `http://HOST:PORT/webhdfs/v1/PATH?op=...`.",
    ),
    (
        "not-admitted",
        NOT_ADMITTED,
        "the proxy authenticates (`spnego_principal`): no good ticket or cookie, or no right to act for `doas`",
        "With 401 negotiate (SPNEGO); with 403 the message says what is wrong; with 503 the proxy's log does.",
    ),
)


def reasons_page() -> str:
    """Return it as Markdown."""
    shown, for_all = list(_SHOWN), list(_OPEN)
    for reason, explained in REASONS.items():
        (for_all if explained.is_open else shown).append(
            (reason.value, forwarded(reason, is_shown=True), explained.meaning, explained.to_do)
        )
    return "\n".join(
        [
            "# Cache-Status\n",
            NOTE,
            _INTRODUCTION,
            _FOR_SOME,
            *(_section(*each) for each in shown),
            _FOR_ALL,
            *(_section(*each) for each in for_all),
        ]
    )


def _section(name: str, status: Header, meaning: str, to_do: str) -> str:
    return f"""\
### {name}

```
Cache-Status: {status[1].decode("ascii")}
```

**Means**: {meaning}.

**Do**: {to_do}
"""
