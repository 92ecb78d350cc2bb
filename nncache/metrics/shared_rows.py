"""What several daemons have, or may have."""

from nncache.metrics.metric import Metric, counter, gauge, moment

SHARED_ROWS: tuple[Metric, ...] = (
    # ---- nncache: the admin port
    gauge(
        "admin.connections_open", "admin_connections_open", "connections", "Connections of the admin port."
    ),
    counter(
        "admin.connections_refused",
        "admin_connections_refused",
        "connections",
        "Connections to the admin port refused because too many were open.",
    ),
    counter(
        "admin.pages_refused",
        "admin_pages_refused",
        "requests",
        "Requests for operators' pages refused for lack of authorization.",
    ),
    gauge(
        "admin.certificate_ends_at",
        "admin_tls_certificate_end_timestamp_seconds",
        "Unix seconds",
        "When the certificate of the admin port ends; 0 without one.",
    ),
    counter(
        "admin.certificate_reloads_failed",
        "admin_tls_certificate_reloads_failed",
        "reloads",
        "Certificates of the admin port that could not be used when their files changed.",
    ),
    # ---- hadoop: the pool of NameNodes
    gauge("pool.namenodes", "namenodes", "NameNodes", "NameNodes configured."),
    gauge("pool.reachable", "namenodes_reachable", "NameNodes", "NameNodes that answer now."),
    gauge(
        "pool.has_active",
        "namenode_active_known",
        "0 or 1",
        "Whether exactly one NameNode is known to be active.",
    ),
    gauge(
        "pool.is_login_failing",
        "namenode_login_failing",
        "0 or 1",
        "Whether NameNodes answer, but not the service's own Kerberos identity; clients' calls are forwarded.",
    ),
    gauge(
        "pool.is_rpc_login_failing",
        "namenode_rpc_login_failing",
        "0 or 1",
        "Whether the last attempt to log in at a NameNode over RPC failed.",
    ),
    gauge(
        "pool.tickets.is_failing",
        "kerberos_login_failing",
        "0 or 1",
        "Whether the last attempt to get a Kerberos ticket for the service, or to read its ticket cache, failed.",
    ),
    moment(
        "pool.tickets.starts_at",
        "kerberos_ticket_start",
        "When the service last got a Kerberos ticket; 0 without an identity.",
    ),
    moment(
        "pool.tickets.ends_at",
        "kerberos_ticket_end",
        "When the service's Kerberos ticket ends; 0 without an identity.",
    ),
    gauge("pool.term", "namenode_term", "term", "Counts up with each other, or restarted, active NameNode."),
    counter("pool.probes", "namenode_probes", "probes", "Probes of the HA state of NameNodes."),
    counter("pool.failed_probes", "namenode_probes_failed", "probes", "Probes that failed."),
    counter(
        "pool.suspicions",
        "namenode_suspicions",
        "errors",
        "Errors that caused an immediate probe of all NameNodes.",
    ),
    counter(
        "pool.contradictions",
        "namenode_contradictions",
        "answers",
        "Replies in which a standby's edit log was ahead of the active NameNode's.",
    ),
    gauge(
        "pool.caller_connections",
        "namenode_caller_connections",
        "connections",
        "RPC connections made on behalf of callers.",
    ),
    # ---- invalidation: what reading the edits does and costs the NameNode
    counter("polling.polls", "channel_polls", "polls", "Polls of the edits answered."),
    counter("polling.polls_found", "channel_polls_found", "polls", "Polls that brought transactions."),
    counter("polling.polls_failed", "channel_polls_failed", "polls", "Polls without an answer."),
    counter(
        "polling.polls_distrusted",
        "channel_polls_distrusted",
        "polls",
        "Replies discarded because the connection changed.",
    ),
    counter("polling.poll_s", "channel_poll_seconds", "seconds", "What answered polls took."),
    counter(
        "polling.poll_charged_s",
        "channel_poll_charged_seconds",
        "seconds",
        "Estimated CPU time that polling has cost a NameNode.",
    ),
    gauge(
        "polling.poll_budget_s",
        "channel_poll_budget_seconds",
        "seconds",
        "Polling budget left (poll_budget_share); may be negative.",
    ),
    counter("polling.rolls", "channel_rolls", "calls", "Calls of rollEdits that succeeded."),
    counter(
        "polling.rolls_failed",
        "channel_rolls_failed",
        "calls",
        "Calls of rollEdits refused or failed.",
    ),
    counter(
        "polling.reconnects",
        "channel_reconnects",
        "connections",
        "Connections renewed without losing a change.",
    ),
    # ---- nncache: the event loop
    counter(
        "loop.stalls",
        "event_loop_stalls",
        "stalls",
        "Times a single callback blocked the event loop for more than 0.1 s.",
    ),
    counter("loop.stalled_s", "event_loop_stalled_seconds", "seconds", "Total duration of these stalls."),
    gauge("loop.lag_s", "event_loop_lag_seconds", "seconds", "Lag of the event loop behind its timers."),
    gauge(
        "loop.lag_max_s",
        "event_loop_lag_max_seconds",
        "seconds",
        "Largest such lag in the last one to two minutes.",
    ),
    # ---- coordination: the session with ZooKeeper; all zero without one
    gauge(
        "zookeeper.is_connected",
        "zookeeper_connected",
        "0 or 1",
        "Whether there is a connection to ZooKeeper.",
    ),
    gauge(
        "zookeeper.is_login_failing",
        "zookeeper_login_failing",
        "0 or 1",
        "Whether the last login at ZooKeeper (SASL) failed.",
    ),
    counter("zookeeper.connections", "zookeeper_connections", "connections", "Connections made."),
    counter("zookeeper.sessions", "zookeeper_sessions", "sessions", "Sessions that ZooKeeper has granted."),
    counter(
        "zookeeper.sessions_given_up",
        "zookeeper_sessions_given_up",
        "sessions",
        "Sessions abandoned after a timeout or refusal.",
    ),
    counter("zookeeper.calls", "zookeeper_calls", "calls", "Calls made."),
    counter("zookeeper.calls_failed", "zookeeper_calls_failed", "calls", "Calls that failed."),
    counter("zookeeper.writes", "zookeeper_writes", "writes", "Transactions carried out."),
    counter(
        "zookeeper.writes_refused",
        "zookeeper_writes_refused",
        "writes",
        "Transactions refused because a znode had changed.",
    ),
    counter("zookeeper.watches_armed", "zookeeper_watches_armed", "watches", "Watches set."),
    counter("zookeeper.watches_fired", "zookeeper_watches_fired", "watches", "Notifications received."),
)
