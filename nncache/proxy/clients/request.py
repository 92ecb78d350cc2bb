"""One request of a client, its head read, as those who answer it see it; and what is under way for it."""

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
    from nncache.proxy.reading import Reading
    from nncache.proxy.traffic import Exchange


class InFlight(ABC):
    """A call that was sent for a request before its handler began, or the question behind the call."""

    __slots__ = ()

    @abstractmethod
    def abandon(self) -> None:
        """End it, unless others go on with it: its handler is over."""


class Request:
    """One request.

    Attributes:
        method: of the request.
        target: printable ASCII; see `nncache.net.http1.head.Head`.
        names: of its header fields, in small letters.
        fields: its header fields.
        is_http_1_1: else it is one of HTTP/1.0.
        keep_alive: whether the connection may go on behind it.
        body: None: it has none.
        connection: which brought it.
        peer: the client's address.
        whole: the bytes that the request consists of, if they came alone and in one piece.
        begun: what was sent for it already.
        reading: what it is, once that was found out.
        decision: what the cache has said of it, if that was asked.
        record: what is counted of it, once it was begun.
        has_reply_begun: whether a byte of its reply has gone out.
        adds: header fields for its reply, whatever that is.
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
        self.reading: Reading | None = None
        self.decision: Decision | None = None
        self.record: Exchange | None = None
        self.has_reply_begun = False
        self.adds: Fields = ()

    @property
    def transport(self) -> asyncio.Transport | None:
        """Of its connection; None once that is lost."""
        return self.connection.transport

    @property
    def has_arrived(self) -> bool:
        """Whether its whole body is there."""
        return self.body is None or self.body.is_over

    @property
    def repeatable(self) -> bytes | None:
        """The bytes of a GET without a body behind which the connection goes on, if they came alone; else None."""
        return self.whole if self.method == "GET" and self.keep_alive else None

    def first(self, name: bytes) -> str:
        """Return the first value of a field; "" if the request has no such field. Its name is given in lower case."""
        if name not in self.names:
            return ""
        for key, value in self.fields:
            if key.lower() == name:
                return value.decode("utf-8", "surrogateescape")
        return ""


class CallUnderWay(ABC):
    """A call for a request whose connection gets the reply.

    Attributes:
        request: for which it was sent.
    """

    __slots__ = ()

    request: Request

    @abstractmethod
    def hand_over(self) -> InFlight | None:
        """Return the call in its present state, None if it is over; those who go on with it count it."""

    @abstractmethod
    def abandon(self) -> None:
        """Go on, or end, without the client, who is gone."""


class HeldAnswer(ABC):
    """The answer to a request that is held."""

    __slots__ = ()

    @abstractmethod
    def leave(self) -> None:
        """Give it soon: the client has closed its half."""

    @abstractmethod
    def abandon(self) -> None:
        """Give it no more: the client is gone."""


Handler: TypeAlias = "Callable[[Request], Awaitable[RawResponse | None]]"
"""Answers one request; None: its connection holds it, and it is answered later. A ProxyError becomes the reply."""
