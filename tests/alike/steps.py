"""The steps of a conversation."""

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Send:
    """A client sends bytes, on a new connection if it has none or its connection is closed.

    Attributes:
        line: the client's number.
        data: arrives in one piece.
        requests: number of requests that start in it.
        iterations: of the event loop before the next step; None: until no task is ready.
        returns: also use a new connection if the client has read the old one to its end.
    """

    line: int
    data: bytes
    requests: int = 1
    iterations: int | None = None
    returns: bool = True


@dataclass(frozen=True, slots=True)
class Connect:
    """A client opens a connection, and loses the one that it had.

    Attributes:
        high_bytes: number of unread bytes beyond which the server's writing is paused.
    """

    line: int
    high_bytes: int = 65_536


@dataclass(frozen=True, slots=True)
class HalfClose:
    """A client half-closes its connection."""

    line: int


@dataclass(frozen=True, slots=True)
class Lose:
    """A client's connection is reset."""

    line: int


@dataclass(frozen=True, slots=True)
class Reading:
    """A client starts or stops reading. While it does not, it only sends, until it reads again or leaves."""

    line: int
    reads: bool


@dataclass(frozen=True, slots=True)
class Passing:
    """Time passes; without `is_covered` changes are no longer covered, from now on."""

    seconds: float
    is_covered: bool = True


@dataclass(frozen=True, slots=True)
class Event:
    """Something changes behind the proxy's back, and the proxy gets the event.

    Attributes:
        kind: touched, vanished, access, everything, locked (the path is a user's name), filters, new stream.
    """

    kind: str
    path: str = ""


Step: TypeAlias = Send | Connect | HalfClose | Lose | Reading | Passing | Event
Conversation: TypeAlias = tuple[Step, ...]
