"""What reaches the NameNode each second, as bars. (bench/report/calls_panel.py)"""

import math
from typing import Final

from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator

from nncache.bench.figures import ModeFigures, RunInfo
from nncache.bench.report.colours import BLACK, QUIET, of_mode
from nncache.bench.report.drawing import DASHED, clean, decades, reach, say_nothing, short_name, write
from nncache.bench.report.rounding import counted, number, percent
from nncache.bench.report.savings import calls_per_s, direct_of, polls_asked_per_s, share_saved

_MIDDLE: Final = 0.5
"""A bar that ends beyond has room for its numbers in it."""


def draw_calls(axes: Axes, info: RunInfo, modes: tuple[ModeFigures, ...]) -> None:
    """Draw the getFileInfo calls of each mode beside the polls that were asked for, on a logarithmic scale."""
    asked = polls_asked_per_s(info, info.period_s)
    positive = [rate for rate in (asked, *map(calls_per_s, modes)) if rate > 0]
    clean(axes)
    axes.grid(visible=False)
    if not modes or not positive:
        say_nothing(axes, "no calls")
        return
    high = max(positive) * 1.25
    low = 10.0 ** math.floor(math.log10(min(*positive, high / 50) / 2))
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    axes.set_ylim(len(modes) - 0.5, -0.5)
    axes.yaxis.set_major_locator(NullLocator())
    decades(axes.xaxis, low, high)
    direct = direct_of(modes)
    for place, mode in enumerate(modes):
        rate = calls_per_s(mode)
        axes.barh(place, max(0.0, rate - low), left=low, height=0.56, color=of_mode(mode.mode))
        middle = 1 - (place + 0.5) / len(modes)
        _write_rate(axes, middle, mode, share_saved(mode, direct))
        _write_mode(axes, middle, mode)
    if asked > 0:
        axes.axvline(asked, color=QUIET, linestyle=DASHED, linewidth=1.5)
        text = f"{number(asked)} polls/s asked for"
        write(axes, max(reach(axes, asked), _MIDDLE), 1.02, text, color=QUIET, va="bottom", ha="right")


def _write_rate(axes: Axes, middle: float, mode: ModeFigures, saved: float) -> None:
    """Write what a bar stands for, into it if it is long, else behind it."""
    rate = calls_per_s(mode)
    text = (
        f"{number(rate)} calls/s" if math.isnan(saved) else f"{number(rate)} calls/s\n{percent(saved)} saved"
    )
    end = reach(axes, rate)
    if end > _MIDDLE:
        write(axes, end - 0.025, middle, text, size=13, color="white", weight="bold", ha="right")
    else:
        label = write(axes, end + 0.025, middle, text, size=13, color=of_mode(mode.mode), weight="bold")
        label.set_bbox({"facecolor": "white", "edgecolor": "none", "pad": 1.5})


def _write_mode(axes: Axes, middle: float, mode: ModeFigures) -> None:
    """Write a mode's name left of its bar, and under it how many of its answers were wrong."""
    name = short_name(mode.mode)
    write(
        axes, -0.04, middle, name, size=15, color=of_mode(mode.mode), weight="bold", ha="right", va="bottom"
    )
    wrong = counted(mode.wrong_count, "wrong answer")
    if mode.wrong_count:
        wrong = wrong.replace(" ", "\n", 1)
    color, weight = (BLACK, "bold") if mode.wrong_count else (QUIET, "normal")
    write(axes, -0.04, middle - 0.02, wrong, color=color, weight=weight, ha="right", va="top")
