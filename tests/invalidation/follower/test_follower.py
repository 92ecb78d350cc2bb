"""Follower: it skips and repeats nothing, whatever happens to the connection, and does not wait needlessly."""

import asyncio
import copy

import pytest

from nncache.hadoop.change import Closed, Opened, Touched, Vanished
from nncache.invalidation.channel.records import StaleChanges
from nncache.invalidation.stream import ChangeBatch, FiltersInForce
from tests.invalidation.channel.fake_cluster import JOE, FakeCluster
from tests.invalidation.virtual_time import clock


async def test_a_change_takes_two_round_trips_after_its_watch(followed: FakeCluster) -> None:
    """One reads the value, the other the record that it names."""
    followed.unlink("/joe/first")
    await followed.next_changes()
    await asyncio.sleep(0.3)
    published_at = clock()
    txid = followed.unlink("/joe/a", "/ann/b")
    assert await followed.next_changes() == (("/joe/a",), txid)
    round_trip = followed.server.latency_s
    assert clock() - published_at == pytest.approx(2.5 * round_trip, abs=1e-4)


async def test_a_lost_connection_costs_nothing_but_time(fake_cluster: FakeCluster) -> None:
    """The position stays; all records published in between follow once and in order."""
    async with fake_cluster.stream:
        await fake_cluster.next_covered(0)
        for lasts_s in (0.1, 3.0, 60.0):
            fake_cluster.server.disconnect()
            txids = [fake_cluster.unlink("/joe/a"), fake_cluster.unlink("/joe/b")]
            await asyncio.sleep(lasts_s)
            fake_cluster.server.connect()
            assert [(await fake_cluster.next_changes())[1] for _ in txids] == txids
        fake_cluster.server.expire(fake_cluster.session)
        txid = fake_cluster.unlink("/joe/c")
        assert await fake_cluster.next_changes() == (("/joe/c",), txid)
    assert fake_cluster.stream.stats().records.resumes == 4
    assert fake_cluster.stream.stats().session.sessions == 3


async def test_a_server_that_is_behind_is_no_log_that_went_back(
    followed: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """HitsKept: a new session at a server that lags behind forgets nothing."""
    behind, ahead = copy.deepcopy(followed.server.tree), followed.server.tree
    followed.press.change_filters(JOE | {"ann": "/ann/*"})
    followed.unlink("/joe/a")
    await followed.next_changes()

    async def catch_up(_path: str) -> None:
        """Let the server catch up with earlier commits."""
        followed.server.tree = ahead

    monkeypatch.setattr(followed.session, "sync", catch_up)
    followed.server.tree = behind
    followed.server.expire(followed.session)
    async with asyncio.TaskGroup() as tasks:
        reading = tasks.create_task(followed.next_changes())
        await asyncio.sleep(1)
        txid = followed.unlink("/joe/b")
    assert reading.result() == (("/joe/b",), txid)


async def test_a_connection_lost_under_any_read_is_survived(followed: FakeCluster) -> None:
    """L4: whenever the connection is lost, nothing is skipped or repeated."""
    for step in range(60):
        txids = [followed.unlink(f"/joe/{number}") for number in range(1 + step % 6)]
        if step % 3 == 0:
            followed.press.change_filters({"joe": "/joe/*", "more": f"/more{step}"})
            txids.append(followed.unlink("/joe/x"))
        await asyncio.sleep(0.0002 * step)
        followed.server.disconnect(followed.session)
        await asyncio.sleep(0.001)
        followed.server.connect()
        assert [(await followed.next_changes())[1] for _ in txids] == txids


async def test_a_tree_made_again_ends_a_stream_without_records(fake_cluster: FakeCluster) -> None:
    """No chain is known before the first record; a follower then reads the filters again."""
    async with fake_cluster.stream as stream:
        assert await anext(stream) == FiltersInForce({"joe-2": "/joe/*"})
        for path in reversed(fake_cluster.server.tree.paths):
            fake_cluster.press.delete(path)
        fake_cluster.press.begin()
        txid = fake_cluster.unlink("/joe/a")
        assert await fake_cluster.next_of(FiltersInForce, ChangeBatch) == FiltersInForce({"joe-4": "/joe/*"})
        assert await fake_cluster.next_changes() == (("/joe/a",), txid)
        assert fake_cluster.session.stats().connections == 1


async def test_a_cancelled_wait_has_lost_nothing(fake_cluster: FakeCluster) -> None:
    """S3: however often the reader cancels a read and repeats it."""
    async with fake_cluster.stream:
        fake_cluster.press.max_records = 100
        seen: list[int] = []
        txids: list[int] = []
        for _ in range(300):
            if len(txids) < 40:
                txids.append(fake_cluster.unlink("/joe/a"))
            try:
                async with asyncio.timeout(0.0007):
                    seen.append((await fake_cluster.next_changes())[1])
            except TimeoutError:
                continue
        assert seen == txids


async def test_a_notification_that_is_lost_delays_by_half_a_second(followed: FakeCluster) -> None:
    """While coverage is awaited, the missing watch event proves nothing."""
    await asyncio.sleep(1)
    followed.server.forget_watches(followed.session)
    unlinked_at = clock()
    followed.unlink("/joe/a")
    followed.pool.probe()
    await followed.next_covered(unlinked_at)
    assert clock() - unlinked_at < 0.53


async def test_a_reader_that_does_not_come_is_not_read_for_without_end(fake_cluster: FakeCluster) -> None:
    """A bounded number of items waits in memory; the rest stays in ZooKeeper."""
    fake_cluster.press.max_records = 1000
    async with fake_cluster.stream:
        await fake_cluster.next_covered(0)
        txids = [fake_cluster.unlink("/joe/a") for _ in range(500)]
        await asyncio.sleep(5)
        assert fake_cluster.stream.stats().records.records_read < 100
        assert [(await fake_cluster.next_changes())[1] for _ in txids] == txids


async def test_a_partly_read_record_is_applied_as_a_whole(followed: FakeCluster) -> None:
    """GapFlush: after a restore of ZooKeeper the publisher may merge two earlier records into one.

    A merged change has an early transaction id. What ended a two-step write then must not end one that began since.
    """
    earlier = copy.deepcopy((followed.server.tree, followed.press.state))
    followed.unlink("/joe/a")
    assert await followed.next_changes() == (("/joe/a",), 11)
    followed.server.disconnect(followed.session)
    followed.server.tree, followed.press.state = earlier
    merged = (
        (11, Vanished("/joe")),
        (11, Opened("/joe/f")),
        (11, Closed("/joe/f")),
        (12, Closed("/joe/g")),
    )
    followed.press.commit(*followed.press.cache_record(StaleChanges(merged), 12))
    followed.server.connect()
    assert await followed.next_of(ChangeBatch) == ChangeBatch(
        (
            (11, Vanished("/joe")),
            (11, Touched("/joe/f")),
            (11, Touched("/joe/f")),
            (12, Closed("/joe/g")),
        ),
        12,
    )


async def test_filters_are_read_anew_over_another_connection(fake_cluster: FakeCluster) -> None:
    """GapFlush: in a restored ZooKeeper the same generation may mean other filters."""
    async with fake_cluster.stream:
        fake_cluster.unlink("/joe/a")
        await fake_cluster.next_changes()
        earlier = copy.deepcopy((fake_cluster.server.tree, fake_cluster.press.state))
        fake_cluster.press.change_filters(JOE | {"ann": "/ann/*"})
        while "/ann/*" not in await fake_cluster.next_filters():
            continue
        generation = fake_cluster.press.generation
        fake_cluster.server.disconnect(fake_cluster.session)
        fake_cluster.server.tree, fake_cluster.press.state = earlier
        unmatched = fake_cluster.unlink("/ann/a")
        fake_cluster.press.change_filters(JOE | {"ann": "/ann/*"})
        assert fake_cluster.press.generation == generation
        fake_cluster.server.connect()
        assert await fake_cluster.next_of(FiltersInForce, ChangeBatch) == FiltersInForce(
            {"joe-2": "/joe/*", "ann-4": "/ann/*"}
        )
        assert await fake_cluster.next_changes() == ((), unmatched)
