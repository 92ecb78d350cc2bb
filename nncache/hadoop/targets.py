"""Which request targets are WebHDFS.

A NameNode serves other things beside it on the same port (/jmx, /conf, /logs, /imagetransfer); a proxy for
WebHDFS must not become a way to them.
"""

import re
from typing import Final

from nncache.hadoop.calls import ABSOLUTE_FORM
from nncache.hadoop.paths import decode_escapes

_UTF16_ESCAPE = re.compile("%u", re.IGNORECASE)
"""`%u002e` is a dot to a NameNode, and `/webhdfs/v1/%u002e%u002e/%u002e%u002e/jmx` its `/jmx` (Hadoop 3.5.0)."""


WHAT_IS_SERVED: Final = (
    "only /webhdfs/v1 is served here, and /v1/events and /v1/registry where they are on; "
    "the status page and the metrics are on the admin port"
)
"""Said of any other address."""


def is_webhdfs(target: str) -> bool:
    """Whether a raw target lies below `/webhdfs`, in the eyes of every server that may read it.

    Origin-form or absolute-form. One that resolves `..`, encoded or not, before or after it collapses empty
    segments or drops path parameters, stays below `/webhdfs` at every step.
    """
    if target.startswith("/webhdfs/") and "%" not in target and "/.." not in target:  # nearly always
        return True
    absolute = ABSOLUTE_FORM.match(target)
    spelled = re.split("[?#]", target[absolute.end() if absolute else 0 :], maxsplit=1)[0]
    if not spelled.startswith("/") or _UTF16_ESCAPE.search(spelled):
        return False
    path = decode_escapes(spelled.encode("utf-8", "surrogateescape"))
    if not (path == b"/webhdfs" or path.startswith(b"/webhdfs/")):
        return False
    depth = 0
    for segment in path.split(b"/")[1:] if b"/.." in path else ():
        match segment.partition(b";")[0]:
            case b"" | b".":
                pass  # some readers count it, some do not: the fewer levels, the earlier `..` leaves
            case b"..":
                depth -= 1
                if depth == 0:
                    return False
            case _:
                depth += 1
    return True
