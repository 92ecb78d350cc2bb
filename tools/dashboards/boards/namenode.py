"""What the NameNodes would be asked without nncache, and what they are asked.

From the proxies' and publishers' own figures: a NameNode's JMX page is no target of Prometheus by itself, and what
clients ask it directly is not seen here.
"""

from typing import Final

from tools.dashboards.boards.shared import (
    CLOSED_QUERIES,
    OPERATION_COLORS,
    OWN_CALLS,
    POLLS,
    PROBES,
    ROLLS,
    slowest,
)
from tools.dashboards.panel import Board, Panel, Row
from tools.dashboards.promql import of, rate, total

_BEFORE: Final = total(rate("nncache_requests_total", result="hit|collapsed|stored|forwarded|failed"))
"""What would have come to a NameNode: all but what is refused and what clients gave up."""

_UPSTREAM: Final = total(rate("nncache_upstream_calls_total"))
_AFTER: Final = f"({_UPSTREAM} + {OWN_CALLS})"

CALLS: Final = Row(
    "How many calls are left?",
    (
        Panel(
            kind="figure",
            title="NameNodes would get without it",
            description=(
                "Requests a second that clients sent to the proxies and that a NameNode would have had to answer. "
                "Neither good nor bad: it is the load that clients make."
            ),
            unit="reqps",
            queries={"before": _BEFORE},
            width=6,
            base="blue",
        ),
        Panel(
            kind="figure",
            title="NameNodes get with it",
            description=(
                "Calls a second from the proxies for their clients, and from proxies and publishers on their own "
                "account. What clients send to the NameNodes past the proxies is not counted. Good: a small part of "
                "the figure on the left. Bad: more than it."
            ),
            unit="reqps",
            queries={"after": _AFTER},
            width=6,
            base="blue",
        ),
        Panel(
            kind="figure",
            title="Calls that are gone",
            description=(
                "One less calls after by calls before, what nncache asks on its own account counted against it. "
                "Good: above 80 % where clients poll. Bad: near or below 0: it costs as much as it saves."
            ),
            unit="percentunit",
            decimals=1,
            queries={"gone": f"1 - {_AFTER} / ({_BEFORE} > 0)"},
            width=6,
            base="red",
            thresholds={0: "orange", 0.5: "yellow", 0.8: "green"},
            without_value="no requests",
        ),
        Panel(
            kind="figure",
            title="CPU cores that polling takes",
            description=(
                "Estimated CPU seconds a second that reading the edits costs the NameNodes, over all pollers. Good: "
                "below the sum of their poll_budget_share. Bad: near it: polls are held back, and answers grow older."
            ),
            unit="short",
            decimals=3,
            queries={"polling": total(rate("nncache_channel_poll_charged_seconds_total"))},
            width=6,
            thresholds={0.1: "yellow", 0.25: "red"},
        ),
        Panel(
            title="What would the NameNodes get without nncache, and what do they get?",
            description=(
                "Calls a second: those that clients make, and those that are left, our own included. Good: the lower "
                "line stays low while the upper one follows the load. Bad: they meet: nothing is answered from memory."
            ),
            unit="reqps",
            queries={"without nncache": _BEFORE, "with nncache": _AFTER},
            width=24,
            colors={"without nncache": "orange", "with nncache": "green"},
        ),
    ),
)

LEFT: Final = Row(
    "What are the calls that are left?",
    (
        Panel(
            title="What does nncache ask on its own account?",
            description=(
                "Calls a second that only nncache makes: polls of the edits, probes of the HA state, isFileClosed "
                "of files that might be open, rolls of the edit log. Good: a few a second for each proxy and "
                "publisher, whatever the load. Bad: isFileClosed in step with the load: clients read files that "
                "are being written."
            ),
            unit="reqps",
            queries={
                "polls of the edits": POLLS,
                "probes": PROBES,
                "isFileClosed": CLOSED_QUERIES,
                "rolls": ROLLS,
            },
            colors={
                "polls of the edits": "blue",
                "probes": "light-blue",
                "isFileClosed": "orange",
                "rolls": "purple",
            },
            is_stacked=True,
        ),
        Panel(
            title="Which operations are forwarded?",
            description=(
                "Requests a second that a NameNode answered and whose reply was not cached, by operation. Good: what "
                "no cache can answer: writes, LISTSTATUS, OPEN. Bad: GETFILESTATUS: no filter matches the paths, or "
                "the gate is closed."
            ),
            unit="reqps",
            queries={
                "{{operation}}": f"{total(rate('nncache_requests_total', result='forwarded'), 'operation')} > 0"
            },
            colors=OPERATION_COLORS,
            is_stacked=True,
            without_value="none",
        ),
    ),
)

SPEED: Final = Row(
    "Does it show at the NameNodes?",
    (
        slowest(
            99,
            "stored|forwarded",
            "How long do NameNodes take for what is left?",
            "99th percentile of what NameNodes answered, as the proxies measure it; logarithmic. Good: falls, or "
            "stays, once nncache is in front. Bad: climbs without more calls: the NameNode is busy with what comes "
            "past the proxies.",
        ),
        Panel(
            title="Is there polling budget left?",
            description=(
                "CPU time that each daemon that polls may still cost the NameNode at once (poll_budget_share). Good: "
                "full, flat. Bad: below 0 for minutes: polls are held back (NncachePollingBudgetUsedUp)."
            ),
            unit="s",
            queries={
                "{{instance}}": f"{of('nncache_channel_poll_budget_seconds')} and "
                f"({rate('nncache_channel_polls_total')} > 0)",
            },
            thresholds={0: "green"},
            base="red",
        ),
    ),
)

NAMENODE: Final = Board(
    name="namenode",
    title="nncache: NameNode before and after",
    description=(
        "What the NameNodes would be asked without nncache, and what they are asked: from proxies' and publishers' "
        "own figures, so that nothing but nncache need be a target of Prometheus."
    ),
    instances="nncache_namenodes",
    rows=(CALLS, LEFT, SPEED),
)
