"""Panels of several dashboards."""

from nncache.deploy.grafana.boards.shared import RESULT_COLORS, slowest
from nncache.proxy.traffic import Result


def test_each_result_has_a_color() -> None:
    """The same in every panel."""
    assert RESULT_COLORS.keys() == {result.value for result in Result}


def test_durations_are_shown_of_the_results_asked_for() -> None:
    """As a quantile, on a logarithmic axis."""
    panel = slowest(99, "hit|stored", "title", "description")
    (query,) = panel.queries
    assert query.expression.startswith("histogram_quantile(0.99, ")
    assert 'result=~"hit|stored"' in query.expression
    assert panel.colors.keys() == {"hit", "stored"}
    assert panel.is_logarithmic
