"""The conditions of a request: which version its client has, and how long it waits for a change.

Pure. `If-None-Match`: RFC 9110, section 13.1.2; `Prefer: wait`: RFC 7240, section 4.3.
"""

import hashlib
import re
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final

from nncache.net.http1.head import Fields

_WAIT: Final = re.compile(
    rb'wait\s*=\s*(?:"([0-9]{1,9})"|([0-9]{1,9}))\s*(?:;.*)?', re.IGNORECASE | re.DOTALL
)
_NAMES: Final = frozenset({b"prefer", b"if-none-match"})
_ANY: Final = b"*"
_TAG: Final = re.compile(rb'(?:^|,)\s*(?:W/)?("[0-9a-f]{32}"|\*)\s*(?=,|$)')
"""`*`, or an entity tag in the form of `etag_of`."""

MAX_TAGS: Final = 32
"""Maximum of entity tags that are read from a request; a client normally sends one."""

_FIELD_BYTES: Final = 122
"""Memory overhead of a header field: two bytes objects and a tuple (CPython 3.11)."""

_TAG_BYTES: Final = 135
"""Memory of an entity tag and its slot in a set."""


@dataclass(frozen=True, slots=True)
class Conditions:
    """The conditions of a request that has one of these fields.

    Attributes:
        known: its entity tags that nncache can have made, and `*`; None: the request has no `If-None-Match`.
        wait_s: the wait that the client prefers, in seconds, cut to the maximum; 0: none.
        kept_bytes: memory of its header fields and of this object while the request is held.
    """

    known: frozenset[bytes] | None
    wait_s: int
    kept_bytes: int = field(default=0, compare=False)

    def is_met(self, status: int, body: bytes) -> bool:
        """Whether an answer differs from the client's version, or is not the 404 whose end the client waits for."""
        if self.known is None:
            return status != HTTPStatus.NOT_FOUND
        return not (self._has_any(status) or etag_of(body) in self.known)

    def is_not_modified(self, status: int, body: bytes) -> bool:
        """Whether the answer is a 304. Only an entity tag of nncache leads to it, not `*`.

        An error is never a 304: RFC 9110, section 13.2.1, ignores the field then.
        """
        return status == HTTPStatus.OK and self.known is not None and etag_of(body) in self.known

    def _has_any(self, status: int) -> bool:
        return status == HTTPStatus.OK and self.known is not None and _ANY in self.known


def etag_of(body: bytes) -> bytes:
    """Return the strong entity tag of a reply's body, with its quotes: a digest of the bytes."""
    return b'"%b"' % hashlib.blake2b(body, digest_size=16).hexdigest().encode("ascii")


def conditions_of(headers: Fields, *, max_wait_s: float) -> Conditions | None:
    """Read a request's fields; None if it has neither `If-None-Match` nor a `Prefer` with a wait.

    The first of several waits counts (RFC 7240, section 2). A value that is not a number of seconds is ignored.
    """
    known: set[bytes] | None = None
    wait: int | None = None
    kept_bytes = 0
    for raw_name, value in headers:
        name = raw_name.lower()
        kept_bytes += _FIELD_BYTES + len(name) + len(value)
        if name not in _NAMES:
            continue
        if name == b"if-none-match":
            known = set() if known is None else known
            _add_tags(known, value)
        elif wait is None:
            found = (_WAIT.fullmatch(each.strip()) for each in value.split(b","))
            wait = next((int(each[1] or each[2]) for each in found if each is not None), None)
    if known is None and wait is None:
        return None
    kept_bytes += _TAG_BYTES * len(known or ())
    return Conditions(
        None if known is None else frozenset(known), min(wait or 0, int(max_wait_s)), kept_bytes
    )


def _add_tags(known: set[bytes], value: bytes) -> None:
    """Add `*` and the entity tags of one field that nncache can have made, up to MAX_TAGS in total.

    Weak tags compare like strong ones (RFC 9110, section 13.1.2).
    """
    for found in _TAG.finditer(value):
        if len(known) == MAX_TAGS:
            return
        known.add(found[1])
