"""The charts of a run.

Their style is in charts.mplstyle.
"""

import io
import math
from collections.abc import Callable
from typing import Any, Final

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, NullFormatter, PercentFormatter

from nncache.bench.figures import AtPeriod, ModeFigures, Quantiles, RunInfo
from nncache.bench.report.canvas import ASKED, STYLE, colour, empty, figure_of, plain
from nncache.bench.report.finding import OTHERS, SAVED, Modes, cpu, load, ways
from nncache.bench.report.load_panels import draw_calls, draw_cpu
from nncache.bench.report.others_panel import draw_others
from nncache.bench.report.rounding import counted, duration, number
from nncache.bench.report.savings import savings
from nncache.bench.report.savings_panel import draw_savings

PROCESSES: Final = ("namenode", "proxy", "publisher", "nginx", "generator", "changer")
"""In the order in which their CPU seconds are shown; others follow."""

_TICKS: Final = {0.0: "0 %", 0.5: "50 %", 0.9: "90 %", 0.99: "99 %", 0.999: "99.9 %"}
_LAST: Final = 0.999
"""What lies beyond is a poll or two of a short run, and not drawn."""


@rc_context(fname=STYLE)
def main_chart(info: RunInfo, modes: Modes) -> Figure:
    """Return what reaches the NameNode, its CPU, and how late changes are seen, with the finding as its title."""
    rows = max(2, len(modes))
    figure = figure_of(info, modes, load(info, modes), 7.2 + 1.75 * rows, ways(info, modes))
    calls, cpu_of, late = figure.subplots(3, height_ratios=(rows, rows, 3.2))
    calls.set_title("How many calls the NameNode answers", size=16)
    cpu_of.set_title("How much CPU that takes", size=16)
    late.set_title("How late pollers see a change", size=16)
    draw_calls(calls, info, modes)
    draw_cpu(cpu_of, modes)
    _draw_lateness(late, info, [mode for mode in modes if mode.lateness_s.count])
    return figure


@rc_context(fname=STYLE)
def savings_chart(info: RunInfo, modes: Modes, also: tuple[AtPeriod, ...]) -> Figure:
    """Return the share of calls and CPU that each cache saves the NameNode, by poll period."""
    rows = [row for row in savings(modes, info, also) if not math.isnan(row.share_of_all)]
    title = "What a cache saves the NameNode, by how often each path is polled"
    figure = figure_of(info, modes, title, 3.4 + 1.15 * max(1, len(rows)), SAVED)
    draw_savings(figure.subplots(), rows)
    return figure


@rc_context(fname=STYLE)
def latency_chart(info: RunInfo, modes: Modes) -> Figure:
    """Return the latency of polls by percentile, stretched towards p99.9."""
    figure = figure_of(info, modes, "How long a poll takes, from when it is due to its complete reply", 6)
    axes = figure.subplots()
    shown = [mode for mode in modes if mode.latency_s.p999 > 0]
    if not shown:
        empty(axes, "no poll got a reply")
        return figure
    for above, mode in enumerate(shown):
        times = mode.latency_s
        inner = [(1 - share, value) for value, share in _curve(times) if share < _LAST and value > 0]
        p50, p99, p999, most = map(duration, (times.p50, times.p99, times.p999, times.max))
        label = f"\np50 {p50}, p99 {p99}\np99.9 {p999}, max {most}"
        _plot(axes, mode, [*inner, (1 - _LAST, times.p999)], len(shown) - above, label)
    _bound(axes, "y", *axes.dataLim.intervaly)
    axes.set(xscale="log", xlim=(1, 1 - _LAST))  # the share of polls that take longer, from the right
    axes.set_xticks([1 - share for share in _TICKS], list(_TICKS.values()))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set(xlabel="share of polls that take at most that long", ylabel="time, logarithmic")
    slowest_first = sorted(axes.lines, key=lambda line: line.get_path().get_extents().ymax, reverse=True)
    axes.legend(handles=slowest_first, loc="upper left", bbox_to_anchor=(1.01, 1), labelspacing=1.2)
    return figure


@rc_context(fname=STYLE)
def cpu_chart(info: RunInfo, modes: Modes) -> Figure:
    """Return the CPU seconds of each process, by mode."""
    used = [(mode, names) for mode in modes if (names := _processes(mode))]
    rows = [len(names) + 1 for _, names in used]
    figure = figure_of(info, modes, cpu(info, modes), 2.2 + 0.34 * max(6, sum(rows)))
    if not used:
        empty(figure.subplots(), "no CPU time was measured")
        return figure
    panels = figure.subplots(len(used), sharex=True, squeeze=False, height_ratios=rows)[:, 0]
    for axes, (mode, names) in zip(panels, used, strict=True):
        seconds = [mode.cpu_s[name] for name in names]
        bars = axes.barh(range(len(names)), seconds, color=colour(mode), tick_label=[*map(plain, names)])
        axes.bar_label(bars, [f"{number(each)} s" for each in seconds], padding=4)
        title = f"{plain(mode.mode)}: {number(math.fsum(seconds))} CPU seconds in all"
        axes.set_title(title, color=colour(mode))
        axes.grid(visible=False, axis="y")
        axes.invert_yaxis()
    panels[-1].set_xlabel("CPU seconds")
    panels[-1].margins(x=0.1)
    return figure


@rc_context(fname=STYLE)
def others_chart(info: RunInfo, modes: Modes) -> Figure:
    """Return what clients that do not poll meet at the NameNode's RPC port, by its word and by theirs."""
    title = "What clients that do not poll meet at the NameNode"
    figure = figure_of(info, modes, title, 3.6 + 2 * 1.1 * max(2, len(modes)), OTHERS)
    server, client = figure.subplots(2)
    draw_others(server, client, modes)
    return figure


CHARTS: Final[dict[str, Callable[[RunInfo, Modes, tuple[AtPeriod, ...]], Figure]]] = {
    "main": lambda info, modes, _: main_chart(info, modes),
    "savings": savings_chart,
    "latency": lambda info, modes, _: latency_chart(info, modes),
    "cpu": lambda info, modes, _: cpu_chart(info, modes),
    "others": lambda info, modes, _: others_chart(info, modes),
}
"""By the name of their file."""


@rc_context(fname=STYLE)
def as_png(figure: Figure) -> bytes:
    """Return a chart as a PNG file."""
    file = io.BytesIO()
    figure.savefig(file, format="png")
    return file.getvalue()


def _draw_lateness(axes: Axes, info: RunInfo, modes: list[ModeFigures]) -> None:
    """Draw for each mode the share of pollers that have seen a change, by time since its acknowledgement."""
    if not modes:
        empty(axes, "no change was seen")
        return
    for above, mode in enumerate(modes):
        p50, p99 = duration(mode.lateness_s.p50), duration(mode.lateness_s.p99)
        label = f"\np50 {p50}, p99 {p99}\n{counted(mode.wrong_count, 'wrong answer')}"
        _plot(axes, mode, list(_curve(mode.lateness_s)), len(modes) - above, label)
    axes.axvline(info.period_s, label=f"poll period {info.period_s:,g} s", **ASKED)
    seen = [value for mode in modes for value, share in _curve(mode.lateness_s) if share <= _LAST]
    axes.set(ylim=(0, 1.005), xlim=(0, 1.05 * max([*seen, info.period_s])))
    axes.set_ylabel("share of pollers that have seen it")
    axes.yaxis.set_major_formatter(PercentFormatter(1, symbol=" %"))
    axes.xaxis.set_major_formatter(EngFormatter("s"))
    axes.set_xlabel("time since the NameNode acknowledged it")
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1), labelspacing=0.8)


def _plot(axes: Axes, mode: ModeFigures, curve: list[tuple[float, float]], below: int, label: str) -> None:
    """Draw a curve; what lies below others is broader, so that all are seen."""
    style: dict[str, Any] = {"color": colour(mode), "linewidth": 2.5 * below}
    axes.plot(*zip(*curve, strict=True), label=f"{plain(mode.mode)}{label}", **style)


def _bound(axes: Axes, axis: str, least: float, most: float) -> tuple[float, float]:
    """Make an axis of seconds logarithmic, from a whole decade to a little room above; return both ends."""
    low = 10.0 ** math.floor(math.log10(least))
    ends = low, max(most, low * 10) * 1.25
    axes.set(**{f"{axis}scale": "log", f"{axis}lim": ends})
    shown = axes.xaxis if axis == "x" else axes.yaxis
    shown.set_major_formatter(EngFormatter("s"))
    shown.set_minor_formatter(NullFormatter())
    return ends


def _curve(times: Quantiles) -> tuple[tuple[float, float], ...]:
    """Return (value, share of all that are at most that); if only quantiles are known, those."""
    few = ((times.p50, 0.5), (times.p90, 0.9), (times.p99, 0.99), (times.p999, 0.999), (times.max, 1.0))
    return times.cdf or few


def _processes(mode: ModeFigures) -> list[str]:
    """Return the processes that used CPU time, in the order of `PROCESSES`."""
    names = (*PROCESSES, *sorted(mode.cpu_s.keys() - set(PROCESSES)))
    return [name for name in names if mode.cpu_s.get(name, 0) > 0]
