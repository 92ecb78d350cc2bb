"""What a panel shows, from a Prometheus's answers."""

import math
from collections.abc import Sequence

from nncache.testbed.prometheus import Line
from tools.dashboards.live.panel_data import Shown, Stretch, as_json, named, resolved, shown
from tools.dashboards.panel import Board, Panel, Query, Row

PANEL = Panel(
    title="t?",
    description="d",
    unit="s",
    queries=(Query('up{instance=~"$instance"}', "{{instance}} up"), Query("down", "down")),
)
BOARD = Board(name="b", title="b", description="b", instances="up", rows=(Row("r", (PANEL,)),))
STRETCH = Stretch(start=1.0, end=3.0, step_s=2.0, rate_interval="8s")


class Answers:
    """Has one series of `up` alone, and keeps what it was asked."""

    def __init__(self) -> None:
        self.asked = list[tuple[str, float, float, float]]()

    def lines(self, expression: str, start: float, end: float, step_s: float) -> Sequence[Line]:
        """Answer."""
        self.asked.append((expression, start, end, step_s))
        return [Line({"instance": "a:1"}, ((1.0, 0.5), (3.0, 1.0)))] if expression.startswith("up") else []


def test_variables_are_replaced_as_grafana_does() -> None:
    """All jobs; the instance that is chosen; a range of a few scrapes."""
    expression = 'rate(x{job=~"$job", instance=~"$instance"}[$__rate_interval])'
    assert resolved(expression, "a:1", "8s") == 'rate(x{job=~".+", instance=~"a:1"}[8s])'


def test_a_line_is_called_by_its_labels() -> None:
    """One that it does not have is empty."""
    assert named("{{a}} of {{b}}", {"a": "1"}) == "1 of "


def test_each_panel_has_the_lines_of_its_queries() -> None:
    """In order, by its title; as JSON in milliseconds."""
    answers = Answers()
    found = shown(BOARD, answers, STRETCH, "a:1")
    assert answers.asked == [('up{instance=~"a:1"}', 1.0, 3.0, 2.0), ("down", 1.0, 3.0, 2.0)]
    assert as_json(found) == {
        "t?": [{"legend": "a:1 up", "times_ms": [1000, 3000], "values": [0.5, 1.0]}],
    }


def test_what_was_divided_by_nothing_is_null() -> None:
    """JSON has no infinity."""
    line = Line({}, ((1.0, math.inf), (2.0, 0.5)))
    assert as_json({"t?": [Shown("x", line)]})["t?"][0]["values"] == [None, 0.5]
