"""Bodies of any size pass through in little memory, in both directions."""

import asyncio
import multiprocessing
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

import pytest

from nncache.hadoop.election_view import NameNode
from tests.proxy.direct_fixture import HEAD, LIST
from tests.proxy.wire import HEAD_END, Heard, RawClient, RawNameNode, proxy_to

pytestmark = pytest.mark.long

MIB: Final = 1 << 20
MOST: Final = 32 * MIB
LISTING: Final = 200 * MIB
UPLOAD: Final = 1024 * MIB
PIECE: Final = 65_536
CHUNK: Final = b"%x\r\n%b\r\n" % (PIECE, b"x" * PIECE)


def peak_bytes() -> int:
    """Return the peak memory of this process (VmHWM of proc_pid_status(5))."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


def serve(namenode: NameNode, pipe: Connection) -> None:
    """Run a proxy; answer each message on the pipe with the peak memory."""

    async def run() -> None:
        async with proxy_to(namenode) as proxy:
            pipe.send(proxy.port)
            while await asyncio.to_thread(pipe.recv):
                pipe.send(peak_bytes())

    asyncio.run(run())


@asynccontextmanager
async def proxy_of(namenode: NameNode) -> AsyncIterator[tuple[int, Callable[[], int]]]:
    """Run a proxy in a process of its own; yield its port, and a function that returns its peak memory in bytes."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=serve, args=(namenode, theirs))
    process.start()

    def peak() -> int:
        ours.send(True)
        return int(ours.recv())

    try:
        yield await asyncio.to_thread(ours.recv), peak
    finally:
        ours.send(False)
        await asyncio.to_thread(process.join)
    assert process.exitcode == 0


async def test_a_listing_of_200_mib_passes_in_little_memory() -> None:
    """This holds with Content-Length and with chunks."""

    async def counted(heard: Heard) -> None:
        await heard.say(HEAD + b"Content-Length: %d\r\n\r\n" % LISTING)
        for _ in range(LISTING // PIECE):
            await heard.say(CHUNK[-PIECE - 2 : -2])

    async def chunked(heard: Heard) -> None:
        await heard.say(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
        for _ in range(LISTING // PIECE):
            await heard.say(CHUNK)
        await heard.say(b"0\r\n\r\n")

    async def small(heard: Heard) -> None:
        await heard.say(HEAD + b"Content-Length: 2\r\n\r\n{}")

    async with RawNameNode(small, counted, chunked) as namenode, proxy_of(namenode.namenode) as (port, peak):
        async with RawClient.connected(port) as client:
            client.send(LIST)
            await client.reply()
            before = peak()
            for _ in range(2):
                client.send(LIST)
                head = await client.reader.readuntil(HEAD_END)
                assert await rest_of(client, is_chunked=b"chunked" in head) == LISTING
        assert peak() - before < MOST


async def rest_of(client: RawClient, *, is_chunked: bool) -> int:
    """Read a body piece by piece and return its length."""
    if not is_chunked:
        left = LISTING
        while left and (piece := await client.reader.read(min(left, PIECE))):
            left -= len(piece)
        return LISTING - left
    size = 0
    while length := int(await client.reader.readline(), 16):
        await client.reader.readexactly(length + 2)
        size += length
    await client.reader.readexactly(2)
    return size


async def test_a_body_of_a_gib_passes_in_little_memory() -> None:
    """The NameNode reads the whole body before it answers."""
    received = 0

    async def takes_all(heard: Heard) -> None:
        nonlocal received
        while received < UPLOAD and (piece := await heard.reader.read(MIB)):
            received += len(piece)
        await heard.say(HEAD + b"Content-Length: 2\r\n\r\n{}")

    async def small(heard: Heard) -> None:
        await heard.say(HEAD + b"Content-Length: 2\r\n\r\n{}")

    async with RawNameNode(small, takes_all) as namenode, proxy_of(namenode.namenode) as (port, peak):
        async with RawClient.connected(port) as client:
            client.send(LIST)
            await client.reply()
            before = peak()
            client.send(
                b"PUT /webhdfs/v1/d?op=MKDIRS HTTP/1.1\r\nHost: nn\r\nContent-Length: %d\r\n\r\n" % UPLOAD
            )
            for _ in range(UPLOAD // PIECE):
                client.send(b"y" * PIECE)
                await client.writer.drain()
            assert (await client.reply()).status == 200
        assert received == UPLOAD
        assert peak() - before < MOST
