"""The committed dashboards, and their PromQL taken apart."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import promql_parser

from tools.dashboards.files import DIRECTORY

Json = dict[str, Any]

DASHBOARDS: dict[str, Json] = {
    path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(DIRECTORY.glob("*.json"))
}


def panels(dashboard: Json) -> list[Json]:
    """Return its panels, without the headings of rows."""
    return [panel for panel in dashboard["panels"] if panel["type"] != "row"]


PANELS = {f"{name}: {panel['title']}": panel for name, board in DASHBOARDS.items() for panel in panels(board)}
"""All panels, by dashboard and title."""


def expressions(panel: Json) -> list[str]:
    """Return the queries of a panel as Prometheus gets them, the variables of targets aside."""
    return [target["expr"].replace("$__rate_interval", "1m") for target in panel["targets"]]


@dataclass(frozen=True, slots=True)
class Selector:
    """A metric as a query names it: the labels it matches, and how."""

    name: str
    matchers: dict[str, tuple[str, str]]
    is_over_range: bool


def selectors(expression: str) -> list[Selector]:
    """Return all metrics that a query names.

    Raises:
        ValueError: it is no PromQL.
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
