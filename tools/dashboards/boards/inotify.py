"""The inotify service: publishers, filters, what goes through ZooKeeper.

Filters are shown together: there may be thousands, and no metric has a filter's name as a label.
"""

from typing import Final

from tools.dashboards.boards.shared import NAMENODES_REACHED
from tools.dashboards.panel import Board, Panel, Row
from tools.dashboards.promql import increase, of, rate, total

PUBLISHING: Final = Row(
    "Is every change published?",
    (
        Panel(
            kind="figure",
            title="How many publishers publish?",
            description=(
                "Publishers that write to ZooKeeper now; the others stand by. Good: exactly 1. Bad: 0: subscribers "
                "get no events and the proxies' gates close (NncachePublisherMissing)."
            ),
            unit="short",
            decimals=0,
            queries={"publishing": total(of("nncache_publisher_publishing"))},
            width=6,
            base="red",
            thresholds={1: "green", 2: "red"},
        ),
        Panel(
            kind="figure",
            title="How long ago were the edits read?",
            description=(
                "Seconds since the publisher that publishes last read the NameNode's edits. Good: below 1 s. Bad: "
                "3 s and more: the proxies' gates close."
            ),
            unit="s",
            queries={
                "since the last read": f"min(time() - ({of('nncache_publisher_read_timestamp_seconds')} > 0))"
            },
            width=6,
            thresholds={2: "yellow", 3: "red"},
        ),
        Panel(
            kind="figure",
            title="How many filters are in force?",
            description=(
                "Filters that the publisher matches events with. Good: as many as `nncache filters list` shows. Bad: "
                "0: nothing is published, and no proxy caches anything."
            ),
            unit="short",
            decimals=0,
            queries={"filters": f"max({of('nncache_publisher_filters')})"},
            width=6,
            base="red",
            thresholds={1: "green"},
        ),
        Panel(
            kind="figure",
            title="How many definitions are broken?",
            description=(
                "Definitions of filters in HDFS that cannot be used. Good: 0. Bad: 1 and more: the owner gets no "
                "events; `nncache filters list` names the file and the error (NncacheFilterBroken)."
            ),
            unit="short",
            decimals=0,
            queries={"broken": f"max({of('nncache_publisher_filters_broken')})"},
            width=6,
            thresholds={1: "red"},
        ),
        Panel(
            title="How far is publishing behind reading?",
            description=(
                "Transactions of the NameNode that were read and are not published yet, by publisher. Good: a saw "
                "tooth that comes back to 0. Bad: climbs: ZooKeeper is too slow for what the filters match."
            ),
            unit="short",
            axis_to=10,
            queries={
                "{{instance}}": f"{of('nncache_publisher_read_txid')} - {of('nncache_publisher_published_txid')}"
            },
        ),
        Panel(
            title="Were changes missed?",
            description=(
                "Times within a few scrapes that edits were missed, all streams restarted, or a record was too "
                "large to be exact. Readers are informed each time; it costs hits and events, never a stale "
                "answer. Good: 0. Bad: gaps: NameNodes purge edits before they are read "
                "(dfs.namenode.num.extra.edits.retained)."
            ),
            unit="short",
            axis_to=2,
            queries={
                "gaps in the edits": total(increase("nncache_publisher_drops_total")),
                "streams restarted": total(increase("nncache_publisher_new_chains_total")),
                "records too large": total(increase("nncache_publisher_records_too_large_total")),
            },
            colors={"gaps in the edits": "red", "streams restarted": "orange", "records too large": "yellow"},
        ),
    ),
)

FILTERS: Final = Row(
    "What do the filters' subscribers get?",
    (
        Panel(
            title="How many events go to subscribers?",
            description=(
                "Events a second that matched a filter, counted once for each filter, over all filters: there may be "
                "thousands, so that no metric names one. Good: follows the work on the watched paths. Bad: 0 while "
                "they change: a glob does not match."
            ),
            unit="eps",
            queries={"events matched": total(rate("nncache_publisher_events_matched_total"))},
        ),
        Panel(
            title="What is written to ZooKeeper?",
            description=(
                "Records a second: for the proxies' caches, of these only to say how far the edits have been read, "
                "and for subscribers of filters. Good: about one of coverage a second on a quiet cluster, the "
                "others in step with changes. Bad: hundreds: see max_changes_per_record and the filters' globs."
            ),
            unit="recps",
            queries={
                "for caches": total(rate("nncache_publisher_cache_records_total")),
                "of these coverage only": total(rate("nncache_publisher_coverage_records_total")),
                "for subscribers": total(rate("nncache_publisher_filter_records_total")),
            },
        ),
        Panel(
            title="How often are filters read from HDFS?",
            description=(
                "Filters read within a few scrapes, each with two or three calls, and reads that failed. Good: a step "
                "when filters change, else 0. Bad: without end: something rewrites definitions all the time."
            ),
            unit="short",
            axis_to=2,
            queries={
                "filters read": total(increase("nncache_publisher_filters_read_total")),
                "reads failed": total(increase("nncache_publisher_filter_reads_failed_total")),
            },
            colors={"filters read": "blue", "reads failed": "red"},
        ),
        Panel(
            title="How many changes are merged?",
            description=(
                "Changes named in the caches' records a second, and those merged into a larger one since a record "
                "is bounded. Good: few are merged. Bad: most are: proxies forget more than changed; raise "
                "max_changes_per_record."
            ),
            unit="ops",
            queries={
                "named": total(rate("nncache_publisher_changes_total")),
                "merged": total(rate("nncache_publisher_changes_collapsed_total")),
            },
            colors={"named": "blue", "merged": "orange"},
        ),
    ),
)

ZOOKEEPER: Final = Row(
    "Do ZooKeeper and the NameNode keep up?",
    (
        Panel(
            title="How long does a write to ZooKeeper take?",
            description=(
                "Mean time of a ZooKeeper transaction of the publisher. Good: below 20 ms. Bad: above 100 ms: the "
                "disk of its log is shared or slow."
            ),
            unit="s",
            queries={
                "mean": f"{total(rate('nncache_publisher_write_seconds_total'))} / "
                f"({total(rate('nncache_publisher_writes_total'))} > 0)"
            },
            thresholds={0.1: "red"},
        ),
        Panel(
            title="Which writes, runs and sessions failed?",
            description=(
                "Times within a few scrapes that a transaction was refused or had an unknown outcome, publishing "
                "stopped because of an error, or a session with ZooKeeper was abandoned. Good: 0 but for failovers. "
                "Bad: goes on: see the publisher's log."
            ),
            unit="short",
            axis_to=2,
            queries={
                "writes": total(increase("nncache_publisher_writes_failed_total")),
                "runs": total(increase("nncache_publisher_runs_failed_total")),
                "sessions, proxies' included": total(increase("nncache_zookeeper_sessions_given_up_total")),
            },
        ),
        Panel(
            title="How long does a poll of the edits take?",
            description=(
                "Mean time of getEditsFromTxid at the NameNode, as its poller sees it. Good: a few milliseconds. "
                "Bad: above 0.5 s: the NameNode is overloaded, or its open edit log segment is very long "
                "(dfs.ha.log-roll.period)."
            ),
            unit="s",
            queries={
                "{{instance}}": f"{total(rate('nncache_channel_poll_seconds_total'), 'instance')} / "
                f"({total(rate('nncache_channel_polls_total'), 'instance')} > 0)"
            },
            thresholds={0.5: "red"},
        ),
        NAMENODES_REACHED,
    ),
)

INOTIFY: Final = Board(
    name="inotify",
    title="nncache: inotify service",
    description="Publishers, filters and what goes through ZooKeeper to proxies and subscribers.",
    instances="nncache_namenodes",
    rows=(PUBLISHING, FILTERS, ZOOKEEPER),
)
