"""Metrics that only a proxy has."""

from collections.abc import Mapping
from typing import Final

from nncache.auditing.audit_judge import AUDIT_OUTCOMES
from nncache.cache.decisions import Conclusion, Reason
from nncache.events.stream import STREAM_ENDS
from nncache.metrics.metric import Metric, counter, gauge, histogram, moment
from nncache.proxy.cache_status import REASONS
from nncache.proxy.decide.call_limits import CALL_LIMITS
from nncache.proxy.decide.waits import WAIT_ENDS
from nncache.registry.rest.endpoint import REGISTRY_ANSWERS
from nncache.spnego.stats import TICKETS

CONCLUSIONS: Final[Mapping[str, str]] = {
    Conclusion.STORED.value: "kept, and shared with those who waited for it",
    Conclusion.CONFIRMED.value: "equal to what is kept, which is fresh again",
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
        "cache.windows", "cache_two_step_windows", "paths", "Two-step writes (CREATE, APPEND) in progress."
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
        "Lookups that went to the NameNode.",
        "reason",
        {reason: REASONS[reason].meaning for reason in Reason},
    ),
    counter(
        "cache.conclusions",
        "cache_conclusions",
        "replies",
        "Replies fetched, by what became of them.",
        "outcome",
        CONCLUSIONS,
    ),
    counter("cache.changes", "cache_changes", "changes", "Changes applied, from the stream and from writes."),
    counter(
        "cache.forgotten", "cache_forgotten", "places", "Paths at which a change made cached data stale."
    ),
    counter("cache.flushes", "cache_flushes", "flushes", "Times the whole cache was dropped."),
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
        "Requests being answered now.",
    ),
    counter("server.bugs", "server_bugs", "requests", "Requests that met an internal error; each is logged."),
    counter(
        "balancers.headers",
        "proxy_protocol_headers",
        "connections",
        "Connections of real_ip_from that began with a header of the PROXY protocol.",
    ),
    counter(
        "balancers.headers_refused",
        "proxy_protocol_headers_refused",
        "connections",
        "Connections of real_ip_from closed because no valid header of the PROXY protocol came in time.",
    ),
    counter("tls.handshakes", "tls_handshakes", "handshakes", "TLS handshakes of clients."),
    counter(
        "tls.handshakes_failed",
        "tls_handshakes_failed",
        "handshakes",
        "TLS handshakes that failed: certificate not trusted, none of the client, plain HTTP, or silence.",
    ),
    counter(
        "tls.handshakes_refused",
        "tls_handshakes_refused",
        "connections",
        "Connections closed at once because too many TLS handshakes of their address were in progress.",
    ),
    gauge(
        "tls.certificate_ends_at",
        "tls_certificate_end_timestamp_seconds",
        "Unix time",
        "When the certificate of tls_listen expires; 0 without one.",
    ),
    counter(
        "tls.certificate_reloads_failed",
        "tls_certificate_reloads_failed",
        "reloads",
        "Reloads of the certificate of tls_listen that failed; the previous one stays in use, the log says why.",
    ),
    counter(
        "fast_path.hits",
        "fast_path_hits",
        "requests",
        "Requests answered by the fast path: the same bytes as an earlier request.",
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
        "Memory of max_cache_bytes that prepared answers of the fast path take.",
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
    gauge("front_end.flights", "flights", "questions", "Reads in flight to the NameNode."),
    counter("front_end.closed_queries", "closed_queries", "questions", "isFileClosed calls to the NameNode."),
    counter(
        "front_end.settled",
        "writes_settled",
        "calls",
        "Calls whose changes were applied before they were answered.",
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
        "Calls answered only after the NameNode's events had shown what they changed.",
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
        "questions",
        "Calls of the proxy itself to the NameNode that failed.",
    ),
    counter(
        "front_end.cache_errors",
        "cache_errors",
        "errors",
        "Internal errors of the cache; the call was forwarded.",
    ),
    counter(
        "front_end.calls_refused",
        "calls_refused",
        "calls",
        "Calls answered 503 or 429 because a limit was reached.",
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
    counter("forward.repeated", "upstream_repeated", "attempts", "Attempts after the first of a call."),
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
    counter("forward.broken_replies", "upstream_broken_replies", "calls", "Replies that broke off midway."),
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
        "Calls that wait for one of upstream_connections.",
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
    gauge("stream.is_open", "stream_open", "0 or 1", "Whether the NameNode's changes are being read."),
    counter(
        "stream.streams_opened", "stream_opened", "streams", "Streams begun; each starts with an empty cache."
    ),
    counter(
        "stream.streams_lost", "stream_lost", "streams", "Streams ended by a gap in the changes (GapFlush)."
    ),
    counter(
        "stream.streams_failed",
        "stream_failed",
        "streams",
        "Streams of changes, or attempts to open one, that ended for another reason than a gap.",
    ),
    counter("stream.events", "stream_events", "events", "Events applied."),
    gauge("stream.applied_txid", "stream_applied_txid", "transaction id", "Last transaction applied."),
    moment("stream.fresh_as_of", "stream_covered", "As of when all changes are known to be applied."),
    # ---- invalidation: the records of a publisher; all zero without one
    gauge("records.filters", "channel_filters", "filters", "Filters in force, as the publisher has them."),
    counter(
        "records.resumes",
        "channel_resumes",
        "times",
        "Times reading resumed over another connection to ZooKeeper without losing a change.",
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
        "Answers from memory that were compared with the NameNode's own (audit_share).",
        "outcome",
        AUDIT_OUTCOMES,
    ),
    # ---- nncache: the logs of requests
    counter(
        "request_logs.lost",
        "request_log_lines_lost",
        "lines",
        "Lines that were not written because the disk or the reader was too slow, or the disk was full.",
        "log",
        REQUEST_LOGS,
    ),
    # ---- tenants: none without tenants_by
    counter(
        "tenants.requests",
        "tenant_requests",
        "requests",
        "Requests by tenant (tenants_by), hits sampled and weighted.",
        "tenant",
    ),
    counter(
        "tenants.hits",
        "tenant_hits",
        "requests",
        "Those without a NameNode call of their own.",
        "tenant",
    ),
    counter("tenants.calls", "tenant_calls", "requests", "Those that a NameNode answered.", "tenant"),
    gauge("tenants.bytes", "tenants_bytes", "bytes", "Memory for these."),
)


AUTHENTICATION_ROWS: tuple[Metric, ...] = (
    counter(
        "termination.tickets",
        "spnego_tickets",
        "tickets",
        "Tickets of clients (SPNEGO) that came to the proxy itself (spnego_principal).",
        "outcome",
        {each.value: meaning for each, meaning in TICKETS.items()},
    ),
    counter(
        "termination.challenges",
        "spnego_challenges",
        "requests",
        "Requests without a ticket or a good cookie, answered with 401 (spnego_principal).",
    ),
    counter(
        "termination.doas_refused",
        "doas_refused",
        "requests",
        "Requests with doas that the proxy-user rules do not allow, answered with 403 (spnego_principal).",
    ),
    counter(
        "termination.login_failures",
        "service_login_failures",
        "logins",
        "Logins of the service at the WebHDFS of a NameNode that failed; calls for clients are answered with 503.",
    ),
)


EVENT_ROWS: tuple[Metric, ...] = (
    gauge("events.streams", "event_streams", "streams", "Streams of GET /v1/events that are open."),
    gauge("events.followed", "event_filters", "filters", "Filters whose events are streamed."),
    counter("events.sent", "events_streamed", "events", "Events sent to streams."),
    counter(
        "events.ended",
        "event_streams_ended",
        "streams",
        "Event streams that have ended, by reason.",
        "end",
        STREAM_ENDS,
    ),
    counter(
        "events.not_admitted",
        "event_streams_not_admitted",
        "requests",
        "Requests for an event stream answered 503 (beyond max_event_streams) or 429 (after too many refusals).",
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
        "registry.waiters", "registry_waiters", "requests", "Requests held until what they ask for changes."
    ),
    counter(
        "registry.waits",
        "registry_waits",
        "requests",
        "Requests about the registry that were held, by how their wait ended.",
        "end",
        WAIT_ENDS,
    ),
    counter(
        "registry.waits_not_admitted",
        "registry_waits_not_admitted",
        "requests",
        "Requests with `Prefer: wait` answered at once, since too many were held.",
    ),
    counter(
        "registry.gaps",
        "registry_gaps",
        "gaps",
        "Connections to ZooKeeper lost, after which all entries were read again.",
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
        "Whether the daemon's entry was in the service registry when it was last looked for.",
    ),
    gauge(
        "registration.is_connected",
        "registration_zookeeper_connected",
        "0 or 1",
        "Whether the session with ZooKeeper that holds the registry has a connection.",
    ),
    counter(
        "registration.failures",
        "registration_failures",
        "attempts",
        "Attempts to register, or to look for the entry, that failed.",
    ),
)
