"""RecordReader: all records of one chain, once and in order; a record that is not proven to come next is a gap."""

import logging
from collections.abc import Sequence

import pytest

from nncache.coordination.zookeeper import CreateOp, Znode
from nncache.invalidation.channel.records import StaleChanges
from nncache.invalidation.channel.untrusted_znodes import (
    AT_ONCE,
    MAX_REMEMBERED,
    BadZnodes,
    UnreadableZnode,
    each_znode,
)
from nncache.invalidation.errors import MissingEventsError
from tests.coordination.fake_zookeeper import FakeSession, FakeZooKeeper
from tests.invalidation.channel.fake_cluster import FakeCluster
from tests.invalidation.channel.press import ZNODES
from tests.invalidation.virtual_time import clock


async def test_many_records_come_in_order_and_once(fake_cluster: FakeCluster) -> None:
    """Order holds for any number of records between a watch event and the read."""
    fake_cluster.press.max_records = 1000
    async with fake_cluster.stream:
        for burst in (1, 2, 3, 4, 5, 31, 32, 33, 34, 100):
            txids = [fake_cluster.unlink(f"/joe/{burst}/{number}", "/joe/x") for number in range(burst)]
            assert [(await fake_cluster.next_changes())[1] for _ in txids] == txids


async def test_records_trimmed_before_they_were_read_end_the_life(fake_cluster: FakeCluster) -> None:
    """GapFlush: a missing record is noticed and reported."""
    async with fake_cluster.stream:
        await fake_cluster.next_covered(0)
        for _ in range(fake_cluster.press.max_records + 1):
            fake_cluster.unlink("/joe/a")
        with pytest.raises(MissingEventsError, match="transactions 11 to 11 are missing"):
            await fake_cluster.next_changes()
    async with fake_cluster.stream:
        txid = fake_cluster.unlink("/joe/b")
        assert await fake_cluster.next_changes() == (("/joe/b",), txid)


async def test_as_many_records_as_are_kept_are_no_gap(followed: FakeCluster) -> None:
    """GapFlush: a reader that is within the kept records does not flush."""
    txids = [followed.unlink("/joe/a") for _ in range(followed.press.max_records)]
    assert [(await followed.next_changes())[1] for _ in txids] == txids


@pytest.mark.parametrize("data", [b"", b"9", b"x", b"010"])
async def test_a_value_that_goes_back_or_is_none_ends_the_life(followed: FakeCluster, data: bytes) -> None:
    """GapFlush: the reader's position is ahead of the published one."""
    followed.press.put(ZNODES.cache, data)
    with pytest.raises(MissingEventsError, match=r"went back|not a transaction id"):
        await followed.next_changes()


@pytest.mark.parametrize(
    "data", [b"", b"{}", b'{"version":1,"chain":"cache-1","previous":3,"txid":11}', b"\xff"]
)
async def test_a_corrupt_record_ends_the_life(fake_cluster: FakeCluster, data: bytes) -> None:
    """GapFlush: its content is unknown; the stream continues after it."""
    async with fake_cluster.stream:
        await fake_cluster.next_covered(0)
        fake_cluster.server.disconnect(fake_cluster.session)
        txid = fake_cluster.unlink("/joe/a")
        fake_cluster.press.put(f"{ZNODES.cache}/{txid}", data)
        fake_cluster.server.connect()
        with pytest.raises(MissingEventsError, match=f"{ZNODES.cache}/{txid}"):
            await fake_cluster.next_changes()
    async with fake_cluster.stream:
        asked_at = clock()
        fake_cluster.stream.request_probe()
        assert (await fake_cluster.next_covered(asked_at)).txid == txid
        txid = fake_cluster.unlink("/joe/b")
        assert await fake_cluster.next_changes() == (("/joe/b",), txid)
    assert fake_cluster.stream.stats().records.corrupt_znodes == 1


async def test_foreign_children_are_ignored(fake_cluster: FakeCluster) -> None:
    """Each foreign child is counted once."""
    async with fake_cluster.stream:
        await fake_cluster.next_covered(0)
        fake_cluster.press.put(f"{ZNODES.cache}/readme", b"hello")
        for _ in range(2):
            fake_cluster.server.disconnect(fake_cluster.session)
            txids = [fake_cluster.unlink("/joe/a") for _ in range(6)]
            fake_cluster.server.connect()
            assert [(await fake_cluster.next_changes())[1] for _ in txids] == txids
    assert fake_cluster.stream.stats().records.foreign_znodes == 1


async def test_a_chain_that_is_missing_its_newest_record_ends_the_life(followed: FakeCluster) -> None:
    """GapFlush: the stream's value shows that the missing record existed."""
    operations = followed.press.cache_record(StaleChanges(()), 11)[1:]
    followed.press.commit(*operations)
    with pytest.raises(MissingEventsError, match="record of transaction 11 is gone") as caught:
        await followed.next_changes()
    assert (caught.value.first_txid, caught.value.last_txid) == (11, 11)


async def read(zookeeper: FakeSession, paths: Sequence[str]) -> dict[str, bytes | str | None]:
    """Return the results in their order: data, the path that a refusal names, or None."""
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
    """All others arrive with their data, in the order requested."""
    server = FakeZooKeeper(clock)
    server.tree.forbidden = {"/b"}
    async with server.session() as zookeeper:
        await zookeeper.commit([CreateOp(path, path.encode()) for path in ("/a", "/b", "/c")])
        found = await read(zookeeper, ["/c", "/b", "/gone", "/a"])
        assert list(found.items()) == [("/c", b"/c"), ("/b", "/b"), ("/gone", None), ("/a", b"/a")]


async def test_many_are_read_in_bounded_lots() -> None:
    """Each call for many requests at most AT_ONCE; after a refusal only its lot is read again."""
    server = FakeZooKeeper(clock)
    paths = [f"/{number}" for number in range(2 * AT_ONCE + 1)]
    server.tree.forbidden = {paths[-1]}
    async with server.session() as zookeeper:
        await zookeeper.commit([CreateOp(path, b"x") for path in paths])
        calls = zookeeper.stats().calls
        found = await read(zookeeper, paths)
        assert [*found] == paths
        assert zookeeper.stats().calls - calls == len(paths) + 1


def test_each_is_logged_and_counted_once(caplog: pytest.LogCaptureFixture) -> None:
    """Readers return every second, and must not fill the log."""
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
    """Garbage in the tree does not fill the memory."""
    bad_znodes = BadZnodes()
    for number in range(MAX_REMEMBERED + 10):
        bad_znodes.foreign(f"/{number}")
    assert bad_znodes.foreign_znodes == MAX_REMEMBERED
