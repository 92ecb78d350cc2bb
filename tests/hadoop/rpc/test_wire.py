"""One TCP connection to a NameNode."""

import asyncio
from collections.abc import Callable

import pytest

from nncache.hadoop.errors import KerberosError, RpcError, RpcLoginError, RpcUnavailableError
from nncache.hadoop.rpc.handshake import SimpleHandshake
from nncache.hadoop.rpc.messages import Reply, RpcSuccess, encode_call
from nncache.hadoop.rpc.proto import client_namenode_pb2 as client
from nncache.hadoop.rpc.sasl import Handshake, SaslHandshake
from nncache.hadoop.rpc.wire import Wire
from nncache.net.addresses import split_address
from tests.hadoop.rpc.fake_gss import FakeContext, FakeTokens
from tests.hadoop.rpc.fake_sasl_server import SaslServer, sasl_server
from tests.hadoop.rpc.fake_server import Answer, Call, Later, Never, Raw, Result, fake_server, frame_of
from tests.patience import HANG_S, until_so

CLIENT_ID = bytes(range(16))
PROTOCOL = "org.apache.hadoop.hdfs.protocol.ClientProtocol"
YES = Result(client.IsFileClosedResponse(result=True))


async def connect(
    address: str,
    tokens: FakeTokens | None = None,
    *,
    ping_interval_s: float = 1000,
) -> Wire:
    """Open a wire; with `tokens` it logs in with Kerberos."""
    host, port = split_address(address)

    def new_wire() -> Wire:
        chosen: Handshake = SimpleHandshake(CLIENT_ID, "alice", PROTOCOL)
        if tokens is not None:
            chosen = SaslHandshake(address, CLIENT_ID, PROTOCOL, tokens.context)
        return Wire(
            address, CLIENT_ID, chosen, max_frame_bytes=1000, ping_interval_s=ping_interval_s, tokens=tokens
        )

    _, wire = await asyncio.get_running_loop().create_connection(new_wire, host, port)
    return wire


async def call(wire: Wire, call_id: int, path: str = "/f") -> Reply:
    """Send one call."""
    request = client.GetFileInfoRequest(src=path)
    async with asyncio.timeout(HANG_S):
        return await wire.call(call_id, encode_call(CLIENT_ID, call_id, PROTOCOL, "getFileInfo", request))


async def end(wire: Wire) -> None:
    """Close the wire."""
    wire.abort("the test is over")
    await wire.wait_closed()


async def test_a_reply_that_nobody_waits_for_is_dropped() -> None:
    """The call was cancelled, or never existed; other replies in the same packet count."""

    def answer(asked: Call) -> Answer:
        header = b"\x10\x00"  # status SUCCESS
        unknown = frame_of(b"\x08\x63" + header, b"")
        return Raw(unknown + frame_of(bytes((8, asked.call_id)) + header, b"mine") + unknown)

    async with fake_server(answer) as server:
        wire = await connect(server.address)
        assert await call(wire, 7) == RpcSuccess(7, b"mine")
        assert await call(wire, 8) == RpcSuccess(8, b"mine")
        await end(wire)


async def test_a_retired_wire_serves_those_who_wait_and_closes() -> None:
    """It takes no new calls, and closes with the last reply."""
    released = asyncio.Event()
    async with fake_server(lambda _: Later(released, YES)) as server:
        wire = await connect(server.address)

        async def retire() -> None:
            await server.until(lambda: len(server.calls) == 2)
            wire.retire()
            assert not wire.is_usable
            released.set()

        first, second, _ = await asyncio.gather(call(wire, 1), call(wire, 2), retire())
        assert isinstance(first, RpcSuccess)
        assert isinstance(second, RpcSuccess)
        async with asyncio.timeout(HANG_S):
            await wire.wait_closed()


async def test_a_retired_idle_wire_closes_at_once() -> None:
    """No reply is pending."""
    async with fake_server(lambda _: YES) as server:
        wire = await connect(server.address)
        wire.retire()
        async with asyncio.timeout(HANG_S):
            await wire.wait_closed()
        with pytest.raises(RpcUnavailableError):
            await call(wire, 1)


async def test_a_lost_connection_settles_all_who_wait() -> None:
    """No call has to wait for its deadline."""
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


async def test_a_handshake_that_fails_ends_the_connection() -> None:
    """Callers that wait for the connection get the reason."""
    async with fake_server(lambda _: Raw(frame_of(b"\x08\x01\x10\x00", b""))) as server:
        wire = await connect(server.address, FakeTokens(FakeContext()))
        server.writers[0].write(frame_of(b"\x08\x01\x10\x00", b""))
        with pytest.raises(RpcError, match="where a SASL message is due"):
            async with asyncio.timeout(HANG_S):
                await wire.wait_ready()
        await wire.wait_closed()


def whole(frames: bytes) -> list[bytes]:
    """Return one piece."""
    return [frames]


def halves(frames: bytes) -> list[bytes]:
    """Cut within a frame, so that each piece holds only parts."""
    return [frames[:6], frames[6:]]


def bytewise(frames: bytes) -> list[bytes]:
    """Cut into single bytes."""
    return [frames[i : i + 1] for i in range(len(frames))]


@pytest.mark.parametrize("mask", [1, 2, 4])
@pytest.mark.parametrize("cut", [whole, halves, bytewise])
async def test_calls_travel_under_what_was_agreed_upon(
    mask: int, cut: Callable[[bytes], list[bytes]]
) -> None:
    """The server may cut the protected data in any way."""
    async with sasl_server(SaslServer(mask, cut)) as server:
        wire = await connect(server.address, FakeTokens(FakeContext()))
        async with asyncio.timeout(HANG_S):
            await wire.wait_ready()
        replies = await asyncio.gather(*(call(wire, number) for number in range(5)))
        assert all(isinstance(reply, RpcSuccess) for reply in replies)
        assert [reply.call_id for reply in replies] == [0, 1, 2, 3, 4]
        await end(wire)


async def test_a_ping_is_protected_too() -> None:
    """Otherwise the server would end the connection."""
    async with sasl_server(SaslServer()) as server:
        wire = await connect(server.address, FakeTokens(FakeContext()), ping_interval_s=0.001)
        async with asyncio.timeout(HANG_S):
            await wire.wait_ready()
            for number in range(50):
                assert isinstance(await call(wire, number), RpcSuccess)
                await asyncio.sleep(0.001)
        await end(wire)


async def test_the_loop_runs_while_a_token_is_waited_for() -> None:
    """The KDC may be slow; data from the server is processed afterwards."""
    tokens = FakeTokens(FakeContext())
    tokens.held = []
    async with sasl_server(SaslServer()) as server:
        wire = await connect(server.address, tokens)
        for _ in range(2):
            await until_so(lambda: bool(tokens.held))
            tokens.held.pop()()
        async with asyncio.timeout(HANG_S):
            await wire.wait_ready()
        await end(wire)


async def test_without_a_token_the_connection_ends_with_the_reason() -> None:
    """It is no error of the server, and it may pass."""
    tokens = FakeTokens(FakeContext())
    tokens.failure = KerberosError("the KDC has not answered")
    async with sasl_server(SaslServer()) as server:
        wire = await connect(server.address, tokens)
        with pytest.raises(RpcLoginError, match="the KDC has not answered") as caught:
            async with asyncio.timeout(HANG_S):
                await wire.wait_ready()
        assert not caught.value.is_sent
        await wire.wait_closed()


async def test_a_token_that_comes_after_the_end_is_dropped() -> None:
    """The caller or the server has given up."""
    tokens = FakeTokens(FakeContext())
    tokens.held = []
    async with sasl_server(SaslServer()) as server:
        wire = await connect(server.address, tokens)
        await until_so(lambda: bool(tokens.held))
        await end(wire)
        tokens.held.pop()()
        await asyncio.sleep(0)
        with pytest.raises(RpcUnavailableError, match="the test is over"):
            await wire.wait_ready()
