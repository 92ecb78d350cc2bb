"""The behaviour of a real NameNode at the limits that the proxy relies on."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from nncache.hadoop.calls import PREFIX
from nncache.hadoop.paths import MAX_PATH_CHARS, MAX_PATH_LEVELS
from nncache.testbed import Cluster
from tests.cluster import make_directory
from tests.contracts.test_odd_requests import DEADLINE_S, Asker


@asynccontextmanager
async def place(cluster: Cluster) -> AsyncIterator[tuple[Asker, str]]:
    """Yield a client and a separate directory, one level deep."""
    directory, asker = f"/t{uuid.uuid4().hex[:12]}", Asker(cluster)
    await asyncio.to_thread(make_directory, cluster, directory)
    try:
        yield asker, directory
    finally:
        await asker.send("DELETE", asker.target(f"{PREFIX}{directory}?op=DELETE&recursive=true"))
        await asker.close()


async def test_nothing_is_made_beyond_the_limits(cluster: Cluster) -> None:
    """OwnWrites needs neither a window nor an invalidation beyond them: `nncache.hadoop.paths.exceeds_limits`."""
    async with place(cluster) as (asker, directory):
        deepest = directory + (MAX_PATH_LEVELS - 1) * "/a"
        name = "/" + 200 * "b"
        whole, rest = divmod(MAX_PATH_CHARS - len(directory), len(name))
        longest = directory + whole * name + ("/" + (rest - 1) * "c" if rest > 1 else "")
        for path in (deepest, longest):
            status, _ = await asker.send("PUT", asker.target(f"{PREFIX}{path}?op=MKDIRS"))
            assert status == 200, len(path)
            _, body, events = await asker.events_of("PUT", asker.target(f"{PREFIX}{path}x/y?op=MKDIRS"))
            assert b"too long" in body.lower()
            assert not events
        for path in (f"{deepest}/z", f"{longest}/z"):
            target = asker.target(f"{PREFIX}{directory}?op=RENAME&destination={path}")
            _, body, events = await asker.events_of("PUT", target)
            assert b"too long" in body.lower()
            assert not events


async def test_a_renamed_directory_takes_what_is_in_it_beyond_them(cluster: Cluster) -> None:
    """So a rename to such a place still invalidates its parent, but no path there is cached."""
    async with place(cluster) as (asker, directory):
        deep = (MAX_PATH_LEVELS - 10) * "/a"
        for top in ("/from", "/to"):
            await asker.send("PUT", asker.target(f"{PREFIX}{directory}{top}{deep}?op=MKDIRS"))
        destination = f"{directory}/to/a/a/a/a/a/a/a/a/a/a/b"
        moved = asker.target(f"{PREFIX}{directory}/from?op=RENAME&destination={destination}")
        assert await asker.send("PUT", moved) == (200, b'{"boolean":true}')
        beyond = destination + deep
        assert beyond.count("/") > MAX_PATH_LEVELS
        status, _ = await asker.send("GET", asker.target(f"{PREFIX}{beyond}?op=GETFILESTATUS"))
        assert status == 200
        status, _ = await asker.send("DELETE", asker.target(f"{PREFIX}{beyond}?op=DELETE"))
        assert status == 200


@pytest.mark.parametrize("fields", ["Host: a\r\nHost: a", "Host: a\r\nX: 1\r\nhost:a"])
async def test_equal_hosts_are_answered(cluster: Cluster, fields: str) -> None:
    """Verbatim: `nncache.net.http1.head.read_head` keeps one of equal Host fields."""
    host, _, port = cluster.namenodes[0].http.rpartition(":")
    async with asyncio.timeout(DEADLINE_S):
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(
            f"GET {PREFIX}/?op=GETFILESTATUS HTTP/1.1\r\n{fields}\r\nConnection: close\r\n\r\n".encode()
        )
        answer = await reader.read()
        writer.close()
        await writer.wait_closed()
    assert answer.startswith(b"HTTP/1.1 200 ")
