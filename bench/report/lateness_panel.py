"""How late pollers see a change, as distributions. (bench/report/lateness_panel.py)"""

import math
from typing import Final

from matplotlib.axes import Axes

from nncache.bench.figures import ModeFigures, RunInfo
from nncache.bench.report.colours import QUIET, of_mode
from nncache.bench.report.curves import Curve, curve_of, value_at
from nncache.bench.report.drawing import DASHED, clean, decades, reach, say_nothing, write
from nncache.bench.report.rounding import duration, seconds_of

_LEVELS: Final = (0.88, 0.71, 0.54, 0.37)
"""Heights of the labels in the corner above the curves, as shares."""

_LOW_LEVELS: Final = (0.46, 0.31, 0.16, 0.05)
"""Those in the corner below them."""

_EMPTY: Final = 0.45
"""Labels above the curves need that share of the width without any curve."""

_BEGINS: Final = 0.02
"""The scale begins where so many have seen the change."""

_AT_ONCE_MS: Final = 1.0
"""What is seen sooner is drawn as seen then: a logarithmic scale has no zero."""


def draw_lateness(axes: Axes, info: RunInfo, modes: tuple[ModeFigures, ...]) -> None:
    """Draw for each mode the share of pollers that have seen a change, by time since its acknowledgement."""
    shown = [(mode, curve) for mode in modes if (curve := curve_of(mode.lateness_s))]
    clean(axes)
    if not shown:
        say_nothing(axes, "no change was seen")
        return
    period = info.period_s * 1e3
    times = [value * 1e3 for _, curve in shown for value, share in curve if share >= _BEGINS]
    low = 10 ** math.floor(math.log10(max(min(*times, period), _AT_ONCE_MS)))
    high = max(*times, period, low * 10) * 1.6
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    axes.set_ylim(0, 1.005)
    axes.set_yticks((0, 0.25, 0.5, 0.75, 1), ("0 %", "25 %", "50 %", "75 %", "100 %"))
    decades(axes.xaxis, low, high)
    axes.set_xlabel("milliseconds since it was acknowledged, logarithmic", size=12, color=QUIET)
    axes.axvline(period, color=QUIET, linestyle=DASHED, linewidth=1.5)
    text = f"poll period {seconds_of(info.period_s)}"
    write(axes, max(reach(axes, period), 0.4), 1.02, text, color=QUIET, va="bottom", ha="right")
    for above, (mode, curve) in enumerate(shown):  # what lies below is broader, so that all are seen
        times = [max(value * 1e3, low) for value, _ in curve]
        width = 2.5 + 2.5 * (len(shown) - 1 - above)
        axes.plot(times, [share for _, share in curve], color=of_mode(mode.mode), linewidth=width, zorder=3)
    _label(axes, shown)


def _label(axes: Axes, shown: list[tuple[ModeFigures, Curve]]) -> None:
    """Write each curve's label where no curve is, and tie it to its curve by a line."""
    labelled = list(zip(shown, _LEVELS, strict=False))
    lowest = labelled[-1][1] - 0.09
    is_above = all(reach(axes, value_at(curve, lowest) * 1e3) > _EMPTY for _, curve in shown)
    side, align, levels = (0.02, "left", _LEVELS) if is_above else (0.98, "right", _LOW_LEVELS)
    for (mode, curve), level in zip(shown, levels, strict=False):
        color = of_mode(mode.mode)
        at = reach(axes, value_at(curve, level) * 1e3)
        height = level / axes.get_ylim()[1]
        axes.plot((side, at), (height, height), transform=axes.transAxes, color=color, linewidth=1, zorder=2)
        axes.plot(at, height, transform=axes.transAxes, color=color, marker="o", markersize=7, zorder=4)
        write(
            axes, side, height + 0.012, mode.mode, size=14, color=color, weight="bold", ha=align, va="bottom"
        )
        times = f"p50 {duration(mode.lateness_s.p50)}, p99 {duration(mode.lateness_s.p99)}"
        label = write(axes, side, height - 0.025, times, size=12, ha=align, va="top")
        label.set_bbox({"facecolor": "white", "edgecolor": "none", "pad": 0})  # the grid stays behind it
