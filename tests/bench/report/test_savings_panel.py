"""Three shares for each poll period, from zero."""

import math
from dataclasses import replace

import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from nncache.bench.report.savings import Saving, savings
from nncache.bench.report.savings_panel import draw_savings
from tests.bench import example_figures as example


def drawn(*rows: Saving) -> Axes:
    """Draw these."""
    axes = Figure().subplots()
    draw_savings(axes, rows)
    return axes


def widths(axes: Axes) -> list[float]:
    """Return those of all bars, from the top."""
    return [patch.get_width() for patch in axes.patches if isinstance(patch, Rectangle)]


ROWS = savings(example.modes(), example.info(), example.also())


def test_each_share_has_its_bar() -> None:
    """Of getFileInfo calls, of all calls, of CPU; what was computed is said to be."""
    axes = drawn(*ROWS[:2])
    assert widths(axes) == pytest.approx([0.99888, 0.99628, 0.0, 0.9944, 0.9814, 0.95])
    assert [text.get_text() for text in axes.texts] == [
        "99.89 % saved",
        "99.63 % saved",
        "not measured",
        "99.44 % saved",
        "98.14 % saved",
        "95.00 % saved",
    ]
    assert [text.get_text() for text in axes.get_yticklabels()] == [
        "nncache,\nevery 1 s\n(calls computed)",
        "nncache,\nevery 5 s",
    ]
    assert axes.get_xlim()[0] == 0
    assert axes.get_xscale() == "linear"


def test_less_than_nothing_saved_is_shown() -> None:
    """The axis begins there."""
    worse = replace(ROWS[1], calls_per_s=3_000.0, cores=math.nan)
    axes = drawn(worse)
    assert widths(axes)[0] == -0.5
    assert axes.texts[0].get_text() == "50.00 % more"
    assert axes.get_xlim()[0] == -0.5


def test_the_axis_ends_where_twice_the_calls_are_made() -> None:
    """Else no bar could be read beside one of sixteen times; its figure stands beside it."""
    axes = drawn(replace(ROWS[1], calls_per_s=34_000.0))
    assert axes.texts[0].get_text() == "1,600.00 % more"
    assert axes.get_xlim() == (-1.0, 1.42)  # with room for the figures before the legend


def test_nothing_to_compare_with_is_said() -> None:
    """A run without polls to the NameNode itself."""
    assert [text.get_text() for text in drawn().texts] == ["nothing to compare with"]
