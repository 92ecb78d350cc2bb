"""All calls count, from zero, and so does what stands before the NameNode."""

import math
from dataclasses import replace

import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from nncache.bench.report.canvas import COLOURS, tinted
from nncache.bench.report.load_panels import draw_calls, draw_cpu
from tests.bench import example_figures as example


def bars(axes: Axes) -> list[list[float]]:
    """Return the widths of each row's parts; each begins where the one before ends, the first at zero."""
    rows: dict[float, list[Rectangle]] = {}
    for patch in axes.patches:
        assert isinstance(patch, Rectangle)
        rows.setdefault(patch.get_y(), []).append(patch)
    for parts in rows.values():
        left = 0.0
        for part in parts:
            assert part.get_x() == pytest.approx(left)
            left += part.get_width()
    return [[part.get_width() for part in rows[place]] for place in sorted(rows)]


def texts(axes: Axes) -> list[str]:
    """Return what stands at the bars."""
    return [text.get_text() for text in axes.texts if text.get_text()]


def test_calls_are_stacked_by_what_they_are_for() -> None:
    """Of nncache's, most read what has changed; no scale hides it."""
    axes = Figure().subplots()
    draw_calls(axes, example.info(), example.modes())
    assert axes.get_xscale() == "linear"
    assert axes.get_xlim()[0] == 0
    direct, through, nginx = bars(axes)
    assert direct == [2_000, 0, 0, 0]
    assert through == pytest.approx([11.2, 5, 20, 1])
    assert nginx == [600, 0, 0, 0]
    assert texts(axes) == [
        "direct: 2,000 calls/s",
        "nncache: 37.2 calls/s, 98.14 % saved",
        "11.2 getFileInfo + 5.00 isFileClosed + 20.0 getEditsFromTxid + 1.00 getServiceStatus",
        "nginx: 600 calls/s, 70.00 % saved",
    ]


def test_the_cpu_is_the_namenodes_and_beside_it_that_of_the_servers_before() -> None:
    """Saved is said of the NameNode's alone; the bar shows both."""
    axes = Figure().subplots()
    draw_cpu(axes, example.modes())
    assert axes.get_xscale() == "linear"
    assert [value for row in bars(axes) for value in row] == pytest.approx([0.8, 0, 0.04, 0.17, 0.25, 0.05])
    assert texts(axes) == [
        "direct: 80.0 % of a core",
        "nncache: 4.00 % of a core, 95.00 % saved",
        "before it: 16.0 % proxy, 1.00 % publisher",
        "nginx: 25.0 % of a core, 68.75 % saved",
        "before it: 5.00 % nginx",
    ]


def test_parts_have_shades_of_the_modes_colour() -> None:
    """What polls cause is the darkest."""
    axes = Figure().subplots()
    draw_calls(axes, example.info(), (example.nncache(),))
    colours = [patch.get_facecolor()[:3] for patch in axes.patches]
    assert colours[0] == tinted(COLOURS["nncache"], 1.0)
    assert len(set(colours)) == len(colours) == 4


def test_what_was_not_counted_is_said() -> None:
    """No calls, no CPU; a mode without CPU has no row."""
    figure = Figure()
    calls, cpu = figure.subplots(2)
    draw_calls(calls, replace(example.info(), workload={}), (example.nothing_happened(),))
    draw_cpu(cpu, (example.nothing_happened(),))
    assert (texts(calls), texts(cpu)) == (["no calls"], ["no CPU time was measured"])
    alone = figure.add_subplot()
    draw_cpu(alone, (replace(example.direct(), cpu_s={"changer": 1.0}), example.nncache()))
    assert texts(alone)[0] == "nncache: 4.00 % of a core"
    assert math.fsum(bars(alone)[0]) == pytest.approx(0.21)
