"""A server that logs clients in with a fake GSS context, and protects the messages after it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from nncache.hadoop.rpc.proto import client_namenode_pb2 as client
from nncache.hadoop.rpc.proto import rpc_header_pb2 as pb
from tests.hadoop.rpc.fake_gss import FakeContext
from tests.hadoop.rpc.fake_server import frame_of, messages

SASL = -33 % 2**32


@dataclass(slots=True)
class SaslServer:
    """The server's offer and behaviour, and its records."""

    mask: int = 4
    cut: Callable[[bytes], list[bytes]] = lambda frames: [frames]
    """Cuts the frames of a reply into pieces, each protected separately."""
    body: bytes = client.GetFileInfoResponse().SerializeToString()  # of each reply
    address: str = ""
    calls: list[int] = field(default_factory=list)
    contexts: list[bytes] = field(default_factory=list)
    is_silent: bool = False  # after the first token


def sasl(message: pb.RpcSasl) -> bytes:
    """Return a SASL message of the server."""
    header = pb.RpcResponseHeader(call_id=SASL, status=pb.RpcResponseHeader.SUCCESS)
    return frame_of(header.SerializeToString(), message.SerializeToString())


@asynccontextmanager
async def sasl_server(server: SaslServer) -> AsyncIterator[SaslServer]:
    """Run it on a free port of loopback."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await _serve(server, reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.transport.abort()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    host, port = listening.sockets[0].getsockname()
    server.address = f"{host}:{port}"
    try:
        yield server
    finally:
        listening.close()
        await listening.wait_closed()


async def _frame(reader: asyncio.StreamReader) -> list[bytes]:
    return messages(await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big")))


async def _serve(server: SaslServer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    context = FakeContext()
    assert (await reader.readexactly(7))[-1] == 0xDF
    kerberos = pb.RpcSasl.Auth(method="KERBEROS", mechanism="GSSAPI", protocol="nn", server_id="h")
    await _frame(reader)
    writer.write(sasl(pb.RpcSasl(state=pb.RpcSasl.NEGOTIATE, auths=[kerberos])))
    for token in (b"theirs", b"S001" + bytes((server.mask, 0, 255, 255))):
        await _frame(reader)
        if server.is_silent:
            await reader.read()
        writer.write(sasl(pb.RpcSasl(state=pb.RpcSasl.CHALLENGE, token=token)))
    context.wrap(b"", encrypts=False)  # for the offer above
    choice = pb.RpcSasl.FromString((await _frame(reader))[1]).token
    assert context.unwrap(choice, is_encrypted=False)[0] == server.mask
    writer.write(sasl(pb.RpcSasl(state=pb.RpcSasl.SUCCESS)))
    pending = b""
    while True:
        if server.mask == 1:
            pending += await reader.readexactly(4)
            pending += await reader.readexactly(int.from_bytes(pending[-4:], "big"))
        else:
            wrapped = pb.RpcSasl.FromString((await _frame(reader))[1])
            assert wrapped.state == pb.RpcSasl.WRAP
            pending += context.unwrap(wrapped.token, is_encrypted=server.mask == 4)
        replies = b""
        while len(pending) >= 4 and len(pending) >= 4 + int.from_bytes(pending[:4], "big"):
            end = 4 + int.from_bytes(pending[:4], "big")
            header, *rest = messages(pending[4:end])
            pending = pending[end:]
            replies += _answer(server, pb.RpcRequestHeader.FromString(header).call_id, rest)
        for piece in server.cut(replies) if replies else ():
            if server.mask == 1:
                writer.write(piece)
            else:
                token = context.wrap(piece, encrypts=server.mask == 4)
                writer.write(sasl(pb.RpcSasl(state=pb.RpcSasl.WRAP, token=token)))


def _answer(server: SaslServer, call_id: int, rest: list[bytes]) -> bytes:
    if call_id == -3:
        server.contexts.append(rest[0])
        return b""
    if call_id < 0:
        return b""
    server.calls.append(call_id)
    header = pb.RpcResponseHeader(call_id=call_id, status=pb.RpcResponseHeader.SUCCESS)
    return frame_of(header.SerializeToString(), server.body)
