"""A source of edits over a log in memory, which can fail and recover; and a judge of the reads of a run."""

import asyncio
from bisect import bisect_left
from dataclasses import dataclass, field

from nncache.hadoop.events import EventBatch, Unlink
from nncache.invalidation.edits_source import EditsRead
from nncache.invalidation.errors import ChannelUnavailableError
from nncache.invalidation.stats import ChannelStats, JournalStats
from tests.invalidation.virtual_time import clock


class WrongError(AssertionError):
    """A read differs from the log."""


@dataclass
class Log:
    """Transactions from 1 on, each with the time of its acknowledgement."""

    acknowledged_at: list[float] = field(default_factory=list)
    term: int = 1

    @property
    def end(self) -> int:
        """The id of the last transaction."""
        return len(self.acknowledged_at)

    def write(self, count: int = 1) -> None:
        """Write `count` transactions; every third has no event."""
        self.acknowledged_at += [clock()] * count

    def batches(self, after: int, through: int) -> tuple[EventBatch, ...]:
        """Return the events of these transactions."""
        return tuple(
            EventBatch(txid, (Unlink(f"/{txid}"),)) for txid in range(after + 1, through + 1) if txid % 3
        )


class FakeEdits:
    """A source that reads the log every `interval_s`, at most `most` transactions at a time."""

    def __init__(self, log: Log, name: str, *, interval_s: float = 0.01, most: int = 100) -> None:
        self.log = log
        self.name = name
        self.interval_s = interval_s
        self.most = most
        self.refusal: Exception | None = None  # what `start` raises
        self.failure: Exception | None = None  # what `read` raises
        self.is_silent = False  # `read` does not return
        self.is_durable = True  # of reads in a run that begins at the present end
        self.other_events: set[int] = set()  # transactions for which it returns other events
        self.behind = 0  # this many transactions are not shown yet
        self.lag_s = 0.0  # nor are those acknowledged less than this ago
        self.starts: list[int | None] = []
        self.wakes = 0
        self.polls = 0
        self.is_down = False
        self.term = 0
        self._through = 0
        self._is_durable = True

    async def start(self, after_txid: int | None) -> None:
        """Begin a run."""
        self.stop()
        self.starts.append(after_txid)
        await asyncio.sleep(self.interval_s)
        if self.refusal is not None:
            raise self.refusal
        self._through = self.log.end if after_txid is None else after_txid
        self._is_durable = after_txid is not None or self.is_durable
        self.term = self.log.term

    def recover(self) -> None:
        """Let `start` and `read` succeed again."""
        self.refusal = self.failure = None

    def stop(self) -> None:
        """End the run."""
        self.term = 0

    async def shut_down(self) -> None:
        """Record the shutdown."""
        self.stop()
        self.is_down = True

    async def read(self) -> EditsRead:
        """Return the next read; after its sleep there is no await."""
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
        """Count the call."""
        self.wakes += 1

    def stats(self) -> ChannelStats:
        """Return figures with its polls."""
        if self.name == "journalnodes":
            return ChannelStats(source=self.name, journal=JournalStats(polls=self.polls))
        return ChannelStats(source=self.name, polls=self.polls)


class Judge:
    """Compares reads with the log: each transaction comes once, in order, and before it is covered."""

    def __init__(self, log: Log, after: int) -> None:
        self._log = log
        self.through = after
        """All transactions up to this one were returned."""

    def take(self, read: EditsRead) -> None:
        """Raise WrongError if a read loses, repeats, or covers transactions too early."""
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
