"""One proxy: its traffic, its memory, its changes, its NameNodes, its process."""

from typing import Final

from tools.dashboards.boards.shared import (
    GATE_AGE,
    HIT_RATIO,
    OPERATION_COLORS,
    REASONS,
    RESULTS,
    slowest,
)
from tools.dashboards.panel import Board, Panel, Row
from tools.dashboards.promql import increase, of, rate, total

TRAFFIC: Final = Row(
    "What do its clients get?",
    (
        Panel(
            kind="figure",
            title="Requests without a NameNode",
            description=(
                "Requests answered from memory or with the reply to an identical request, of all of this proxy's. "
                "Good: as at its neighbours. Bad: far below them: it has just started, or its gate is closed."
            ),
            unit="percentunit",
            most=1,
            decimals=1,
            queries={"hit ratio": HIT_RATIO},
            width=6,
            base="orange",
            thresholds={0.5: "yellow", 0.9: "green"},
            without_value="no requests",
        ),
        Panel(
            kind="figure",
            title="Are answers given from memory?",
            description=(
                "1 while the freshness gate is open. Good: 1. Bad: 0: every request is forwarded; the proxy's page "
                "/ready says why."
            ),
            unit="bool_yes_no",
            queries={"gate open": of("nncache_cache_gate_open")},
            width=6,
            base="red",
            thresholds={1: "green"},
        ),
        Panel(
            kind="figure",
            title="How much of a core does it use?",
            description=(
                "CPU seconds a second. A proxy is one thread: 1 is all that it can use. Good: below 0.7. Bad: above "
                "0.9: clients wait; add a proxy."
            ),
            unit="percentunit",
            decimals=0,
            queries={"CPU": rate("process_cpu_seconds_total")},
            width=6,
            thresholds={0.7: "yellow", 0.9: "red"},
        ),
        Panel(
            kind="figure",
            title="How much memory does it hold?",
            description=(
                "Resident memory of the process. Good: levels off as the cache fills (docs/sizing.md). Bad: near "
                "the limit of its container or unit: lower max_cache_bytes."
            ),
            unit="bytes",
            queries={"resident": of("process_resident_memory_bytes")},
            width=6,
        ),
        RESULTS,
        REASONS,
        slowest(
            50,
            "hit|collapsed|stored|forwarded",
            "How long does half of the requests take?",
            "Median time from the complete request to its reply, by result; logarithmic. Good: hits below 0.1 ms. "
            "Bad: hits as slow as what is forwarded: the process does not get the CPU.",
        ),
        slowest(
            99,
            "hit|collapsed|stored|forwarded",
            "How long does all but the slowest 1 % take?",
            "99th percentile of the same, by result; logarithmic. Good: hits below 1 ms. Bad: hits beyond 10 ms: "
            "the event loop is busy.",
        ),
        Panel(
            title="Which operations do clients ask for?",
            description=(
                "Requests a second by WebHDFS operation; `other` is none for certain. Good: mostly GETFILESTATUS, "
                "which alone can be answered from memory. Bad: mostly others: there is little to save here."
            ),
            unit="reqps",
            queries={"{{operation}}": f"{total(rate('nncache_requests_total'), 'operation')} > 0"},
            colors=OPERATION_COLORS,
            is_stacked=True,
            without_value="no requests",
        ),
        Panel(
            title="How many clients are connected?",
            description=(
                "Open client connections, and requests being answered now. Good: follows the number of clients. "
                "Bad: requests in progress that climb: the NameNode or the event loop holds them up."
            ),
            unit="short",
            queries={
                "connections": of("nncache_connections_open"),
                "requests in progress": of("nncache_server_requests_in_progress"),
            },
        ),
    ),
)

MEMORY: Final = Row(
    "What does it remember?",
    (
        Panel(
            title="What fills max_cache_bytes?",
            description=(
                "Memory counted against max_cache_bytes, and the part of it that prepared answers of the fast path "
                "take. Good: levels off below the setting. Bad: at the setting with evictions (below)."
            ),
            unit="bytes",
            queries={
                "in all": of("nncache_cache_bytes"),
                "of it the fast path": of("nncache_fast_path_held_bytes"),
            },
        ),
        Panel(
            title="How many statuses and rights are cached?",
            description=(
                "Cached replies, proofs that a caller may traverse a directory, directories, and requests that the "
                "fast path can answer. Good: follows what clients ask for. Bad: falls to 0: a flush (below)."
            ),
            unit="short",
            queries={
                "replies": of("nncache_cache_entries"),
                "grants": of("nncache_cache_grants"),
                "directories": of("nncache_cache_directories"),
                "fast path": of("nncache_fast_path_heads"),
            },
        ),
        Panel(
            title="What becomes of replies fetched for the cache?",
            description=(
                "Replies a second by outcome. Good: stored, confirmed, unchanged. Bad: mostly spoiled (paths change "
                "as fast as they are read) or not-kept (refused, failed, open files)."
            ),
            unit="ops",
            queries={"{{outcome}}": total(rate("nncache_cache_conclusions_total"), "outcome")},
            colors={
                "stored": "blue",
                "confirmed": "green",
                "unchanged": "light-green",
                "spoiled": "orange",
                "not-kept": "#8e8e8e",
            },
        ),
        Panel(
            title="Is the cache too small?",
            description=(
                "Evictions a second for lack of memory, beside what is stored. Good: no evictions. Bad: more than a "
                "tenth of what is stored (NncacheCacheTooSmall): raise max_cache_bytes or max_cache_entries."
            ),
            unit="ops",
            queries={
                "evicted": rate("nncache_cache_evictions_total"),
                "stored": total(rate("nncache_requests_total", result="stored")),
            },
            colors={"evicted": "red", "stored": "blue"},
        ),
    ),
)

CHANGES: Final = Row(
    "Does it follow the changes?",
    (
        GATE_AGE,
        Panel(
            title="What do changes cost?",
            description=(
                "Changes applied a second, and paths at which they made cached data stale. Good: fewer paths than "
                "changes. Bad: many more: directories with much below them are renamed or get new rights."
            ),
            unit="ops",
            queries={
                "changes": rate("nncache_cache_changes_total"),
                "paths forgotten": rate("nncache_cache_forgotten_total"),
            },
        ),
        Panel(
            title="Does the stream of changes hold?",
            description=(
                "Streams within a few scrapes that began, had a gap, or failed. Each begins with an empty cache. "
                "Good: 0 but for restarts and failovers. Bad: anything that goes on; the log has the reason."
            ),
            unit="short",
            axis_to=2,
            queries={
                "begun": increase("nncache_stream_opened_total"),
                "gap": increase("nncache_stream_lost_total"),
                "failed": increase("nncache_stream_failed_total"),
            },
            colors={"begun": "blue", "gap": "orange", "failed": "red"},
        ),
        Panel(
            title="Is it connected to ZooKeeper?",
            description=(
                "1 while there is a connection; 0 all the time on the direct channel, which has no ZooKeeper. "
                "Good: 1. Bad: 0 or back and forth: the gate closes after max_staleness_s."
            ),
            unit="bool_yes_no",
            most=1,
            queries={"connected": of("nncache_zookeeper_connected")},
            colors={"connected": "green"},
        ),
    ),
)

UPSTREAM: Final = Row(
    "How does it get on with the NameNodes?",
    (
        Panel(
            title="Which calls to NameNodes go wrong?",
            description=(
                "Attempts a second that did not bring a reply at once, by how they ended. Good: 0; standby for a "
                "moment at a failover. Bad: not sent (no connection), cut or timed out for longer than a failover: "
                "clients wait, then get errors."
            ),
            unit="ops",
            axis_to=1,
            queries={
                "not sent": rate("nncache_upstream_not_sent_total"),
                "standby": rate("nncache_upstream_refused_total"),
                "cut": rate("nncache_upstream_cut_total"),
                "timed out": rate("nncache_upstream_timed_out_total"),
            },
            colors={"not sent": "red", "standby": "blue", "cut": "orange", "timed out": "purple"},
        ),
        Panel(
            title="Are there enough connections to NameNodes?",
            description=(
                "Connections in use and idle, and calls that wait for one of upstream_connections. Good: none waits. "
                "Bad: calls wait: raise upstream_connections, or the NameNode is too slow."
            ),
            unit="short",
            queries={
                "in use": of("nncache_upstream_connections_in_use"),
                "idle": of("nncache_upstream_connections_idle"),
                "calls that wait": of("nncache_upstream_waiting"),
            },
            colors={"in use": "blue", "idle": "#8e8e8e", "calls that wait": "red"},
        ),
    ),
)

PROXY: Final = Board(
    name="proxy",
    title="nncache: one proxy",
    description="One proxy: what its clients get, what it remembers, whether it follows the changes.",
    instances="nncache_cache_gate_open",
    is_of_one=True,
    rows=(TRAFFIC, MEMORY, CHANGES, UPSTREAM),
)
