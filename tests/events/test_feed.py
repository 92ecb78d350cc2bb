"""One filter, followed once: which events are kept, and which listeners are notified."""

import asyncio
import logging
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from typing import Any

import pytest

from nncache.events.feed import KEPT_BYTES, PER_ITERATION, FilterFeed
from nncache.events.messages import EventFrame
from nncache.events.source import AfterTxid, Item, NextEvents, StreamBegun
from tests.events.doubles import FilterLog
from tests.invalidation.virtual_time import VirtualLoop, until

LOOP = VirtualLoop


async def following(log: FilterLog, tasks: asyncio.TaskGroup) -> tuple[FilterFeed, asyncio.Task[None]]:
    """Return a feed that has started."""
    feed = FilterFeed("f", log, log.subscribers)
    running = tasks.create_task(feed.run())
    await until(lambda: feed.end is not None)
    return feed, running


def _is_at(feed: FilterFeed, txid: int) -> bool:
    return feed.end == AfterTxid(txid, "c1")


async def test_what_is_kept_is_bounded() -> None:
    """The newest transactions are kept, however many arrive; an older position is not covered."""
    log = FilterLog()
    async with asyncio.TaskGroup() as tasks:
        feed, running = await following(log, tasks)
        frames = list[EventFrame]()
        for txid in range(11, 31):
            log.publish(txid, events=1_000)
            await until(partial(_is_at, feed, txid))
            frames = list(feed._kept)  # noqa: SLF001 - what is bounded
            assert sum(len(frame.data) for frame in frames) <= KEPT_BYTES
        oldest = frames[0].txid
        assert oldest > 11
        assert feed.covers(AfterTxid(oldest - 1))
        assert not feed.covers(AfterTxid(oldest - 2))
        assert feed.next_after(AfterTxid(oldest - 1)) is frames[0]
        assert feed.next_after(AfterTxid(30)) is None
        log.publish(31, events=20_000)
        await until(lambda: feed.end == AfterTxid(31, "c1"))
        assert not feed.covers(AfterTxid(30)), "one that is too large by itself is not kept either"
        assert feed.covers(AfterTxid(31))
        running.cancel()


async def test_a_gap_begins_it_again() -> None:
    """Earlier events are dropped, because they do not lead up to the later ones."""
    log = FilterLog()
    async with asyncio.TaskGroup() as tasks:
        feed, running = await following(log, tasks)
        log.publish(11)
        await until(lambda: feed.covers(AfterTxid(10)) and feed.end == AfterTxid(11, "c1"))
        log.lose(20)
        await until(lambda: feed.end == AfterTxid(20, "c1"))
        assert [feed.covers(AfterTxid(txid)) for txid in (10, 11, 19, 20, 21)] == [False] * 3 + [True, False]
        running.cancel()


async def test_listeners_are_called_at_each_change(caplog: pytest.LogCaptureFixture) -> None:
    """The changes are events, outages, readers, a removed filter, and an internal error."""
    log = FilterLog()
    reported: list[tuple[object, ...]] = []
    async with asyncio.TaskGroup() as tasks:
        feed, _ = await following(log, tasks)
        log.is_silent = True  # from here on the readers cannot be read

        def note() -> None:
            reported.append((feed.end, feed.away, feed.readers, feed.has_failed))

        feed.listeners.add(note)
        log.publish(11)
        await until(lambda: (AfterTxid(11, "c1"), "", {"alice"}, False) in reported)
        log.away = "why"
        log.tell()
        await until(lambda: (AfterTxid(11, "c1"), "why", {"alice"}, False) in reported)
        log.away = ""
        log.publish(12)
        await until(lambda: (AfterTxid(12, "c1"), "", {"alice"}, False) in reported)
        log.subscribers = None
        log.tell()
        await until(lambda: (AfterTxid(12, "c1"), "", None, False) in reported)
        log.is_silent, log.subscribers = False, {"bob"}
        await until(lambda: (AfterTxid(12, "c1"), "", {"bob"}, False) in reported)
        log.has_bug = True
        with caplog.at_level(logging.ERROR):
            log.tell()
            await until(lambda: reported[-1][-1] is True)
        assert "internal error while following filter f" in caplog.text


async def test_readers_are_read_again_each_second() -> None:
    """This needs no notification."""
    log = FilterLog()
    async with asyncio.TaskGroup() as tasks:
        _, running = await following(log, tasks)
        before = log.rights_read
        await asyncio.sleep(10.5)
        assert log.rights_read - before >= 9
        running.cancel()


class _AtOnce(FilterLog):
    """Has all its items immediately, like a reader of many records at a time."""

    def follow(self, filter_name: str, after: AfterTxid | None) -> Any:
        self._left: Iterator[Item] = iter(
            (
                StreamBegun(AfterTxid(10, "c1")),
                *(NextEvents((self.batch(txid),), AfterTxid(txid, "c1")) for txid in sorted(self.kept)),
            )
        )
        return self

    async def __anext__(self) -> Item:
        for item in self._left:
            return item
        await asyncio.Event().wait()
        raise AssertionError


async def test_other_tasks_run_between_two_records() -> None:
    """32 records of a thousand events each, read together, blocked the event loop for 0.6 s."""
    log = _AtOnce()
    for txid in range(11, 43):
        log.publish(txid)
    async with asyncio.TaskGroup() as tasks:
        feed = FilterFeed("f", log, log.subscribers)
        seen = set[AfterTxid | None]()
        running = tasks.create_task(feed.run())
        while not _is_at(feed, 42):
            seen.add(feed.end)
            await asyncio.sleep(0)
        assert len(seen) > 30
        running.cancel()


async def test_what_is_joined_for_one_stream_is_so_for_all() -> None:
    """Streams at the same position get the same bytes, until an event is added."""
    log = FilterLog()
    async with asyncio.TaskGroup() as tasks:
        feed, running = await following(log, tasks)
        for txid in (11, 12):
            log.publish(txid)
            await until(partial(_is_at, feed, txid))
        both = feed.next_after(AfterTxid(10))
        assert both is not None
        assert (both.txid, both.events) == (12, 2)
        assert feed.next_after(AfterTxid(10)) is both
        later = feed.next_after(AfterTxid(11))
        assert later is not None
        assert (later.txid, later.events) == (12, 1)
        log.publish(13)
        await until(partial(_is_at, feed, 13))
        more = feed.next_after(AfterTxid(11))
        assert more is not None
        assert (more.txid, more.events) == (13, 2)
        running.cancel()


async def test_a_crowd_is_notified_a_part_in_each_iteration() -> None:
    """Notifying all listeners in one iteration, with a burst for each, blocked other clients for seconds."""
    log = FilterLog()
    async with asyncio.TaskGroup() as tasks:
        feed, running = await following(log, tasks)
        woken = list[int]()
        for number in range(3 * PER_ITERATION):
            feed.listeners.add(partial(woken.append, number))
        log.publish(11)
        counts = list[int]()
        while len(woken) < 3 * PER_ITERATION:
            counts.append(len(woken))
            await asyncio.sleep(0)
        assert max(later - before for before, later in pairwise((*counts, len(woken)))) <= PER_ITERATION
        assert sorted(woken) == list(range(3 * PER_ITERATION))
        running.cancel()
