"""Metrics that only a NameNode or a DataNode on ZooKeeper has."""

from nncache.metrics.metric import Metric, counter, gauge

NAMENODE_ROWS: tuple[Metric, ...] = (
    # ---- requests of clients
    counter(
        "namespace.operations",
        "webhdfs_operations",
        "requests",
        "WebHDFS requests answered, by operation and outcome: done, refused, unavailable (ZooKeeper not available, "
        "nothing done) or unknown (whether it was done could not be determined).",
        ("operation", "outcome"),
    ),
    # ---- the namespace, as this NameNode read it last
    gauge(
        "namespace.is_active", "namespace_active", "0 or 1", "Whether this NameNode reports itself as active."
    ),
    gauge("namespace.namenodes", "namespace_namenodes", "NameNodes", "NameNodes present."),
    gauge("namespace.datanodes_live", "namespace_datanodes_live", "DataNodes", "DataNodes with a heartbeat."),
    gauge(
        "namespace.datanodes_stale",
        "namespace_datanodes_stale",
        "DataNodes",
        "Registered DataNodes without a heartbeat.",
    ),
    gauge("namespace.leases", "namespace_leases", "leases", "Leases: writers with open files."),
    Metric(
        name="nncache_namespace_queued",
        kind="gauge",
        unit="items",
        source="namespace.queued",
        meaning="Items in each work queue.",
        labels=("queue",),
    ),
    gauge("namespace.segments", "namespace_feed_segments", "segments", "Segments of the feed of edits."),
    gauge(
        "namespace.age_s",
        "namespace_seen_age_seconds",
        "seconds",
        "Time since the namespace's figures were last read.",
    ),
)

ZNODES_ROWS: tuple[Metric, ...] = (
    # ---- znodes as if there were one copy
    counter("znodes.reads", "znodes_reads", "reads", "Reads of znodes requested."),
    counter("znodes.syncs", "znodes_syncs", "syncs", "Syncs of ZooKeeper; waiting reads share one."),
    counter(
        "znodes.read_s",
        "znodes_read_seconds",
        "seconds",
        "Total time of reads with their wait for a sync; divided by nncache_znodes_reads_total, the latency of a read.",
    ),
    counter("znodes.commits", "znodes_commits", "transactions", "Transactions carried out."),
    counter(
        "znodes.commit_s",
        "znodes_commit_seconds",
        "seconds",
        "Total time of transactions; divided by nncache_znodes_commits_total, the latency of one.",
    ),
    counter(
        "znodes.settled",
        "znodes_settled",
        "transactions",
        "Transactions whose reply was lost and whose outcome was determined.",
    ),
    counter(
        "znodes.unknown",
        "znodes_unknown",
        "transactions",
        "Transactions whose reply was lost and whose outcome was not determined in time.",
    ),
)
