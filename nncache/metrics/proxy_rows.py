"""Metrics that only a proxy has."""

from collections.abc import Mapping
from typing import Final

from nncache.auditing.audit_judge import AUDIT_OUTCOMES
from nncache.cache.decisions import Conclusion, MissReason
from nncache.events.stream import STREAM_ENDS
from nncache.metrics.metric import Metric, counter, gauge, histogram, moment
from nncache.proxy.cache_status import REASONS
from nncache.proxy.decide.call_limits import CALL_LIMITS
from nncache.proxy.decide.waits import WAIT_ENDS
from nncache.registry.rest.endpoint import REGISTRY_ANSWERS
from nncache.spnego.stats import TICKETS

CONCLUSIONS: Final[Mapping[str, str]] = {
    Conclusion.STORED.value: "kept, and shared with those who waited for it",
    Conclusion.CONFIRMED.value: "equal to the kept reply, which is fresh again",
    Conclusion.UNCHANGED.value: "equal to a file's status that is kept; only the right was renewed",
    Conclusion.SPOILED.value: "not kept: a change came while it was on its way",
    Conclusion.NOT_KEPT.value: "not kept: refused, failed, an open file, or not fresh enough",
}
"""The outcomes of a fetched reply, as values of the label."""

REQUEST_LOGS: Final[Mapping[str, str]] = {
    "access": "the access log (access_log)",
    "audit": "the audit log (audit_log)",
}
"""The logs of requests."""

PROXY_ROWS: tuple[Metric, ...] = (
    # ---- cache: entries and decisions
    gauge(
        "cache.entries", "cache_entries", "entries", "Cached replies, including those about to be reclaimed."
    ),
    gauge("cache.grants", "cache_grants", "grants", "Cached proofs that a caller may traverse a directory."),
    gauge("cache.directories", "cache_directories", "directories", "Directories in the cache."),
    gauge(
        "cache.bytes",
        "cache_bytes",
        "bytes",
        "Memory counted against max_cache_bytes: entries, grants, directories, prepared answers, requests in flight.",
    ),
    gauge(
        "cache.windows",
        "cache_two_step_windows",
        "paths",
        "Paths with a two-step write (CREATE, APPEND) in progress.",
    ),
    gauge(
        "cache.is_open",
        "cache_gate_open",
        "0 or 1",
        "Whether the freshness gate is open, so that cached entries may be served.",
    ),
    gauge(
        "cache.gate_age_s",
        "cache_gate_age_seconds",
        "seconds",
        "Time since all changes were last known to be applied.",
    ),
    gauge(
        "cache.max_staleness_s",
        "cache_max_staleness_seconds",
        "seconds",
        "Age at which the gate closes (max_staleness_s).",
    ),
    gauge(
        "cache.covered_txid", "cache_covered_txid", "transaction id", "Last transaction known to be applied."
    ),
    counter(
        "cache.waits",
        "cache_waits",
        "lookups",
        "Lookups that waited for another caller's request or for the gate.",
    ),
    counter(
        "cache.decisions",
        "cache_asked",
        "lookups",
        "Lookups sent to the NameNode, by reason.",
        "reason",
        {reason: REASONS[reason].meaning for reason in MissReason},
    ),
    counter(
        "cache.conclusions",
        "cache_conclusions",
        "replies",
        "Replies fetched, by outcome.",
        "outcome",
        CONCLUSIONS,
    ),
    counter("cache.changes", "cache_changes", "changes", "Changes applied, from the stream and from writes."),
    counter(
        "cache.forgotten",
        "cache_forgotten",
        "removals",
        "Removals of an entry, a grant, a whole subtree or a caller's rights, for any reason: a change, expiry or lack "
        "of memory (nncache_cache_evictions_total).",
    ),
    counter("cache.flushes", "cache_flushes", "flushes", "Flushes of the whole cache."),
    counter(
        "cache.evictions",
        "cache_evictions",
        "entries",
        "Entries, grants and prepared answers evicted for lack of memory.",
    ),
    # ---- proxy: clients' connections, and the requests answered without parsing
    gauge("server.connections_open", "connections_open", "connections", "Open client connections."),
    counter(
        "server.connections_accepted", "connections_accepted", "connections", "Client connections accepted."
    ),
    counter(
        "server.connections_refused",
        "connections_refused",
        "connections",
        "Client connections refused because of max_connections.",
    ),
    gauge(
        "server.requests_in_progress",
        "server_requests_in_progress",
        "requests",
        "Requests in progress.",
    ),
    counter("server.bugs", "server_bugs", "requests", "Requests that met an internal error; each is logged."),
    counter(
        "balancers.headers",
        "proxy_protocol_headers",
        "connections",
        "Connections from real_ip_from that began with a PROXY protocol header.",
    ),
    counter(
        "balancers.headers_refused",
        "proxy_protocol_headers_refused",
        "connections",
        "Connections from real_ip_from closed because no valid PROXY protocol header arrived in time.",
    ),
    counter("tls.handshakes", "tls_handshakes", "handshakes", "Completed TLS handshakes with clients."),
    counter(
        "tls.handshakes_failed",
        "tls_handshakes_failed",
        "handshakes",
        "Failed TLS handshakes: certificate not trusted, no client certificate, plain HTTP, or timeout.",
    ),
    counter(
        "tls.handshakes_refused",
        "tls_handshakes_refused",
        "connections",
        "Connections closed at once because too many TLS handshakes from their address were in progress.",
    ),
    gauge(
        "tls.certificate_ends_at",
        "tls_certificate_end_timestamp_seconds",
        "Unix seconds",
        "Expiry time of the certificate of tls_listen; 0 without one.",
    ),
    counter(
        "tls.certificate_reloads_failed",
        "tls_certificate_reloads_failed",
        "reloads",
        "Failed reloads of the certificate of tls_listen; the previous one stays in use, the log says why.",
    ),
    counter(
        "fast_path.hits",
        "fast_path_hits",
        "requests",
        "Requests answered by the fast path: byte for byte equal to an earlier request.",
    ),
    gauge(
        "fast_path.heads",
        "fast_path_heads",
        "requests",
        "Requests for which the fast path holds a prepared answer.",
    ),
    gauge(
        "fast_path.bytes_held",
        "fast_path_held_bytes",
        "bytes",
        "Memory for prepared answers of the fast path, counted against max_cache_bytes.",
    ),
    counter(
        "fast_path.evicted",
        "fast_path_evicted",
        "requests",
        "Requests evicted from the fast path for lack of memory.",
    ),
    # ---- proxy: requests, each counted once
    counter(
        "traffic.requests",
        "requests",
        "requests",
        "Requests, each counted once, by result and WebHDFS operation (`other`: not certain).",
        ("result", "operation"),
    ),
    histogram(
        "traffic.durations",
        "request_duration",
        "Time from the complete request to its reply; hits of the fast path are sampled and weighted.",
        "result",
    ),
    counter(
        "front_end.forwarded",
        "forwarded",
        "requests",
        "Requests for which a NameNode was asked, by the reason why they were not answered from memory.",
        "reason",
        {reason.value: explained.meaning for reason, explained in REASONS.items()},
    ),
    gauge("front_end.flights", "flights", "reads", "Reads in flight to the NameNode."),
    counter("front_end.closed_queries", "closed_queries", "calls", "isFileClosed calls to the NameNode."),
    counter(
        "front_end.settled",
        "writes_settled",
        "calls",
        "Calls answered after their changes were applied.",
    ),
    counter(
        "front_end.unknown_outcomes",
        "writes_unknown",
        "calls",
        "Calls sent to the NameNode whose outcome is unknown.",
    ),
    counter(
        "front_end.left_to_events",
        "writes_left_to_events",
        "calls",
        "Calls answered only after the NameNode's events had shown their changes.",
    ),
    counter(
        "front_end.windows_opened",
        "two_step_writes",
        "writes",
        "Redirects of CREATE and APPEND passed through.",
    ),
    counter(
        "front_end.query_failures",
        "query_failures",
        "calls",
        "Failed calls to the NameNode that the proxy made for itself.",
    ),
    counter(
        "front_end.cache_errors",
        "cache_errors",
        "errors",
        "Internal errors of the cache; the calls were forwarded.",
    ),
    counter(
        "front_end.calls_refused",
        "calls_refused",
        "calls",
        "Calls answered with 503 or 429 because a limit was reached.",
        "limit",
        {each: f"the setting {each}" for each in CALL_LIMITS},
    ),
    gauge("front_end.waiters", "waiters", "requests", "Requests held for `Prefer: wait`."),
    counter(
        "front_end.waits",
        "waits",
        "requests",
        "Requests held for `Prefer: wait`, by how the wait ended.",
        "end",
        WAIT_ENDS,
    ),
    gauge(
        "front_end.waiters_bytes",
        "waiters_bytes",
        "bytes",
        "Memory for the heads of requests held for `Prefer: wait`: at most 8 KiB each.",
    ),
    counter(
        "front_end.waits_not_admitted",
        "waits_not_admitted",
        "requests",
        "Requests with `Prefer: wait` that were not held: beyond max_waiters, or with a head of more "
        "than 8 KiB in memory (about 4 KiB as sent).",
    ),
    # ---- proxy: calls to the NameNodes
    counter("forward.calls", "upstream_calls", "calls", "Calls sent to the NameNodes."),
    counter("forward.repeated", "upstream_repeated", "attempts", "Second and later attempts of calls."),
    counter(
        "forward.not_sent", "upstream_not_sent", "attempts", "Attempts for which no connection could be made."
    ),
    counter(
        "forward.refused",
        "upstream_refused",
        "attempts",
        "Attempts answered with StandbyException or RetriableException.",
    ),
    counter(
        "forward.cut",
        "upstream_cut",
        "attempts",
        "Attempts whose connection closed before the reply was complete.",
    ),
    counter(
        "forward.timed_out",
        "upstream_timed_out",
        "attempts",
        "Attempts that timed out waiting for a NameNode.",
    ),
    counter(
        "forward.outcome_unknown",
        "upstream_outcome_unknown",
        "calls",
        "Calls that were sent and got no reply.",
    ),
    counter(
        "forward.broken_replies",
        "upstream_broken_replies",
        "replies",
        "Replies cut off after their first bytes were sent to the client.",
    ),
    gauge(
        "forward.connections_in_use",
        "upstream_connections_in_use",
        "connections",
        "Connections to NameNodes in use.",
    ),
    gauge(
        "forward.connections_idle",
        "upstream_connections_idle",
        "connections",
        "Idle connections to NameNodes.",
    ),
    gauge(
        "forward.waiting_for_connection",
        "upstream_waiting",
        "calls",
        "Calls waiting for a connection (upstream_connections).",
    ),
    counter(
        "forward.clients_cut",
        "upstream_clients_cut",
        "clients",
        "Clients disconnected because they read or sent too slowly while calls waited for a connection.",
    ),
    counter(
        "forward.secure_cookies_removed",
        "secure_cookies_removed",
        "header fields",
        "Set-Cookie fields with Secure that were removed from replies to clients without TLS.",
    ),
    # ---- invalidation: the stream of changes
    gauge("stream.is_open", "stream_open", "0 or 1", "Whether a stream of the NameNode's changes is open."),
    counter(
        "stream.streams_opened",
        "stream_opened",
        "streams",
        "Streams of changes opened; each starts with an empty cache.",
    ),
    counter("stream.streams_lost", "stream_lost", "streams", "Streams of changes ended by a gap (GapFlush)."),
    counter(
        "stream.streams_failed",
        "stream_failed",
        "streams",
        "Streams of changes, and attempts to open one, ended by anything but a gap.",
    ),
    counter("stream.events", "stream_events", "events", "Events applied."),
    gauge("stream.applied_txid", "stream_applied_txid", "transaction id", "Last transaction applied."),
    moment("stream.fresh_as_of", "stream_covered", "Time up to which all changes are known to be applied."),
    # ---- invalidation: the records of a publisher; all zero without one
    gauge(
        "records.filters", "channel_filters", "filters", "Filters in force, as last read from the publisher."
    ),
    counter(
        "records.resumes",
        "channel_resumes",
        "resumes",
        "Resumes of reading over another connection to ZooKeeper without a lost change.",
    ),
    counter(
        "records.corrupt_znodes",
        "channel_corrupt_znodes",
        "znodes",
        "Znodes whose data could not be read.",
    ),
    counter(
        "records.foreign_znodes",
        "channel_foreign_znodes",
        "znodes",
        "Znodes in the publisher's tree that the publisher did not make.",
    ),
    # ---- proxy: audits of answers from memory
    counter(
        "audit.outcomes",
        "audit",
        "answers",
        "Answers from memory compared with the NameNode's own (audit_share), by outcome.",
        "outcome",
        AUDIT_OUTCOMES,
    ),
    # ---- nncache: the logs of requests
    counter(
        "request_logs.lost",
        "request_log_lines_lost",
        "lines",
        "Lines not written because the disk or the reader was too slow, or the disk was full.",
        "log",
        REQUEST_LOGS,
    ),
    # ---- tenants: none without tenants_by
    counter(
        "tenants.requests",
        "tenant_requests",
        "requests",
        "Requests by tenant (tenants_by); hits are sampled and weighted.",
        "tenant",
    ),
    counter(
        "tenants.hits",
        "tenant_hits",
        "requests",
        "Requests by tenant without a NameNode call of their own.",
        "tenant",
    ),
    counter(
        "tenants.calls", "tenant_calls", "requests", "Requests by tenant answered by a NameNode.", "tenant"
    ),
    gauge("tenants.bytes", "tenants_bytes", "bytes", "Memory for the tenants' counters."),
)


AUTHENTICATION_ROWS: tuple[Metric, ...] = (
    counter(
        "termination.tickets",
        "spnego_tickets",
        "tickets",
        "SPNEGO tickets that clients sent to the proxy itself (spnego_principal).",
        "outcome",
        {each.value: meaning for each, meaning in TICKETS.items()},
    ),
    counter(
        "termination.challenges",
        "spnego_challenges",
        "requests",
        "Requests without a ticket or a valid cookie, answered with 401 (spnego_principal).",
    ),
    counter(
        "termination.doas_refused",
        "doas_refused",
        "requests",
        "Requests whose doas the proxy-user rules do not allow, answered with 403 (spnego_principal).",
    ),
    counter(
        "termination.login_failures",
        "service_login_failures",
        "logins",
        "Failed logins of the service at a NameNode's WebHDFS; clients' calls are answered with 503.",
    ),
)


EVENT_ROWS: tuple[Metric, ...] = (
    gauge("events.streams", "event_streams", "streams", "Open event streams (`GET /v1/events`)."),
    gauge("events.followed", "event_filters", "filters", "Filters of the open event streams."),
    counter("events.sent", "events_streamed", "events", "Events sent to event streams."),
    counter(
        "events.ended",
        "event_streams_ended",
        "streams",
        "Ended event streams, by reason.",
        "end",
        STREAM_ENDS,
    ),
    counter(
        "events.not_admitted",
        "event_streams_not_admitted",
        "requests",
        "Requests for an event stream answered with 503 (beyond max_event_streams) or 429 (after too many refusals).",
    ),
)


REGISTRY_ROWS: tuple[Metric, ...] = (
    # ---- proxy: GET /v1/registry
    counter(
        "registry.answers",
        "registry_requests",
        "requests",
        "Requests for `GET /v1/registry`, by answer.",
        "answer",
        REGISTRY_ANSWERS,
    ),
    gauge(
        "registry.waiters",
        "registry_waiters",
        "requests",
        "Registry requests held until the requested entries change.",
    ),
    counter(
        "registry.waits",
        "registry_waits",
        "requests",
        "Registry requests that were held, by how the wait ended.",
        "end",
        WAIT_ENDS,
    ),
    counter(
        "registry.waits_not_admitted",
        "registry_waits_not_admitted",
        "requests",
        "Registry requests with `Prefer: wait` answered at once because too many were held.",
    ),
    counter(
        "registry.gaps",
        "registry_gaps",
        "gaps",
        "Lost connections to ZooKeeper after which all entries were read again.",
    ),
    # ---- proxy and publisher: their own entry
    gauge(
        "registration.is_wanted",
        "registration_wanted",
        "0 or 1",
        "Whether the daemon should be in the service registry: registry = true, and it is not stopping.",
    ),
    gauge(
        "registration.is_registered",
        "registered",
        "0 or 1",
        "Whether the daemon's entry was in the service registry at the last check.",
    ),
    gauge(
        "registration.is_connected",
        "registration_zookeeper_connected",
        "0 or 1",
        "Whether the ZooKeeper session for the service registry is connected.",
    ),
    counter(
        "registration.failures",
        "registration_failures",
        "attempts",
        "Failed attempts to register or to check the entry.",
    ),
)
