"""The table of all metrics, read from the rooms' figures at scrape. (nncache/metrics.py)

The rooms count in plain integers and hand out frozen `Stats` values; nothing here runs on the way of a request.
docs/metrics.md is generated from this table (`make docs`), and a test sees to it that no figure of a room is missing.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from operator import attrgetter
from typing import Literal

from prometheus_client import (
    CollectorRegistry,
    GCCollector,
    Info,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.core import Metric as Family
from prometheus_client.registry import Collector


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One row: what it is called outside, and where it is read."""

    name: str
    kind: Literal["counter", "gauge"]
    unit: str
    source: str
    """Room and field of its Stats: `cache.serves`."""
    meaning: str
    label: str | None = None
    """The field is a mapping; its keys become values of this label."""


def _counter(source: str, name: str, unit: str, meaning: str, label: str | None = None) -> Metric:
    return Metric(
        name=f"nncache_{name}_total", kind="counter", unit=unit, source=source, meaning=meaning, label=label
    )


def _gauge(source: str, name: str, unit: str, meaning: str, label: str | None = None) -> Metric:
    return Metric(
        name=f"nncache_{name}", kind="gauge", unit=unit, source=source, meaning=meaning, label=label
    )


METRICS: tuple[Metric, ...] = (
    # ---- cache: what is held, and what was decided
    _gauge(
        "cache.entries", "cache_entries", "entries", "Replies held, those waiting to be taken apart included."
    ),
    _gauge("cache.grants", "cache_grants", "grants", "Proven rights to traverse a directory held."),
    _gauge("cache.directories", "cache_directories", "directories", "Directories held."),
    _gauge(
        "cache.bytes", "cache_bytes", "bytes", "What entries, grants and directories are reckoned to take."
    ),
    _gauge("cache.tickets", "cache_tickets", "questions", "Questions on their way to the NameNode."),
    _gauge("cache.windows", "cache_two_step_windows", "paths", "Two-step writes under way."),
    _gauge(
        "cache.is_open", "cache_gate_open", "0 or 1", "Whether the freshness gate lets entries be served."
    ),
    _gauge(
        "cache.gate_age_s",
        "cache_gate_age_seconds",
        "seconds",
        "Since all changes were last known to be applied.",
    ),
    _gauge(
        "cache.covered_txid", "cache_covered_txid", "transaction id", "Last transaction known to be applied."
    ),
    _counter(
        "cache.serves", "cache_serves", "lookups", "Lookups answered from memory, but for the fast path's."
    ),
    _counter("cache.joins", "cache_joins", "lookups", "Lookups that waited for the same caller's question."),
    _counter(
        "cache.waits", "cache_waits", "lookups", "Lookups that waited for another's question or for the gate."
    ),
    _counter("cache.decisions", "cache_asked", "lookups", "Lookups that went to the NameNode.", "reason"),
    _counter(
        "cache.conclusions",
        "cache_conclusions",
        "replies",
        "Replies fetched, by what became of them.",
        "outcome",
    ),
    _counter(
        "cache.changes", "cache_changes", "changes", "Changes applied, from the stream and from writes."
    ),
    _counter(
        "cache.forgotten", "cache_forgotten", "places", "Places at which a change made something stale."
    ),
    _counter("cache.flushes", "cache_flushes", "flushes", "Times that everything was forgotten."),
    _counter(
        "cache.evictions", "cache_evictions", "entries", "Entries and grants given up for want of room."
    ),
    # ---- proxy: clients' connections, and the requests answered before they are taken apart
    _gauge("server.connections_open", "connections_open", "connections", "Connections of clients now."),
    _counter(
        "server.connections_accepted", "connections_accepted", "connections", "Connections of clients served."
    ),
    _counter(
        "server.connections_refused",
        "connections_refused",
        "connections",
        "Connections beyond max_connections.",
    ),
    _counter(
        "server.requests", "server_requests", "requests", "Requests taken apart: all but the fast path's."
    ),
    _gauge(
        "server.requests_in_progress",
        "server_requests_in_progress",
        "requests",
        "Requests being answered now.",
    ),
    _counter(
        "server.requests_refused",
        "server_requests_refused",
        "requests",
        "Not HTTP as it should be, or too slow.",
    ),
    _counter("server.bugs", "server_bugs", "requests", "Requests that met a fault of ours, each logged."),
    _counter(
        "fast_path.hits", "fast_path_hits", "requests", "Repeated requests answered from memory at once."
    ),
    _counter("fast_path.bytes_sent", "fast_path_sent_bytes", "bytes", "What these answers had."),
    _gauge("fast_path.heads", "fast_path_heads", "requests", "Requests that can be answered at once."),
    _gauge("fast_path.bytes_held", "fast_path_held_bytes", "bytes", "What they take of fast_path_bytes."),
    _counter("fast_path.evicted", "fast_path_evicted", "requests", "Requests given up for want of room."),
    # ---- proxy: requests, but for those that the fast path answered
    _counter("front_end.requests", "requests", "requests", "Requests, but for those of the fast path."),
    _counter("front_end.hits", "hits", "requests", "Of these, answered from memory."),
    _counter(
        "front_end.collapsed",
        "collapsed",
        "requests",
        "Answered with the reply to the same caller's question.",
    ),
    _counter("front_end.stored", "stored", "requests", "Answered by the NameNode, and the reply is kept."),
    _counter(
        "front_end.forwarded",
        "forwarded",
        "requests",
        "Requests that the NameNode was asked about.",
        "reason",
    ),
    _counter("front_end.refused", "refused", "requests", "Targets that are not WebHDFS."),
    _counter("front_end.failed", "failed", "requests", "Answered with an error of the proxy's own."),
    _gauge("front_end.flights", "flights", "questions", "Reads on their way to the NameNode."),
    _counter(
        "front_end.fetches", "fetches", "questions", "Reads sent to the NameNode that may be kept or shared."
    ),
    _counter(
        "front_end.closed_queries", "closed_queries", "questions", "Questions whether a file is closed."
    ),
    _counter(
        "front_end.settled",
        "writes_settled",
        "calls",
        "Calls whose changes were applied before their answer.",
    ),
    _counter(
        "front_end.unknown_outcomes",
        "writes_unknown",
        "calls",
        "Of these, sent and without a reply that tells.",
    ),
    _counter(
        "front_end.windows_opened", "two_step_writes", "writes", "Redirects of CREATE and APPEND passed on."
    ),
    _counter(
        "front_end.windows_without_txid",
        "two_step_writes_timed",
        "writes",
        "Of these, such as only time ends.",
    ),
    _counter(
        "front_end.query_failures", "query_failures", "questions", "The proxy's own questions left open."
    ),
    _counter(
        "front_end.cache_errors",
        "cache_errors",
        "errors",
        "Faults of ours; the call was forwarded all the same.",
    ),
    # ---- proxy: calls to the NameNodes
    _counter("forward.calls", "upstream_calls", "calls", "Calls sent to the NameNodes."),
    _counter("forward.repeated", "upstream_repeated", "attempts", "Attempts after the first of a call."),
    _counter(
        "forward.not_sent", "upstream_not_sent", "attempts", "Attempts for which no connection could be made."
    ),
    _counter("forward.refused", "upstream_refused", "attempts", "Attempts answered by standby or not yet."),
    _counter(
        "forward.cut", "upstream_cut", "attempts", "Attempts whose connection ended before the reply did."
    ),
    _counter(
        "forward.timed_out", "upstream_timed_out", "attempts", "Attempts that a NameNode was silent about."
    ),
    _counter(
        "forward.outcome_unknown",
        "upstream_outcome_unknown",
        "calls",
        "Calls that were sent and got no reply.",
    ),
    _counter(
        "forward.broken_replies", "upstream_broken_replies", "calls", "Replies that broke off on their way."
    ),
    _gauge("forward.connections_in_use", "upstream_connections_in_use", "connections", "Lent to a call now."),
    _gauge("forward.connections_idle", "upstream_connections_idle", "connections", "Kept for the next call."),
    _counter(
        "forward.connections_opened", "upstream_connections_opened", "connections", "Opened to NameNodes."
    ),
    # ---- hadoop: the pool of NameNodes
    _gauge("pool.namenodes", "namenodes", "NameNodes", "NameNodes configured."),
    _gauge("pool.reachable", "namenodes_reachable", "NameNodes", "NameNodes that answer now."),
    _gauge(
        "pool.has_active",
        "namenode_active_known",
        "0 or 1",
        "Whether exactly one NameNode is known to be active.",
    ),
    _gauge("pool.term", "namenode_term", "term", "Counts up with each other, or restarted, active NameNode."),
    _counter("pool.probes", "namenode_probes", "probes", "Questions to NameNodes whether they are active."),
    _counter("pool.failed_probes", "namenode_probes_failed", "probes", "Such questions without an answer."),
    _counter(
        "pool.suspicions", "namenode_suspicions", "errors", "Errors that had all NameNodes probed at once."
    ),
    # ---- invalidation: the stream of changes, and what reading it costs the NameNode
    _gauge("stream.is_open", "stream_open", "0 or 1", "Whether the NameNode's changes are being read."),
    _gauge("stream.term", "stream_term", "term", "Term of the active NameNode that is or was read last."),
    _counter(
        "stream.streams_opened", "stream_opened", "streams", "Streams begun; each starts with an empty cache."
    ),
    _counter(
        "stream.streams_lost", "stream_lost", "streams", "Streams ended by a gap in the changes (GapFlush)."
    ),
    _counter(
        "stream.streams_failed", "stream_failed", "streams", "Streams, or attempts, ended by anything else."
    ),
    _counter(
        "stream.transactions", "stream_transactions", "transactions", "Transactions with events applied."
    ),
    _counter("stream.events", "stream_events", "events", "Events applied."),
    _counter("stream.changes", "stream_changes", "changes", "Changes that the events meant."),
    _counter("stream.covers", "stream_covers", "proofs", "Times that all changes were shown to be applied."),
    _gauge("stream.applied_txid", "stream_applied_txid", "transaction id", "Last transaction applied."),
    _gauge(
        "stream.covered_as_of",
        "stream_covered_as_of_seconds",
        "seconds since boot",
        "As of when all is applied.",
    ),
    _counter("stream.channel.polls", "channel_polls", "polls", "Polls of the edits answered."),
    _counter(
        "stream.channel.polls_found", "channel_polls_found", "polls", "Polls that brought transactions."
    ),
    _counter("stream.channel.polls_failed", "channel_polls_failed", "polls", "Polls without an answer."),
    _counter(
        "stream.channel.polls_distrusted",
        "channel_polls_distrusted",
        "polls",
        "Answers thrown away: who gave them?",
    ),
    _counter("stream.channel.poll_s", "channel_poll_seconds", "seconds", "What answered polls took."),
    _counter(
        "stream.channel.poll_charged_s",
        "channel_poll_charged_seconds",
        "seconds",
        "Cost to one NameNode core, reckoned.",
    ),
    _gauge(
        "stream.channel.poll_budget_s",
        "channel_poll_budget_seconds",
        "seconds",
        "Left of poll_budget_share; may be < 0.",
    ),
    _counter("stream.channel.rolls", "channel_rolls", "calls", "Calls of rollEdits that succeeded."),
    _counter(
        "stream.channel.rolls_failed",
        "channel_rolls_failed",
        "calls",
        "Calls of rollEdits refused or failed.",
    ),
    _counter(
        "stream.channel.reconnects",
        "channel_reconnects",
        "connections",
        "Connections renewed without losing a change.",
    ),
)

Figures = Mapping[str, object]
"""Room -> its Stats value of this moment: keys as in the first part of `Metric.source`."""


def value_of(metric: Metric, figures: Figures) -> object:
    """Return the field that the row names."""
    room, _, field = metric.source.partition(".")
    value: object = attrgetter(field)(figures[room])
    return value


class StatsCollector(Collector):
    """Makes Prometheus families of the rooms' figures when somebody asks."""

    def __init__(self, read: Callable[[], Figures]) -> None:
        self._read = read

    def collect(self) -> Iterable[Family]:
        """Return one family per row."""
        figures = self._read()
        return [family(metric, value_of(metric, figures)) for metric in METRICS]


class MetricsPage:
    """The page at `/metrics`: our figures, the process's and the interpreter's."""

    def __init__(self, read: Callable[[], Figures]) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(StatsCollector(read))
        ProcessCollector(registry=self._registry)
        PlatformCollector(registry=self._registry)
        GCCollector(registry=self._registry)
        Info("nncache", "What runs.", registry=self._registry).info({"version": version("nncache")})

    def render(self) -> bytes:
        """Return the page as of now, in Prometheus' text format 0.0.4."""
        return generate_latest(self._registry)


def family(metric: Metric, value: object) -> Family:
    """Return the Prometheus form of one row."""
    kind = CounterMetricFamily if metric.kind == "counter" else GaugeMetricFamily
    made = kind(metric.name, metric.meaning, labels=[] if metric.label is None else [metric.label])
    match value:
        case dict():
            for key, count in value.items():
                made.add_metric([str(key)], float(count))
        case int() | float():
            made.add_metric([], float(value))
        case _:
            raise TypeError(f"{metric.source} is not a number: {value!r}")
    return made
