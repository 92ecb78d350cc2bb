"""Metrics that only a publisher has."""

from nncache.metrics.metric import Metric, counter, gauge, moment

PUBLISHER_ROWS: tuple[Metric, ...] = (
    # ---- the publisher's runs
    gauge(
        "publisher.is_publishing",
        "publisher_publishing",
        "0 or 1",
        "Whether this process is publishing.",
    ),
    counter("publisher.runs", "publisher_runs", "runs", "Times publishing started."),
    counter(
        "publisher.runs_failed",
        "publisher_runs_failed",
        "runs",
        "Times publishing stopped, or could not start, because of an error.",
    ),
    counter(
        "publisher.output.standby_waits",
        "publisher_standby_waits",
        "waits",
        "Times this publisher began to stand by because another one leads.",
    ),
    gauge(
        "publisher.output.epoch",
        "publisher_epoch",
        "epoch",
        "Epoch of this publisher's last election, 0 before the first; increases with every leader.",
    ),
    counter(
        "publisher.output.writes_fenced",
        "publisher_writes_fenced",
        "transactions",
        "Transactions that ZooKeeper refused because another publisher was elected.",
    ),
    # ---- edits that were read and published
    gauge("publisher.read_txid", "publisher_read_txid", "transaction id", "Last transaction read."),
    moment("publisher.read_at", "publisher_read", "Time of the last read of the edits."),
    gauge(
        "publisher.published_txid",
        "publisher_published_txid",
        "transaction id",
        "Last transaction published to the caches.",
    ),
    moment("publisher.published_at", "publisher_published", "Time of the last write of a record."),
    counter(
        "publisher.output.cache_records",
        "publisher_cache_records",
        "records",
        "Records written for the caches.",
    ),
    counter(
        "publisher.coverage_records",
        "publisher_coverage_records",
        "records",
        "Records written for the caches that only say how far the edits have been read.",
    ),
    counter(
        "publisher.output.filter_records",
        "publisher_filter_records",
        "records",
        "Records written for the subscribers of filters.",
    ),
    counter(
        "publisher.events_matched",
        "publisher_events_matched",
        "events",
        "Events published to subscribers, counted once for each matching filter.",
    ),
    counter(
        "publisher.events_over_limit",
        "publisher_events_over_limit",
        "events",
        "Events that subscribers missed because their filter was over max_events_per_s_per_filter.",
    ),
    counter(
        "publisher.events_overflowed",
        "publisher_events_overflowed",
        "events",
        "Events that a filter's subscribers missed because more than max_buffered_events waited; they are informed.",
    ),
    gauge(
        "publisher.events_waiting",
        "publisher_events_waiting",
        "events",
        "Events waiting to be published; a large one counts as several.",
    ),
    gauge(
        "publisher.filters_over_limit",
        "publisher_filters_over_limit",
        "filters",
        "Filters over max_events_per_s_per_filter.",
    ),
    counter(
        "publisher.changes_published",
        "publisher_changes",
        "changes",
        "Changes named in the caches' records.",
    ),
    counter(
        "publisher.changes_collapsed",
        "publisher_changes_collapsed",
        "changes",
        "Changes merged into a larger one (max_changes_per_record).",
    ),
    counter(
        "publisher.output.records_too_large",
        "publisher_records_too_large",
        "records",
        "Records too large for a znode, replaced by one that says that everything may have changed.",
    ),
    counter(
        "publisher.drops",
        "publisher_drops",
        "gaps",
        "Gaps in the edits read, published to all readers (GapFlush).",
    ),
    counter(
        "publisher.new_chains",
        "publisher_new_chains",
        "restarts",
        "Restarts of all streams because the edit log went back or ZooKeeper was wiped.",
    ),
    # ---- the filters
    gauge("publisher.filters", "publisher_filters", "filters", "Filters in force."),
    gauge(
        "publisher.filters_broken",
        "publisher_filters_broken",
        "filters",
        "Filter definitions in HDFS that cannot be used.",
    ),
    gauge(
        "publisher.filters_refused",
        "publisher_filters_refused",
        "filters",
        "Filters in HDFS that are refused: too general, too many, or writable by others than administrators.",
    ),
    counter(
        "publisher.filter_changes",
        "publisher_filter_changes",
        "changes",
        "Changes of the set of filters.",
    ),
    counter(
        "publisher.filters_read",
        "publisher_filters_read",
        "filters",
        "Filters read from HDFS; each costs two or three calls. A filter that keeps changing is read every 30 s.",
    ),
    counter(
        "publisher.filter_reads_failed",
        "publisher_filter_reads_failed",
        "reads",
        "Failed reads of filters.",
    ),
    # ---- writes
    counter("publisher.output.writes", "publisher_writes", "writes", "ZooKeeper transactions carried out."),
    counter(
        "publisher.output.writes_failed",
        "publisher_writes_failed",
        "writes",
        "ZooKeeper transactions refused or of unknown outcome; publishing restarts after each.",
    ),
    counter(
        "publisher.output.write_s",
        "publisher_write_seconds",
        "seconds",
        "Total time of ZooKeeper transactions carried out.",
    ),
    counter(
        "publisher.output.corrupt_znodes",
        "publisher_corrupt_znodes",
        "znodes",
        "Damaged znodes of the publisher that were rewritten.",
    ),
    gauge(
        "publisher.output.foreign_znodes",
        "publisher_foreign_znodes",
        "znodes",
        "Foreign znodes in the publisher's tree, left unchanged.",
    ),
    counter(
        "publisher.output.acls_repaired",
        "publisher_acls_repaired",
        "znodes",
        "Znodes of the publisher whose wrong ACL was corrected.",
    ),
)
