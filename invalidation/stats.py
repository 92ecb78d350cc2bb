"""The figures of this room. (invalidation/stats.py)"""

import math
from dataclasses import asdict, dataclass, field

from coordination.stats import SessionStats


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordStats:
    """What a channel that reads records did since the process began (see RecordCounters), and what it found."""

    records_read: int = 0
    filters: int = 0
    resumes: int = 0
    corrupt_znodes: int = 0  # znodes whose data could not be read, each counted once
    foreign_znodes: int = 0  # znodes that are none of the channel's, each counted once


@dataclass(slots=True)
class RecordCounters:
    """The counters of a channel that reads records, while they are counted."""

    records_read: int = 0  # records that were read and continued the stream
    filters: int = 0  # filters in force, as last read; a gauge
    resumes: int = 0  # times that reading went on over another connection to ZooKeeper within one life

    def stats(self, *, corrupt_znodes: int, foreign_znodes: int) -> RecordStats:
        """Return the figures, with those of the znodes found."""
        return RecordStats(**asdict(self), corrupt_znodes=corrupt_znodes, foreign_znodes=foreign_znodes)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelStats:
    """What a channel did since the process began; a channel that does not poll leaves the zeros."""

    polls: int = 0  # polls of the edits that were answered
    polls_found: int = 0  # of these, such as brought transactions
    polls_failed: int = 0  # polls that got no answer or an error
    polls_distrusted: int = 0  # answers thrown away since the connection had changed
    poll_s: float = 0.0  # seconds that all answered polls took
    poll_charged_s: float = 0.0  # seconds of a NameNode core that polls and rolls are reckoned to have cost
    poll_budget_s: float = (
        0.0  # seconds of a NameNode core left in the budget; negative while polls wait for it
    )
    rolls: int = 0  # successful calls of rollEdits
    rolls_failed: int = 0  # refused or failed calls of rollEdits
    reconnects: int = 0  # times the NameNode's identity was confirmed on another connection within one life
    records: RecordStats = RecordStats()  # of a channel that reads records; another leaves the zeros
    session: SessionStats = field(
        default_factory=SessionStats
    )  # with ZooKeeper; a channel without one leaves the zeros


@dataclass(slots=True)
class PollCounters:
    """The counters of a polling channel, while they are counted; the fields are those of ChannelStats."""

    polls: int = 0
    polls_found: int = 0
    polls_failed: int = 0
    polls_distrusted: int = 0
    poll_s: float = 0.0
    rolls: int = 0
    rolls_failed: int = 0
    reconnects: int = 0

    def polled(self, took_s: float, *, found: bool) -> None:
        """Count an answered poll."""
        self.polls += 1
        self.polls_found += found
        self.poll_s += took_s

    def stats(self, *, charged_s: float, budget_s: float) -> ChannelStats:
        """Return the figures, with those of the budget."""
        return ChannelStats(**asdict(self), poll_charged_s=charged_s, poll_budget_s=budget_s)


@dataclass(slots=True)
class StreamCounters:
    """What the consumer did since the process began, while it is counted."""

    is_open: bool = False  # whether a stream is open now
    term: int = 0  # term of the active NameNode that the stream reads or read last; 0 before the first
    streams_opened: int = 0  # lives of the stream begun
    streams_lost: int = 0  # lives and attempts to open ended by a gap (GapFlush)
    streams_failed: int = 0  # lives and attempts to open ended by anything else
    transactions: int = 0  # transactions with events that were applied
    events: int = 0  # events that were applied
    changes: int = 0  # changes given to the cache
    covers: int = 0  # times the cache was told how fresh it is
    applied_txid: int = -1  # last transaction that was applied, or is known to carry no event
    covered_as_of: float = -math.inf  # seconds of the process's clock: all acknowledged before is applied


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamStats:
    """The consumer's figures at one moment (see StreamCounters), and its channel's."""

    is_open: bool = False
    term: int = 0
    streams_opened: int = 0
    streams_lost: int = 0
    streams_failed: int = 0
    transactions: int = 0
    events: int = 0
    changes: int = 0
    covers: int = 0
    applied_txid: int = -1
    covered_as_of: float = -math.inf
    channel: ChannelStats = ChannelStats()
