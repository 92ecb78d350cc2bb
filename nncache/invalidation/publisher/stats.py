"""The figures of a publisher, counted in place; what is handed out is a copy."""

import math
from dataclasses import dataclass, field

from nncache.coordination.zookeeper import SessionStats
from nncache.invalidation.stats import ChannelStats


@dataclass(slots=True, kw_only=True)
class OutputStats:
    """What an output did since the process began."""

    writes: int = 0  # transactions carried out
    writes_failed: int = 0  # transactions refused, or of unknown outcome
    write_s: float = 0.0  # seconds that all carried out took
    cache_records: int = 0  # records for the caches
    filter_records: int = 0  # records for the subscribers of filters
    records_too_large: int = 0  # records that were replaced by one that says "everything"
    corrupt_znodes: int = 0  # znodes of ours found damaged, and written again
    foreign_znodes: int = 0  # znodes of others in our tree, when it was last read
    standby_waits: int = 0  # times that another publisher led, and its end was waited for
    epoch: int = 0  # of this publisher's last election; 0 before the first
    writes_fenced: int = 0  # transactions refused since another publisher leads
    acls_repaired: int = 0  # znodes of ours that had another ACL than they must have


@dataclass(slots=True, kw_only=True)
class PublisherStats:
    """What the publisher did since the process began, its output, and its polling."""

    is_publishing: bool = False  # whether a run has begun: edits are read, and this process is the publisher
    runs: int = 0  # runs begun
    runs_failed: int = 0  # runs, and attempts to begin one, ended by anything but another active NameNode
    read_txid: int = -1  # last transaction read in the present run
    read_at: float = -math.inf  # seconds of the process's clock: the last answered poll
    published_txid: int = -1  # last transaction that `.cache` covers, as far as this process knows
    published_at: float = -math.inf  # seconds of the process's clock: when it was published
    coverage_records: int = 0  # records that only said how far the edits have been read
    events_matched: int = 0  # events given to subscribers; once for each filter that it matches
    events_over_limit: int = 0  # events that a filter misses since it was over its limit
    filters_over_limit: int = 0  # filters over their limit
    events_overflowed: int = 0  # events that a filter misses since more waited than may
    events_waiting: int = 0  # events that wait to be published; a large one counts as several
    changes_published: int = 0  # changes named in the caches' records
    changes_collapsed: int = 0  # changes that went into a larger one since there were too many
    filters: int = 0  # filters in force
    filters_broken: int = 0  # definitions in HDFS that can't be used
    filters_refused: int = 0  # filters in HDFS beyond the limits for them, or that others may write
    filter_changes: int = 0  # times that the set of filters changed
    filters_read: int = 0  # filters read by these
    filter_reads_failed: int = 0  # readings that failed
    drops: int = 0  # times that edits were missed, and everybody was told so
    new_chains: int = 0  # times that all chains were begun again
    waiting_for: str = ""  # the leader whose end is waited for; "" for none
    output: OutputStats = field(default_factory=OutputStats)
    session: SessionStats = field(default_factory=SessionStats)
    channel: ChannelStats = field(default_factory=ChannelStats)
