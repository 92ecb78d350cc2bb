"""One client's connection as long as its requests are known.

It costs a fraction of aiohttp's: no task, no parser, no queue. What the fast path does not answer, and
`nncache.proxy.plain_calls` does not forward, is for a `nncache.proxy.clients.connection.ClientConnection`, to which the
transport goes over, bytes and all; after some known requests in a row it comes back.
"""

import asyncio
import select
from typing import Final, Protocol, cast

from nncache.proxy.clients.response import RawResponse
from nncache.proxy.errors import ProxyError
from nncache.proxy.plain_calls import QuickCall

MAX_TICKET_BYTES: Final = 1_024
"""Of what TLS writes after a handshake, in the turn of the event loop in which the first request is there already: two
tickets with which the session can be resumed (RFC 8446, section 4.6.1; 510 bytes with OpenSSL 3.0)."""


class Held(Protocol):
    """A request that is held: its answer comes by `QuickConnection.answered`."""

    def held_by(self, client: "QuickConnection") -> None:
        """Take note of what holds it."""

    def leave(self) -> None:
        """Have it answered soon: the client will send nothing more."""

    def abandon(self) -> None:
        """End it: the client is gone."""


class Admission(Protocol):
    """Counts connections; `nncache.proxy.clients.server` implements it."""

    @property
    def is_draining(self) -> bool:
        """Whether no connection goes on after its reply."""

    def refused(self, error: ProxyError, peer: str) -> None:
        """Count what is refused without being a request."""

    def may_be_told(self) -> bool:
        """Whether one that may not be served can stay for a moment, to be told so."""

    def end_soon(self, transport: asyncio.Transport) -> None:
        """Close a transport that its client has closed, when it is its turn (`nncache.proxy.clients.endings`)."""

    def leave(self, holder: str, *, admitted: bool) -> None:
        """Count one less."""

    def concerns(self, head: bytes) -> bool:
        """Whether such a request needs nothing of what aiohttp makes for it."""

    def may_enter(self, *, is_there: bool) -> bool:
        """Whether aiohttp may be given an unknown request in this turn (`nncache.proxy.clients.arrivals`).

        `is_there`: whether the connection is aiohttp's already.
        """

    def give_back(
        self, transport: asyncio.Transport, holder: str, data: bytes = b"", *, held: Held | None = None
    ) -> None:
        """Serve one on without aiohttp: from these bytes on, or while its request is held."""


class KnownHeads(Protocol):
    """`nncache.proxy.clients.fastpath.FastPath`, or several (`nncache.proxy.federated`)."""

    @property
    def is_sampled(self) -> bool:
        """Whether the last answer is to be observed once it is written."""

    def answer(self, head: bytes) -> bytes | None:
        """Return the reply to this head, if it is known and still good."""

    def answer_last(self, head: bytes) -> bytes | None:
        """Return the reply to this head with which the connection is to end, if it is known and still good."""

    def observe(self, head: bytes, peer: str) -> None:
        """Show the last answer to the observers, now that it is written."""


class Ordinary(Protocol):
    """`nncache.proxy.clients.connection.ClientConnection`, as far as it is needed here."""

    def eof_received(self) -> bool:
        """Whether the connection goes on for a client that will send nothing more."""


class Owner(Admission, Protocol):
    """Begins, takes over and ends them as well."""

    def connected(self, connection: "QuickConnection", transport: asyncio.Transport) -> None:
        """Let the connection `serve` the transport, unless there are too many."""

    def forward(self, connection: "QuickConnection", head: bytes) -> QuickCall | None:
        """Pass a call on, if it is a plain one and that can be done at once."""

    def wait(self, connection: "QuickConnection") -> None:
        """Have the connection go on in its turn."""

    def take_over(self, connection: "QuickConnection", data: bytes) -> Ordinary:
        """Serve the connection from these bytes on, and the call that is under way."""

    def ended(self, connection: "QuickConnection") -> None:
        """Count the connection no longer."""


class QuickConnection(asyncio.Protocol):
    """Answers what is known, passes on what is plain, and hands itself over with the first bytes that are neither.

    Invariants:
        Q1  Between two calls of the event loop nothing of a request is held but that of one call which is forwarded,
            or of one that waits for another answer, or what waits for its turn: each is answered whole, or handed
            over, and no other is taken meanwhile.
        Q2  Nothing is answered while the client does not read, and nothing forwarded before it has read all but what
            TLS itself has to say at the beginning.
    """

    __slots__ = (
        "_call",
        "_fast_path",
        "_has_left",
        "_held",
        "_idle_timeout_s",
        "_is_new",
        "_loop",
        "_owner",
        "_request",
        "_timer",
        "_used_at",
        "holder",
        "is_paused",
        "peer",
        "transport",
    )

    def __init__(self, owner: Owner, fast_path: KnownHeads, idle_timeout_s: float) -> None:
        self._owner = owner
        self._fast_path = fast_path
        self._idle_timeout_s = idle_timeout_s  # without a request for so long, the connection ends
        self._loop = asyncio.get_running_loop()
        self.transport: asyncio.Transport | None = None
        self.holder = ""  # of the connection's share (`nncache.net.shares.holder_of`)
        self.peer = ""  # the client's address
        self.is_paused = False  # the client does not read
        self._is_new = True  # no request was answered or forwarded yet
        self._used_at = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._call: QuickCall | None = None  # under way
        self._request: Held | None = None  # waits for another answer
        self._held = b""  # what waits for its turn, or for that answer; nothing is read meanwhile
        self._has_left = False  # the client has closed its half while its request waited

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin, if there is room."""
        self._owner.connected(self, cast("asyncio.Transport", transport))

    def serve(self, transport: asyncio.Transport, holder: str, peer: str) -> None:
        """Serve a transport, whose protocol this is."""
        self.transport, self.holder, self.peer = transport, holder, peer
        self._used_at = self._loop.time()
        self._timer = self._loop.call_later(self._idle_timeout_s, self._see_whether_idle)

    def data_received(self, data: bytes) -> None:
        """Answer or forward at once, or hand over, perhaps in a later turn."""
        if self._call is not None:
            self._owner.take_over(self, data)
        elif self._held:
            self._held += data
        elif self._request is not None:
            self._keep(data)
        elif not self._serve(data):
            if self._owner.may_enter(is_there=False):
                self._owner.take_over(self, data)
            else:
                self._wait(data)

    def _serve(self, data: bytes) -> bool:
        """Answer or forward what is known, if the client reads."""
        transport = self.transport
        assert transport is not None
        reply = None if self.is_paused else self._fast_path.answer(data)
        if reply is not None:
            self._is_new = False
            self._used_at = self._loop.time()
            transport.write(reply)
            if self._fast_path.is_sampled:
                self._fast_path.observe(data, self.peer)
            return True
        if not self.is_paused and (reply := self._fast_path.answer_last(data)) is not None:
            transport.write(reply)
            if self._fast_path.is_sampled:
                self._fast_path.observe(data, self.peer)
            transport.close()
            return True
        unread = transport.get_write_buffer_size()
        if not unread or (unread <= MAX_TICKET_BYTES and self.is_over_tls and self._is_new):
            self._is_new = False
            self._call = self._owner.forward(self, data)
        return self._call is not None

    def _wait(self, data: bytes) -> None:
        self._keep(data)
        self._owner.wait(self)

    def _keep(self, data: bytes) -> None:
        assert self.transport is not None
        self._held = data
        self.transport.pause_reading()

    def hold(self, request: Held) -> None:
        """Hold a request until `answered`."""
        self._request = request
        request.held_by(self)

    def answered(self, response: RawResponse) -> None:
        """Send the answer to what is held, and go on with what the client has sent meanwhile."""
        assert self.transport is not None
        self._request = None
        self._used_at = self._loop.time()
        self.transport.write(response.text(is_last=self._owner.is_draining))
        if self._has_left or not response.keep_alive:
            self._owner.end_soon(self.transport)
        elif data := self.take_held():
            self.data_received(data)

    def has_closed(self) -> bool:
        """Whether the client has closed its half, or all; nothing is read while it waits, so the system is asked."""
        assert self.transport is not None
        end = self.transport.get_extra_info("socket")
        if end is None or end.fileno() < 0:
            return False
        events = select.poll()
        events.register(end.fileno(), select.POLLRDHUP)
        return bool(events.poll(0))

    def go_on(self) -> bool:
        """Serve what waits; whether that had to be handed over."""
        data = self.take_held()
        if not data or self._serve(data):
            return False
        self._owner.take_over(self, data)
        return True

    def end(self) -> None:
        """End the connection at once."""
        assert self.transport is not None
        self.transport.abort()

    def take_held(self) -> bytes:
        """Return what waits, for others to go on with it; b"" if nothing does any more."""
        held, self._held = self._held, b""
        if held and self.transport is not None:
            self.transport.resume_reading()
        return held

    def replied(self, text: bytes) -> None:
        """Send the reply to the call."""
        assert self.transport is not None
        self._call = None
        self._used_at = self._loop.time()
        self.transport.write(text)

    def unfinished(self) -> None:
        """Leave the call to the ordinary path."""
        self._owner.take_over(self, b"")

    @property
    def is_over_tls(self) -> bool:
        """Whether the client is connected over TLS."""
        return self.transport is not None and self.transport.get_extra_info("sslcontext") is not None

    @property
    def is_busy(self) -> bool:
        """Whether a call is under way, or waits."""
        return self._call is not None or self._request is not None or bool(self._held)

    @property
    def is_holding(self) -> bool:
        """Whether a request is held."""
        return self._request is not None

    def take_call(self) -> QuickCall | None:
        """Return the call that is under way, for others to go on with it."""
        call, self._call = self._call, None
        return call

    def eof_received(self) -> bool:
        """End when it is this connection's turn (true: the transport does not close itself; over TLS it always does).

        A call that is under way is answered all the same.
        """
        if self._request is not None:
            self._has_left = True
            self._request.leave()
        elif self.is_busy:
            return self._owner.take_over(self, b"").eof_received()
        else:
            assert self.transport is not None
            self._owner.end_soon(self.transport)
        return not self.is_over_tls

    def connection_lost(self, exc: BaseException | None) -> None:  # noqa: ARG002 - asyncio's port
        """Clean up."""
        self.release()
        self._held = b""
        request, self._request = self._request, None
        if request is not None:
            request.abandon()
        if (call := self.take_call()) is not None:
            call.abandon()
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
        idle_s = 0.0 if self.is_busy else self._loop.time() - self._used_at
        if idle_s < self._idle_timeout_s:
            self._timer = self._loop.call_later(self._idle_timeout_s - idle_s, self._see_whether_idle)
        elif self.transport.get_write_buffer_size():
            self.transport.abort()  # it has not read for so long
        else:
            self.transport.close()
