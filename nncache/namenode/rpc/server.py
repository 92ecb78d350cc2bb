"""The server's side of a Hadoop RPC connection: SIMPLE authentication, concurrent calls.

Source: org.apache.hadoop.ipc.Server of Hadoop 3.5.0. The message formats are in `nncache.hadoop.rpc`.
"""

import asyncio
import logging
from typing import Final

from nncache.coordination.errors import CoordinationError
from nncache.hadoop.errors import FramingError
from nncache.hadoop.namespace import Namespace
from nncache.hadoop.rpc.framing import (
    IPC_VERSION,
    LENGTH_BYTES,
    MAX_FRAME_BYTES,
    PREAMBLE_BYTES,
    parse_preamble,
)
from nncache.hadoop.rpc.handshake import NO_AUTH_PROTOCOL, SASL_AUTH_PROTOCOL
from nncache.hadoop.rpc.messages import (
    CONTEXT_CALL_ID,
    Context,
    Ping,
    RpcCall,
    encode_fatal,
    encode_refusal,
    encode_sasl_reply,
    encode_success,
    parse_request,
)
from nncache.hadoop.rpc.proto import rpc_header_pb2 as pb
from nncache.namenode.namespace.permissions import Caller
from nncache.namenode.namespace.refusal import Java, Refusal
from nncache.namenode.node.namenode import NameNodeService, refusal_of
from nncache.namenode.rpc.calls import CallContext, UnservedCallError, answer

_log = logging.getLogger(__name__)

MAX_CALLS: Final = 64
"""Calls in flight per connection. Beyond it no call is read, as with a full CallQueue (ipc.Server of Hadoop)."""

_UNREADABLE_CALL_ID: Final = -1
_HTTP: Final = b"GET "
_TO_HTTP: Final = (
    b"HTTP/1.1 404 Not Found\r\nContent-type: text/plain\r\n\r\n"
    b"It looks like you are making an HTTP request to a Hadoop IPC port. This is not the correct port for the web "
    b"interface on this daemon.\r\n"
)
_SERVER_ERROR: Final = "org.apache.hadoop.ipc.RpcServerException"


class _FatalError(Exception):
    """The server sends these last bytes and ends the connection."""

    def __init__(self, last: bytes) -> None:
        super().__init__("the connection ends")
        self.last = last


async def serve_connection(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    namenode: NameNodeService,
    namespace: Namespace,
) -> None:
    """Serve one client until its connection ends."""
    try:
        async with asyncio.TaskGroup() as tasks:
            try:
                await _Connection(reader, writer, namenode, namespace).run(tasks)
            except _FatalError as fatal:
                writer.write(fatal.last)
    except* (asyncio.IncompleteReadError, ConnectionError, FramingError):
        pass  # the client has disconnected, or speaks another protocol
    finally:
        writer.close()


class _Connection:
    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        namenode: NameNodeService,
        namespace: Namespace,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._namenode = namenode
        self._namespace = namespace
        self._room = asyncio.Semaphore(MAX_CALLS)
        self._caller: Caller | None = None  # None until the client has sent its context

    async def run(self, tasks: asyncio.TaskGroup) -> None:
        """Read messages. Each call is answered by a task of its own."""
        await self._begin()
        while True:
            length = int.from_bytes(await self._reader.readexactly(LENGTH_BYTES), "big")
            if length > MAX_FRAME_BYTES:
                raise FramingError(f"a frame of {length} bytes was announced")
            match parse_request(await self._reader.readexactly(length)):
                case Ping():
                    continue
                case Context(effective_user, real_user):
                    self._identify(effective_user, real_user)
                case pb.RpcSasl() as message:
                    self._negotiate(message)
                case RpcCall() as call:
                    if self._caller is None:
                        raise _invalid(call.call_id, "Connection context not established")
                    await self._room.acquire()
                    task = tasks.create_task(self._answer(call, self._caller))
                    task.add_done_callback(lambda _: self._room.release())

    async def _begin(self) -> None:
        preamble = await self._reader.readexactly(len(_HTTP))
        if preamble == _HTTP:
            raise _FatalError(_TO_HTTP)
        preamble += await self._reader.readexactly(PREAMBLE_BYTES - len(preamble))
        try:
            auth_protocol = parse_preamble(preamble)
        except FramingError:
            text = f"Server IPC version {IPC_VERSION} cannot communicate with client version {preamble[4]}"
            name = "org.apache.hadoop.ipc.RPC$VersionMismatch"
            raise _FatalError(
                encode_fatal(_UNREADABLE_CALL_ID, name, text, pb.FATAL_VERSION_MISMATCH)
            ) from None
        if auth_protocol not in {NO_AUTH_PROTOCOL, SASL_AUTH_PROTOCOL}:
            name, text = "org.apache.hadoop.ipc.IpcException", f"Unknown auth protocol:{auth_protocol}"
            raise _FatalError(encode_fatal(_UNREADABLE_CALL_ID, name, text, pb.FATAL_UNAUTHORIZED))

    def _identify(self, effective_user: str | None, real_user: str | None) -> None:
        if self._caller is not None:
            raise _invalid(CONTEXT_CALL_ID, "Connection context already processed")
        if not effective_user:
            raise _FatalError(b"")
        may_act = real_user in {None, effective_user} or self._namenode.caller(real_user or "").is_superuser
        if not may_act:
            text = f"User: {real_user} is not allowed to impersonate {effective_user}"
            raise _FatalError(
                encode_fatal(CONTEXT_CALL_ID, Java.AUTHORIZATION.value, text, pb.FATAL_UNAUTHORIZED)
            )
        self._caller = self._namenode.caller(effective_user)

    def _negotiate(self, message: pb.RpcSasl) -> None:
        """Offer SIMPLE. A client that accepts it confirms that, and continues with its context."""
        if message.state == pb.RpcSasl.NEGOTIATE:
            offer = pb.RpcSasl(
                state=pb.RpcSasl.NEGOTIATE, auths=[pb.RpcSasl.Auth(method="SIMPLE", mechanism="")]
            )
            self._writer.write(encode_sasl_reply(offer))

    async def _answer(self, call: RpcCall, caller: Caller) -> None:
        host = self._writer.get_extra_info("peername")[0]
        asked = CallContext(
            namenode=self._namenode,
            namespace=self._namespace,
            caller=caller,
            host=host,
            protocol=call.protocol,
        )
        try:
            frame = encode_success(call, await answer(asked, call))
        except (Refusal, CoordinationError) as error:
            refusal = refusal_of(error)
            name = refusal.java.value
            frame = encode_refusal(call, name, name if refusal.message is None else refusal.message)
        except UnservedCallError as error:
            frame = encode_refusal(call, error.class_name, error.message, error.detail)
        except Exception as error:  # noqa: BLE001 - as in Hadoop, only this call fails
            _log.exception("internal error in %s", call.method)
            frame = encode_refusal(call, "java.io.IOException", f"internal error: {type(error).__name__}")
        self._writer.write(frame)
        await self._writer.drain()


def _invalid(call_id: int, text: str) -> _FatalError:
    return _FatalError(encode_fatal(call_id, _SERVER_ERROR, text, pb.FATAL_INVALID_RPC_HEADER))
