"""One TCP connection to a NameNode."""

import asyncio

import pytest

from nncache.hadoop.addresses import split_address
from nncache.hadoop.errors import FramingError, RpcError, RpcUnavailableError
from nncache.hadoop.rpc.handshake import Handshake, SimpleHandshake
from nncache.hadoop.rpc.messages import Reply, Succeeded, encode_call, parse_message
from nncache.hadoop.rpc.proto import client_namenode_pb2 as client
from nncache.hadoop.rpc.wire import Wire
from nncache.testbed import Cluster
from tests.hadoop.rpc.fake_server import Answer, Call, Later, Never, Raw, Result, fake_server, frame_of
from tests.hadoop.rpc.sasl_simple import SaslSimpleHandshake
from tests.patience import HANG_S

CLIENT_ID = bytes(range(16))
PROTOCOL = "org.apache.hadoop.hdfs.protocol.ClientProtocol"
YES = Result(client.IsFileClosedResponse(result=True))


async def connect(address: str, handshake: Handshake | None = None) -> Wire:
    """Open a wire."""
    host, port = split_address(address)

    def new_wire() -> Wire:
        simple = SimpleHandshake(CLIENT_ID, "alice", PROTOCOL)
        return Wire(address, CLIENT_ID, handshake or simple, max_frame_bytes=1000, ping_interval_s=1000)

    _, wire = await asyncio.get_running_loop().create_connection(new_wire, host, port)
    return wire


async def call(wire: Wire, call_id: int, path: str = "/f") -> Reply:
    """Send one call."""
    request = client.GetFileInfoRequest(src=path)
    async with asyncio.timeout(HANG_S):
        return await wire.call(call_id, encode_call(CLIENT_ID, call_id, PROTOCOL, "getFileInfo", request))


async def end(wire: Wire) -> None:
    """Close it."""
    wire.abort("the test is over")
    await wire.wait_closed()


async def test_a_reply_that_nobody_waits_for_is_dropped() -> None:
    """Of a call that was cancelled, or of none at all; what comes with it in one packet counts."""

    def answer(asked: Call) -> Answer:
        header = b"\x10\x00"  # status SUCCESS
        unknown = frame_of(b"\x08\x63" + header, b"")
        return Raw(unknown + frame_of(bytes((8, asked.call_id)) + header, b"mine") + unknown)

    async with fake_server(answer) as server:
        wire = await connect(server.address)
        assert await call(wire, 7) == Succeeded(7, b"mine")
        assert await call(wire, 8) == Succeeded(8, b"mine")
        await end(wire)


async def test_a_retired_wire_serves_those_who_wait_and_closes() -> None:
    """No new call is meant for it; with the last reply it is gone."""
    released = asyncio.Event()
    async with fake_server(lambda _: Later(released, YES)) as server:
        wire = await connect(server.address)

        async def retire() -> None:
            await server.until(lambda: len(server.calls) == 2)
            wire.retire()
            assert not wire.is_usable
            released.set()

        first, second, _ = await asyncio.gather(call(wire, 1), call(wire, 2), retire())
        assert isinstance(first, Succeeded)
        assert isinstance(second, Succeeded)
        async with asyncio.timeout(HANG_S):
            await wire.wait_closed()


async def test_a_wire_that_is_retired_with_nobody_waiting_closes_at_once() -> None:
    """There is nothing to wait for."""
    async with fake_server(lambda _: YES) as server:
        wire = await connect(server.address)
        wire.retire()
        async with asyncio.timeout(HANG_S):
            await wire.wait_closed()
        with pytest.raises(RpcUnavailableError):
            await call(wire, 1)


async def test_a_lost_connection_settles_all_who_wait() -> None:
    """Nobody is left waiting for their deadline."""
    async with fake_server(lambda _: Never()) as server:
        wire = await connect(server.address)

        async def cut() -> None:
            await server.until(lambda: len(server.calls) == 3)
            server.cut_all()

        *outcomes, _ = await asyncio.gather(
            *(call(wire, number) for number in range(3)), cut(), return_exceptions=True
        )
        assert [type(outcome) for outcome in outcomes] == [RpcUnavailableError] * 3
        assert not wire.is_usable


async def test_a_frame_that_is_too_large_ends_the_connection() -> None:
    """No reply makes the proxy collect without bound."""
    async with fake_server(lambda _: Raw((1001).to_bytes(4, "big"))) as server:
        wire = await connect(server.address)
        with pytest.raises(FramingError, match="1001"):
            await call(wire, 1)
        await wire.wait_closed()


async def test_a_handshake_that_fails_ends_the_connection() -> None:
    """Whoever waits for the connection to be ready learns why it never will be."""
    async with fake_server(lambda _: Raw(frame_of(b"\x08\x01\x10\x00", b""))) as server:
        wire = await connect(server.address, SaslSimpleHandshake(CLIENT_ID, "alice"))
        server.writers[0].write(frame_of(b"\x08\x01\x10\x00", b""))
        with pytest.raises(RpcError, match="does not negotiate"):
            async with asyncio.timeout(HANG_S):
                await wire.wait_ready()
        await wire.wait_closed()


async def test_a_handshake_of_several_rounds(cluster: Cluster) -> None:
    """A real NameNode negotiates over the same seam at which Kerberos will stand, and then answers calls."""
    handshake = SaslSimpleHandshake(CLIENT_ID, cluster.superuser)
    wire = await connect(cluster.namenodes[0].rpc, handshake)
    assert wire.is_usable
    async with asyncio.timeout(HANG_S):
        await wire.wait_ready()
    assert "SIMPLE" in handshake.offered
    reply = await call(wire, 0, "/")
    assert isinstance(reply, Succeeded)
    assert parse_message(client.GetFileInfoResponse, reply.body).fs.file_type == 1
    await end(wire)
