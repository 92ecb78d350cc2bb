"""Panels of several dashboards."""

from nncache.proxy.cache_status import REASONS
from nncache.proxy.traffic import OPERATION_NAMES, Result
from tools.dashboards.boards.shared import OPERATION_COLORS, REASON_COLORS, RESULT_COLORS, slowest


def test_each_result_has_a_color() -> None:
    """The same in every panel."""
    assert RESULT_COLORS.keys() == {result.value for result in Result}


def test_what_has_a_color_is_there() -> None:
    """Each reason has one, and no operation that WebHDFS does not have."""
    assert REASON_COLORS.keys() == {reason.value for reason in REASONS}
    assert set(OPERATION_COLORS) <= set(OPERATION_NAMES)


def test_durations_are_shown_of_the_results_asked_for() -> None:
    """As a quantile, on a logarithmic axis."""
    panel = slowest(99, "hit|stored", "title", "description")
    (query,) = panel.queries
    assert query.expression.startswith("histogram_quantile(0.99, ")
    assert 'result=~"hit|stored"' in query.expression
    assert panel.colors.keys() == {"hit", "stored"}
    assert panel.is_logarithmic
