"""The committed dashboards are those of the code, and ask for what is there."""

import re
from pathlib import Path

import pytest

from nncache.metrics.metric import Metric
from nncache.metrics.table import METRICS
from nncache.proxy.traffic import Result
from tests.deploy.grafana.queries import DASHBOARDS, PANELS, Json, expressions, selectors
from tests.house.tree import ROOT
from tools.dashboards.files import BOARDS, DIRECTORY, files, write
from tools.dashboards.promql import PROCESS

TABLE = {metric.name: metric for metric in METRICS}


def committed(directory: Path = DIRECTORY) -> dict[str, str]:
    """Return file name -> text of what lies there."""
    return {path.name: path.read_text(encoding="utf-8") for path in directory.glob("*.json")}


def test_the_committed_files_are_current() -> None:
    """`make dashboards-json` would change nothing."""
    assert committed() == files(), "run `make dashboards-json`"


def test_a_file_that_is_no_longer_made_is_removed(tmp_path: Path) -> None:
    """Grafana would go on to show it."""
    (tmp_path / "old.json").write_text("{}")
    write(tmp_path)
    assert committed(tmp_path) == files()


def table_row(name: str) -> Metric | None:
    """Return the row of the table that a query's metric comes from; a histogram's three names are one row."""
    return TABLE.get(name) or TABLE.get(name.removesuffix("_bucket"))


@pytest.mark.parametrize("panel", PANELS.values(), ids=PANELS.keys())
def test_each_query_is_promql_of_the_table(panel: Json) -> None:
    """It parses, and each metric, label and result that it names is there."""
    assert panel["targets"]
    for expression in expressions(panel):
        named = selectors(expression)
        assert named
        for each in named:
            row = table_row(each.name)
            assert row is not None or each.name in PROCESS, each.name
            labels = {"job", "instance", *(row.labels if row is not None else ())}
            assert each.matchers.keys() <= labels, expression
            _, results = each.matchers.get("result", ("", ""))
            assert set(filter(None, results.split("|"))) <= set(Result), expression


def test_each_dashboard_has_its_own_name() -> None:
    """Grafana tells them apart by uid; a person by title."""
    assert len(DASHBOARDS) == len(BOARDS) == 4
    for key in ("uid", "title"):
        assert len({board[key] for board in DASHBOARDS.values()}) == len(DASHBOARDS)


@pytest.mark.parametrize("board", DASHBOARDS.values(), ids=DASHBOARDS.keys())
def test_panels_lie_side_by_side(board: Json) -> None:
    """None overlaps another, and each line of the grid is filled."""
    cells = [
        (x, y)
        for place in (panel["gridPos"] for panel in board["panels"])
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(cells) == len(set(cells))
    height = max(y for _, y in cells) + 1
    assert set(cells) == {(x, y) for x in range(24) for y in range(height)}


def test_the_page_shows_each_dashboard() -> None:
    """By its title, and with pictures that are there, none of them large."""
    page = (ROOT / "docs" / "dashboards.md").read_text(encoding="utf-8")
    assert all(f"**{board.title}**" in page for board in BOARDS)
    shown = {ROOT / "docs" / name for name in re.findall(r"\]\((pictures/[\w-]+\.png)\)", page)}
    pictures = ROOT / "docs" / "pictures"
    assert shown == {*pictures.glob("dashboard-*.png"), *pictures.glob("fault-*.png")}
    assert all(picture.stat().st_size < 200_000 for picture in shown)
