"""AutoEdits: it uses the better source once that has caught up, another if it fails, and continues the same run."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import replace

import pytest

from nncache.invalidation.edits_source import EditsRead
from nncache.invalidation.errors import (
    ChannelUnavailableError,
    GapKind,
    MissingEventsError,
    NotPermittedError,
    WrongNamespaceError,
)
from nncache.invalidation.journal import choice
from nncache.invalidation.journal.choice import GO_ON_S, AutoEdits, Choice
from nncache.invalidation.journal.overlap import Overlap
from tests.invalidation.journal.fake_edits import FakeEdits, Judge, Log, WrongError
from tests.invalidation.virtual_time import clock

SEEDS = 12
AWAY = ChannelUnavailableError("1 of 3 JournalNodes can be read")


class TwoSources:
    """Two sources over one log with 10 transactions."""

    def __init__(self) -> None:
        self.log = Log()
        self.log.write(10)
        self.journal = FakeEdits(self.log, "journalnodes", interval_s=0.025)
        self.polled = FakeEdits(self.log, "inotify")
        self.auto = AutoEdits(
            (Choice("the JournalNodes", self.journal), Choice("the NameNode (inotify)", self.polled)),
            clock,
            chance=lambda: 1.0,
        )
        self.judge = Judge(self.log, 10)

    @property
    def in_use(self) -> str:
        """The name of the source in use."""
        return self.auto.stats().source

    async def start(self, after_txid: int | None = 10) -> None:
        """Begin a run."""
        await self.auto.start(after_txid)

    async def read(self) -> EditsRead:
        """Read once, and judge the read."""
        read = await self.auto.read()
        self.judge.take(read)
        return read

    async def read_until(self, is_so: Callable[[], bool]) -> None:
        """Read while transactions are written, until a condition holds."""
        async with asyncio.timeout(600):
            while not is_so():
                self.log.write()
                await self.read()

    async def on_inotify(self) -> None:
        """Begin while the JournalNodes cannot be read."""
        self.journal.refusal = AWAY
        await self.start()
        await self.read()
        self.journal.refusal = None
        assert self.in_use == "inotify"

    async def on_the_journal(self) -> None:
        """Begin on the JournalNodes."""
        await self.start()
        await self.read()
        assert self.in_use == "journalnodes"


@pytest.fixture
async def sources() -> AsyncIterator[TwoSources]:
    """Two sources that are shut down at the end."""
    made = TwoSources()
    yield made
    await made.auto.shut_down()
    assert made.journal.is_down
    assert made.polled.is_down


async def test_the_better_one_is_read_where_it_can_be(sources: TwoSources) -> None:
    """While the better source can be read, no other source is started."""
    assert sources.auto.term == 0
    with pytest.raises(ChannelUnavailableError, match="not started"):
        await sources.auto.read()
    await sources.on_the_journal()
    assert sources.auto.term == 1
    sources.auto.wake()
    assert (sources.journal.wakes, sources.polled.starts) == (1, [])
    sources.auto.stop()
    sources.auto.wake()
    assert (sources.auto.term, sources.journal.wakes) == (0, 1)


async def test_the_better_one_takes_over_when_it_can_be_read(
    sources: TwoSources, caplog: pytest.LogCaptureFixture
) -> None:
    """About a second later it continues after the last returned edits, and inherits a pending request for coverage."""
    caplog.set_level("INFO")
    await sources.on_inotify()
    began_at = clock()
    await sources.read_until(lambda: sources.in_use == "journalnodes")
    assert 1.0 <= clock() - began_at < 1.3
    assert sources.polled.term == 0
    assert sources.journal.wakes == 1
    (_, began), (_, took_over) = ((each.levelname, each.getMessage()) for each in caplog.records)
    assert began == f"edits are read from the NameNode (inotify) and not from the JournalNodes: {AWAY}"
    assert took_over.startswith("edits after transaction ")
    assert took_over.endswith(" are read from the JournalNodes")
    figures = sources.auto.stats()
    assert figures.polls
    assert figures.journal.polls


async def test_a_better_source_that_is_not_read_is_reported_with_why(sources: TwoSources) -> None:
    """The reason is known from the start, after a failed trial, and after a loss; a source in use has none."""
    sources.journal.refusal = AWAY
    await sources.start()
    assert sources.auto.stats().passed_over == {"journalnodes": str(AWAY)}
    sources.journal.refusal = ChannelUnavailableError("2 of 3 JournalNodes hang")
    await sources.read_until(lambda: "hang" in sources.auto.stats().passed_over["journalnodes"])
    sources.journal.refusal = None
    await sources.read_until(lambda: sources.in_use == "journalnodes")
    assert sources.auto.stats().passed_over == {}
    sources.journal.refusal = AWAY
    sources.journal.failure = AWAY
    await sources.read_until(lambda: sources.in_use == "inotify")
    assert sources.auto.stats().passed_over == {"journalnodes": str(AWAY)}
    sources.auto.stop()
    assert sources.auto.stats().passed_over == {}


async def test_trials_in_vain_come_less_and_less_often(
    sources: TwoSources, caplog: pytest.LogCaptureFixture
) -> None:
    """Trials come 1, 2, 4 and up to 60 s apart, and the reason is logged once."""
    caplog.set_level("INFO")
    sources.journal.refusal = AWAY
    await sources.start()
    end = clock() + 333
    sources.polled.interval_s = 0.1
    await sources.read_until(lambda: clock() >= end)
    assert len(sources.journal.starts) == 1 + 6 + 4
    assert [record.getMessage() for record in caplog.records][1:] == [
        f"edits are not read from the JournalNodes yet: {AWAY}"
    ]


async def test_one_that_does_not_return_is_replaced(sources: TwoSources) -> None:
    """Its read is cancelled: the NameNode may not answer RPC while the JournalNodes answer."""
    await sources.on_inotify()
    sources.polled.is_silent = True
    sources.log.write(5)
    async with asyncio.timeout(2):
        await sources.read()
    assert sources.in_use == "journalnodes"
    assert sources.judge.through == sources.log.end


async def test_one_that_is_a_little_later_takes_over(sources: TwoSources) -> None:
    """Under load the source in use would always be ahead, so it pauses briefly."""
    await sources.on_inotify()
    sources.journal.lag_s = 0.05
    async with asyncio.TaskGroup() as tasks:
        writing = tasks.create_task(_write_all_the_time(sources))
        async with asyncio.timeout(3):
            while sources.in_use != "journalnodes":
                await sources.read()
        for _ in range(10):
            await sources.read()
        writing.cancel()


async def _write_all_the_time(sources: TwoSources) -> None:
    while True:
        await asyncio.sleep(0.004)
        sources.log.write()


async def test_one_that_is_behind_does_not_take_over(sources: TwoSources) -> None:
    """The slower source gets time to catch up, and another trial later."""
    await sources.on_inotify()
    sources.journal.behind = 1
    end = clock() + choice.TRIAL_S + 1
    await sources.read_until(lambda: clock() >= end)
    assert sources.in_use == "inotify"
    sources.journal.behind = 0
    await sources.read_until(lambda: sources.in_use == "journalnodes")


async def test_one_that_contradicts_does_not_take_over(
    sources: TwoSources, caplog: pytest.LogCaptureFixture
) -> None:
    """The source in use stays, and the log reports the contradiction."""
    caplog.set_level("INFO")
    await sources.on_inotify()
    sources.journal.behind, sources.journal.other_events = 5, set(range(1000))
    await sources.read_until(lambda: len(sources.journal.starts) > 2)
    assert sources.in_use == "inotify"
    assert "it has other events for transaction " in caplog.records[-1].getMessage()
    sources.journal.behind, sources.journal.other_events = 0, set()
    await sources.read_until(lambda: sources.in_use == "journalnodes")


async def test_nobody_takes_over_behind_what_may_be_lost(sources: TwoSources) -> None:
    """A run that begins at the present end may begin at a transaction that is not durable."""
    sources.polled.is_durable = False
    sources.journal.refusal = AWAY
    await sources.start(None)
    sources.journal.refusal = None
    end = clock() + 10
    await sources.read_until(lambda: clock() >= end)
    assert sources.journal.starts == [None]
    sources.polled._is_durable = True  # noqa: SLF001 - it is durable from here on
    await sources.read_until(lambda: sources.in_use == "journalnodes")


async def test_another_term_does_not_take_over(sources: TwoSources) -> None:
    """All sources of a run read the edits of one incarnation of the NameNode."""
    await sources.on_inotify()
    sources.log.term = 2
    await sources.read_until(lambda: len(sources.journal.starts) > 2)
    assert (sources.in_use, sources.auto.term) == ("inotify", 1)


async def test_a_fault_of_a_trial_is_no_end(sources: TwoSources, caplog: pytest.LogCaptureFixture) -> None:
    """An unexpected error of a trial is logged, and the run continues."""
    await sources.on_inotify()
    sources.journal.failure = ZeroDivisionError("a fault")
    await sources.read_until(lambda: len(sources.journal.starts) > 2)
    assert caplog.records[-1].exc_info
    sources.journal.failure = None
    await sources.read_until(lambda: sources.in_use == "journalnodes")


@pytest.mark.parametrize(
    "failure",
    [AWAY, NotPermittedError("not any more"), MissingEventsError("not in the caches", GapKind.PURGED)],
    ids=["away", "not permitted", "purged"],
)
async def test_when_it_is_lost_another_goes_on(
    sources: TwoSources, failure: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    """It continues after the last returned edits; later the better source is used again."""
    caplog.set_level("INFO")
    await sources.on_the_journal()
    sources.log.write(4)
    sources.journal.failure = failure
    await sources.read_until(lambda: sources.in_use == "inotify")
    assert sources.polled.starts == [10]
    assert caplog.records[-1].getMessage() == (
        f"edits after transaction 10 are read from the NameNode (inotify) and not from the JournalNodes: {failure}"
    )
    sources.journal.failure = None
    await sources.read_until(lambda: sources.in_use == "journalnodes")


async def test_one_that_comes_and_goes_is_tried_less_often(sources: TwoSources) -> None:
    """Each change-over closes the gate for a moment."""
    await sources.on_inotify()
    for least_s in (1.0, 2.0, 4.0):
        began_at = clock()
        await sources.read_until(lambda: sources.in_use == "journalnodes")
        assert clock() - began_at >= least_s
        sources.journal.failure = AWAY
        await sources.read_until(lambda: sources.in_use == "inotify")
        sources.journal.failure = None
    await sources.read_until(lambda: sources.in_use == "journalnodes")
    end = clock() + 5
    await sources.read_until(lambda: clock() >= end)
    sources.journal.failure = AWAY
    began_at = clock()
    await sources.read_until(lambda: sources.in_use == "inotify")
    sources.journal.failure = None
    await sources.read_until(lambda: sources.in_use == "journalnodes")
    assert clock() - began_at < 2.0


@pytest.mark.parametrize(
    "failure",
    [
        MissingEventsError("another epoch"),
        MissingEventsError("formatted", GapKind.WENT_BACK),
        WrongNamespaceError("another namespace"),
    ],
    ids=["another active", "went back", "another namespace"],
)
async def test_a_discontinuity_ends_the_run(sources: TwoSources, failure: Exception) -> None:
    """The edits of another log do not continue this one."""
    await sources.on_the_journal()
    sources.journal.failure = failure
    with pytest.raises(type(failure), match=str(failure)):
        await sources.read()
    assert sources.polled.starts == []


async def test_the_last_one_ends_the_run(sources: TwoSources) -> None:
    """After the last source there is none to change over to."""
    await sources.on_inotify()
    sources.polled.failure = NotPermittedError("no superuser any more")
    with pytest.raises(NotPermittedError):
        await sources.read()


async def test_where_no_other_is_permitted_it_is_read_again(sources: TwoSources) -> None:
    """One silent second of the JournalNodes costs no more than that where the NameNode may not be polled."""
    await sources.on_the_journal()
    sources.log.write(4)
    sources.journal.failure, sources.polled.refusal = AWAY, NotPermittedError("no superuser")
    sources.journal.refusal = AWAY
    asyncio.get_running_loop().call_later(1.0, sources.journal.recover)
    began_at = clock()
    await sources.read()
    assert clock() - began_at < 2.5
    assert (sources.in_use, sources.judge.through) == ("journalnodes", 14)


async def test_where_no_other_is_permitted_a_purge_is_told(sources: TwoSources) -> None:
    """The publisher goes on after a gap, as without the other source; a permission might never come."""
    purged = MissingEventsError("purged", GapKind.PURGED, first_txid=11, last_txid=12)
    sources.journal.refusal, sources.polled.refusal = purged, NotPermittedError("no superuser")
    with pytest.raises(MissingEventsError) as caught:
        await sources.start()
    assert caught.value is purged


async def test_where_no_other_is_permitted_the_cause_is_told(sources: TwoSources) -> None:
    """An administrator who grants the right to poll would not help, and the next attempt should follow soon."""
    await sources.on_the_journal()
    sources.journal.failure = sources.journal.refusal = AWAY
    sources.polled.refusal = NotPermittedError("no superuser")
    for ends in (sources.read, sources.start):
        with pytest.raises(ChannelUnavailableError) as caught:
            await ends()
        assert caught.value is AWAY


async def test_what_has_no_position_yet_cannot_go_on(sources: TwoSources) -> None:
    """The position of a run at the present end is unknown to other sources until it has returned something."""
    await sources.start(None)
    sources.journal.failure = AWAY
    with pytest.raises(ChannelUnavailableError, match=str(AWAY)):
        await sources.read()
    assert sources.polled.starts == []


async def test_a_namenode_that_seems_behind_is_asked_again(sources: TwoSources) -> None:
    """The JournalNodes have an edit shortly before the NameNode reports it as durable."""
    await sources.on_the_journal()
    sources.journal.failure = AWAY
    sources.polled.refusal = MissingEventsError("synced to 9, was 10", GapKind.WENT_BACK)
    asyncio.get_running_loop().call_later(0.3, setattr, sources.polled, "refusal", None)
    await sources.read_until(lambda: sources.in_use == "inotify")
    assert len(sources.polled.starts) > 1


@pytest.mark.parametrize(
    ("refusal", "lasts_s"),
    [
        (MissingEventsError("synced to 9, was 10", GapKind.WENT_BACK), GO_ON_S),
        (ChannelUnavailableError("no active NameNode"), GO_ON_S),
        (MissingEventsError("purged", GapKind.PURGED), 0.0),
        (WrongNamespaceError("another namespace"), 0.0),
    ],
)
async def test_without_another_the_run_ends(sources: TwoSources, refusal: Exception, lasts_s: float) -> None:
    """The run ends immediately where waiting does not help."""
    await sources.on_the_journal()
    began_at = clock()
    sources.journal.failure, sources.polled.refusal = AWAY, refusal
    with pytest.raises(type(refusal), match=str(refusal)):
        await sources.read()
    assert lasts_s <= clock() - began_at < lasts_s + 2


async def test_another_term_does_not_go_on(sources: TwoSources) -> None:
    """The answering NameNode is not the one whose log was followed."""
    await sources.on_the_journal()
    sources.journal.failure = AWAY
    sources.log.term = 2
    with pytest.raises(MissingEventsError, match="term 2 after 1") as caught:
        await sources.read()
    assert caught.value.kind is GapKind.OTHER


@pytest.mark.parametrize("kind", [GapKind.OTHER, GapKind.WENT_BACK])
async def test_a_discontinuity_at_the_beginning_is_raised(sources: TwoSources, kind: GapKind) -> None:
    """Another source is not tried, since it would not continue this log either."""
    sources.journal.refusal = MissingEventsError("another active NameNode", kind)
    with pytest.raises(MissingEventsError):
        await sources.start()
    assert sources.polled.starts == []


async def test_a_run_that_ends_amid_a_trial_leaves_nothing(sources: TwoSources) -> None:
    """No task of the old run uses a source of the next one."""
    await sources.on_inotify()
    sources.journal.is_silent = True
    await sources.read_until(lambda: len(sources.journal.starts) > 1)
    sources.auto.stop()
    sources.journal.is_silent = False
    await sources.start(sources.judge.through)
    assert (sources.in_use, sources.auto.term) == ("journalnodes", 1)
    await sources.read()


async def test_the_middle_one_takes_over_and_is_left_for_the_best(sources: TwoSources) -> None:
    """Each source better than the one in use is tried."""
    best = FakeEdits(sources.log, "journalnodes")
    middle = FakeEdits(sources.log, "directory")
    sources.auto = AutoEdits(
        [Choice(each.name, each) for each in (best, middle, sources.polled)], clock, chance=lambda: 1.0
    )
    best.refusal = middle.refusal = AWAY
    await sources.start()
    middle.refusal = None
    await sources.read_until(lambda: sources.in_use == "directory")
    best.refusal = None
    await sources.read_until(lambda: sources.in_use == "journalnodes")
    best.failure = AWAY
    await sources.read_until(lambda: sources.in_use == "directory")
    middle.failure = AWAY
    await sources.read_until(lambda: sources.in_use == "inotify")
    await sources.auto.shut_down()
    await AutoEdits((Choice("", sources.journal), Choice("", sources.polled)), clock).shut_down()
    sources.journal.is_down = True


# -- random histories ----------------------------------------------------------------------------------------------


async def play(seed: int) -> int:
    """Read during random changes, judge the reads, and return the number of change-overs."""
    chance, sources = random.Random(seed), TwoSources()
    sources.auto = AutoEdits(
        (Choice("the JournalNodes", sources.journal), Choice("the NameNode (inotify)", sources.polled)),
        clock,
        chance=chance.random,
    )
    sources.polled.most = chance.choice((1, 3, 100))
    sources.journal.most = chance.choice((1, 3, 100))
    await sources.start()
    changes, in_use, end = 0, sources.in_use, clock() + 30
    async with asyncio.TaskGroup() as tasks:
        writing = tasks.create_task(_write(sources, chance))
        tasks.create_task(_trouble(sources, chance, end))
        while clock() < end or sources.judge.through < sources.log.end:
            with suppress(TimeoutError):
                async with asyncio.timeout(chance.choice((0.004, 0.02, 1.0))):
                    sources.judge.take(await sources.auto.read())
            if chance.random() < 0.1:
                await asyncio.sleep(0.05)  # the caller writes what it has read
            if clock() >= end:
                writing.cancel()
            changes, in_use = changes + (sources.in_use != in_use), sources.in_use
    await sources.auto.shut_down()
    return changes


async def play_all() -> int:
    """Play all histories, and return the number of change-overs."""
    return sum([await play(seed) for seed in range(SEEDS)])


async def _write(sources: TwoSources, chance: random.Random) -> None:
    while True:
        await asyncio.sleep(chance.expovariate(50))
        sources.log.write(chance.choice((1, 1, 1, 5)))


async def _trouble(sources: TwoSources, chance: random.Random, end: float) -> None:
    journal = sources.journal
    while clock() < end:
        await asyncio.sleep(chance.uniform(0, 3))
        journal.failure = chance.choice((AWAY, MissingEventsError("not in the caches", GapKind.PURGED), None))
        journal.refusal = chance.choice((AWAY, None))
        journal.behind = chance.choice((0, 4))
        sources.polled.is_silent = journal.failure is None and chance.random() < 0.5
        await asyncio.sleep(chance.uniform(0, 1.5))
        journal.failure = journal.refusal = None
        journal.behind, sources.polled.is_silent = 0, False


async def test_histories_are_continuous(monkeypatch: pytest.MonkeyPatch) -> None:
    """A1 to A3: each transaction comes once, in order, before its coverage; reads are cancelled all the time."""
    monkeypatch.setattr(choice, "SETTLED_S", 0.0)  # so that there are many change-overs
    assert await play_all() > 5 * SEEDS


class _Early(Overlap):
    """Takes over before it has read everything that was returned."""

    @property
    def is_ready(self) -> bool:
        return self._last.fresh_as_of is not None or self._last.through_txid > 0


class _Gap(Overlap):
    """Begins after its last read instead of after the last returned edits."""

    def take(self) -> EditsRead:
        return replace(super().take(), batches=())


class _Repeating(Overlap):
    """Returns everything that it has read since it began."""

    def __init__(self, after_txid: int) -> None:
        super().__init__(after_txid)
        self._all: list[EditsRead] = []

    def read(self, read: EditsRead) -> None:
        self._all.append(read)
        super().read(read)

    def take(self) -> EditsRead:
        return replace(super().take(), batches=tuple(batch for read in self._all for batch in read.batches))


class _Ahead(Overlap):
    """Covers as of its take-over instead of its read."""

    def take(self) -> EditsRead:
        return replace(super().take(), fresh_as_of=clock())


@pytest.mark.parametrize("broken", [_Early, _Gap, _Repeating, _Ahead])
async def test_broken_versions_are_caught(broken: type[Overlap], monkeypatch: pytest.MonkeyPatch) -> None:
    """The histories find each broken variant."""
    monkeypatch.setattr(choice, "SETTLED_S", 0.0)
    monkeypatch.setattr(choice, "Overlap", broken)
    with pytest.raises(ExceptionGroup) as caught:
        await play_all()
    assert caught.group_contains(WrongError)
