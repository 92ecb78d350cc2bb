"""The charts of a run. (bench/report/charts.py)"""

import io
import math
from typing import Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator

from nncache.bench.figures import ModeFigures, RunInfo
from nncache.bench.report.calls_panel import draw_calls
from nncache.bench.report.colours import QUIET, of_mode, of_process
from nncache.bench.report.curves import curve_of, nines, spread, value_at
from nncache.bench.report.drawing import (
    clean,
    decades,
    footer,
    new_figure,
    plain,
    say_nothing,
    short_name,
    title,
    write,
)
from nncache.bench.report.finding import cpu, load
from nncache.bench.report.lateness_panel import draw_lateness
from nncache.bench.report.rounding import duration, number

PROCESSES: Final = ("namenode", "proxy", "publisher", "nginx", "generator", "changer")
"""In the order in which their CPU seconds are stacked."""

_SHARES: Final = {0.0: "0 %", 0.5: "50 %", 0.9: "90 %", 0.99: "99 %", 0.999: "99.9 %"}

_LAST: Final = 0.999
"""What lies beyond is a poll or two of a short run, and not drawn."""

_LOWEST: Final = 0.12
_ROOM: Final = 0.78
"""Heights of the labels of latencies: the lowest one's, and how far the highest is above."""


def as_png(figure: Figure) -> bytes:
    """Return a chart as a PNG file."""
    file = io.BytesIO()
    figure.savefig(file, format="png")
    return file.getvalue()


def main_chart(info: RunInfo, modes: tuple[ModeFigures, ...]) -> Figure:
    """Return what reaches the NameNode beside how late changes are seen, with the finding as its title."""
    figure = new_figure(6.6)
    title(figure, load(info, modes))
    footer(figure, info, modes)
    left = figure.add_axes((0.145, 0.165, 0.33, 0.565))
    right = figure.add_axes((0.57, 0.165, 0.41, 0.565))
    write(left, -0.38, 1.11, "What reaches the NameNode", size=16, weight="bold", va="bottom")
    left.set_xlabel("getFileInfo calls per second, logarithmic", size=12, color=QUIET)
    write(right, -0.11, 1.11, "How late pollers see a change", size=16, weight="bold", va="bottom")
    draw_calls(left, info, modes)
    draw_lateness(right, info, modes)
    return figure


def latency_chart(info: RunInfo, modes: tuple[ModeFigures, ...]) -> Figure:
    """Return the latency of polls by percentile, stretched towards p99.9."""
    figure = new_figure(6.0)
    title(figure, "How long a poll takes, from when it was due until its reply is complete")
    footer(figure, info, modes)
    axes = figure.add_axes((0.08, 0.18, 0.66, 0.64))
    clean(axes)
    shown = []
    for mode in modes:
        curve = tuple((value * 1e3, share) for value, share in curve_of(mode.latency_s) if value > 0)
        if curve:
            inner = [(nines(share), value) for value, share in curve if share < _LAST]
            shown.append((mode, [*inner, (nines(_LAST), value_at(curve, _LAST))]))
    if not shown:
        say_nothing(axes, "no poll got a reply")
        return figure
    values = [value for _, inner in shown for _, value in inner]
    low, high = 10 ** math.floor(math.log10(min(values))), max(values) * 1.2
    high = max(high, low * 10)
    axes.set_yscale("log")
    axes.set_ylim(low, high)
    axes.set_xlim(0, 3)
    decades(axes.yaxis, low, high)
    axes.set_xticks([nines(share) for share in _SHARES], list(_SHARES.values()))
    axes.set_xlabel("share of polls that take at most that long", size=12, color=QUIET)
    write(axes, -0.05, 1.02, "milliseconds, logarithmic", color=QUIET, va="bottom")
    ends = []
    for above, (mode, inner) in enumerate(shown):  # what lies below is broader, so that all are seen
        width = 2.5 + 2.0 * (len(shown) - 1 - above)
        axes.plot(*zip(*inner, strict=True), color=of_mode(mode.mode), linewidth=width)
        ends.append(math.log(inner[-1][1] / low) / math.log(high / low))
    heights = spread([(end - _LOWEST) / _ROOM for end in ends], 0.26 / _ROOM)
    for end, height, (mode, _) in zip(ends, heights, shown, strict=True):
        _write_latency(axes, end, _LOWEST + height * _ROOM, mode)
    return figure


def _write_latency(axes: Axes, end: float, height: float, mode: ModeFigures) -> None:
    """Write behind the end of a curve what it is of, with its quantiles."""
    color = of_mode(mode.mode)
    axes.plot((1, 1.025), (end, height), transform=axes.transAxes, color=color, linewidth=1, clip_on=False)
    times = mode.latency_s
    text = (
        f"p50 {duration(times.p50)}, p99 {duration(times.p99)}\n"
        f"p99.9 {duration(times.p999)}, max {duration(times.max)}"
    )
    write(axes, 1.03, height, mode.mode, size=14, color=color, weight="bold", va="bottom")
    write(axes, 1.03, height - 0.01, text, size=12, va="top")


def cpu_chart(info: RunInfo, modes: tuple[ModeFigures, ...]) -> Figure:
    """Return the CPU seconds of each process, stacked for each mode."""
    height = 2.3 + 1.2 * max(1, len(modes))
    figure = new_figure(height)
    title(figure, cpu(info, modes))
    footer(figure, info, modes)
    axes = figure.add_axes((0.11, 0.85 / height, 0.86, 1 - 1.95 / height))
    clean(axes)
    longest = max((math.fsum(mode.cpu_s.values()) for mode in modes), default=0.0)
    if not longest > 0:
        say_nothing(axes, "no CPU time was measured")
        return figure
    axes.grid(visible=False, axis="y")
    axes.set_xlim(0, longest * 1.02)
    axes.set_ylim(len(modes) - 0.5, -0.5)
    axes.yaxis.set_major_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axes.set_xlabel("CPU seconds", size=12, color=QUIET)
    for place, mode in enumerate(modes):
        middle = 1 - (place + 0.42) / len(modes)
        write(
            axes,
            -0.015,
            middle,
            short_name(mode.mode),
            size=14,
            color=of_mode(mode.mode),
            weight="bold",
            ha="right",
        )
        _draw_stack(axes, place, len(modes), mode)
    return figure


def _draw_stack(axes: Axes, place: int, places: int, mode: ModeFigures) -> None:
    """Draw one mode's processes; those too narrow for their names are named in a line below the bar."""
    start = 0.0
    narrow = []
    longest = axes.get_xlim()[1]
    for process in (*PROCESSES, *sorted(mode.cpu_s.keys() - set(PROCESSES))):
        seconds = mode.cpu_s.get(process, 0.0)
        if not seconds > 0:
            continue
        color = of_process(process)
        axes.barh(place - 0.08, seconds, left=start, height=0.5, color=color, edgecolor="white", linewidth=1)
        name = plain(process, 16)
        middle = (start + seconds / 2) / longest
        label = write(axes, middle, 1 - (place + 0.42) / places, f"{name}\n{number(seconds)} s", ha="center")
        if label.get_window_extent().width > axes.bbox.width * seconds / longest - 8:
            label.remove()
            narrow.append(f"{name} {number(seconds)} s")
        start += seconds
    if narrow:
        text = f"without a name, from the left: {', '.join(narrow)}"
        line = write(axes, 0, 1 - (place + 0.7) / places, text, color=QUIET, va="top")
        line.set_bbox({"facecolor": "white", "edgecolor": "none", "pad": 0})  # the grid stays behind it
