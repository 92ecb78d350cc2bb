"""A source of edits over a log in memory, which goes away and comes back; and who checks what a run returns."""

import asyncio
from bisect import bisect_left
from dataclasses import dataclass, field

from nncache.hadoop.events import EventBatch, Unlink
from nncache.invalidation.edits_source import EditsRead
from nncache.invalidation.errors import ChannelUnavailableError
from nncache.invalidation.stats import ChannelStats, JournalStats
from tests.invalidation.virtual_time import clock


class WrongError(AssertionError):
    """What was returned is not what is in the log."""


@dataclass
class Log:
    """Transactions, each with when it was acknowledged; they begin with 1."""

    acknowledged_at: list[float] = field(default_factory=list)
    term: int = 1

    @property
    def end(self) -> int:
        """The last transaction."""
        return len(self.acknowledged_at)

    def write(self, count: int = 1) -> None:
        """Write so many; every third says nothing."""
        self.acknowledged_at += [clock()] * count

    def batches(self, after: int, through: int) -> tuple[EventBatch, ...]:
        """Return what these say."""
        return tuple(
            EventBatch(txid, (Unlink(f"/{txid}"),)) for txid in range(after + 1, through + 1) if txid % 3
        )


class FakeEdits:
    """A source that reads the log each `interval_s`, at most `most` transactions at a time."""

    def __init__(self, log: Log, name: str, *, interval_s: float = 0.01, most: int = 100) -> None:
        self.log = log
        self.name = name
        self.interval_s = interval_s
        self.most = most
        self.refusal: Exception | None = None  # what `start` raises
        self.failure: Exception | None = None  # what `read` raises
        self.is_silent = False  # `read` does not return
        self.is_durable = True  # what it says of a run that begins at the present end
        self.other_events: set[int] = set()  # transactions of which it says something else
        self.behind = 0  # so many transactions are not shown yet
        self.lag_s = 0.0  # nor are those that were acknowledged less long ago
        self.starts: list[int | None] = []
        self.wakes = 0
        self.polls = 0
        self.is_down = False
        self.term = 0
        self._through = 0
        self._is_durable = True

    async def start(self, after_txid: int | None) -> None:
        """Begin."""
        self.stop()
        self.starts.append(after_txid)
        await asyncio.sleep(self.interval_s)
        if self.refusal is not None:
            raise self.refusal
        self._through = self.log.end if after_txid is None else after_txid
        self._is_durable = after_txid is not None or self.is_durable
        self.term = self.log.term

    def stop(self) -> None:
        """End the run."""
        self.term = 0

    async def shut_down(self) -> None:
        """Write it down."""
        self.stop()
        self.is_down = True

    async def read(self) -> EditsRead:
        """Return what the next look shows; from then on there is no await."""
        while True:
            if not self.term:
                raise ChannelUnavailableError("the source was not started")
            await asyncio.sleep(self.interval_s)
            if self.failure is not None:
                raise self.failure
            if not self.is_silent:
                break
        self.polls += 1
        looked_at, shown = clock(), bisect_left(self.log.acknowledged_at, clock() - self.lag_s + 1e-9)
        end = max(self._through, shown - self.behind)
        through = min(end, self._through + self.most)
        batches = tuple(
            EventBatch(batch.txid, (Unlink("/other"),)) if batch.txid in self.other_events else batch
            for batch in self.log.batches(self._through, through)
        )
        self._through = through
        fresh_as_of = looked_at - self.lag_s if through == end and not self.behind else None
        return EditsRead(batches, through, fresh_as_of, self._is_durable)

    def wake(self) -> None:
        """Count it."""
        self.wakes += 1

    def stats(self) -> ChannelStats:
        """Return its polls."""
        if self.name == "journalnodes":
            return ChannelStats(source=self.name, journal=JournalStats(polls=self.polls))
        return ChannelStats(source=self.name, polls=self.polls)


class Judge:
    """Compares what a run returns with the log: each transaction once, in order, and covered when it was read."""

    def __init__(self, log: Log, after: int) -> None:
        self._log = log
        self.through = after
        """Up to where all was returned."""

    def take(self, read: EditsRead) -> None:
        """Raise WrongError for what is lost, repeated, or covered too early."""
        if read.through_txid < self.through:
            raise WrongError(f"back to {read.through_txid} from {self.through}")
        if read.batches != self._log.batches(self.through, read.through_txid):
            raise WrongError(f"after {self.through} came {read}")
        self.through = read.through_txid
        if read.fresh_as_of is None:
            return
        covered = bisect_left(self._log.acknowledged_at, read.fresh_as_of)
        if covered > self.through:
            raise WrongError(f"fresh as of {read.fresh_as_of}, but {covered} was not returned")
