"""All proxies and publishers of an HDFS: what is saved, is every answer fresh, who suffers."""

from typing import Final

from tools.dashboards.boards.shared import (
    GATE_AGE,
    HIT_RATIO,
    HITS,
    NAMENODES_REACHED,
    OWN_CALLS,
    REASONS,
    REQUESTS,
    RESULTS,
    slowest,
)
from tools.dashboards.panel import Board, Panel, Row
from tools.dashboards.promql import increase, of, rate, total

_FAILED: Final = total(rate("nncache_requests_total", result="failed"))

SAVED: Final = Row(
    "What is saved?",
    (
        Panel(
            kind="figure",
            title="Calls the NameNodes are spared",
            description=(
                "Calls a second that proxies answered without a NameNode, less what proxies and publishers ask on "
                "their own account: polls of the edits, probes, rolls, isFileClosed. Good: well above 0 and in step "
                "with the load. Bad: below 0: nncache costs more than it saves; no filter matches what clients "
                "read, or the gate is closed."
            ),
            unit="reqps",
            queries={"spared": f"{HITS} - {OWN_CALLS}"},
            width=6,
            base="red",
            thresholds={0: "green"},
        ),
        Panel(
            kind="figure",
            title="Requests without a NameNode",
            description=(
                "Requests answered from memory or with the reply to an identical request, of all requests. Good: "
                "above 90 % where clients poll. Bad: a fall that lasts; the reasons are on the right below."
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
            title="Proxies that forward all",
            description=(
                "Proxies whose freshness gate is closed: they answer nothing from memory, and answer nothing wrong. "
                "Good: 0. Bad: 1 and more for longer than a restart takes."
            ),
            unit="short",
            decimals=0,
            queries={"gate closed": f"sum(1 - {of('nncache_cache_gate_open')})"},
            width=6,
            thresholds={1: "red"},
        ),
        Panel(
            kind="figure",
            title="Requests that fail",
            description=(
                "Requests that a proxy answered with an error of its own: no NameNode replied, or an internal error. "
                "Good: 0. Bad: 1 % and more, which pages (NncacheClientsGetErrors)."
            ),
            unit="percentunit",
            decimals=2,
            queries={"failed": f"{_FAILED} / ({REQUESTS} > 0)"},
            width=6,
            thresholds={0.001: "yellow", 0.01: "red"},
            without_value="no requests",
        ),
        RESULTS,
        REASONS,
    ),
)

FRESH: Final = Row(
    "Is every answer fresh?",
    (
        GATE_AGE,
        Panel(
            title="How many publishers publish?",
            description=(
                "Publishers that write to ZooKeeper now; the others stand by. Good: exactly 1. Bad: 0: the proxies' "
                "gates close, and every request goes to a NameNode. Without a publisher (direct channel) there is "
                "no line."
            ),
            unit="short",
            decimals=0,
            queries={"publishing": total(of("nncache_publisher_publishing"))},
            colors={"publishing": "green"},
            axis_to=2,
            base="red",
            thresholds={1: "green"},
            without_value="no publisher",
        ),
        Panel(
            title="How often is a whole cache dropped?",
            description=(
                "Flushes within a few scrapes: the changes had a gap, the NameNode changed, or a daemon started. A "
                "flush costs hits, never a stale answer. Good: 0 but for restarts and failovers. Bad: again and again: "
                "the connection to ZooKeeper or to the NameNodes does not hold."
            ),
            unit="short",
            axis_to=2,
            queries={"{{instance}}": increase("nncache_cache_flushes_total")},
        ),
        NAMENODES_REACHED,
    ),
)

SUFFERS: Final = Row(
    "Who suffers?",
    (
        slowest(
            99,
            "hit|collapsed|stored|forwarded|failed",
            "How long does all but the slowest 1 % take?",
            "Time from the complete request to its reply, 99th percentile by result; logarithmic. Good: hits below "
            "1 ms, stored and forwarded as slow as the NameNode. Bad: hits beyond 10 ms: a proxy's event loop is "
            "busy; forwarded beyond 1 s: the NameNode is.",
        ),
        Panel(
            title="Which proxies answer with errors of their own?",
            description=(
                "Failed requests a second, by proxy. Good: 0 everywhere. Bad: one proxy alone: its network or host; "
                "all of them: the NameNodes."
            ),
            unit="reqps",
            queries={"{{instance}}": total(rate("nncache_requests_total", result="failed"), "instance")},
            axis_to=1,
        ),
        Panel(
            title="Which namespace has fewer hits than the others?",
            description=(
                "Share of the requests that were answered without a call of their own, by namespace of a federation; "
                "with one namespace it is one line. Good: each as high as its filters promise. Bad: one at 0: its "
                "gate is closed, and the others go on."
            ),
            unit="percentunit",
            most=1,
            width=8,
            queries={
                "{{namespace}}": f"{total(rate('nncache_requests_total', result='hit|collapsed'), 'namespace')} "
                f"/ ({total(rate('nncache_requests_total'), 'namespace')} > 0)"
            },
        ),
        Panel(
            title="Who is turned away at a limit?",
            description=(
                "Calls answered 503 or 429, by the setting whose limit they reached, and client connections refused "
                "by max_connections. Good: 0, or a caller that was meant to be limited. Bad: max_calls or "
                "max_connections: the proxy is too small, or the NameNode too slow for what is forwarded."
            ),
            unit="reqps",
            axis_to=1,
            width=8,
            queries={
                "{{limit}}": total(rate("nncache_calls_refused_total"), "limit"),
                "max_connections": total(rate("nncache_connections_refused_total")),
            },
        ),
        Panel(
            title="Is a proxy's event loop held up?",
            description=(
                "Largest lag of the event loop behind its timers in the last one to two minutes. Good: below 50 ms. "
                "Bad: above 100 ms again and again: every client of that proxy waits so long; give it a core of its "
                "own or add a proxy."
            ),
            unit="s",
            axis_to=0.15,
            width=8,
            queries={"{{instance}}": of("nncache_event_loop_lag_max_seconds")},
            thresholds={0.1: "red"},
        ),
    ),
)

REGISTRY: Final = Row(
    "Are proxies and publishers found by name?",
    (
        Panel(
            kind="figure",
            title="Daemons missing in the service registry",
            description=(
                "Daemons with registry = true whose entry was not there when they last looked for it. Good: 0. Bad: 1 "
                "and more for longer than a restart of ZooKeeper: clients, load balancers and Prometheus do not find "
                "them; their logs say why. Without the registry it is 0."
            ),
            unit="short",
            decimals=0,
            queries={
                "missing": f"sum({of('nncache_registration_wanted')} > bool {of('nncache_registered')})"
            },
            width=12,
            thresholds={1: "red"},
        ),
        Panel(
            kind="figure",
            title="Daemons without a connection to the registry",
            description=(
                "Daemons with registry = true whose session for the registry has no connection to ZooKeeper. Good: 0. "
                "Bad: 1 and more for longer than an election takes: a proxy among them answers 503 for the registry."
            ),
            unit="short",
            decimals=0,
            queries={
                "not connected": f"sum({of('nncache_registration_wanted')} > bool "
                f"{of('nncache_registration_zookeeper_connected')})"
            },
            width=12,
            thresholds={1: "red"},
        ),
        Panel(
            title="How are questions about the registry answered?",
            description=(
                "Requests for GET /v1/registry a second, by answer. Good: found and not-modified. Bad: unavailable: "
                "ZooKeeper does not answer; refused: a client asks too often, let it wait with Prefer: wait."
            ),
            unit="reqps",
            axis_to=1,
            queries={"{{answer}}": total(rate("nncache_registry_requests_total"), "answer")},
            colors={"found": "green", "not-modified": "blue", "refused": "orange", "unavailable": "red"},
        ),
        Panel(
            title="How many wait for a change of the registry?",
            description=(
                "Requests that are held until what they ask for changes, by proxy, and gaps in the following within a "
                "few scrapes: the connection to ZooKeeper was lost, and all was read again. Good: as many as there "
                "are clients that follow, and no gaps. Bad: gaps again and again: the network to ZooKeeper, or a "
                "ZooKeeper that is too slow."
            ),
            unit="short",
            axis_to=5,
            queries={
                "{{instance}}": of("nncache_registry_waiters"),
                "gaps": total(increase("nncache_registry_gaps_total")),
            },
            colors={"gaps": "red"},
        ),
    ),
)

FLEET: Final = Board(
    name="fleet",
    title="nncache: fleet",
    description="All proxies and publishers: what is saved, whether every answer is fresh, who suffers.",
    instances="nncache_namenodes",
    rows=(SAVED, FRESH, SUFFERS, REGISTRY),
)
