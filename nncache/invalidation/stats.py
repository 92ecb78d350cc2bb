"""The figures of this room, updated in place; callers get copies."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from nncache.coordination.zookeeper import SessionStats


@dataclass(slots=True, kw_only=True)
class RecordStats:
    """The figures of a channel that reads records, since the process started."""

    records_read: int = 0  # records that were read and continued the stream
    filters: int = 0  # filters in force, as last read; a gauge
    filter_names: Mapping[str, str] = field(default_factory=dict)  # names of these filters, by id
    resumes: int = 0  # times that reading continued over another connection to ZooKeeper within one run
    corrupt_znodes: int = 0  # znodes whose data could not be read, each counted once
    foreign_znodes: int = 0  # znodes that do not belong to the channel, each counted once


@dataclass(slots=True, kw_only=True)
class JournalStats:
    """The figures of a source that reads JournalNodes, since the process started."""

    polls: int = 0  # polls of a JournalNode that were answered
    polls_failed: int = 0  # polls of a JournalNode without a valid answer
    poll_s: float = 0.0  # seconds that all answered polls took
    epoch: int = 0  # the epoch that is followed; 0 outside a run
    discarded: int = 0  # transactions of a JournalNode whose id has other content in the log
    counted: Mapping[str, int] = field(
        default_factory=dict
    )  # by JournalNode asked in the last minute: 1 while its answers count, else 0
    behind_txids: Mapping[str, int] = field(
        default_factory=dict
    )  # by JournalNode that has shown any: transactions that another one showed, and this one did not
    troubles: Mapping[str, str] = field(
        default_factory=dict
    )  # by JournalNode whose answers do not count: the reason


@dataclass(slots=True, kw_only=True)
class ChannelStats:
    """The figures of a channel since the process started; they stay 0 where a channel does not poll."""

    polls: int = 0  # polls of the edits that were answered
    polls_found: int = 0  # polls that returned transactions
    polls_failed: int = 0  # polls that got no answer or an error
    polls_distrusted: int = 0  # replies discarded because the connection had changed
    poll_s: float = 0.0  # seconds that all answered polls took
    poll_charged_s: float = 0.0  # estimated seconds of a NameNode core that polls and rolls have cost
    poll_budget_s: float = 0.0  # seconds of a core left in the budget; negative while polls wait for it
    rolls: int = 0  # successful calls of rollEdits
    rolls_failed: int = 0  # refused or failed calls of rollEdits
    reconnects: int = 0  # times the NameNode's identity was confirmed on another connection within one run
    records: RecordStats = field(default_factory=RecordStats)  # of a channel that reads records
    session: SessionStats = field(default_factory=SessionStats)  # with ZooKeeper, of a channel that has one
    source: str = ""  # the source of edits that is read, where there is a choice (edits_source)
    passed_over: Mapping[str, str] = field(
        default_factory=dict
    )  # by source that is better than the one in use: why it is not read
    journal: JournalStats = field(default_factory=JournalStats)  # of a source that reads JournalNodes

    def polled(self, took_s: float, *, found: bool) -> None:
        """Count an answered poll."""
        self.polls += 1
        self.polls_found += found
        self.poll_s += took_s


@dataclass(slots=True, kw_only=True)
class StreamStats:
    """The figures of the consumer since the process started, with those of its channel."""

    is_open: bool = False  # whether a stream is open now
    streams_opened: int = 0  # runs of the stream begun
    streams_lost: int = 0  # runs and attempts to open ended by a gap (GapFlush)
    streams_failed: int = 0  # runs and attempts to open ended by anything else
    events: int = 0  # events that were applied
    covers: int = 0  # times that coverage was reported to the cache
    applied_txid: int = -1  # last transaction that was applied, or is known to carry no event
    fresh_as_of: float = -math.inf  # process's clock, seconds: everything acknowledged before is applied
    channel: ChannelStats = field(default_factory=ChannelStats)
