"""Call one NameNode over Hadoop RPC: one shared connection, made again when it is lost. (hadoop/rpc/connection.py)"""

import asyncio
import os
from dataclasses import dataclass

from google.protobuf.message import Message

from hadoop.addresses import split_address
from hadoop.errors import RemoteCallError, RpcUnavailableError
from hadoop.remote_exception import RemoteException
from hadoop.rpc.framing import MAX_FRAME_BYTES
from hadoop.rpc.handshake import Handshake, SimpleHandshake
from hadoop.rpc.messages import MAX_CALL_ID, MessageT, Succeeded, encode_call, parse_message
from hadoop.rpc.wire import Wire

CLIENT_ID_BYTES = 16

CONTEXT_PROTOCOL = "org.apache.hadoop.hdfs.protocol.ClientProtocol"
"""What the connection context names; calls of other protocols may follow on the same connection."""


@dataclass(frozen=True, slots=True)
class Method:
    """One method of a Hadoop protocol."""

    protocol: str  # Java class name
    name: str
    is_repeatable: bool  # asking twice does no harm, so a lost reply may be asked for again


class RpcConnection:
    """One logical connection to one address as one user; any number of calls at a time.

    Invariants:
        I1  At most one usable wire at a time, opened by whoever first needs it.
        I2  `connection_id` differs between two replies whenever they came over different wires.
        I3  A call that ends early (cancelled, timed out) leaves the other calls alone.
    """

    def __init__(
        self,
        address: str,
        user: str,
        *,
        ping_interval_s: float = 10.0,
        max_frame_bytes: int = MAX_FRAME_BYTES,
    ) -> None:
        self.address = address
        self.user = user
        self._ping_interval_s = ping_interval_s
        self._max_frame_bytes = max_frame_bytes
        self._client_id = os.urandom(CLIENT_ID_BYTES)
        self._wire: Wire | None = None  # the newest; perhaps not usable any more
        self._connecting = asyncio.Lock()  # held by the one who connects
        self._connection_id = 0
        self._last_call_id = -1
        self._is_closed = False

    @property
    def connection_id(self) -> int:
        """Counts the connections that were made; 0 before the first."""
        return self._connection_id

    async def call(
        self, method: Method, request: Message, result: type[MessageT], timeout_s: float
    ) -> MessageT:
        """Call a method and return its result, at the latest after `timeout_s` seconds.

        A repeatable call whose connection is lost is sent once more, over a new one: a NameNode may close an
        idle connection at the very moment at which it is used again.

        Raises:
            RpcUnavailableError: Not connected, cut off or too slow; `is_sent` tells whether the call may have run.
            RemoteCallError: The NameNode answered with an exception.
            RpcError: The other side refuses the connection, or does not speak Hadoop RPC.
        """
        loop = asyncio.get_running_loop()
        wire: Wire | None = None
        began_at = loop.time()
        try:
            async with asyncio.timeout(timeout_s):
                wire = await self._usable_wire()
                began_at = loop.time()
                try:
                    return await self._call_over(wire, method, request, result)
                except RpcUnavailableError:
                    if not method.is_repeatable:
                        raise
                wire = await self._usable_wire()
                return await self._call_over(wire, method, request, result)
        except TimeoutError as exc:
            if wire is None:
                raise RpcUnavailableError(
                    f"{self.address}: no connection in {timeout_s:g} s", is_sent=False
                ) from exc
            if wire.heard_at < began_at:
                # Nothing at all arrived: the peer may be gone without a word, and TCP would try for many minutes.
                wire.retire()
            text = f"{self.address}: no reply to {method.name} in {timeout_s:g} s"
            raise RpcUnavailableError(text, is_sent=True) from exc

    async def close(self) -> None:
        """Close the connection and fail the calls that are under way; no call can follow."""
        self._is_closed = True
        if self._wire is not None:
            self._wire.abort("by this client")

    async def _call_over(
        self, wire: Wire, method: Method, request: Message, result: type[MessageT]
    ) -> MessageT:
        call_id = self._last_call_id = (self._last_call_id + 1) & MAX_CALL_ID
        frame = encode_call(self._client_id, call_id, method.protocol, method.name, request)
        reply = await wire.call(call_id, frame)
        if isinstance(reply, Succeeded):
            return parse_message(result, reply.body)
        remote = RemoteException(reply.class_name.rpartition(".")[2], reply.class_name, reply.message)
        raise RemoteCallError(remote, address=self.address, method=method.name, user=self.user)

    async def _usable_wire(self) -> Wire:
        if self._wire is not None and self._wire.is_usable:
            return self._wire
        async with self._connecting:
            if self._wire is None or not self._wire.is_usable:
                self._wire = await self._open_wire()
            return self._wire

    async def _open_wire(self) -> Wire:
        if self._is_closed:
            raise RpcUnavailableError(f"{self.address}: this client is closed", is_sent=False)
        host, port = split_address(self.address)
        loop = asyncio.get_running_loop()
        try:
            _, wire = await loop.create_connection(self._new_wire, host, port)
        except OSError as exc:
            raise RpcUnavailableError(f"{self.address}: cannot connect: {exc}", is_sent=False) from exc
        self._connection_id += 1
        try:
            await wire.wait_ready()
        except BaseException:
            wire.abort("not ready")
            raise
        return wire

    def _new_wire(self) -> Wire:
        handshake: Handshake = SimpleHandshake(self._client_id, self.user, CONTEXT_PROTOCOL)
        return Wire(
            self.address,
            self._client_id,
            handshake,
            max_frame_bytes=self._max_frame_bytes,
            ping_interval_s=self._ping_interval_s,
        )
