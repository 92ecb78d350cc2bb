"""What every panel of every dashboard owes its reader."""

import pytest

from tools.dashboards.files import BOARDS
from tools.dashboards.panel import Panel

PANELS = {f"{board.name}: {panel.title}": panel for board in BOARDS for panel in board.panels}


def test_a_dashboards_panels_are_those_of_its_rows() -> None:
    """In order, each title once."""
    for board in BOARDS:
        assert board.panels == tuple(panel for row in board.rows for panel in row.panels)
        assert len({panel.title for panel in board.panels}) == len(board.panels)


@pytest.mark.parametrize("panel", PANELS.values(), ids=PANELS.keys())
def test_a_panel_says_what_good_and_bad_look_like(panel: Panel) -> None:
    """Or that it is neither; and each color is of a line that there is."""
    says_both = "Good: " in panel.description and "Bad: " in panel.description
    assert says_both or "Neither good nor bad" in panel.description
    legends = {query.legend for query in panel.queries}
    assert len(legends) == len(panel.queries)
    if not any("{{" in legend for legend in legends):
        assert panel.colors.keys() <= legends


@pytest.mark.parametrize("panel", PANELS.values(), ids=PANELS.keys())
def test_a_threshold_of_one_number_shows_good_and_bad(panel: Panel) -> None:
    """Values of thresholds climb, or Grafana shows none of them right."""
    values = [threshold.value for threshold in panel.thresholds]
    assert values == sorted(set(values))
