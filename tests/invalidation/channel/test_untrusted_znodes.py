"""One znode that is hostile costs itself, and how many are held at once is bounded."""

import logging
from collections.abc import Sequence

import pytest

from nncache.coordination.zookeeper import Create, Znode
from nncache.invalidation.channel.untrusted_znodes import (
    AT_ONCE,
    MAX_REMEMBERED,
    BadZnodes,
    UnreadableZnode,
    each_znode,
)
from tests.coordination.fake_zookeeper import FakeSession, FakeZooKeeper
from tests.invalidation.virtual_time import clock


async def read(zookeeper: FakeSession, paths: Sequence[str]) -> dict[str, bytes | str | None]:
    """Return what was yielded, in its order: data, the path that a refusal names, or None."""
    found: dict[str, bytes | str | None] = {}
    async for path, znode in each_znode(zookeeper, paths):
        match znode:
            case Znode():
                found[path] = znode.data
            case UnreadableZnode():
                found[path] = znode.error.path
            case None:
                found[path] = None
    return found


async def test_one_that_is_refused_or_gone_costs_only_itself() -> None:
    """All others come with their data, in the order asked for."""
    server = FakeZooKeeper(clock)
    server.tree.forbidden = {"/b"}
    async with server.session() as zookeeper:
        await zookeeper.commit([Create(path, path.encode()) for path in ("/a", "/b", "/c")])
        found = await read(zookeeper, ["/c", "/b", "/gone", "/a"])
        assert list(found.items()) == [("/c", b"/c"), ("/b", "/b"), ("/gone", None), ("/a", b"/a")]


async def test_many_are_read_in_bounded_lots() -> None:
    """Each call for many asks for AT_ONCE at most; one refusal has only its lot read again."""
    server = FakeZooKeeper(clock)
    paths = [f"/{number}" for number in range(2 * AT_ONCE + 1)]
    server.tree.forbidden = {paths[-1]}
    async with server.session() as zookeeper:
        await zookeeper.commit([Create(path, b"x") for path in paths])
        calls = zookeeper.stats().calls
        found = await read(zookeeper, paths)
        assert [*found] == paths
        assert zookeeper.stats().calls - calls == len(paths) + 1


async def test_none_are_none() -> None:
    """Nothing is asked."""
    async with FakeZooKeeper(clock).session() as zookeeper:
        assert await read(zookeeper, []) == {}


def test_each_is_told_and_counted_once(caplog: pytest.LogCaptureFixture) -> None:
    """A reader comes by every second; the log shall not fill with it."""
    bad_znodes = BadZnodes()
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            bad_znodes.corrupt("/a", "/a: no number")
            bad_znodes.foreign("/b")
    assert (bad_znodes.corrupt_znodes, bad_znodes.foreign_znodes) == (1, 1)
    assert caplog.messages == [
        "corrupt znode, ignored: /a: no number",
        "foreign znode, ignored: /b",
    ]


def test_there_is_an_end_to_what_is_remembered() -> None:
    """Whoever fills the tree with rubbish fills no memory."""
    bad_znodes = BadZnodes()
    for number in range(MAX_REMEMBERED + 10):
        bad_znodes.foreign(f"/{number}")
    assert bad_znodes.foreign_znodes == MAX_REMEMBERED
