"""One request of a client whose head was read, and the interfaces of its call, its held answer and its handler."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeAlias

from nncache.net.http1.head import Fields, Head
from nncache.proxy.clients.body import RequestBody

if TYPE_CHECKING:
    from nncache.cache.decisions import Decision
    from nncache.proxy.clients.connection import ClientConnection
    from nncache.proxy.clients.response import RawResponse
    from nncache.proxy.reading import ParsedRequest
    from nncache.proxy.traffic import Exchange


class InFlight(ABC):
    """A call that was sent for a request before its handler started, or the call's question."""

    __slots__ = ()

    @abstractmethod
    def abandon(self) -> None:
        """End the call, unless other requests use it: the handler has ended."""


class Request:
    """One request.

    Attributes:
        method: the request's method.
        target: printable ASCII; see `nncache.net.http1.head.Head`.
        names: the names of its header fields, in lower case.
        fields: its header fields.
        is_http_1_1: whether it is HTTP/1.1; otherwise HTTP/1.0.
        keep_alive: whether the request allows the connection to stay open.
        body: its body; None: it has none.
        connection: the connection on which it arrived.
        peer: the client's address.
        whole: the bytes of the whole request, if they arrived alone and in one piece.
        begun: the call or question that was already sent for it.
        reading: its meaning, once it was read.
        decision: the cache's decision, once it was made.
        record: its entry in the statistics, once it was started.
        has_reply_begun: whether a byte of its reply was sent.
        adds: header fields for its reply, whatever the reply is.
    """

    __slots__ = (
        "adds",
        "begun",
        "body",
        "connection",
        "decision",
        "fields",
        "has_reply_begun",
        "is_http_1_1",
        "keep_alive",
        "method",
        "names",
        "peer",
        "reading",
        "record",
        "target",
        "whole",
    )

    def __init__(
        self,
        head: Head,
        body: RequestBody | None,
        connection: "ClientConnection",
        whole: bytes | None = None,
        peer: str = "",
    ) -> None:
        self.method = head.method
        self.target = head.target
        self.names = head.names
        self.fields = head.fields
        self.is_http_1_1 = head.minor == 1
        self.keep_alive = head.keep_alive
        self.body = body
        self.connection = connection
        self.peer = peer or connection.peer
        self.whole = whole
        self.begun: InFlight | None = None
        self.reading: ParsedRequest | None = None
        self.decision: Decision | None = None
        self.record: Exchange | None = None
        self.has_reply_begun = False
        self.adds: Fields = ()

    @property
    def transport(self) -> asyncio.Transport | None:
        """The connection's transport; None once the connection is lost."""
        return self.connection.transport

    @property
    def has_arrived(self) -> bool:
        """Whether its whole body has arrived."""
        return self.body is None or self.body.is_over

    @property
    def repeatable(self) -> bytes | None:
        """The bytes of a GET without a body that arrived alone and keeps its connection open; else None."""
        return self.whole if self.method == "GET" and self.keep_alive else None

    def first(self, name: bytes) -> str:
        """Return the first value of the field with this lower-case name; "": the request has no such field."""
        if name not in self.names:
            return ""
        for key, value in self.fields:
            if key.lower() == name:
                return value.decode("utf-8", "surrogateescape")
        return ""


class CallInFlight(ABC):
    """A call in flight whose reply is passed to the connection of its request.

    Attributes:
        request: the request for which the call was sent.
    """

    __slots__ = ()

    request: Request

    @abstractmethod
    def hand_over(self) -> InFlight | None:
        """Return the call for the handler, which continues and counts it; None: the call has ended."""

    @abstractmethod
    def abandon(self) -> None:
        """Continue or end without the client, which has disconnected."""


class HeldAnswer(ABC):
    """The future answer to a held request."""

    __slots__ = ()

    @abstractmethod
    def leave(self) -> None:
        """Send the answer soon: the client has half-closed its connection."""

    @abstractmethod
    def abandon(self) -> None:
        """Drop the answer: the client has disconnected."""


Handler: TypeAlias = "Callable[[Request], Awaitable[RawResponse | None]]"
"""Answers one request; None: the connection holds it, and it is answered later. A ProxyError becomes the reply."""
