"""What goes to a NameNode and what comes back, as values."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import NamedTuple, TypeAlias

from nncache.hadoop.election_view import NameNode

Header: TypeAlias = tuple[bytes, bytes]
Headers: TypeAlias = tuple[Header, ...]

NO_TERM = -1
"""The term of a reply that did not provably come from the one active NameNode: never kept."""


@dataclass(slots=True)
class RequestHead:
    """A request as it is sent on: the method, the target and the end-to-end header fields.

    Attributes:
        target: in ASCII; see `nncache.net.http1.head.Head`.
        headers: without hop-by-hop fields and with our `X-Forwarded-For`; see `nncache.proxy.headers`.
        peer: the address of the client; shares of what is bounded go by it.
        caller: who asks, as the request says; limits of calls go by it.
        acts_for: the user for whom the service itself asks, whom the proxy has authenticated; "": the request's own
            credentials say who asks.
        wire: `headers` as they go on the wire, a `Host` among them, and the empty line; b"": not known.
    """

    method: str
    target: str
    headers: Headers
    peer: str = ""
    caller: str = ""
    acts_for: str = ""
    wire: bytes = b""


class WireFields(NamedTuple):
    """The header fields of a reply as they go on the wire.

    Attributes:
        start: those before the cookie, or all.
        cookie: is not for every client.
        end: those behind it.
        replayed: those that a cached answer repeats; see `nncache.proxy.headers.replayed_headers`.
    """

    start: bytes
    cookie: Header | None
    end: bytes
    replayed: Headers


@dataclass(slots=True, kw_only=True)
class UpstreamReply:
    """A NameNode's whole reply.

    Attributes:
        headers: every end-to-end field in the NameNode's order, repeated ones included, framing not.
        replied_at: local time at which the reply was complete.
        term: the term of the active NameNode that gave it, or `NO_TERM`.
        wire: the headers as they go to a client; None: not known.
    """

    status: int
    reason: str
    headers: Headers
    body: bytes
    namenode: NameNode
    term: int
    replied_at: float
    wire: WireFields | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SettledReply:
    """What is known of a reply before its first byte goes to the client.

    Attributes:
        headers: as in `UpstreamReply`.
        body: the whole body when it is JSON of less than 64 KiB, else None (it is being streamed).
        replied_at: local time at which this much of the reply was there.
        term: the term of the active NameNode that gave it, or `NO_TERM`.
    """

    status: int
    reason: str
    headers: Headers
    body: bytes | None
    namenode: NameNode
    term: int
    replied_at: float


class WriteRight(Enum):
    """What a NameNode says of a caller who would write a path."""

    GRANTED = auto()
    DENIED = auto()
    MISSING = auto()  # the path is not there
    UNKNOWN = auto()  # one cannot ask as them


Settle: TypeAlias = Callable[[SettledReply | None], Awaitable[None]]
"""Called with what is known of the reply before its first byte goes to the client; None: unknown outcome."""


async def nothing_to_settle(_: SettledReply | None) -> None:
    """Do nothing: `Settle` of a call that changes nothing, for which no reply has to be held back."""


Decorate: TypeAlias = Callable[[SettledReply], Headers]
"""Says which header fields of ours go out behind the NameNode's own."""

CallEnded: TypeAlias = Callable[[int, BaseException | None], None]
"""Called when a call to a NameNode is over, with the status of the reply, 0 for none, and the error that ended it."""

CallSent: TypeAlias = Callable[[RequestHead, NameNode], CallEnded | None]
"""Called when a call was sent for a client's request; like what it returns, it must neither block nor raise."""
