"""The conditions of a request: what its client has already, and how long it waits for a change.

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
"""`*`, or a tag that `etag_of` can have made."""

MAX_TAGS: Final = 32
"""Entity tags of a request that count: a client has one."""

_FIELD_BYTES: Final = 122
"""What a header field takes beside its characters: two objects of bytes and a tuple (CPython 3.11)."""

_TAG_BYTES: Final = 135
"""What an entity tag takes, with its place in a set."""


@dataclass(frozen=True, slots=True)
class Conditions:
    """The conditions of a request with such a field.

    Attributes:
        known: those of its entity tags that can be ours, `*` among them for any; None: it says nothing of them.
        wait_s: seconds for which it would wait, as far as that is allowed; 0: it would not.
        kept_bytes: what its header fields, and this, take in memory for as long as it is held.
    """

    known: frozenset[bytes] | None
    wait_s: int
    kept_bytes: int = field(default=0, compare=False)

    def is_met(self, status: int, body: bytes) -> bool:
        """Whether an answer says something else than what the client has, or is no longer the 404 it waits out."""
        if self.known is None:
            return status != HTTPStatus.NOT_FOUND
        return not (self._has_any(status) or etag_of(body) in self.known)

    def is_not_modified(self, status: int, body: bytes) -> bool:
        """Whether the answer is 304, which only a tag of ours makes: who sends `*` need not know that there are any.

        That of an error is not: RFC 9110, section 13.2.1, ignores the field then.
        """
        return status == HTTPStatus.OK and self.known is not None and etag_of(body) in self.known

    def _has_any(self, status: int) -> bool:
        return status == HTTPStatus.OK and self.known is not None and _ANY in self.known


def etag_of(body: bytes) -> bytes:
    """Return the strong validator of a reply's body, with its quotes: a digest of these very bytes."""
    return b'"%b"' % hashlib.blake2b(body, digest_size=16).hexdigest().encode("ascii")


def conditions_of(headers: Fields, *, max_wait_s: float) -> Conditions | None:
    """Read a request's fields; None if it has no `If-None-Match`, and no `Prefer` with a wait.

    Of several waits the first counts (RFC 7240, section 2); one that is no number of seconds counts as none.
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
    """Add `*`, and the entity tags of one field that can be ours, the first MAX_TAGS of all.

    Weak ones compare as strong ones (RFC 9110, section 13.1.2).
    """
    for found in _TAG.finditer(value):
        if len(known) == MAX_TAGS:
            return
        known.add(found[1])
