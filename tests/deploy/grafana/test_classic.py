"""What a panel's words become in Grafana's JSON."""

from typing import Any

from tools.dashboards.classic import built, json_of
from tools.dashboards.panel import Board, Panel, Query, Row, Threshold

LINES = Panel(
    title="lines?",
    description="x",
    unit="s",
    queries=(Query("up", "{{instance}}"), Query("down", "down")),
    colors={"down": "red"},
    thresholds=(Threshold(3, "red"),),
    is_stacked=True,
    is_logarithmic=True,
)
FIGURE = Panel(
    kind="figure",
    title="figure?",
    description="x",
    unit="percentunit",
    queries=(Query("up", "up"),),
    most=1,
    decimals=2,
    without_value="none",
)


def board(*, is_of_one: bool = False) -> Board:
    """Return one of these two panels."""
    row = Row("row", (LINES, FIGURE))
    return Board(name="x", title="x", description="x", instances="up", is_of_one=is_of_one, rows=(row,))


def plain(value: Any) -> Any:
    """Return what the encoder would write, as dicts and lists."""
    if callable(getattr(value, "to_json", None)):
        return plain(value.to_json())
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, list) else value


def test_lines() -> None:
    """Queries, colors by name, a dashed threshold, stacked on a logarithmic axis."""
    _, lines, _ = plain(built(board()))["panels"]
    assert [(each["refId"], each["expr"], each["legendFormat"]) for each in lines["targets"]] == [
        ("A", "up", "{{instance}}"),
        ("B", "down", "down"),
    ]
    defaults, (override,) = lines["fieldConfig"]["defaults"], lines["fieldConfig"]["overrides"]
    assert override["matcher"] == {"id": "byName", "options": "down"}
    assert override["properties"] == [{"id": "color", "value": {"mode": "fixed", "fixedColor": "red"}}]
    assert [step["color"] for step in defaults["thresholds"]["steps"]] == ["green", "red"]
    assert defaults["custom"]["thresholdsStyle"]["mode"] == "dashed"
    assert defaults["custom"]["stacking"]["mode"] == "normal"
    assert defaults["custom"]["scaleDistribution"]["type"] == "log"


def test_a_figure() -> None:
    """One number: the last one that there is."""
    figure = plain(built(board()))["panels"][2]
    defaults = figure["fieldConfig"]["defaults"]
    assert figure["type"] == "stat"
    assert (defaults["unit"], defaults["max"], defaults["decimals"], defaults["noValue"]) == (
        "percentunit",
        1,
        2,
        "none",
    )


def test_one_target_or_all_can_be_chosen() -> None:
    """A dashboard of one proxy would add up what is asked of one."""
    for is_of_one in (False, True):
        _, job, instance = plain(built(board(is_of_one=is_of_one)))["templating"]["list"]
        assert job["includeAll"]
        assert instance.get("includeAll", False) is not is_of_one


def test_the_text_is_the_same_each_time() -> None:
    """So that a change of a file is a change of a dashboard."""
    assert json_of(board()) == json_of(board())
    assert json_of(board()).endswith("}\n")
