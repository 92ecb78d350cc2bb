"""The rules of Grafana's dashboard-linter, which does not build here, one test each."""

import re

import pytest
from grafana_foundation_sdk.models import units

from tests.deploy.grafana.queries import DASHBOARDS, PANELS, Json, expressions, selectors

UNITS = {value for name, value in vars(units).items() if not name.startswith("_")}

OF_ONE = {"proxy"}
"""Dashboards of one target at a time: template-instance wants several; here `All` would add up what is asked of one."""

# target-logql and target-logql-auto do not apply: no panel has Loki as its source (test_panel_datasource).

each_board = pytest.mark.parametrize("name", DASHBOARDS)
each_panel = pytest.mark.parametrize("panel", PANELS.values(), ids=PANELS.keys())


def variable(name: str, of: str) -> Json:
    """Return a variable of a dashboard."""
    (found,) = [each for each in DASHBOARDS[of]["templating"]["list"] if each["name"] == name]
    return dict(found)


@each_panel
def test_panel_datasource(panel: Json) -> None:
    """A panel and its queries use the data source that is chosen, which is a Prometheus."""
    for each in (panel, *panel["targets"]):
        assert each["datasource"] == {"type": "prometheus", "uid": "${datasource}"}


@each_panel
def test_panel_title_description(panel: Json) -> None:
    """Both are there."""
    assert panel["title"]
    assert panel["description"]


@each_panel
def test_panel_units(panel: Json) -> None:
    """The unit is one that Grafana has."""
    assert panel["fieldConfig"]["defaults"]["unit"] in UNITS


@each_panel
def test_target_promql(panel: Json) -> None:
    """Each query parses."""
    for expression in expressions(panel):
        assert selectors(expression)


@each_panel
@pytest.mark.parametrize("label", ["job", "instance"])
def test_target_job_and_target_instance(panel: Json, label: str) -> None:
    """Each metric of each query is of the chosen targets."""
    for expression in expressions(panel):
        for each in selectors(expression):
            assert each.matchers[label] == ("MatchOp.Re", f"${label}"), expression


@each_panel
def test_target_rate_interval(panel: Json) -> None:
    """A range is as long as two scrapes need: Grafana knows how long that is."""
    for target in panel["targets"]:
        ranges = re.findall(r"\[([^\]]*)\]", target["expr"])
        assert set(ranges) <= {"$__rate_interval"}
        assert len(ranges) == sum(
            each.is_over_range for each in selectors(target["expr"].replace("$__rate_interval", "1m"))
        )


@each_board
def test_template_datasource(name: str) -> None:
    """The first variable chooses the data source, and is called so."""
    assert DASHBOARDS[name]["templating"]["list"][0]["name"] == "datasource"
    source = variable("datasource", name)
    assert (source["type"], source["query"], source["label"]) == ("datasource", "prometheus", "Data source")


@each_board
@pytest.mark.parametrize("label", ["job", "instance"])
def test_template_job_and_template_instance(name: str, label: str) -> None:
    """Both can be chosen, several or all at once."""
    each = variable(label, name)
    assert (each["type"], each["label"]) == ("query", label.capitalize())
    assert each["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
    if label == "instance" and name in OF_ONE:
        assert not each.get("multi")
    else:
        assert (each["multi"], each["includeAll"], each["allValue"]) == (True, True, ".+")


@each_board
@pytest.mark.parametrize("label", ["job", "instance"])
def test_template_label_promql(name: str, label: str) -> None:
    """Its values come from a query that parses."""
    found = re.fullmatch(r"label_values\((.*), (\w+)\)", variable(label, name)["query"]["query"])
    assert found is not None
    assert found[2] == label
    assert selectors(found[1])


@each_board
def test_template_on_time_change_reload(name: str) -> None:
    """Values are asked for again when another stretch of time is looked at: 2, as Grafana counts."""
    for label in ("job", "instance"):
        assert variable(label, name)["refresh"] == 2


@each_board
def test_uneditable(name: str) -> None:
    """A change in Grafana would be lost with the next deployment."""
    assert DASHBOARDS[name]["editable"] is False
