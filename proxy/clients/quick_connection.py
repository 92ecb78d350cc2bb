"""One client's connection as long as its requests are known. (proxy/clients/quick_connection.py)

It costs a fraction of aiohttp's: no task, no parser, no queue. Whatever the fast path does not know is for a
`nncache.proxy.clients.connection.ClientConnection`, to which the transport goes over, bytes and all; after some known
requests in a row it comes back.
"""

import asyncio
from typing import Protocol, cast

from nncache.proxy.clients.fastpath import FastPath


class Admission(Protocol):
    """Counts connections; `nncache.proxy.clients.server` implements it."""

    def may_be_told(self) -> bool:
        """Whether one that may not be served can stay for a moment, to be told so."""

    def leave(self, holder: str, *, admitted: bool) -> None:
        """Count one less."""

    def give_back(self, transport: asyncio.Transport, holder: str) -> None:
        """Serve one on, of which the last requests were all known, without what aiohttp makes for it."""


class Owner(Admission, Protocol):
    """Begins, takes over and ends them as well."""

    def connected(self, connection: "QuickConnection", transport: asyncio.Transport) -> None:
        """Let the connection `serve` the transport, unless there are too many."""

    def take_over(self, connection: "QuickConnection", data: bytes) -> None:
        """Serve the connection from these bytes on."""

    def ended(self, connection: "QuickConnection") -> None:
        """Count the connection no longer."""


class QuickConnection(asyncio.Protocol):
    """Answers what the fast path knows, and hands itself over with the first bytes that it does not.

    Invariants:
        Q1  Between two calls of the event loop nothing of a request is held: each is answered whole, or handed over.
        Q2  Nothing is answered while the client does not read what it is sent.
    """

    __slots__ = (
        "_fast_path",
        "_idle_timeout_s",
        "_loop",
        "_owner",
        "_timer",
        "_used_at",
        "holder",
        "is_paused",
        "transport",
    )

    def __init__(self, owner: Owner, fast_path: FastPath, idle_timeout_s: float) -> None:
        self._owner = owner
        self._fast_path = fast_path
        self._idle_timeout_s = idle_timeout_s  # without a request for so long, the connection ends
        self._loop = asyncio.get_running_loop()
        self.transport: asyncio.Transport | None = None
        self.holder = ""  # of the connection's share (`nncache.proxy.shares.holder_of`)
        self.is_paused = False  # the client does not read
        self._used_at = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin, if there is room."""
        self._owner.connected(self, cast("asyncio.Transport", transport))

    def serve(self, transport: asyncio.Transport, holder: str) -> None:
        """Serve a transport, whose protocol this is."""
        self.transport, self.holder = transport, holder
        self._used_at = self._loop.time()
        self._timer = self._loop.call_later(self._idle_timeout_s, self._see_whether_idle)

    def data_received(self, data: bytes) -> None:
        """Answer at once, or hand over."""
        assert self.transport is not None
        reply = None if self.is_paused else self._fast_path.answer(data)
        if reply is None:
            self._owner.take_over(self, data)
        else:
            self._used_at = self._loop.time()
            self.transport.write(reply)

    def connection_lost(self, exc: BaseException | None) -> None:  # noqa: ARG002 - asyncio's port
        """Clean up."""
        self.release()
        self._owner.ended(self)

    def pause_writing(self) -> None:
        """Take note that the client does not read."""
        self.is_paused = True

    def resume_writing(self) -> None:
        """Take note that it does."""
        self.is_paused = False

    def release(self) -> None:
        """Look at the clock no more."""
        if self._timer is not None:
            self._timer.cancel()

    def _see_whether_idle(self) -> None:
        assert self.transport is not None
        idle_s = self._loop.time() - self._used_at
        if idle_s < self._idle_timeout_s:
            self._timer = self._loop.call_later(self._idle_timeout_s - idle_s, self._see_whether_idle)
        elif self.transport.get_write_buffer_size():
            self.transport.abort()  # it has not read for so long
        else:
            self.transport.close()
