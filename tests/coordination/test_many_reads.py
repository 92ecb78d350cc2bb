"""One call reads many znodes, each with its own result. The server is real."""

import asyncio
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from kazoo.exceptions import NoNodeError
from kazoo.protocol.serialization import MultiHeader, multiheader_struct

from nncache.coordination.many_reads import AT_ONCE, MultiRead
from nncache.coordination.session import KazooSession
from nncache.coordination.settings import ZooKeeperSettings
from nncache.coordination.zookeeper import CreateOp
from nncache.testbed.zookeepers import ZooKeeperServer
from tests.coordination.simulations import connected

LONG_S = 10.0
NO_SUCH_CALL = 77
END = multiheader_struct.pack(-1, True, -1)
NONE_THERE = multiheader_struct.pack(-1, False, -101) + (-101).to_bytes(4, "big", signed=True)

ON_UVLOOP = pytest.mark.asyncio(loop_factories=["uvloop"])


@pytest.fixture
def path() -> str:
    """Return a path for this test only."""
    return f"/many-reads-{uuid.uuid4().hex[:12]}"


@ON_UVLOOP
async def test_so_many_take_one_call(zookeeper_server: ZooKeeperServer, path: str) -> None:
    """One more path takes a second call; no path takes no call."""
    async with connected(zookeeper_server.address) as session:
        await session.commit([CreateOp(path, b"\xff" * 1000)])
        for count, calls in ((0, 0), (1, 1), (AT_ONCE, 1), (AT_ONCE + 1, 2)):
            before = session.stats().calls
            found = await session.get_many([path] * count)
            assert [each and each.data for each in found] == [b"\xff" * 1000] * count
            assert session.stats().calls - before == calls
        assert await session.get_many([path]) == (await session.get(path),)


@ON_UVLOOP
async def test_a_server_without_the_call_is_asked_for_each(
    zookeeper_server: ZooKeeperServer, path: str
) -> None:
    """It refuses the call once and closes the connection; it never gets that call again.

    So a command such as `nncache registry ls`, which makes one call, works as well.
    """
    async with _older(zookeeper_server.address) as address:
        settings = ZooKeeperSettings(zookeeper=(address,))
        async with KazooSession(settings, time.monotonic) as session:
            await session.wait_connected(LONG_S)
            await session.commit([CreateOp(path, b"1")])
            (znode,) = await session.get_many([path])
            assert (znode and znode.data, session.stats().connections) == (b"1", 2)
            before = session.stats().calls
            found = await session.get_many([path, f"{path}-none", path])
            assert [each and each.data for each in found] == [b"1", None, b"1"]
            assert session.stats().calls - before == 3


@pytest.mark.parametrize(("replies", "paths"), [(1, 2), (2, 1), (0, 1)])
def test_each_path_has_a_reply(replies: int, paths: int) -> None:
    """Any other number of replies does not answer the request."""
    request = MultiRead(["/a"] * paths)
    with pytest.raises(ValueError, match=f"{replies} replies to {paths} reads"):
        request.deserialize(NONE_THERE * replies + END, 0)


def test_what_is_not_there_is_a_reply() -> None:
    """NoNode is the reply for a missing path, also if it is the only reply."""
    (reply,) = MultiRead(["/a"]).deserialize(NONE_THERE + END, 0)
    assert isinstance(reply, NoNodeError)


def test_the_request_ends_with_a_header_that_says_so() -> None:
    """The last header is as MultiOperationRecord of ZooKeeper 3.6 writes it."""
    header, _ = MultiHeader.deserialize(MultiRead([]).serialize(), 0)
    assert header.done


@asynccontextmanager
async def _older(server: str) -> AsyncIterator[str]:
    """Yield the address of a relay to the server that replaces multiRead with a call that the server does not know."""
    host, _, port = server.rpartition(":")
    ends: list[asyncio.StreamWriter] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server_reader, server_writer = await asyncio.open_connection(host, int(port))
        ends.extend((writer, server_writer))
        async with asyncio.TaskGroup() as both:
            both.create_task(_requests(reader, server_writer))
            both.create_task(_bytes(server_reader, writer))
        for end in (writer, server_writer):
            end.close()

    async with await asyncio.start_server(serve, "127.0.0.1") as listening:
        address, at = listening.sockets[0].getsockname()
        yield f"{address}:{at}"
        for end in ends:
            end.close()


async def _requests(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    is_first = True  # the request for a session has no header
    while length := await reader.read(4):
        request = await reader.readexactly(int.from_bytes(length, "big"))
        if not is_first and request[4:8] == MultiRead.type.to_bytes(4, "big"):
            request = request[:4] + NO_SUCH_CALL.to_bytes(4, "big") + request[8:]
        writer.write(length + request)
        is_first = False
    writer.close()


async def _bytes(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while chunk := await reader.read(65536):
        writer.write(chunk)
    writer.close()
