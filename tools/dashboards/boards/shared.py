"""Panels and expressions of several dashboards."""

from typing import Final

from tools.dashboards.panel import Color, Panel
from tools.dashboards.promql import of, quantile, rate, total

REQUESTS: Final = total(rate("nncache_requests_total"))
HITS: Final = total(rate("nncache_requests_total", result="hit|collapsed"))
HIT_RATIO: Final = f"{HITS} / ({REQUESTS} > 0)"

POLLS: Final = total(rate("nncache_channel_polls_total"))
PROBES: Final = total(rate("nncache_namenode_probes_total"))
ROLLS: Final = total(rate("nncache_channel_rolls_total"))
CLOSED_QUERIES: Final = total(rate("nncache_closed_queries_total"))
OWN_CALLS: Final = f"({POLLS} + {PROBES} + {ROLLS} + {CLOSED_QUERIES})"
"""As in the recording rule nncache:own_calls:rate5m."""

RESULT_COLORS: Final[dict[str, Color]] = {
    "hit": "green",
    "collapsed": "yellow",
    "stored": "blue",
    "forwarded": "purple",
    "streamed": "light-purple",
    "registry": "#b8b8b8",
    "refused": "orange",
    "failed": "red",
    "abandoned": "#8e8e8e",
}
"""From what costs the NameNode nothing to what helps no client."""

REASON_COLORS: Final[dict[str, Color]] = {
    "operation": "#8e8e8e",
    "method": "#b8b8b8",
    "no-filter": "light-blue",
    "path": "dark-blue",
    "miss": "blue",
    "request": "light-green",
    "no-grant": "purple",
    "grant-pending": "light-purple",
    "two-step-write": "yellow",
    "not-plain": "light-orange",
    "window-table-full": "orange",
    "gate-closed": "red",
    "stream-closed": "dark-red",
    "cache-error": "dark-red",
}
"""Grey and blue cannot be helped or pass by themselves; red is a fault."""

OPERATION_COLORS: Final[dict[str, Color]] = {
    "GETFILESTATUS": "blue",
    "LISTSTATUS": "purple",
    "OPEN": "green",
    "GETACLSTATUS": "light-blue",
    "GETCONTENTSUMMARY": "light-purple",
    "CREATE": "orange",
    "DELETE": "#8e8e8e",
    "MKDIRS": "yellow",
    "RENAME": "#b8b8b8",
}
"""Of those that clients use most, each different from its neighbours; no operation is red."""

RESULTS: Final = Panel(
    title="What becomes of requests?",
    description=(
        "Requests a second, each counted once. Green and yellow needed no call of their own, blue and purple were "
        "answered by a NameNode. Good: mostly green, with blue after restarts and changes. Bad: orange (refused: "
        "malformed or beyond a limit) or red (answered with an error of the proxy) in more than traces."
    ),
    unit="reqps",
    queries={"{{result}}": total(rate("nncache_requests_total"), "result")},
    colors=RESULT_COLORS,
    is_stacked=True,
)

REASONS: Final = Panel(
    title="Why do requests go to a NameNode?",
    description=(
        "Requests a second that were not answered from memory, by reason; docs/metrics.md explains each. "
        "Good: operation, method and no-filter, which no cache can help, and few others. Bad: gate-closed or "
        "stream-closed (nothing is answered from memory), no-grant without end (callers change all the time), "
        "cache-error at all."
    ),
    unit="reqps",
    queries={"{{reason}}": f"{total(rate('nncache_forwarded_total'), 'reason')} > 0"},
    colors=REASON_COLORS,
    is_stacked=True,
    without_value="all from memory",
)

GATE_AGE: Final = Panel(
    title="How long ago were all changes known?",
    description=(
        "Seconds since all changes were last known to be applied. Beyond max_staleness_s (3 s unless set; the "
        "dashed line) the gate is closed: nothing is answered from memory, however high the line goes. Good: below "
        "2 s, flat. "
        "Bad: a line that climbs: its proxy reads no changes; see the log and docs/runbook.md."
    ),
    unit="s",
    axis_to=4,
    queries={"{{instance}}": of("nncache_cache_gate_age_seconds")},
    thresholds={3: "red"},
)

NAMENODES_REACHED: Final = Panel(
    title="How many NameNodes does a daemon not reach?",
    description=(
        "NameNodes that do not answer a daemon's probes: configured less reachable. Good: 0. Bad: 1 and more: a "
        "NameNode is down or the network between is; with all of them gone, clients get errors."
    ),
    unit="short",
    decimals=0,
    axis_to=2,
    queries={"{{instance}}": f"{of('nncache_namenodes')} - {of('nncache_namenodes_reachable')}"},
    thresholds={1: "red"},
)


def slowest(percent: int, results: str, title: str, description: str) -> Panel:
    """Return the panel of how long all but the slowest requests take, by result."""
    return Panel(
        title=title,
        description=description,
        unit="s",
        queries={
            "{{result}}": quantile(
                percent / 100, "nncache_request_duration_seconds", "result", result=results
            )
        },
        colors={name: color for name, color in RESULT_COLORS.items() if name in results.split("|")},
        is_logarithmic=True,
    )
