"""Carry calls and replies over one TCP connection to a NameNode.

A `Wire` is used for one connection: it opens, carries any number of concurrent calls, and closes. It has no task: the
event loop passes it bytes, and it settles the futures of its callers. While a thread gets a Kerberos token, arriving
frames stay in the splitter.
"""

import asyncio
from typing import Final, cast

from nncache.hadoop.errors import (
    FramingError,
    HadoopError,
    RpcAuthenticationError,
    RpcError,
    RpcLoginError,
    RpcUnavailableError,
)
from nncache.hadoop.kerberos.identity import Initiator
from nncache.hadoop.remote_exception import Verdict, verdict_of
from nncache.hadoop.rpc.framing import FrameSplitter, encode_preamble
from nncache.hadoop.rpc.handshake import SASL_AUTH_PROTOCOL, TokenRequest
from nncache.hadoop.rpc.messages import Reply, RpcRefusal, encode_ping, parse_reply
from nncache.hadoop.rpc.proto import rpc_header_pb2 as pb
from nncache.hadoop.rpc.sasl import Handshake

SIMPLE_ADVICE = (
    "a secured cluster wants Kerberos: give this service an identity with --principal and --keytab"
)

_TOO_BUSY: Final = {Verdict.RETRIABLE, Verdict.STANDBY}
"""How a NameNode refuses a call, and ends its connection, while too many wait: with `ipc.PORT.backoff.enable`, and with
`ipc.PORT.callqueue.overflow.trigger.failover` (Server.internalQueueCall)."""


class Wire(asyncio.Protocol):
    """One connection; replies find their calls by call id.

    Invariants:
        I1  A future in `_waiting` is settled by the time the connection is lost.
        I2  A reply whose call was cancelled is dropped and affects no other call.
        I3  A retired wire accepts no new call, and closes when no call is in flight.
        I4  It never stores an error that was raised: the error's traceback would refer to this object, and a daemon
            does not collect such a cycle among its old objects (`nncache/daemons/housekeeping.py`).
    """

    def __init__(
        self,
        address: str,
        client_id: bytes,
        handshake: Handshake,
        *,
        max_frame_bytes: int,
        ping_interval_s: float,
        tokens: Initiator | None = None,
    ) -> None:
        """Carry calls; `tokens` supplies the Kerberos tokens of the handshake."""
        self._loop = asyncio.get_running_loop()
        self._address = address  # for messages
        self._client_id = client_id
        self._handshake = handshake
        self._tokens = tokens
        self._splitter = FrameSplitter(max_frame_bytes)
        self._protected = FrameSplitter(max_frame_bytes)  # the unwrapped payload of protected frames
        self._token: asyncio.Future[bytes] | None = None  # the token that the handshake waits for
        self._ping_interval_s = ping_interval_s
        self._ping: asyncio.TimerHandle | None = None  # the next ping; None before and after the connection
        self._transport: asyncio.Transport | None = None  # None before the connection
        self._waiting: dict[int, asyncio.Future[Reply | None]] = {}  # by call id; None: see `_end`
        self._ready: asyncio.Future[bool] = (
            self._loop.create_future()
        )  # true: the handshake is complete; false: see `_end`
        self._lost: asyncio.Future[None] = self._loop.create_future()  # the transport is closed
        self._end: RpcError | None = None  # why no call can be sent any more; never raised itself (I4)
        self._is_retired = False
        self.heard_at = self._loop.time()  # loop time when bytes last arrived, or when the wire was created

    @property
    def is_usable(self) -> bool:
        """Whether a new call may be sent."""
        return self._end is None and not self._is_retired

    async def wait_ready(self) -> None:
        """Wait until calls may be sent. Raises RpcError: the server refuses, or the connection is lost."""
        await asyncio.shield(self._ready)
        if not self._ready.result():
            raise self._why_ended()

    async def call(self, call_id: int, frame: bytes) -> Reply:
        """Send a call and return its reply. The caller sets the deadline.

        Raises:
            RpcUnavailableError: The connection was lost before the reply arrived.
            RpcError: The server sends invalid data, or refuses the connection.
        """
        if self._end is not None:
            raise self._why_ended()
        assert self._transport is not None  # calls come after wait_ready
        waiter: asyncio.Future[Reply | None] = self._loop.create_future()
        self._waiting[call_id] = waiter
        try:
            self._write(frame)
            reply = await waiter
        finally:
            self._waiting.pop(call_id, None)
            if self._is_retired and not self._waiting:
                self.abort("no call waits any more")
        if reply is None:
            raise self._why_ended()
        return reply

    def retire(self) -> None:
        """Accept no new calls; close as soon as the calls in flight are settled."""
        self._is_retired = True
        if not self._waiting:
            self.abort("no call waits any more")

    def abort(self, why: str) -> None:
        """Close immediately, without waiting for unsent data."""
        self._fail(RpcUnavailableError(f"the connection to {self._address} was closed: {why}", is_sent=True))

    async def wait_closed(self) -> None:
        """Wait until the transport is closed, after `abort`."""
        await asyncio.shield(self._lost)

    # -- called by the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send the preamble and begin the handshake."""
        self._transport = cast(asyncio.Transport, transport)
        if self._end is not None:
            self._transport.abort()
            return
        self._transport.write(encode_preamble(self._handshake.auth_protocol) + self._handshake.begin())
        self._ping = self._loop.call_later(self._ping_interval_s, self._send_ping)
        if self._handshake.is_complete():
            self._ready.set_result(True)

    def data_received(self, data: bytes) -> None:
        """Settle the calls whose replies are complete."""
        self.heard_at = self._loop.time()
        self._splitter.receive(data)
        self._take_frames()

    def connection_lost(self, exc: Exception | None) -> None:
        """Fail all calls in flight."""
        self._lost.set_result(None)
        why = "the server closed it" if exc is None else str(exc)
        self._fail(RpcUnavailableError(f"the connection to {self._address} was cut: {why}", is_sent=True))

    # -- inner parts

    def _take_frames(self) -> None:
        try:
            while self._end is None and self._token is None and (frame := self._next_frame()) is not None:
                self._take(frame)
        except RpcError as exc:
            self._fail(exc)

    def _next_frame(self) -> bytes | None:
        protection = self._handshake.protection
        if protection is None:
            return self._splitter.next_frame()
        while (frame := self._protected.next_frame()) is None:
            carrier = self._splitter.next_frame()
            if carrier is None:
                return None
            self._protected.receive(protection.unwrap(carrier))
        return frame

    def _take(self, frame: bytes) -> None:
        if not self._handshake.is_complete():
            answer = self._handshake.receive(frame)
            if isinstance(answer, TokenRequest):
                assert self._tokens is not None
                self._token = self._tokens.step(answer.server, answer.challenge)
                self._token.add_done_callback(self._answer)
                return
            self._write(answer)
            if self._handshake.is_complete():
                self._ready.set_result(True)
            return
        reply = parse_reply(frame)
        fatal = reply if isinstance(reply, RpcRefusal) and reply.is_fatal else None
        waiter = self._waiting.get(reply.call_id)
        if (fatal is None or _is_too_busy(fatal)) and waiter is not None and not waiter.done():
            waiter.set_result(reply)
        if fatal is not None:
            raise self._refusal(fatal)  # kept in no variable: I4

    def _answer(self, token: "asyncio.Future[bytes]") -> None:
        """Continue the handshake with the token that it waited for."""
        self._token = None
        error = token.exception()
        if self._end is not None:
            return
        try:
            if error is not None:
                if not isinstance(error, HadoopError):
                    raise error
                raise RpcLoginError(f"{self._address}: {error}")
            self._write(self._handshake.answer(token.result()))
        except RpcError as exc:
            self._fail(exc)
        self._take_frames()

    def _write(self, frames: bytes) -> None:
        assert self._transport is not None
        protection = self._handshake.protection
        self._transport.write(frames if protection is None else protection.wrap(frames))

    def _refusal(self, reply: RpcRefusal) -> RpcError:
        if reply.detail == pb.FATAL_UNAUTHORIZED:
            advice = "" if self._handshake.auth_protocol == SASL_AUTH_PROTOCOL else SIMPLE_ADVICE
            return RpcAuthenticationError(self._address, reply.message, advice)
        if _is_too_busy(reply):
            return RpcUnavailableError(
                f"{self._address} closed the connection: {reply.message}", is_sent=True
            )
        return FramingError(f"{self._address} refused the connection: {reply.class_name}: {reply.message}")

    def _fail(self, error: RpcError) -> None:
        if self._end is not None:
            return
        self._end = _unraised(error)
        if self._ping is not None:
            self._ping.cancel()
        if self._transport is not None:
            self._transport.abort()
        if not self._ready.done():
            self._ready.set_result(False)
        for waiter in self._waiting.values():
            if not waiter.done():
                waiter.set_result(None)

    def _why_ended(self) -> RpcError:
        assert self._end is not None
        return _unraised(self._end)

    def _send_ping(self) -> None:
        """Send a ping, so that a NameNode with thousands of connections does not close this one as idle."""
        assert self._transport is not None
        if self._transport.is_closing():  # connection_lost follows
            return
        if self._handshake.is_complete():
            try:
                self._write(encode_ping(self._client_id))
            except RpcError as exc:
                self._fail(exc)
                return
        self._ping = self._loop.call_later(self._ping_interval_s, self._send_ping)


def _is_too_busy(reply: RpcRefusal) -> bool:
    return reply.detail != pb.FATAL_UNAUTHORIZED and verdict_of(reply.class_name) in _TOO_BUSY


def _unraised(error: RpcError) -> RpcError:
    """Return a copy of an error without its traceback, cause and context."""
    made = type(error).__new__(type(error), *error.args)
    vars(made).update(vars(error))
    return made
