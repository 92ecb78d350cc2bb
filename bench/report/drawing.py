"""Figures, axes and letters as all charts have them. (bench/report/drawing.py)

All texts are taken for what they are, not for formulae: names come from workloads that others wrote.
"""

import math
import textwrap
from typing import Final

from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter, NullLocator

from nncache.bench.figures import ModeFigures, RunInfo
from nncache.bench.report.colours import BLACK, PALE, QUIET
from nncache.bench.report.finding import schedule, workload_name
from nncache.bench.report.rounding import NONE

DOTS_PER_INCH: Final = 150
WIDTH: Final = 12.0
"""Inches: 1,800 px; shown at 1,200 px, the smallest letters are as high as those of a page."""

DASHED: Final = (0, (4, 3))
"""The style of lines that are asked for and not measured."""

_NAME: Final = 10
_MILLION: Final = 1_000_000
_SIGNS: Final = frozenset(f"\n∞·µ{NONE}")
_LINE: Final = 74
"""Letters on a line of a title."""

_LINES: Final = 3
_LARGE: Final = 18
_SMALLER: Final = 15


def new_figure(height: float) -> Figure:
    """Return an empty figure of that many inches, drawn by Agg and known to nobody else."""
    figure = Figure(figsize=(WIDTH, height), dpi=DOTS_PER_INCH, facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def title(figure: Figure, text: str) -> None:
    """Write what the chart says above it, on up to three lines."""
    lines = textwrap.wrap(plain(text, _LINE * _LINES), _LINE)[:_LINES]
    top = 1 - 0.2 / figure.get_size_inches()[1]
    size = _LARGE if len(lines) < _LINES else _SMALLER
    figure.text(0.02, top, "\n".join(lines), size=size, weight="bold", va="top", parse_math=False)


def footer(figure: Figure, info: RunInfo, modes: tuple[ModeFigures, ...]) -> None:
    """Write below the chart which run it is of, and whether the generator was too slow for it."""
    parts = [f"workload {plain(workload_name(info), 50)}", f"seed {info.seed}", plain(info.date, 30)]
    if late := schedule(modes):
        parts.append(plain(late, 80))
    bottom = 0.14 / figure.get_size_inches()[1]
    text = " · ".join(parts)
    figure.text(0.02, bottom, text, size=11, color=BLACK if late else QUIET, va="bottom", parse_math=False)


def write(  # noqa: PLR0913 - the defaults are what most texts want
    axes: Axes,
    x: float,
    y: float,
    text: str,
    *,
    size: float = 12,
    color: str = BLACK,
    weight: str = "normal",
    ha: str = "left",
    va: str = "center",
) -> Text:
    """Write at a place given as shares of the axes' width and height."""
    return axes.text(
        x,
        y,
        plain(text, 120),
        transform=axes.transAxes,
        parse_math=False,
        size=size,
        color=color,
        weight=weight,
        ha=ha,
        va=va,
    )


def plain(text: str, most: int) -> str:
    """Return a text that the chart's font has all letters of, cut to a length."""
    known = "".join(letter if " " <= letter <= "~" or letter in _SIGNS else "?" for letter in text)
    return known if len(known) <= most else f"{known[: most - 3]}..."


def say_nothing(axes: Axes, why: str) -> None:
    """Write into the empty axes why they are."""
    axes.xaxis.set_major_locator(NullLocator())
    axes.yaxis.set_major_locator(NullLocator())
    write(axes, 0.5, 0.5, why, size=14, color=QUIET, ha="center")


def clean(axes: Axes) -> None:
    """Leave of the frame only what carries numbers."""
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_color(QUIET)
    axes.tick_params(length=0, colors=QUIET, labelsize=12, pad=8)
    axes.set_axisbelow(True)
    axes.grid(visible=True, color=PALE, linewidth=0.8)


def decades(axis: Axis, low: float, high: float) -> None:
    """Give an axis that is logarithmic from `low` to `high` a tick with a plain number for each power of ten."""
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    step = 1 + max(0, last - first) // 7
    axis.set_major_locator(FixedLocator([10.0**power for power in range(first, last + 1, step)]))
    axis.set_major_formatter(FuncFormatter(lambda value, _: _round(value)))
    axis.set_minor_locator(NullLocator())
    axis.set_minor_formatter(NullFormatter())


def _round(value: float) -> str:
    """Return a power of ten, short."""
    if value >= _MILLION:
        return f"{value / _MILLION:,g} M"
    return f"{value:,g}"


def reach(axes: Axes, value: float) -> float:
    """Return how far right of the axes' left edge a value of the x axis lies, as a share of its width: 0 to 1."""
    low, high = axes.get_xlim()
    if axes.get_xscale() == "log":
        share = math.log(max(value, low) / low) / math.log(high / low)
    else:
        share = (value - low) / (high - low)
    return min(max(share, 0.0), 1.0)


def short_name(mode: str) -> str:
    """Return a mode's name as it fits beside a bar."""
    return mode if len(mode) <= _NAME else f"{mode[: _NAME - 1]}."
