"""The figures of this room, counted in place; what is handed out is a copy."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from nncache.coordination.zookeeper import SessionStats


@dataclass(slots=True, kw_only=True)
class RecordStats:
    """What a channel that reads records did since the process began."""

    records_read: int = 0  # records that were read and continued the stream
    filters: int = 0  # filters in force, as last read; a gauge
    filter_names: Mapping[str, str] = field(default_factory=dict)  # of these, by id
    resumes: int = 0  # times that reading went on over another connection to ZooKeeper within one run
    corrupt_znodes: int = 0  # znodes whose data could not be read, each counted once
    foreign_znodes: int = 0  # znodes that are none of the channel's, each counted once


@dataclass(slots=True, kw_only=True)
class JournalStats:
    """What a source that reads JournalNodes did since the process began."""

    polls: int = 0  # polls of a JournalNode that were answered
    polls_failed: int = 0  # polls of a JournalNode that got no answer that counts
    poll_s: float = 0.0  # seconds that all answered polls took
    epoch: int = 0  # that is followed; 0 outside a run
    discarded: int = (
        0  # transactions that a JournalNode showed, and whose number has another content in the log
    )
    counted: Mapping[str, int] = field(
        default_factory=dict
    )  # by JournalNode that was asked in the last minute: 1 while its answers count, else 0
    behind_txids: Mapping[str, int] = field(
        default_factory=dict
    )  # transactions that another showed, and this one not; of those that have shown any
    troubles: Mapping[str, str] = field(
        default_factory=dict
    )  # by JournalNode whose answers do not count: why not


@dataclass(slots=True, kw_only=True)
class ChannelStats:
    """What a channel did since the process began; a channel that does not poll leaves the zeros."""

    polls: int = 0  # polls of the edits that were answered
    polls_found: int = 0  # of these, such as brought transactions
    polls_failed: int = 0  # polls that got no answer or an error
    polls_distrusted: int = 0  # answers thrown away since the connection had changed
    poll_s: float = 0.0  # seconds that all answered polls took
    poll_charged_s: float = 0.0  # estimated seconds of a NameNode core that polls and rolls have cost
    poll_budget_s: float = 0.0  # the same, left in the budget; negative while polls wait for it
    rolls: int = 0  # successful calls of rollEdits
    rolls_failed: int = 0  # refused or failed calls of rollEdits
    reconnects: int = 0  # times the NameNode's identity was confirmed on another connection within one run
    records: RecordStats = field(default_factory=RecordStats)  # of a channel that reads records
    session: SessionStats = field(default_factory=SessionStats)  # with ZooKeeper, of a channel that has one
    source: str = ""  # the source of edits that is read, where there is a choice (edits_source)
    passed_over: Mapping[str, str] = field(
        default_factory=dict
    )  # by source that is better than the one that is read: why it is not read
    journal: JournalStats = field(default_factory=JournalStats)  # of a source that reads JournalNodes

    def polled(self, took_s: float, *, found: bool) -> None:
        """Count an answered poll."""
        self.polls += 1
        self.polls_found += found
        self.poll_s += took_s


@dataclass(slots=True, kw_only=True)
class StreamStats:
    """What the consumer did since the process began, and its channel."""

    is_open: bool = False  # whether a stream is open now
    streams_opened: int = 0  # runs of the stream begun
    streams_lost: int = 0  # runs and attempts to open ended by a gap (GapFlush)
    streams_failed: int = 0  # runs and attempts to open ended by anything else
    events: int = 0  # events that were applied
    covers: int = 0  # times that coverage was reported to the cache
    applied_txid: int = -1  # last transaction that was applied, or is known to carry no event
    fresh_as_of: float = -math.inf  # seconds of the process's clock: all acknowledged before is applied
    channel: ChannelStats = field(default_factory=ChannelStats)
