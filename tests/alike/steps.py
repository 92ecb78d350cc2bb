"""What can happen in a conversation."""

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Send:
    """A client sends some bytes; on a new connection if the one it had is closed, or if it has none.

    Attributes:
        line: the client's number.
        data: what arrives in one piece.
        requests: how many begin in it.
        iterations: of the event loop before anything else happens; None: until all that can be done at once is done.
        returns: on a new connection also if the client has read to the end of the old one.
    """

    line: int
    data: bytes
    requests: int = 1
    iterations: int | None = None
    returns: bool = True


@dataclass(frozen=True, slots=True)
class Connect:
    """A client begins a connection, beside the one that it may have had.

    Attributes:
        high_bytes: unread ones beyond which the server is told that the client does not read.
    """

    line: int
    high_bytes: int = 65_536


@dataclass(frozen=True, slots=True)
class HalfClose:
    """A client will send nothing more."""

    line: int


@dataclass(frozen=True, slots=True)
class Lose:
    """A client's connection is lost."""

    line: int


@dataclass(frozen=True, slots=True)
class Reading:
    """A client reads, or it does not: then nothing happens but what it sends, until it reads again or all is over."""

    line: int
    reads: bool


@dataclass(frozen=True, slots=True)
class Passing:
    """Time passes; without `is_covered` no change is known to have been missed or not meanwhile, nor from then on."""

    seconds: float
    is_covered: bool = True


@dataclass(frozen=True, slots=True)
class Event:
    """Something changes behind the proxy's back, and the proxy learns of it.

    Attributes:
        kind: touched, vanished, access, everything, locked (the path is a user's name), filters, new stream.
    """

    kind: str
    path: str = ""


Step: TypeAlias = Send | Connect | HalfClose | Lose | Reading | Passing | Event
Conversation: TypeAlias = tuple[Step, ...]
