"""Consumer: it applies before it covers, flushes when a stream ends, and never dies."""

import asyncio
import itertools
import logging
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from nncache.hadoop.change import Touched, Vanished
from nncache.hadoop.events import EventBatch, Rename, Unlink
from nncache.invalidation.backoff import NOT_PERMITTED_RETRY_S
from nncache.invalidation.consumer import (
    CHANGES_PER_ITERATION,
    FILTERS_PER_ITERATION,
    ITEMS_PER_ITERATION,
    Consumer,
)
from nncache.invalidation.edits.direct import DirectInotifyEventInputStream
from nncache.invalidation.errors import (
    ChannelUnavailableError,
    InvalidationError,
    MissingEventsError,
    NotPermittedError,
)
from nncache.invalidation.settings import DIRECT
from nncache.invalidation.stats import ChannelStats
from nncache.invalidation.stream import (
    ChangeBatch,
    ChannelSetup,
    CoveredThrough,
    FiltersInForce,
    InotifyEventInputStream,
    StreamItem,
    TransactionEvents,
    load_stream_class,
)
from tests.invalidation.fakes import FakePool, RecordingSink
from tests.invalidation.virtual_time import clock, until
from tests.setup import channel_setup

Line = StreamItem | Exception | float  # a number is a wait in seconds


class ScriptedStream(InotifyEventInputStream):
    """A stream that plays one script per run; after the last script runs stay silent."""

    def __init__(self, *scripts: list[Line]) -> None:
        self.scripts = deque(scripts)
        self.opened_at: list[float] = []
        self.closed = 0
        self.probes = 0
        self._lines: deque[Line] = deque()

    @property
    def term(self) -> int:
        """The number of the run."""
        return len(self.opened_at)

    async def open(self) -> None:
        """Begin the next script; an exception as its first line is raised here."""
        self.opened_at.append(clock())
        self._lines = deque(self.scripts.popleft() if self.scripts else [])
        if self._lines and isinstance(self._lines[0], Exception):
            raise self._lines[0]

    async def close(self) -> None:
        """Count the call."""
        self.closed += 1

    async def __anext__(self) -> StreamItem:
        """Play the next line."""
        while self._lines:
            line = self._lines.popleft()
            match line:
                case StopAsyncIteration():
                    raise StopAsyncIteration
                case Exception():
                    raise line
                case float():
                    await asyncio.sleep(line)
                case _:
                    return line
        await asyncio.Event().wait()
        raise AssertionError("never set")

    def request_probe(self) -> None:
        """Count the call."""
        self.probes += 1

    def stats(self) -> ChannelStats:
        """Return recognisable figures."""
        return ChannelStats(polls=7)


@dataclass
class FakeCluster:
    """A running consumer, its stream and its cache."""

    stream: ScriptedStream
    sink: RecordingSink
    consumer: Consumer


def gone(txid: int) -> TransactionEvents:
    """Return a transaction that deletes one path."""
    return TransactionEvents(EventBatch(txid, (Unlink(f"/{txid}"),)))


def down(times: int) -> list[list[Line]]:
    """Return scripts of runs that cannot begin."""
    return [[ChannelUnavailableError("down")] for _ in range(times)]


@asynccontextmanager
async def consuming(
    *scripts: list[Line], faults: Sequence[Exception] = (), close_faults: Sequence[Exception] = ()
) -> AsyncIterator[FakeCluster]:
    """Run a consumer on these scripts while the block runs; `faults` are errors of the cache."""
    stream, sink = ScriptedStream(*scripts), RecordingSink()
    sink.faults, sink.close_faults = [*faults], [*close_faults]
    on = FakeCluster(stream, sink, Consumer(sink, stream, clock, chance=lambda: 1.0))
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(on.consumer.run())
        yield on
        running.cancel()


async def consumed(seconds: float, *scripts: list[Line], **faults: Sequence[Exception]) -> FakeCluster:
    """Run a consumer on these scripts for some seconds, and return the result."""
    async with consuming(*scripts, **faults) as on:
        await asyncio.sleep(seconds)
    return on


async def test_items_are_applied_in_order_and_covered_after() -> None:
    """K2: everything yielded before a Covered has been applied when the cache is covered."""
    moved = TransactionEvents(EventBatch(4, (Rename("/a", "/b"), Unlink("/c"))))
    same = TransactionEvents(EventBatch(5, (Rename("/a", "/a"),)))
    without_event = TransactionEvents(EventBatch(6, (), (Touched("/a"),)))
    on = await consumed(1, [gone(3), moved, same, without_event, CoveredThrough(9.0, 6), gone(7)])
    assert on.sink.calls == [
        ("open", 1),
        ("apply", 3),
        ("apply", 4),
        ("apply", 4),
        ("apply", 6),
        ("cover", 6),
        ("apply", 7),
        ("close", "CancelledError"),
    ]
    stats = on.consumer.stats()
    assert (stats.events, stats.covers) == (5, 1)
    assert (stats.applied_txid, stats.fresh_as_of) == (7, 9.0)
    assert stats.channel.polls == 7


async def test_filters_and_ready_made_changes_are_handed_on() -> None:
    """K2, for a channel that yields stale paths instead of events."""
    record = ChangeBatch(((3, Touched("/a")), (4, Vanished("/b"))), 6)
    on = await consumed(1, [FiltersInForce({"1": "/*"}), record, CoveredThrough(9.0, 6), FiltersInForce({})])
    assert on.sink.calls == [
        ("open", 1),
        ("filters", {"1": "/*"}),
        ("apply", 3),
        ("apply", 4),
        ("cover", 6),
        ("filters", {}),
        ("close", "CancelledError"),
    ]
    assert on.sink.changes == [Touched("/a"), Vanished("/b")]
    stats = on.consumer.stats()
    assert (stats.events, stats.applied_txid) == (0, 6)


async def test_many_filters_go_and_come_in_steps() -> None:
    """Each step changes few filters, and the event loop runs other tasks between two steps."""

    class Yielding(RecordingSink):
        def set_filters(self, globs: Mapping[str, str]) -> None:
            super().set_filters(globs)
            asyncio.get_running_loop().call_soon(self.calls.append, ("iteration", None))

    former = {str(number): f"/{number}" for number in range(FILTERS_PER_ITERATION + 3)}
    later = {"0": "/0"} | {f"new{number}": f"/{number}" for number in range(FILTERS_PER_ITERATION)}
    sink, stream = (
        Yielding(),
        ScriptedStream([FiltersInForce(former), FiltersInForce(later), CoveredThrough(9.0, 6)]),
    )
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(Consumer(sink, stream, clock).run())
        await until(lambda: bool(sink.of("cover")))
        running.cancel()
    seen: list[dict[str, str]] = [{}]
    for kind, globs in sink.calls:
        if kind == "filters":
            assert isinstance(globs, dict)
            assert len(globs.items() ^ seen[-1].items()) <= FILTERS_PER_ITERATION
            assert globs.items() <= seen[-1].items() | later.items() or globs.items() <= former.items()
            seen.append(globs)
    assert seen[2] == former
    assert seen[-1] == later
    kinds = [kind for kind, _ in sink.calls]
    assert kinds == ["open", *["filters", "iteration"] * 5, "cover", "close"]


async def test_a_gap_flushes_and_a_new_life_begins_at_once() -> None:
    """GapFlush: the cache's stream is closed before the channel is opened again."""
    on = await consumed(1, [gone(3), MissingEventsError("purged")], [CoveredThrough(1.0, 9)])
    assert on.sink.calls[2:5] == [("close", "purged"), ("open", 2), ("cover", 9)]
    assert on.stream.opened_at[1] == on.stream.opened_at[0]
    stats = on.consumer.stats()
    assert (stats.streams_opened, stats.streams_lost, stats.streams_failed) == (2, 1, 0)


@pytest.mark.parametrize(
    "end", [ChannelUnavailableError("x"), InvalidationError("x"), ValueError("x"), StopAsyncIteration()]
)
async def test_any_end_of_a_life_closes_the_stream(end: Exception) -> None:
    """K3: this holds whether the error was foreseen or not, and the next run begins."""
    on = await consumed(1, [gone(3), end], [gone(4)])
    assert [call for call, _ in on.sink.calls] == [
        "open",
        "apply",
        "close",
        "open",
        "apply",
        "close",
    ]
    assert on.consumer.stats().streams_failed == 1
    assert on.stream.closed == 2


async def test_a_fault_of_the_cache_flushes_it(caplog: pytest.LogCaptureFixture) -> None:
    """An exception in `apply` leaves the change half applied: everything is flushed, and the log says why."""
    on = await consumed(
        1,
        [gone(3), CoveredThrough(1.0, 3)],
        [gone(4), CoveredThrough(2.0, 4)],
        faults=[RuntimeError("a bug")],
    )
    assert on.sink.calls[:4] == [("open", 1), ("close", "a bug"), ("open", 2), ("apply", 4)]
    assert "a bug" in caplog.text
    assert on.consumer.stats().covers == 1


async def test_a_cache_that_fails_to_close_does_not_end_the_loop(caplog: pytest.LogCaptureFixture) -> None:
    """The gate closes by its timeout; the next run flushes again."""
    scripts: list[list[Line]] = [[gone(3), MissingEventsError("purged")], [gone(4)]]
    on = await consumed(1, *scripts, close_faults=[RuntimeError("worse")])
    assert on.sink.of("apply") == [3, 4]
    assert "could not empty the cache" in caplog.text


async def test_a_failing_stream_is_retried_with_backoff() -> None:
    """The first retry is immediate, later ones at most a second apart: caching resumes soon, without a retry storm."""
    on = await consumed(60, *down(30))
    times = on.stream.opened_at
    pauses = [later - earlier for earlier, later in itertools.pairwise(times)]
    assert pauses[0] == 0
    assert pauses[1] == pytest.approx(0.05)
    assert max(pauses) == pytest.approx(1.0)
    assert on.sink.of("open") == [31]


async def test_a_good_life_makes_patience_short_again() -> None:
    """After a run of several seconds the next attempt is immediate."""
    on = await consumed(60, *down(10), [gone(1), 20.0, MissingEventsError("gap")])
    assert on.stream.opened_at[11] - on.stream.opened_at[10] == pytest.approx(20.0)


async def test_lives_that_end_soon_are_not_begun_in_a_hot_loop() -> None:
    """Runs that end soon after they begin are retried with backoff."""
    scripts: list[list[Line]] = [[gone(1), MissingEventsError("again")] for _ in range(1000)]
    on = await consumed(30, *scripts)
    assert len(on.stream.opened_at) < 40


async def test_who_may_not_read_edits_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    """Only an administrator can help: retries are slow, and the line is logged again only after a success."""
    refusal = NotPermittedError("Superuser privilege is required; see --user")
    scripts: list[list[Line]] = [[refusal] for _ in range(3)]
    with caplog.at_level(logging.WARNING):
        on = await consumed(65, *scripts, [gone(1), MissingEventsError("x")], [refusal], [refusal])
    times = on.stream.opened_at
    assert times[1] - times[0] == NOT_PERMITTED_RETRY_S
    logged = [record.message for record in caplog.records if record.levelno == logging.ERROR]
    assert len(logged) == 2
    assert "needs an administrator; all calls are forwarded: Superuser privilege" in logged[0]


async def test_the_same_trouble_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    """An hour without a NameNode takes one line."""
    with caplog.at_level(logging.WARNING):
        await consumed(60, *down(30))
    assert [record.message for record in caplog.records] == [
        "cannot read the edits, calls are forwarded meanwhile: down",
    ]


async def test_the_trouble_is_known_while_no_stream_is_open() -> None:
    """A proxy shows the trouble in /ready."""
    reported: list[str] = []
    async with consuming(*down(2), [10.0, MissingEventsError("purged")], *down(30)) as on:
        for pause_s in (0.01, 1.0, 20.0, 0.0):
            reported.append(on.consumer.trouble)
            await asyncio.sleep(pause_s)
    assert reported == ["", "down", "", "down"]


async def test_waiters_are_woken_by_the_next_coverage() -> None:
    """All callers that wait at that moment return; a later caller waits for the next coverage."""
    async with consuming([CoveredThrough(1.0, 1), 0.5, CoveredThrough(2.0, 2)]) as on:
        await until(lambda: on.consumer.stats().covers == 1)
        async with asyncio.TaskGroup() as waiters:
            waiting = [waiters.create_task(on.consumer.wait_covered(1.0)) for _ in range(3)]
        assert [task.result() for task in waiting] == [True, True, True]
        assert not await on.consumer.wait_covered(1.0)


async def test_waiters_do_not_wait_for_a_run_that_ended() -> None:
    """The end of a run wakes all waiters, and they return False."""
    async with consuming([gone(1), 0.5, MissingEventsError("gap")]) as on:
        await until(lambda: on.consumer.stats().is_open)
        began_at = clock()
        assert not await on.consumer.wait_covered(10.0)
        assert clock() - began_at < 1.0


async def test_requests_for_a_probe_are_passed_on() -> None:
    """The channel decides how to accelerate a probe."""
    async with consuming() as on:
        on.consumer.request_probe()
        assert on.stream.probes == 1


async def test_a_long_page_lets_others_run() -> None:
    """The event loop serves reads while thousands of transactions are applied."""
    iterations = 0
    script: list[Line] = [gone(txid) for txid in range(1, 20 * ITEMS_PER_ITERATION)]
    async with consuming([*script, CoveredThrough(1.0, 20 * ITEMS_PER_ITERATION)]) as on:
        while not on.sink.of("cover"):
            iterations += 1
            await asyncio.sleep(0)
    assert iterations >= 19


async def test_a_long_transaction_lets_others_run() -> None:
    """A CONCAT has an event for each of its sources, of which a user may name any number in one call over RPC."""
    iterations = 0
    sources = tuple(Unlink(f"/w/{number}") for number in range(20 * CHANGES_PER_ITERATION))
    async with consuming([TransactionEvents(EventBatch(1, sources)), CoveredThrough(1.0, 1)]) as on:
        while not on.sink.of("cover"):
            iterations += 1
            await asyncio.sleep(0)
        assert len(on.sink.of("apply")) == len(sources)
    assert iterations >= 19


class CountdownStream(InotifyEventInputStream):
    """A third-party channel that yields three coverages."""

    def __init__(self, setup: ChannelSetup) -> None:
        self._left = 0

    @property
    def term(self) -> int:
        """The same term for each run."""
        return 1

    async def open(self) -> None:
        """Begin a run."""
        self._left = 3

    async def close(self) -> None:
        """End a run."""
        self._left = 0

    async def __anext__(self) -> StreamItem:
        """Yield the next coverage."""
        if self._left == 0:
            raise StopAsyncIteration
        self._left -= 1
        return CoveredThrough(0.0, self._left)


def test_the_built_in_channel_has_a_short_name() -> None:
    """The setting `direct` needs no module name."""
    assert load_stream_class(DIRECT) is DirectInotifyEventInputStream


async def test_a_run_is_a_context_and_an_iterator() -> None:
    """A stream may be entered again. Channels need implement neither figures nor probe requests."""
    stream = CountdownStream(channel_setup(FakePool(lambda: 0.0), lambda: 0.0))
    for _ in range(2):
        async with stream as run:
            assert run is stream
            run.request_probe()
            assert [item async for item in run] == [
                CoveredThrough(0.0, 2),
                CoveredThrough(0.0, 1),
                CoveredThrough(0.0, 0),
            ]
    assert stream.stats() == ChannelStats()
