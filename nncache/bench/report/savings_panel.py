"""What a cache saves the NameNode: a group of bars for each poll period."""

import math
from collections.abc import Sequence
from typing import Any, Final

from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from nncache.bench.report.canvas import COLOURS, OTHER, empty, legend_of, plain, tinted
from nncache.bench.report.rounding import saved
from nncache.bench.report.savings import Saving

MEASURES: Final = ("of getFileInfo calls", "of all calls", "of the NameNode's\nCPU")
"""In the order in which they are drawn, the darkest first."""

_SHADES: Final = (1.0, 0.66, 0.4)
_BAR: Final = 0.27
_LEAST: Final = -1.0  # twice the calls; a bar that is cut off there has its figure beside it


def draw_savings(axes: Axes, rows: Sequence[Saving]) -> None:
    """Draw three bars for each row, from zero, in the colour of its mode."""
    if not rows:
        empty(axes, "nothing to compare with")
        return
    lowest = 0.0
    for place, row in enumerate(rows):
        colour = COLOURS.get(row.mode, OTHER)
        for number, share in enumerate((row.share, row.share_of_all, row.share_of_cpu)):
            at, known = place + (number - 1) * _BAR, 0.0 if math.isnan(share) else share
            lowest = min(lowest, known)
            axes.barh(at, known, height=0.9 * _BAR, color=tinted(colour, _SHADES[number]))
            said = "not measured" if math.isnan(share) else saved(share)
            end = max(known, 0.0), at
            style: dict[str, Any] = {"va": "center", "size": 11, "color": colour}
            axes.annotate(said, end, (6, 0), textcoords="offset points", **style)
    left = max(lowest, _LEAST)
    axes.set(xlim=(left, 1.17 - 0.25 * left), ylim=(len(rows) - 0.5, -0.5))
    axes.set_yticks(range(len(rows)), [_named(row) for row in rows], size=13)
    axes.xaxis.set_major_formatter(PercentFormatter(1, symbol=" %"))
    axes.set_xlabel("share saved against polls that go to the NameNode itself")
    axes.grid(visible=False, axis="y")
    legend_of(axes, dict(zip(MEASURES, _SHADES, strict=True)))


def _named(row: Saving) -> str:
    how = "" if row.is_measured else "\n(calls computed)"
    return f"{plain(row.mode, 12)},\nevery {row.period_s:,g} s{how}"
