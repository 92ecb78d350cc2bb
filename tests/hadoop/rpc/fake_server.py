"""A Hadoop RPC server with an answer function; it implements the wire format independently."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from google.protobuf.message import Message

from nncache.hadoop.namespace import Namespace
from nncache.hadoop.rpc.proto import client_namenode_pb2 as client
from nncache.hadoop.rpc.proto import rpc_header_pb2 as pb
from tests.patience import HANG_S


@dataclass(frozen=True, slots=True)
class Result:
    """Answer with this message."""

    message: Message


@dataclass(frozen=True, slots=True)
class Failure:
    """Answer with this exception."""

    class_name: str
    text: str
    is_fatal: bool = False
    detail: int = pb.ERROR_APPLICATION


@dataclass(frozen=True, slots=True)
class Raw:
    """Send these bytes verbatim."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Cut:
    """Close the connection instead of answering."""


@dataclass(frozen=True, slots=True)
class Later:
    """Answer when the event is set; other calls are answered before."""

    released: asyncio.Event
    answer: "Answer"


@dataclass(frozen=True, slots=True)
class Never:
    """Do not answer."""


Answer = Result | Failure | Raw | Cut | Later | Never


@dataclass(frozen=True, slots=True)
class Call:
    """A client's call."""

    user: str
    protocol: str
    method: str
    request: bytes
    call_id: int
    connection: int  # number of the server's connection, from 1
    real_user: str = ""  # the proxy user, if any


@dataclass(slots=True)
class FakeServer:
    """A running server; `answer` may be replaced at any time."""

    answer: Callable[[Call], Answer]
    address: str = ""
    calls: list[Call] = field(default_factory=list)
    connections: int = 0
    open: int = 0  # connections that have not ended
    pings: int = 0
    preambles: list[bytes] = field(default_factory=list)
    writers: list[asyncio.StreamWriter] = field(default_factory=list)
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    def cut_all(self) -> None:
        """Close all connections, like a NameNode that ends, or that closes idle ones."""
        for writer in self.writers:
            writer.transport.abort()
        self.writers.clear()

    async def until(self, rule: Callable[[], bool]) -> None:
        """Wait until the rule is true; it is checked whenever something arrives."""
        async with asyncio.timeout(HANG_S), self.changed:
            await self.changed.wait_for(rule)


def messages(frame: bytes) -> list[bytes]:
    """Split a frame into messages, independently of the client's own code."""
    parts = []
    while frame:
        length = shift = 0
        for index, byte in enumerate(frame):
            length |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                frame = frame[index + 1 :]
                break
        parts.append(frame[:length])
        frame = frame[length:]
    return parts


def frame_of(*parts: bytes) -> bytes:
    """Build a frame."""
    body = b""
    for part in parts:
        length = len(part)
        while length > 127:
            body += bytes((length & 127 | 128,))
            length >>= 7
        body += bytes((length,)) + part
    return len(body).to_bytes(4, "big") + body


def failure_frame(call_id: int, failure: Failure) -> bytes:
    """Encode an exception as a NameNode does, with its stack trace."""
    header = pb.RpcResponseHeader(
        call_id=call_id % 2**32,
        status=pb.RpcResponseHeader.FATAL if failure.is_fatal else pb.RpcResponseHeader.ERROR,
        exception_class_name=failure.class_name.encode(),
        error_message=f"{failure.text}\n\tat org.apache.hadoop.Fake.call(Fake.java:1)\n".encode(),
        error_detail=failure.detail,
    )
    return frame_of(header.SerializeToString())


@asynccontextmanager
async def fake_server(answer: Callable[[Call], Answer]) -> AsyncIterator[FakeServer]:
    """Run a server on a free port of loopback."""
    fake = FakeServer(answer)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        fake.writers.append(writer)
        fake.connections += 1
        fake.open += 1
        try:
            async with asyncio.TaskGroup() as tasks:
                await _serve(fake, reader, writer, tasks)
        except* (asyncio.IncompleteReadError, ConnectionError):
            pass
        writer.transport.abort()
        fake.open -= 1
        async with fake.changed:
            fake.changed.notify_all()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    fake.address = f"{host}:{port}"
    try:
        yield fake
    finally:
        server.close()
        fake.cut_all()
        await server.wait_closed()


async def _serve(
    fake: FakeServer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, tasks: asyncio.TaskGroup
) -> None:
    number = fake.connections
    fake.preambles.append(await reader.readexactly(7))
    user = real_user = ""
    while True:
        length = int.from_bytes(await reader.readexactly(4), "big")
        head, *rest = messages(await reader.readexactly(length))
        header = pb.RpcRequestHeader.FromString(head)
        if header.call_id == -3:
            user_info = pb.IpcConnectionContext.FromString(rest[0]).user_info
            user, real_user = user_info.effective_user, user_info.real_user
        elif header.call_id == -4:
            fake.pings += 1
        elif len(rest) < 2:
            raise ConnectionError("no call: cut off, whoever sent it sees that")
        else:
            asked = pb.RequestHeader.FromString(rest[0])
            call = Call(
                user,
                asked.declaring_class_protocol_name,
                asked.method_name,
                rest[1],
                header.call_id,
                number,
                real_user,
            )
            fake.calls.append(call)
            tasks.create_task(_answer(writer, header.call_id, fake.answer(call)))
        async with fake.changed:
            fake.changed.notify_all()


async def _answer(writer: asyncio.StreamWriter, call_id: int, answer: Answer) -> None:
    match answer:
        case Result(message):
            header = pb.RpcResponseHeader(call_id=call_id, status=pb.RpcResponseHeader.SUCCESS)
            writer.write(frame_of(header.SerializeToString(), message.SerializeToString()))
        case Failure():
            writer.write(failure_frame(call_id, answer))
            if answer.is_fatal:
                writer.close()
        case Raw(data):
            writer.write(data)
        case Cut():
            writer.transport.abort()
        case Later(released, then):
            await released.wait()
            await _answer(writer, call_id, then)
        case Never():
            pass


def version(namespace: Namespace) -> Result:
    """Return the answer to versionRequest."""
    reply = client.VersionResponse()
    reply.info.block_pool_id = namespace.block_pool
    reply.info.storage_info.cluster_id = namespace.cluster_id
    return Result(reply)
