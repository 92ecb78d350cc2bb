"""The committed dashboards are current, use only metrics of the table, and obey the rules of Grafana's linter."""

import itertools
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import promql_parser
import pytest
from grafana_foundation_sdk.models import units
from prometheus_client import CollectorRegistry, ProcessCollector

from nncache.metrics.table import METRICS
from nncache.proxy.cache_status import REASONS
from nncache.proxy.traffic import OPERATION_NAMES, Result
from tests.house.tree import ROOT
from tools.dashboards.files import BOARDS, DIRECTORY, files, write
from tools.dashboards.panel import PALETTES, Panel

Json = dict[str, Any]

DASHBOARDS: dict[str, Json] = {
    path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(DIRECTORY.glob("*.json"))
}


def panels(dashboard: Json) -> list[Json]:
    """Return a dashboard's panels, without row headings."""
    return [panel for panel in dashboard["panels"] if panel["type"] != "row"]


PANELS = {f"{name}: {panel['title']}": panel for name, board in DASHBOARDS.items() for panel in panels(board)}
"""All panels, by dashboard and title."""


def expressions(panel: Json) -> list[str]:
    """Return the queries of a panel with `$__rate_interval` replaced."""
    return [target["expr"].replace("$__rate_interval", "1m") for target in panel["targets"]]


@dataclass(frozen=True, slots=True)
class Selector:
    """A metric in a query, with its label matchers."""

    name: str
    matchers: dict[str, tuple[str, str]]
    is_over_range: bool


def selectors(expression: str) -> list[Selector]:
    """Return all metrics in a query.

    Raises:
        ValueError: the expression is not PromQL.
    """
    return list(_walk(promql_parser.parse(expression)))


def _walk(node: Any) -> Iterator[Selector]:
    match node:
        case promql_parser.VectorSelector():
            yield _selector(node, is_over_range=False)
        case promql_parser.MatrixSelector():
            yield _selector(node.vector_selector, is_over_range=True)
        case promql_parser.BinaryExpr():
            yield from _walk(node.lhs)
            yield from _walk(node.rhs)
        case promql_parser.Call():
            for argument in node.args:
                yield from _walk(argument)
        case (
            promql_parser.AggregateExpr()
            | promql_parser.ParenExpr()
            | promql_parser.UnaryExpr()
            | promql_parser.SubqueryExpr()
        ):
            yield from _walk(node.expr)
        case promql_parser.NumberLiteral() | promql_parser.StringLiteral():
            return
        case _:
            raise TypeError(f"not known to this test: {node!r}")


def _selector(node: promql_parser.VectorSelector, *, is_over_range: bool) -> Selector:
    matchers = {each.name: (str(each.op), each.value) for each in node.matchers.matchers}
    return Selector(node.name or "", matchers, is_over_range)


PROCESS = {"process_cpu_seconds_total", "process_resident_memory_bytes", "process_start_time_seconds"}
"""Metrics that are not in the table: prometheus_client's figures of the process."""

TABLE = {metric.name: metric for metric in METRICS}


def committed(directory: Path = DIRECTORY) -> dict[str, str]:
    """Return the committed files: name to text."""
    return {path.name: path.read_text(encoding="utf-8") for path in directory.glob("*.json")}


def test_the_committed_files_are_current() -> None:
    """`make dashboards-json` would change nothing."""
    assert committed() == files(), "run `make dashboards-json`"


def test_a_file_that_is_no_longer_made_is_removed(tmp_path: Path) -> None:
    """Grafana would keep showing it."""
    (tmp_path / "old.json").write_text("{}")
    write(tmp_path)
    assert committed(tmp_path) == files()


@pytest.mark.parametrize("panel", PANELS.values(), ids=PANELS.keys())
def test_each_query_is_promql_of_the_table(panel: Json) -> None:
    """It parses; its metrics, labels and values exist; rates are of counters, buckets of histograms."""
    assert panel["targets"]
    for expression in expressions(panel):
        named = selectors(expression)
        assert named
        for each in named:
            name = each.name.removesuffix("_bucket")
            if name in PROCESS:
                continue
            row = TABLE[name]
            assert (row.kind == "histogram") == (name != each.name), expression
            assert (row.kind != "gauge") == each.is_over_range, expression
            assert each.matchers.keys() <= {"job", "instance", *row.labels}, expression
            for label, (_, values) in each.matchers.items():
                if row.values and label in row.labels:
                    assert set(values.split("|")) <= set(row.values), expression
            _, results = each.matchers.get("result", ("", ""))
            assert set(filter(None, results.split("|"))) <= set(Result), expression


def test_each_dashboard_has_its_own_name() -> None:
    """Grafana distinguishes dashboards by uid, people by title."""
    assert len(DASHBOARDS) == len(BOARDS) == 4
    for key in ("uid", "title"):
        assert len({board[key] for board in DASHBOARDS.values()}) == len(DASHBOARDS)


@pytest.mark.parametrize("board", DASHBOARDS.values(), ids=DASHBOARDS.keys())
def test_panels_lie_side_by_side(board: Json) -> None:
    """No panels overlap, and each line of the grid is filled."""
    cells = [
        (x, y)
        for place in (panel["gridPos"] for panel in board["panels"])
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(cells) == len(set(cells))
    height = max(y for _, y in cells) + 1
    assert set(cells) == {(x, y) for x in range(24) for y in range(height)}


def test_the_page_names_each_dashboard() -> None:
    """The page has each title."""
    page = (ROOT / "docs" / "dashboards.md").read_text(encoding="utf-8")
    assert all(f"**{board.title}**" in page for board in BOARDS)


def test_what_has_a_color_is_there() -> None:
    """Each result and reason has one, and each operation with a color exists."""
    assert PALETTES["results"].keys() == {result.value for result in Result}
    assert PALETTES["reasons"].keys() == {reason.value for reason in REASONS}
    assert set(PALETTES["operations"]) <= set(OPERATION_NAMES)


PANELS_OF_CODE = {f"{board.name}: {panel.title}": panel for board in BOARDS for panel in board.panels}


def test_each_title_comes_once() -> None:
    """A title belongs to one dashboard."""
    assert len(PANELS_OF_CODE) == sum(len(board.panels) for board in BOARDS)


@pytest.mark.parametrize("panel", PANELS_OF_CODE.values(), ids=PANELS_OF_CODE.keys())
def test_a_panel_says_what_good_and_bad_look_like(panel: Panel) -> None:
    """Otherwise it says that it is neither. Each color belongs to an existing line."""
    says_both = "Good: " in panel.description and "Bad: " in panel.description
    assert says_both or "Neither good nor bad" in panel.description
    if not any("{{" in legend for legend in panel.queries):
        assert panel.colors.keys() <= panel.queries.keys()


@pytest.mark.parametrize("panel", PANELS_OF_CODE.values(), ids=PANELS_OF_CODE.keys())
def test_a_threshold_of_one_number_shows_good_and_bad(panel: Panel) -> None:
    """Thresholds must increase, or Grafana shows none of them correctly."""
    assert list(panel.thresholds) == sorted(panel.thresholds)


def test_the_figures_of_the_process_are_there() -> None:
    """Their names are prometheus_client's."""
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    assert {sample.name for family in registry.collect() for sample in family.samples} >= PROCESS


# The rules of Grafana's dashboard-linter, which cannot be built here.

UNITS = {value for name, value in vars(units).items() if not name.startswith("_")}

OF_ONE = {"proxy"}
"""Dashboards of one target: template-instance requires several, but `All` would add up figures of a single target."""

SOURCE = {"type": "prometheus", "uid": "${datasource}"}

# target-logql and target-logql-auto do not apply: no panel has Loki as its source (panel-datasource).


@pytest.mark.parametrize("panel", PANELS.values(), ids=PANELS.keys())
def test_a_panel_is_as_the_linter_wants_it(panel: Json) -> None:
    """panel-datasource, -title-description, -units; target-job, -instance, -rate-interval."""
    assert [each["datasource"] for each in (panel, *panel["targets"])] == [SOURCE] * (
        1 + len(panel["targets"])
    )
    assert panel["title"]
    assert panel["description"]
    assert panel["fieldConfig"]["defaults"]["unit"] in UNITS
    for target, expression in zip(panel["targets"], expressions(panel), strict=True):
        of_targets = selectors(expression)
        for each, label in itertools.product(of_targets, ("job", "instance")):
            assert each.matchers[label] == ("MatchOp.Re", f"${label}"), expression
        # Grafana chooses a range of at least two scrapes.
        ranges = re.findall(r"\[([^\]]*)\]", target["expr"])
        assert ranges == ["$__rate_interval"] * sum(each.is_over_range for each in of_targets)


@pytest.mark.parametrize("name", DASHBOARDS)
def test_a_dashboard_is_as_the_linter_wants_it(name: str) -> None:
    """template-datasource, -job, -instance, -label-promql, -on-time-change-reload; uneditable."""
    assert DASHBOARDS[name]["editable"] is False
    source, *of_targets = DASHBOARDS[name]["templating"]["list"]
    assert (source["name"], source["type"], source["query"]) == ("datasource", "datasource", "prometheus")
    assert source["label"] == "Data source"
    assert [each["name"] for each in of_targets] == ["job", "instance"]
    for each in of_targets:
        assert (each["type"], each["label"]) == ("query", each["name"].capitalize())
        assert each["datasource"] == SOURCE
        assert each["refresh"] == 2, "on a change of the time range, as Grafana counts"
        found = re.fullmatch(r"label_values\((.*), (\w+)\)", each["query"]["query"])
        assert found is not None
        assert found[2] == each["name"]
        assert selectors(found[1])
        if each["name"] == "instance" and name in OF_ONE:
            assert not each.get("multi")
        else:
            assert (each["multi"], each["includeAll"], each["allValue"]) == (True, True, ".+")
