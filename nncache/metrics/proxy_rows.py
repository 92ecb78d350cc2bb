"""What only a proxy has. (nncache/metrics/proxy_rows.py)"""

from nncache.metrics.metric import Metric, counter, gauge

PROXY_ROWS: tuple[Metric, ...] = (
    # ---- cache: what is held, and what was decided
    gauge(
        "cache.entries", "cache_entries", "entries", "Replies held, those waiting to be taken apart included."
    ),
    gauge("cache.grants", "cache_grants", "grants", "Proven rights to traverse a directory held."),
    gauge("cache.directories", "cache_directories", "directories", "Directories held."),
    gauge(
        "cache.bytes",
        "cache_bytes",
        "bytes",
        "What entries, grants, directories, answers to repeated requests and questions under way take.",
    ),
    gauge("cache.tickets", "cache_tickets", "questions", "Questions on their way to the NameNode."),
    gauge("cache.windows", "cache_two_step_windows", "paths", "Two-step writes under way."),
    gauge("cache.is_open", "cache_gate_open", "0 or 1", "Whether the freshness gate lets entries be served."),
    gauge(
        "cache.gate_age_s",
        "cache_gate_age_seconds",
        "seconds",
        "Since all changes were last known to be applied.",
    ),
    gauge(
        "cache.covered_txid", "cache_covered_txid", "transaction id", "Last transaction known to be applied."
    ),
    counter(
        "cache.serves", "cache_serves", "lookups", "Lookups answered from memory, but for the fast path's."
    ),
    counter("cache.joins", "cache_joins", "lookups", "Lookups that waited for the same caller's question."),
    counter(
        "cache.waits", "cache_waits", "lookups", "Lookups that waited for another's question or for the gate."
    ),
    counter("cache.decisions", "cache_asked", "lookups", "Lookups that went to the NameNode.", "reason"),
    counter(
        "cache.conclusions",
        "cache_conclusions",
        "replies",
        "Replies fetched, by what became of them.",
        "outcome",
    ),
    counter("cache.changes", "cache_changes", "changes", "Changes applied, from the stream and from writes."),
    counter("cache.forgotten", "cache_forgotten", "places", "Places at which a change made something stale."),
    counter("cache.flushes", "cache_flushes", "flushes", "Times that everything was forgotten."),
    counter(
        "cache.evictions",
        "cache_evictions",
        "entries",
        "Entries, grants and answers to repeated requests given up for want of room.",
    ),
    # ---- proxy: clients' connections, and the requests answered before they are taken apart
    gauge("server.connections_open", "connections_open", "connections", "Connections of clients now."),
    counter(
        "server.connections_accepted", "connections_accepted", "connections", "Connections of clients served."
    ),
    counter(
        "server.connections_refused",
        "connections_refused",
        "connections",
        "Connections beyond max_connections.",
    ),
    counter(
        "server.requests", "server_requests", "requests", "Requests taken apart: all but the fast path's."
    ),
    gauge(
        "server.requests_in_progress",
        "server_requests_in_progress",
        "requests",
        "Requests being answered now.",
    ),
    counter(
        "server.requests_refused",
        "server_requests_refused",
        "requests",
        "Not HTTP as it should be, or too slow.",
    ),
    counter("server.bugs", "server_bugs", "requests", "Requests that met a fault of ours, each logged."),
    counter(
        "fast_path.hits", "fast_path_hits", "requests", "Repeated requests answered from memory at once."
    ),
    counter("fast_path.bytes_sent", "fast_path_sent_bytes", "bytes", "What these answers had."),
    gauge("fast_path.heads", "fast_path_heads", "requests", "Requests that can be answered at once."),
    gauge("fast_path.bytes_held", "fast_path_held_bytes", "bytes", "What they take of max_cache_bytes."),
    counter("fast_path.evicted", "fast_path_evicted", "requests", "Requests given up for want of room."),
    # ---- proxy: requests, but for those that the fast path answered
    counter("front_end.requests", "requests", "requests", "Requests, but for those of the fast path."),
    counter("front_end.hits", "hits", "requests", "Of these, answered from memory."),
    counter(
        "front_end.collapsed",
        "collapsed",
        "requests",
        "Answered with the reply to the same caller's question.",
    ),
    counter("front_end.stored", "stored", "requests", "Answered by the NameNode, and the reply is kept."),
    counter(
        "front_end.forwarded",
        "forwarded",
        "requests",
        "Requests that the NameNode was asked about.",
        "reason",
    ),
    counter("front_end.refused", "refused", "requests", "Targets that are not WebHDFS."),
    counter("front_end.failed", "failed", "requests", "Answered with an error of the proxy's own."),
    gauge("front_end.flights", "flights", "questions", "Reads on their way to the NameNode."),
    counter(
        "front_end.fetches", "fetches", "questions", "Reads sent to the NameNode that may be kept or shared."
    ),
    counter("front_end.closed_queries", "closed_queries", "questions", "Questions whether a file is closed."),
    counter(
        "front_end.settled",
        "writes_settled",
        "calls",
        "Calls whose changes were applied before their answer.",
    ),
    counter(
        "front_end.unknown_outcomes",
        "writes_unknown",
        "calls",
        "Calls sent to the NameNode that got no reply that tells their outcome.",
    ),
    counter(
        "front_end.left_to_events",
        "writes_left_to_events",
        "calls",
        "Calls whose answer waited until the NameNode's events had told what they changed.",
    ),
    counter(
        "front_end.windows_opened", "two_step_writes", "writes", "Redirects of CREATE and APPEND passed on."
    ),
    counter(
        "front_end.windows_without_txid",
        "two_step_writes_timed",
        "writes",
        "Of these, such as only time ends.",
    ),
    counter(
        "front_end.query_failures", "query_failures", "questions", "The proxy's own questions left open."
    ),
    counter(
        "front_end.cache_errors",
        "cache_errors",
        "errors",
        "Faults of ours; the call was forwarded all the same.",
    ),
    gauge("front_end.calls_under_way", "calls_under_way", "calls", "Calls that count against max_calls."),
    counter(
        "front_end.calls_refused",
        "calls_refused",
        "calls",
        "Calls answered 503 or 429 since a limit was reached.",
        "limit",
    ),
    # ---- proxy: calls to the NameNodes
    counter("forward.calls", "upstream_calls", "calls", "Calls sent to the NameNodes."),
    counter("forward.repeated", "upstream_repeated", "attempts", "Attempts after the first of a call."),
    counter(
        "forward.not_sent", "upstream_not_sent", "attempts", "Attempts for which no connection could be made."
    ),
    counter("forward.refused", "upstream_refused", "attempts", "Attempts answered by standby or not yet."),
    counter(
        "forward.cut", "upstream_cut", "attempts", "Attempts whose connection ended before the reply did."
    ),
    counter(
        "forward.timed_out", "upstream_timed_out", "attempts", "Attempts that a NameNode was silent about."
    ),
    counter(
        "forward.outcome_unknown",
        "upstream_outcome_unknown",
        "calls",
        "Calls that were sent and got no reply.",
    ),
    counter(
        "forward.broken_replies", "upstream_broken_replies", "calls", "Replies that broke off on their way."
    ),
    gauge("forward.connections_in_use", "upstream_connections_in_use", "connections", "Lent to a call now."),
    gauge("forward.connections_idle", "upstream_connections_idle", "connections", "Kept for the next call."),
    counter(
        "forward.connections_opened", "upstream_connections_opened", "connections", "Opened to NameNodes."
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
        "Clients cut off: they read or sent too slowly while calls waited for their connection.",
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
    counter("stream.changes", "stream_changes", "changes", "Changes that the events meant."),
    counter("stream.covers", "stream_covers", "proofs", "Times that all changes were shown to be applied."),
    gauge("stream.applied_txid", "stream_applied_txid", "transaction id", "Last transaction applied."),
    gauge(
        "stream.covered_as_of",
        "stream_covered_as_of_seconds",
        "seconds since boot",
        "As of when all is applied.",
    ),
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
        "Times that reading went on over another connection to ZooKeeper without losing a change.",
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
)
