"""What the cache tells its shell to do, and what the shell reports back."""

from dataclasses import dataclass
from enum import Enum, StrEnum
from math import inf
from typing import TypeAlias

from nncache.cache.entries import EntryKind, Hit, Ticket
from nncache.cache.replies import Reply


class Reason(StrEnum):
    """Why a call goes to the NameNode; also a metric's label and a detail of `Cache-Status`."""

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
    """The same caller's question is on its way; wait for its shared outcome."""

    ticket: Ticket


@dataclass(frozen=True, slots=True)
class Wait:
    """Wait a little and look up again: for that ticket's conclusion or, without one, for the gate."""

    ticket: Ticket | None


@dataclass(frozen=True, slots=True)
class Fetch:
    """Ask the NameNode as the caller, and conclude the ticket with the outcome."""

    ticket: Ticket
    reason: Reason


@dataclass(frozen=True, slots=True)
class Forward:
    """Pass the call through; it leaves no trace."""

    reason: Reason


Decision: TypeAlias = Serve | Join | Wait | Fetch | Forward


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A reply that may be kept: a directory, a file that is provably closed, or a true 404."""

    reply: Reply
    kind: EntryKind
    replied_at: float  # when the reply was complete, in seconds of the caller's clock
    term: int  # the term of the active NameNode that gave it
    proven_for_s: float = inf  # how many seconds longer what authenticated the asker is certainly good


@dataclass(frozen=True, slots=True, kw_only=True)
class Unchanged:
    """A file's status that is just what was kept of it; whether the file is closed was not asked again.

    It proves the asker's right and leaves the entry as it is. It makes none, and no other caller may have it.
    """

    reply: Reply
    replied_at: float
    term: int
    proven_for_s: float = inf


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenFile:
    """A true 200 that must not be kept: open or not provably closed, a symlink, a snapshottable directory."""

    replied_at: float
    term: int
    proven_for_s: float = inf


@dataclass(frozen=True, slots=True)
class Denied:
    """The NameNode refused this caller (403 AccessControlException)."""


@dataclass(frozen=True, slots=True)
class Unauthenticated:
    """The NameNode does not accept, or no longer, what authenticates this caller (401, or an invalid token)."""

    replied_at: float


@dataclass(frozen=True, slots=True)
class Failed:
    """No reply, or one that says nothing about the path."""


Outcome: TypeAlias = Known | Unchanged | OpenFile | Denied | Unauthenticated | Failed


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
        """Whether those who joined may have the reply; every other caller's request goes to the NameNode."""
        return self is Conclusion.STORED or self is Conclusion.CONFIRMED
