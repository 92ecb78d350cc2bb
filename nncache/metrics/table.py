"""The table of all metrics.

The rooms count in plain integers and return frozen `Stats` values; no code here runs during a request.
docs/metrics.md is generated from this table (`make docs`). A test checks that no figure of a room is missing.
"""

from typing import Final

from nncache.metrics.metric import Metric, counter, gauge, moment
from nncache.metrics.namenode_rows import NAMENODE_ROWS, ZNODES_ROWS
from nncache.metrics.proxy_rows import AUTHENTICATION_ROWS, EVENT_ROWS, PROXY_ROWS, REGISTRY_ROWS
from nncache.metrics.publisher_rows import PUBLISHER_ROWS

SHARED_ROWS: tuple[Metric, ...] = (
    # ---- nncache: the admin port
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
        "Expiry time of the certificate of the admin port; 0 without one.",
    ),
    counter(
        "admin.certificate_reloads_failed",
        "admin_tls_certificate_reloads_failed",
        "reloads",
        "Failed reloads of the certificate of the admin port after its files changed.",
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
        "Whether NameNodes answer, but not to the service's own Kerberos identity; clients' calls are forwarded.",
    ),
    gauge(
        "pool.is_rpc_login_failing",
        "namenode_rpc_login_failing",
        "0 or 1",
        "Whether the last RPC login at a NameNode failed.",
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
        "Time when the service last got a Kerberos ticket; 0 without an identity.",
    ),
    moment(
        "pool.tickets.ends_at",
        "kerberos_ticket_end",
        "Expiry time of the service's Kerberos ticket; 0 without an identity.",
    ),
    gauge(
        "pool.term",
        "namenode_term",
        "term",
        "Term; increases when another, or a restarted, NameNode becomes active.",
    ),
    Metric(
        name="nncache_namenode_probes_total",
        kind="counter",
        unit="probes",
        source="pool.probes",
        meaning="Probes of the HA state, by NameNode.",
        labels=("namenode",),
    ),
    counter(
        "pool.failed_probes",
        "namenode_probes_failed",
        "probes",
        "Failed probes of the HA state.",
    ),
    counter(
        "pool.contradictions",
        "namenode_contradictions",
        "probes",
        "Probes in which a standby's edit log was ahead of the active NameNode's.",
    ),
    # ---- invalidation: reading the edits, and its cost for the NameNode
    counter("polling.polls", "channel_polls", "polls", "Answered polls of the edits."),
    counter("polling.polls_failed", "channel_polls_failed", "polls", "Polls of the edits without an answer."),
    counter(
        "polling.poll_s", "channel_poll_seconds", "seconds", "Total time of answered polls of the edits."
    ),
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
    counter("polling.rolls", "channel_rolls", "calls", "Successful calls of rollEdits."),
    counter(
        "polling.rolls_failed",
        "channel_rolls_failed",
        "calls",
        "Refused or failed calls of rollEdits.",
    ),
    Metric(
        name="nncache_edits_source",
        kind="gauge",
        unit="1",
        source="polling.source",
        meaning="Source of edits that is read, or was read last (edits_source).",
        labels=("source",),
    ),
    Metric(
        name="nncache_edits_source_passed_over",
        kind="gauge",
        unit="1",
        source="polling.passed_over",
        meaning="Unreadable sources of edits that are better than the one read; the status page says why.",
        labels=("source",),
    ),
    counter(
        "journal.polls",
        "journal_polls",
        "polls",
        "Answered polls of JournalNodes, where edits_source reads them.",
    ),
    counter(
        "journal.polls_failed",
        "journal_polls_failed",
        "polls",
        "Polls of JournalNodes without a valid answer.",
    ),
    counter(
        "journal.poll_s", "journal_poll_seconds", "seconds", "Total time of answered polls of JournalNodes."
    ),
    gauge(
        "journal.epoch", "journal_epoch", "epoch", "Epoch of the journal that is followed; 0 while none is."
    ),
    counter(
        "journal.discarded",
        "journal_discarded",
        "transactions",
        "Discarded transactions of JournalNodes: the log has other content under their id.",
    ),
    Metric(
        name="nncache_journalnode_counted",
        kind="gauge",
        unit="0 or 1",
        source="journal.counted",
        meaning="Whether the answers of each JournalNode count; absent while it is not asked.",
        labels=("journalnode",),
    ),
    Metric(
        name="nncache_journalnode_behind_txids",
        kind="gauge",
        unit="transactions",
        source="journal.behind_txids",
        meaning="Transactions that another JournalNode has shown and this one has not; absent before it shows any.",
        labels=("journalnode",),
    ),
    # ---- nncache: the event loop
    counter(
        "loop.stalls",
        "event_loop_stalls",
        "stalls",
        "Stalls of the event loop: one callback blocked it for more than 0.1 s.",
    ),
    counter(
        "loop.stalled_s",
        "event_loop_stalled_seconds",
        "seconds",
        "Total time of stalls of the event loop.",
    ),
    gauge("loop.lag_s", "event_loop_lag_seconds", "seconds", "Lag of the event loop behind its timers."),
    gauge(
        "loop.lag_max_s",
        "event_loop_lag_max_seconds",
        "seconds",
        "Largest lag of the event loop in the last one to two minutes.",
    ),
    # ---- coordination: the session with ZooKeeper; all zero without one
    gauge(
        "zookeeper.is_connected",
        "zookeeper_connected",
        "0 or 1",
        "Whether the daemon is connected to ZooKeeper.",
    ),
    gauge(
        "zookeeper.is_login_failing",
        "zookeeper_login_failing",
        "0 or 1",
        "Whether the last login at ZooKeeper (SASL) failed.",
    ),
    counter(
        "zookeeper.connections", "zookeeper_connections", "connections", "Connections to ZooKeeper made."
    ),
    counter("zookeeper.sessions", "zookeeper_sessions", "sessions", "Sessions that ZooKeeper has granted."),
    counter(
        "zookeeper.sessions_given_up",
        "zookeeper_sessions_given_up",
        "sessions",
        "ZooKeeper sessions abandoned after a timeout or refusal.",
    ),
    counter("zookeeper.calls", "zookeeper_calls", "calls", "Calls to ZooKeeper made."),
    counter("zookeeper.calls_failed", "zookeeper_calls_failed", "calls", "Calls to ZooKeeper that failed."),
    counter("zookeeper.writes", "zookeeper_writes", "writes", "ZooKeeper transactions carried out."),
    counter(
        "zookeeper.writes_refused",
        "zookeeper_writes_refused",
        "writes",
        "ZooKeeper transactions refused because a znode had changed.",
    ),
)


RCODES: Final = {
    "NOERROR": "Answered; or the name has no record of that type.",
    "NXDOMAIN": "There is no such name.",
    "SERVFAIL": "The registry has not been read yet.",
    "REFUSED": "Outside the domain, or a transfer of the zone.",
    "FORMERR": "The message is malformed.",
    "NOTIMP": "An operation other than a query.",
    "BADVERS": "A later version of EDNS.",
}
"""The meaning of each response code."""

DNS_ROWS: tuple[Metric, ...] = (
    gauge(
        "dns.is_loaded",
        "dns_loaded",
        "0 or 1",
        "Whether the registry has been read; if not, answers are SERVFAIL.",
    ),
    gauge(
        "dns.is_current",
        "dns_current",
        "0 or 1",
        "Whether the registry is followed; if not, answers are from its last known state.",
    ),
    gauge("dns.names", "dns_names", "names", "Names in the DNS zone."),
    counter(
        "dns.responses", "dns_responses", "responses", "DNS responses, by response code.", "rcode", RCODES
    ),
    counter(
        "dns.dropped",
        "dns_messages_dropped",
        "messages",
        "DNS messages without a response, by reason.",
        "reason",
        {
            "rate": "Its address is over dns_queries_per_s.",
            "malformed": "No header, more than 4 KiB, or a response.",
            "error": "An internal error; the first is in the log.",
        },
    ),
    counter(
        "dns.connections_refused",
        "dns_connections_refused",
        "connections",
        "TCP connections of DNS refused because too many were open.",
    ),
)


METRICS: tuple[Metric, ...] = (
    *PROXY_ROWS,
    *EVENT_ROWS,
    *REGISTRY_ROWS,
    *AUTHENTICATION_ROWS,
    *PUBLISHER_ROWS,
    *DNS_ROWS,
    *NAMENODE_ROWS,
    *ZNODES_ROWS,
    *SHARED_ROWS,
)
