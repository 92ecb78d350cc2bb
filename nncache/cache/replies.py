"""Replies, and the sharing of header fields that many entries have in common."""

from dataclasses import dataclass
from enum import Enum
from typing import Final, assert_never

from nncache.cache.sizes import FIELD_BYTES, REPLY_BYTES, blob_bytes

MAX_KINDS: Final = 64  # different sets of header fields kept for sharing: a NameNode has one for each status
MAX_FIELD_BYTES: Final = 4_096  # of one such set; larger ones are not shared


@dataclass(frozen=True, slots=True)
class StoredReply:
    """A reply of the NameNode, replayed byte for byte (guarantee Verbatim).

    `headers` are the end-to-end header fields in the NameNode's order, without `Date`, `Expires`, `Set-Cookie` and the
    fields that frame the message.
    """

    status: int
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes


class Shared(Enum):
    """The part of an entry's reply that it shares with others, and is not charged for."""

    NOTHING = "nothing"
    HEADERS = "headers"
    ALL = "all"


class SharedReplies:
    """One object for equal header fields and for equal 404s; bounded in number and in bytes.

    Invariant V1: `bytes` is the memory of the shared objects.
    """

    __slots__ = ("_kinds", "bytes")

    def __init__(self) -> None:
        self._kinds: dict[
            tuple[int, tuple[tuple[bytes, bytes], ...]], StoredReply
        ] = {}  # each without a body
        self.bytes = 0

    def share(self, reply: StoredReply, *, without_body: bool) -> tuple[StoredReply, Shared]:
        """Return the reply, made of shared objects where possible, and which part of it is shared.

        `without_body`: the body is not kept, since it is rendered for each request.
        """
        kind = self._kinds.get((reply.status, reply.headers)) or self._new_kind(reply)
        if kind is None:
            return (StoredReply(reply.status, reply.headers, b"") if without_body else reply), Shared.NOTHING
        if without_body:
            return kind, Shared.ALL
        return StoredReply(reply.status, kind.headers, reply.body), Shared.HEADERS

    def _new_kind(self, reply: StoredReply) -> StoredReply | None:
        size = headers_bytes(reply)
        if len(self._kinds) >= MAX_KINDS or size > MAX_FIELD_BYTES:
            return None
        kind = self._kinds[reply.status, reply.headers] = StoredReply(reply.status, reply.headers, b"")
        self.bytes += REPLY_BYTES + size
        return kind

    def clear(self) -> None:
        """Remove all: another NameNode may have other header fields."""
        self._kinds.clear()
        self.bytes = 0

    def check(self) -> None:
        """Assert V1 and the bounds; for tests."""
        assert len(self._kinds) <= MAX_KINDS
        assert self.bytes == sum(REPLY_BYTES + headers_bytes(reply) for reply in self._kinds.values())


def headers_bytes(reply: StoredReply) -> int:
    """Return the memory of a reply's header fields in bytes."""
    return sum(FIELD_BYTES + blob_bytes(name) + blob_bytes(value) for name, value in reply.headers)


def reply_bytes(reply: StoredReply, shared: Shared) -> int:
    """Return the memory in bytes that a reply takes for one entry alone."""
    match shared:
        case Shared.ALL:
            return 0
        case Shared.HEADERS:
            return REPLY_BYTES + blob_bytes(reply.body)
        case Shared.NOTHING:
            return REPLY_BYTES + blob_bytes(reply.body) + headers_bytes(reply)
        case _:
            assert_never(shared)
