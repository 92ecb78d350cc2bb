"""The figures of a publisher, updated in place; callers get copies."""

import math
from dataclasses import dataclass, field

from nncache.coordination.zookeeper import SessionStats
from nncache.invalidation.stats import ChannelStats


@dataclass(slots=True, kw_only=True)
class OutputStats:
    """The figures of an output since the process started."""

    writes: int = 0  # transactions carried out
    writes_failed: int = 0  # transactions refused, or of unknown outcome
    write_s: float = 0.0  # seconds that the transactions carried out took
    cache_records: int = 0  # records for the caches
    filter_records: int = 0  # records for the subscribers of filters
    records_too_large: int = 0  # records replaced by a smaller one that gives up their details
    corrupt_znodes: int = 0  # znodes of ours found damaged, and written again
    foreign_znodes: int = 0  # znodes of other clients in our tree, when it was last read
    standby_waits: int = 0  # times that this publisher stood by while another one led
    epoch: int = 0  # of this publisher's last election; 0 before the first
    writes_fenced: int = 0  # transactions refused because another publisher leads
    acls_repaired: int = 0  # znodes of ours that had a wrong ACL


@dataclass(slots=True, kw_only=True)
class PublisherStats:
    """The figures of the publisher since the process started, with those of its output and its polling."""

    is_publishing: bool = False  # whether a run has begun: edits are read, and this process is the publisher
    runs: int = 0  # runs begun
    runs_failed: int = 0  # runs, and attempts to begin one, ended by anything but another active NameNode
    read_txid: int = -1  # last transaction read in the present run
    read_at: float = -math.inf  # seconds of the process's clock: when a poll was last answered
    published_txid: int = -1  # last transaction that `.cache` covers, as far as this process knows
    published_at: float = -math.inf  # seconds of the process's clock: when it was published
    coverage_records: int = 0  # records that only said how far the edits have been read
    events_matched: int = 0  # events published to subscribers; counted for each matching filter
    events_over_limit: int = 0  # events that filters miss because they were over their limit
    filters_over_limit: int = 0  # filters over their limit
    events_overflowed: int = 0  # events that filters miss because too many were waiting
    events_waiting: int = 0  # events that wait to be published; a large one counts as several
    changes_published: int = 0  # changes named in the caches' records
    changes_collapsed: int = 0  # changes merged into a larger one because there were too many
    filters: int = 0  # filters in force
    filters_broken: int = 0  # definitions in HDFS that can't be used
    filters_refused: int = 0  # filters in HDFS beyond the limits for them, or that others may write
    filter_changes: int = 0  # times that the set of filters changed
    filters_read: int = 0  # filters read from HDFS
    filter_reads_failed: int = 0  # reads that failed
    drops: int = 0  # times that edits were missed, which was reported to all readers
    new_chains: int = 0  # times that all chains were restarted
    waiting_for: str = ""  # the current leader while this publisher stands by; "" otherwise
    output: OutputStats = field(default_factory=OutputStats)
    session: SessionStats = field(default_factory=SessionStats)
    channel: ChannelStats = field(default_factory=ChannelStats)
