"""Follower: nothing skipped, nothing twice, whatever happens to the connection; and as soon as can be."""

import asyncio
import copy

import pytest

from nncache.hadoop.change import Closed, Opened, Touched, Vanished
from nncache.invalidation.channel.records import Stale
from nncache.invalidation.errors import ChannelUnavailableError, MissingEventsError
from nncache.invalidation.stream import Changes, Filters
from tests.invalidation.channel.stage import JOE, Stage, staged
from tests.invalidation.virtual_time import clock


async def test_a_change_is_there_two_round_trips_after_the_notification() -> None:
    """The value, and the record that it names: nothing else is waited for."""
    async with staged() as stage, stage.stream:
        await stage.next_covered(0)
        stage.unlink("/joe/first")
        await stage.next_changes()
        await asyncio.sleep(0.3)
        published_at = clock()
        txid = stage.unlink("/joe/a", "/ann/b")
        assert await stage.next_changes() == (("/joe/a",), txid)
        round_trip = stage.server.latency_s
        assert clock() - published_at == pytest.approx(2.5 * round_trip, abs=1e-4)


async def test_a_lost_connection_costs_nothing_but_time() -> None:
    """The position stays; what was published meanwhile comes, in order and once."""
    async with staged() as stage:
        async with stage.stream:
            await stage.next_covered(0)
            for lasts_s in (0.1, 3.0, 60.0):
                stage.server.disconnect()
                txids = [stage.unlink("/joe/a"), stage.unlink("/joe/b")]
                await asyncio.sleep(lasts_s)
                stage.server.connect()
                assert [(await stage.next_changes())[1] for _ in txids] == txids
            stage.server.expire(stage.session)
            txid = stage.unlink("/joe/c")
            assert await stage.next_changes() == (("/joe/c",), txid)
        assert stage.stream.stats().records.resumes == 4
        assert stage.stream.stats().session.sessions == 3


async def test_a_connection_lost_under_any_read_is_survived() -> None:
    """L4: at whatever moment it is lost, nothing is skipped and nothing comes twice."""
    async with staged() as stage, stage.stream:
        await stage.next_covered(0)
        for step in range(60):
            txids = [stage.unlink(f"/joe/{number}") for number in range(1 + step % 6)]
            if step % 3 == 0:
                stage.press.change_filters({"joe": "/joe/*", "more": f"/more{step}"})
                txids.append(stage.unlink("/joe/x"))
            await asyncio.sleep(0.0002 * step)
            stage.server.disconnect(stage.session)
            await asyncio.sleep(0.001)
            stage.server.connect()
            assert [(await stage.next_changes())[1] for _ in txids] == txids


async def test_dropped_transactions_end_the_life() -> None:
    """GapFlush: the publisher says that it could not read them."""
    async with staged() as stage:
        async with stage.stream:
            await stage.next_covered(0)
            stage.namenode.unlink("/joe/a")
            stage.press.drop(11, 11)
            with pytest.raises(MissingEventsError, match="11 to 11 were dropped: purged") as caught:
                await stage.next_changes()
            assert (caught.value.first_txid, caught.value.last_txid) == (11, 11)
        async with stage.stream:
            assert (await stage.next_covered(0)).txid == 11


async def test_a_zookeeper_wiped_and_filled_again_ends_the_life() -> None:
    """GapFlush; the next run is one on the new chain, also while nothing happens."""
    async with staged() as stage:
        async with stage.stream:
            await stage.next_covered(0)
            stage.unlink("/joe/a")
            await stage.next_changes()
            stage.server.wipe()
            with pytest.raises(MissingEventsError, match=r"gone|no such znode"):
                await stage.next_changes()
        with pytest.raises(ChannelUnavailableError, match="nothing was published yet"):
            await stage.stream.open()
        stage.press.begin()
        async with stage.stream as stream:
            assert await anext(stream) == Filters({"joe-4": "/joe/*"})
            asked_at = clock()
            stage.stream.request_probe()
            await stage.next_covered(asked_at)
            txid = stage.unlink("/joe/b")
            assert await stage.next_changes() == (("/joe/b",), txid)


async def test_a_tree_made_anew_under_a_stream_without_a_record_is_no_silent_change() -> None:
    """Before the first record no chain is known; whoever follows from there reads the filters again."""
    async with staged() as stage, stage.stream as stream:
        assert await anext(stream) == Filters({"joe-2": "/joe/*"})
        for path in reversed(stage.server.tree.paths):
            stage.press.delete(path)
        stage.press.begin()
        txid = stage.unlink("/joe/a")
        assert await stage.next_of(Filters, Changes) == Filters({"joe-4": "/joe/*"})
        assert await stage.next_changes() == (("/joe/a",), txid)
        assert stage.session.stats().connections == 1


async def test_a_cancelled_wait_has_lost_nothing() -> None:
    """S3: however often whoever iterates gives up and asks again."""
    async with staged() as stage, stage.stream:
        stage.press.max_records = 100
        seen: list[int] = []
        txids: list[int] = []
        for _ in range(300):
            if len(txids) < 40:
                txids.append(stage.unlink("/joe/a"))
            try:
                async with asyncio.timeout(0.0007):
                    seen.append((await stage.next_changes())[1])
            except TimeoutError:
                continue
        assert seen == txids


async def test_a_notification_that_is_lost_delays_by_half_a_second() -> None:
    """Nothing is concluded from the absence of a notification while coverage is waited for."""
    async with staged() as stage, stage.stream:
        await stage.next_covered(0)
        await asyncio.sleep(1)
        stage.server.forget_watches(stage.session)
        unlinked_at = clock()
        stage.unlink("/joe/a")
        stage.pool.probe()
        await stage.next_covered(unlinked_at)
        assert clock() - unlinked_at < 0.53


async def test_a_reader_that_does_not_come_is_not_read_for_without_end() -> None:
    """Items wait in bounded number; the rest stays in ZooKeeper."""
    async with staged() as stage:
        stage.press.max_records = 1000
        async with stage.stream:
            await stage.next_covered(0)
            txids = [stage.unlink("/joe/a") for _ in range(500)]
            await asyncio.sleep(5)
            assert stage.stream.stats().records.records_read < 100
            assert [(await stage.next_changes())[1] for _ in txids] == txids


async def test_a_record_of_which_a_part_was_read_already_is_told_as_a_whole() -> None:
    """GapFlush: the publisher of a ZooKeeper that was put back says in one record what it had said in two.

    What it merged bears an early number. What ended a two-step write then must not end one that began since.
    """
    async with staged() as stage, stage.stream:
        await stage.next_covered(0)
        earlier = Earlier(stage)
        stage.unlink("/joe/a")
        assert await stage.next_changes() == (("/joe/a",), 11)
        stage.server.disconnect(stage.session)
        earlier.put_back()
        merged = (
            (11, Vanished("/joe")),
            (11, Opened("/joe/f")),
            (11, Closed("/joe/f")),
            (12, Closed("/joe/g")),
        )
        stage.press.commit(*stage.press.cache_record(Stale(merged), 12))
        stage.server.connect()
        assert await stage.next_of(Changes) == Changes(
            (
                (11, Vanished("/joe")),
                (11, Touched("/joe/f")),
                (11, Touched("/joe/f")),
                (12, Closed("/joe/g")),
            ),
            12,
        )


async def test_filters_are_read_anew_over_another_connection() -> None:
    """GapFlush: in a ZooKeeper that was put back the same generation may have come to mean other filters."""
    async with staged() as stage, stage.stream:
        stage.unlink("/joe/a")
        await stage.next_changes()
        earlier = Earlier(stage)
        stage.press.change_filters(JOE | {"ann": "/ann/*"})
        while "/ann/*" not in await stage.next_filters():
            continue
        generation = stage.press.generation
        stage.server.disconnect(stage.session)
        earlier.put_back()
        unmatched = stage.unlink("/ann/a")
        stage.press.change_filters(JOE | {"ann": "/ann/*"})
        assert stage.press.generation == generation
        stage.server.connect()
        assert await stage.next_of(Filters, Changes) == Filters({"joe-2": "/joe/*", "ann-4": "/ann/*"})
        assert await stage.next_changes() == ((), unmatched)


class Earlier:
    """What a ZooKeeper held, and its publisher found there, at a time."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._tree = copy.deepcopy(stage.server.tree)
        self._cache = copy.deepcopy(stage.press.cache)
        self._filters = dict(stage.press.filters)
        self._generation = stage.press.generation

    def put_back(self) -> None:
        """Put it back, as from a backup."""
        press, self._stage.server.tree = self._stage.press, self._tree
        press.cache, press.filters, press.generation = self._cache, self._filters, self._generation
