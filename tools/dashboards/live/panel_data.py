"""What the panels of a dashboard show, as asked of a Prometheus."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from nncache.testbed.prometheus import Line
from tools.dashboards.panel import Board

ANY: Final = ".+"
"""The value of a variable of which all values are chosen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """A stretch of time to look at, in Unix seconds.

    Attributes:
        step_s: between two points.
        rate_interval: what Grafana would put in place of `$__rate_interval`.
    """

    start: float
    end: float
    step_s: float
    rate_interval: str


@dataclass(frozen=True, slots=True)
class Shown:
    """A line of a panel, and what it is called."""

    legend: str
    line: Line


class Source(Protocol):
    """Answers queries: a Prometheus."""

    def lines(self, expression: str, start: float, end: float, step_s: float) -> Sequence[Line]:
        """Return the answers between two Unix times."""


def shown(board: Board, prometheus: Source, stretch: Stretch, instance: str = ANY) -> dict[str, list[Shown]]:
    """Return the lines of each panel, by its title."""
    return {
        panel.title: [
            Shown(named(query.legend, line.labels), line)
            for query in panel.queries
            for line in prometheus.lines(
                resolved(query.expression, instance, stretch.rate_interval),
                stretch.start,
                stretch.end,
                stretch.step_s,
            )
        ]
        for panel in board.panels
    }


def resolved(expression: str, instance: str, rate_interval: str) -> str:
    """Return a query with its variables replaced, as Grafana does; all jobs are chosen."""
    values = {"$__rate_interval": rate_interval, "$job": ANY, "$instance": instance}
    for variable, value in values.items():
        expression = expression.replace(variable, value)
    return expression


def named(legend: str, labels: Mapping[str, str]) -> str:
    """Return the name of a line: `{{label}}` is replaced by the label's value."""
    return re.sub(r"{{(\w+)}}", lambda found: labels.get(found[1], ""), legend)


def as_json(shown: Mapping[str, Sequence[Shown]]) -> dict[str, list[dict[str, object]]]:
    """Return it for `deploy/grafana/render`: by panel, of each line its name and its points."""
    return {title: [dict(_parts(each)) for each in lines] for title, lines in shown.items()}


def _parts(shown: Shown) -> Iterator[tuple[str, object]]:
    yield "legend", shown.legend
    yield "times_ms", [round(at * 1000) for at, _ in shown.line.points]
    # Prometheus divides by 0; JSON has no infinity.
    yield "values", [value if math.isfinite(value) else None for _, value in shown.line.points]
