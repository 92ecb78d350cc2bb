"""Mask the credentials in the targets of requests.

WebHDFS reads a delegation token from `delegation` and, to renew or cancel it, from `token`. The names may be in any
case (ParamFilter, Hadoop 3.5.0) and percent-encoded. Text that only looks like such a parameter is masked as well.
"""

import re
from typing import Final
from urllib.parse import quote_from_bytes, unquote

MASK: Final = "..."
MAX_CHARS: Final = 8_192  # of a logged target; a path of HDFS has at most 8,000 characters

_SECRETS: Final = ("delegation", "token")
_SEPARATORS: Final = re.compile(r"([?&;#])")
_USER_INFO: Final = re.compile(r"^([a-z][a-z0-9+.-]*:)?//[^/?#]*@", re.IGNORECASE)  # of an absolute target
_ASCII: Final = bytes(range(0x80))


def masked(target: str) -> str:
    """Return a target in ASCII with its credentials masked, and cut off if it is very long."""
    target = _in_ascii(target)
    if "//" in target:
        target = _USER_INFO.sub(rf"\1//{MASK}@", target)
    shown = target[:MAX_CHARS]  # first: each part costs a microsecond
    if may_hold_secret(shown):
        shown = "".join(map(_part, _SEPARATORS.split(shown)))
    return shown if max(len(target), len(shown)) <= MAX_CHARS else shown[:MAX_CHARS] + MASK


def may_hold_secret(target: str) -> bool:
    """Return whether a target in ASCII may hold a credential: its name occurs, or may be percent-encoded."""
    lowered = target.lower()
    return "%" in target or any(secret in lowered for secret in _SECRETS)


def _part(part: str) -> str:
    """Return the part between two separators, masked if it is a credential."""
    if "=" not in part and "%" not in part:  # a "=" may be percent-encoded
        return part
    read = unquote(part).lower()
    for secret in _SECRETS:
        if f"{secret}=" in read:
            return f"{secret}={MASK}"
    return part


def _in_ascii(target: str) -> str:
    """Return a target with bytes above 0x7F percent-encoded: the fast path passes them as they were sent."""
    if target.isascii():
        return target
    try:
        sent = target.encode("latin-1")
    except UnicodeEncodeError:
        sent = target.encode("utf-8", "surrogateescape")
    return quote_from_bytes(sent, safe=_ASCII)
