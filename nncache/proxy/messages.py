"""Requests to NameNodes and their replies, as values."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import NamedTuple, TypeAlias

from nncache.hadoop.election_view import NameNode

Header: TypeAlias = tuple[bytes, bytes]
Headers: TypeAlias = tuple[Header, ...]

NO_TERM = -1
"""The term of a reply that was not proven to come from the only active NameNode: such a reply is never cached."""


@dataclass(slots=True)
class RequestHead:
    """A request as it is forwarded: the method, the target and the end-to-end header fields.

    Attributes:
        target: in ASCII; see `nncache.net.http1.head.Head`.
        headers: without hop-by-hop fields and with the proxy's `X-Forwarded-For`; see `nncache.proxy.headers`.
        peer: the address of the client, which determines its shares of limited resources.
        caller: the claimed caller, for limits of calls.
        acts_for: the user whom the proxy has authenticated and for whom the service asks; "": the request's own
            credentials identify the caller.
        wire: `headers` in wire form, with a `Host` and the final empty line; b"": not available.
    """

    method: str
    target: str
    headers: Headers
    peer: str = ""
    caller: str = ""
    acts_for: str = ""
    wire: bytes = b""


class WireFields(NamedTuple):
    """The header fields of a reply in wire form.

    Attributes:
        start: the fields before the cookie; all fields if there is no cookie.
        cookie: the `Set-Cookie` field, which not every client may receive; None: the reply has none.
        end: the fields after the cookie.
        replayed: the fields that a cached answer repeats; see `nncache.proxy.headers.replayed_headers`.
    """

    start: bytes
    cookie: Header | None
    end: bytes
    replayed: Headers


@dataclass(slots=True, kw_only=True)
class UpstreamReply:
    """A NameNode's whole reply.

    Attributes:
        headers: every end-to-end field in the NameNode's order, with repeated fields, without framing.
        replied_at: local time at which the reply was complete.
        term: the term of the active NameNode that sent it, or `NO_TERM`.
        wire: the headers in wire form; None: not available.
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
    """What is known of a reply before its first byte is sent to the client.

    Attributes:
        headers: as in `UpstreamReply`.
        body: the whole body when it is JSON of less than 64 KiB, else None (it is being streamed).
        replied_at: local time at which this much of the reply had arrived.
        term: the term of the active NameNode that sent it, or `NO_TERM`.
    """

    status: int
    reason: str
    headers: Headers
    body: bytes | None
    namenode: NameNode
    term: int
    replied_at: float


class WriteRight(Enum):
    """A NameNode's answer to whether a caller may write a path."""

    GRANTED = auto()
    DENIED = auto()
    MISSING = auto()  # the path does not exist
    UNKNOWN = auto()  # the proxy cannot ask as this caller


Settle: TypeAlias = Callable[[SettledReply | None], Awaitable[None]]
"""Called before the reply's first byte is sent to the client; None: the outcome of the call is unknown."""


async def nothing_to_settle(_: SettledReply | None) -> None:
    """Do nothing: the `Settle` of a call that changes nothing, whose reply need not be held back."""


Decorate: TypeAlias = Callable[[SettledReply], Headers]
"""Returns the header fields that the proxy appends to the NameNode's own."""

CallEnded: TypeAlias = Callable[[int, BaseException | None], None]
"""Called when a call to a NameNode has ended, with the reply's status (0: no reply) and the error that ended it."""

CallSent: TypeAlias = Callable[[RequestHead, NameNode], CallEnded | None]
"""Called when a call was sent for a client's request. Neither this nor the returned callback may block or raise."""
