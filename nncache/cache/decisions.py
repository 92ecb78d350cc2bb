"""The decisions of the cache, and the outcomes that its shell reports back."""

from dataclasses import dataclass
from enum import Enum, StrEnum
from math import inf
from typing import TypeAlias

from nncache.cache.entries import EntryKind, Hit, Ticket
from nncache.cache.replies import StoredReply


class MissReason(StrEnum):
    """Why a call goes to the NameNode; a metric's label and the `detail` of `Cache-Status`."""

    MISS = "miss"
    NO_GRANT = "no-grant"
    GRANT_PENDING = "grant-pending"
    GATE_CLOSED = "gate-closed"
    STREAM_CLOSED = "stream-closed"
    NO_FILTER = "no-filter"
    TWO_STEP_WRITE = "two-step-write"
    WINDOW_TABLE_FULL = "window-table-full"
    REQUEST = "request"


@dataclass(frozen=True, slots=True)
class Serve:
    """Answer from memory."""

    hit: Hit


@dataclass(frozen=True, slots=True)
class Join:
    """Wait for the outcome of a question on its way, and share it: the same caller asked it."""

    ticket: Ticket


@dataclass(frozen=True, slots=True)
class Wait:
    """Wait briefly for the conclusion of this ticket or, without one, for the gate; then look up again."""

    ticket: Ticket | None


@dataclass(frozen=True, slots=True)
class Fetch:
    """Ask the NameNode as the caller, then conclude the ticket with the outcome."""

    ticket: Ticket
    reason: MissReason


@dataclass(frozen=True, slots=True)
class Forward:
    """Forward the call; keep nothing of it."""

    reason: MissReason


Decision: TypeAlias = Serve | Join | Wait | Fetch | Forward


@dataclass(frozen=True, slots=True, kw_only=True)
class Cacheable:
    """A cacheable reply: a directory, a file that is provably closed, or a true 404."""

    reply: StoredReply
    kind: EntryKind
    replied_at: float  # when the reply was complete, in seconds of the caller's clock
    term: int  # the term of the active NameNode that gave it
    proven_for_s: float = inf  # how many seconds longer what authenticated the asker is certainly good


@dataclass(frozen=True, slots=True, kw_only=True)
class Unchanged:
    """A file's status that equals the cached one; isFileClosed was not called again.

    It proves the caller's right and leaves the entry as it is. It creates no entry, and no other caller may share it.
    """

    reply: StoredReply
    replied_at: float
    term: int
    proven_for_s: float = inf


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenFile:
    """A 200 that must not be cached: a file not provably closed, a symlink, a snapshottable directory."""

    replied_at: float
    term: int
    proven_for_s: float = inf


@dataclass(frozen=True, slots=True)
class Denied:
    """The NameNode refused this caller (403 AccessControlException)."""


@dataclass(frozen=True, slots=True)
class Unauthenticated:
    """The NameNode does not accept this caller's credential (401, or an invalid token)."""

    replied_at: float


@dataclass(frozen=True, slots=True)
class Failed:
    """No reply, or a reply without information about the path."""


Outcome: TypeAlias = Cacheable | Unchanged | OpenFile | Denied | Unauthenticated | Failed


class Conclusion(Enum):
    """What became of a fetched reply."""

    STORED = "stored"
    CONFIRMED = "confirmed"
    UNCHANGED = "unchanged"
    SPOILED = "spoiled"
    NOT_KEPT = "not-kept"

    __hash__ = object.__hash__  # each is one object; to hash its name takes six times as long, for each reply

    @property
    def is_shareable(self) -> bool:
        """Whether the requests that joined may share the reply; otherwise each goes to the NameNode."""
        return self is Conclusion.STORED or self is Conclusion.CONFIRMED
