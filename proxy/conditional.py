"""What a request wishes to know only once, and how long it would wait for more. (proxy/conditional.py)

Pure. `If-None-Match`: RFC 9110, section 13.1.2; `Prefer: wait`: RFC 7240, section 4.3.
"""

import hashlib
import re
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from nncache.proxy.messages import Headers

_WAIT: Final = re.compile(
    rb'wait\s*=\s*(?:"([0-9]{1,9})"|([0-9]{1,9}))\s*(?:;.*)?', re.IGNORECASE | re.DOTALL
)
_NAMES: Final = frozenset({b"prefer", b"if-none-match"})
_ANY: Final = b"*"


@dataclass(frozen=True, slots=True)
class Wish:
    """What a request with such a field wishes.

    Attributes:
        known: the entity tags that the client has, `*` among them for any; None: it says nothing of them.
        wait_s: seconds for which it would wait, as far as that is allowed; 0: it would not.
    """

    known: frozenset[bytes] | None
    wait_s: int

    def is_met(self, status: int, body: bytes) -> bool:
        """Whether an answer says something else than what the client has, or is no longer the 404 it waits out."""
        if self.known is None:
            return status != HTTPStatus.NOT_FOUND
        return not (self._has_any(status) or etag_of(body) in self.known)

    def is_not_modified(self, status: int, body: bytes) -> bool:
        """Whether the answer is 304. That of an error is not: RFC 9110, section 13.2.1, ignores the field then."""
        return status == HTTPStatus.OK and self.known is not None and not self.is_met(status, body)

    def _has_any(self, status: int) -> bool:
        return status == HTTPStatus.OK and self.known is not None and _ANY in self.known


def etag_of(body: bytes) -> bytes:
    """Return the strong validator of a reply's body, with its quotes: a digest of these very bytes."""
    return b'"%b"' % hashlib.blake2b(body, digest_size=16).hexdigest().encode("ascii")


def wish_of(headers: Headers, *, max_wait_s: float) -> Wish | None:
    """Read a request's fields; None if it has no `If-None-Match`, and no `Prefer` with a wait.

    Of several waits the first counts (RFC 7240, section 2); one that is no number of seconds counts as none.
    """
    known: set[bytes] | None = None
    wait: int | None = None
    for raw_name, value in headers:
        name = raw_name.lower()
        if name not in _NAMES:
            continue
        if name == b"if-none-match":
            known = (known or set()) | _tags(value)
        elif wait is None:
            found = (_WAIT.fullmatch(each.strip()) for each in value.split(b","))
            wait = next((int(each[1] or each[2]) for each in found if each is not None), None)
    if known is None and wait is None:
        return None
    return Wish(None if known is None else frozenset(known), min(wait or 0, int(max_wait_s)))


def _tags(value: bytes) -> set[bytes]:
    """Return the entity tags of one field; weak ones compare as strong ones (RFC 9110, section 13.1.2)."""
    return {each.strip().removeprefix(b"W/") for each in value.split(b",") if each.strip()}
