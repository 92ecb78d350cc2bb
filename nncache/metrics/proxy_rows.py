"""What only a proxy has."""

from collections.abc import Mapping
from typing import Final

from nncache.cache.decisions import Conclusion, Reason
from nncache.metrics.metric import Metric, counter, gauge, histogram, moment
from nncache.proxy.audit_judge import AUDIT_OUTCOMES
from nncache.proxy.cache_status import REASONS
from nncache.proxy.call_limits import CALL_LIMITS
from nncache.proxy.wait_groups import WAIT_ENDS

CONCLUSIONS: Final[Mapping[str, str]] = {
    Conclusion.STORED.value: "kept, and shared with those who waited for it",
    Conclusion.CONFIRMED.value: "equal to what is kept, which is fresh again",
    Conclusion.UNCHANGED.value: "equal to a file's status that is kept; only the right was renewed",
    Conclusion.SPOILED.value: "not kept: a change came while it was on its way",
    Conclusion.NOT_KEPT.value: "not kept: refused, failed, an open file, or not fresh enough",
}
"""What became of a fetched reply, as the label says it."""

REQUEST_LOGS: Final[Mapping[str, str]] = {
    "access": "the access log (access_log)",
    "audit": "the audit log (audit_log)",
}
"""The logs of requests."""

PROXY_ROWS: tuple[Metric, ...] = (
    # ---- cache: what is held, and what was decided
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
        "cache.tickets",
        "cache_tickets",
        "questions",
        "Requests in flight to the NameNode whose reply may be cached.",
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
    counter("cache.serves", "cache_serves", "lookups", "Lookups answered from memory, fast path excluded."),
    counter(
        "cache.joins",
        "cache_joins",
        "lookups",
        "Lookups that waited for an identical request of the same caller.",
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
    # ---- proxy: clients' connections, and the requests answered before they are taken apart
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
    counter("tls.handshakes", "tls_handshakes", "handshakes", "TLS handshakes of clients."),
    counter(
        "tls.handshakes_failed",
        "tls_handshakes_failed",
        "handshakes",
        "Of clients that do not trust the certificate, have none of their own, speak plain HTTP, or were silent.",
    ),
    counter(
        "tls.handshakes_refused",
        "tls_handshakes_refused",
        "connections",
        "Connections that were closed at once, as too many handshakes of their address were under way.",
    ),
    gauge(
        "tls.certificate_ends_at",
        "tls_certificate_end_timestamp_seconds",
        "Unix time",
        "Until when the certificate of tls_listen holds; 0 without one.",
    ),
    counter(
        "tls.certificate_reloads",
        "tls_certificate_reloads",
        "reloads",
        "Times a certificate that was replaced was taken up.",
    ),
    counter(
        "tls.certificate_reloads_failed",
        "tls_certificate_reloads_failed",
        "reloads",
        "Times that could not be done; the one before stays in use, and the log says why.",
    ),
    counter(
        "fast_path.hits",
        "fast_path_hits",
        "requests",
        "Requests answered by the fast path: the same bytes as an earlier request.",
    ),
    counter("fast_path.bytes_sent", "fast_path_sent_bytes", "bytes", "Bytes of these answers."),
    gauge("fast_path.heads", "fast_path_heads", "requests", "Requests that the fast path can answer."),
    gauge("fast_path.bytes_held", "fast_path_held_bytes", "bytes", "Memory they take of max_cache_bytes."),
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
        "Requests, each counted once, by what became of it and by WebHDFS operation (`other`: none for certain).",
        ("result", "operation"),
    ),
    histogram(
        "traffic.durations",
        "request_duration",
        "Time from the complete request to its reply; of hits of the fast path a random sample, each for several.",
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
    counter(
        "front_end.fetches",
        "fetches",
        "questions",
        "Reads sent to the NameNode whose reply may be cached or shared.",
    ),
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
        "front_end.windows_without_txid",
        "two_step_writes_timed",
        "writes",
        "Of these, those that only two_step_window_s can end.",
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
    gauge("front_end.calls_under_way", "calls_under_way", "calls", "Calls that count against max_calls."),
    counter(
        "front_end.calls_refused",
        "calls_refused",
        "calls",
        "Calls answered 503 or 429 because a limit was reached.",
        "limit",
        {each: f"the setting {each}" for each in CALL_LIMITS},
    ),
    gauge("front_end.waiters", "waiters", "requests", "Requests held for `Prefer: wait`."),
    counter("front_end.waits", "waits", "requests", "Requests held, by end.", "end", WAIT_ENDS),
    gauge(
        "front_end.waiters_bytes",
        "waiters_bytes",
        "bytes",
        "Memory for the heads of these requests: at most 8 KiB for each.",
    ),
    counter(
        "front_end.waits_not_admitted",
        "waits_not_admitted",
        "requests",
        "Not held: beyond max_waiters, or with a head that takes more than 8 KiB.",
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
    counter(
        "forward.connections_opened",
        "upstream_connections_opened",
        "connections",
        "Connections opened to NameNodes.",
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
    gauge("stream.term", "stream_term", "term", "Term of the active NameNode that is or was read last."),
    counter(
        "stream.streams_opened", "stream_opened", "streams", "Streams begun; each starts with an empty cache."
    ),
    counter(
        "stream.streams_lost", "stream_lost", "streams", "Streams ended by a gap in the changes (GapFlush)."
    ),
    counter(
        "stream.streams_failed", "stream_failed", "streams", "Streams, or attempts, ended by anything else."
    ),
    counter(
        "stream.transactions", "stream_transactions", "transactions", "Transactions with events applied."
    ),
    counter("stream.events", "stream_events", "events", "Events applied."),
    counter("stream.changes", "stream_changes", "changes", "Changes that the events stood for."),
    counter("stream.covers", "stream_covers", "proofs", "Times all changes were shown to be applied."),
    gauge("stream.applied_txid", "stream_applied_txid", "transaction id", "Last transaction applied."),
    moment("stream.fresh_as_of", "stream_covered", "As of when all changes are known to be applied."),
    # ---- invalidation: the records of a publisher; all zero without one
    counter(
        "records.records_read",
        "channel_records_read",
        "records",
        "Records read that continued the publisher's stream.",
    ),
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
        "Znodes among the publisher's that are none of its.",
    ),
    # ---- proxy: answers from memory, asked again
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
        "request_logs.lines",
        "request_log_lines",
        "lines",
        "Lines for the access log and the audit log, lost ones included.",
        "log",
        REQUEST_LOGS,
    ),
    counter(
        "request_logs.lost",
        "request_log_lines_lost",
        "lines",
        "Lines that were not written because the disk or the reader was too slow, or the disk was full.",
        "log",
        REQUEST_LOGS,
    ),
)
