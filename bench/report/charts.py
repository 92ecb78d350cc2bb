"""The charts of a run. (bench/report/charts.py)

Their style is in charts.mplstyle.
"""

import io
import math
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import findfont, get_font
from matplotlib.ticker import EngFormatter, NullFormatter, PercentFormatter

from nncache.bench.figures import ModeFigures, Quantiles, RunInfo
from nncache.bench.report.finding import Modes, cpu, load, schedule, workload_name
from nncache.bench.report.rounding import counted, duration, number, percent
from nncache.bench.report.savings import calls_per_s, polls_asked_per_s, share_saved

STYLE: Final = str(Path(__file__).with_name("charts.mplstyle"))

COLOURS: Final = {"direct": "#000000", "nncache": "#0072B2", "nginx": "#D55E00"}
"""By mode; another one is green. Source: M. Okabe, K. Ito, "Color Universal Design", 2008."""

PROCESSES: Final = ("namenode", "proxy", "publisher", "nginx", "generator", "changer")
"""In the order in which their CPU seconds are shown; others follow."""

_ASKED: Final[dict[str, Any]] = {"color": "#555555", "linestyle": "--"}
"""Lines that show what was asked for, not what was measured."""

_TICKS: Final = {0.0: "0 %", 0.5: "50 %", 0.9: "90 %", 0.99: "99 %", 0.999: "99.9 %"}
_LAST: Final = 0.999
"""What lies beyond is a poll or two of a short run, and not drawn."""

_BEGINS: Final = 0.02
"""The scale of lateness begins where so many have seen the change."""

_AT_ONCE_S: Final = 0.001
"""What is seen sooner is drawn as seen then: a logarithmic scale has no zero."""

_LETTERS: Final = get_font(findfont("DejaVu Sans")).get_charmap().keys()


@rc_context(fname=STYLE)
def main_chart(info: RunInfo, modes: Modes) -> Figure:
    """Return what reaches the NameNode beside how late changes are seen, with the finding as its title."""
    figure = _figure(info, modes, load(info, modes), 6.6)
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.1))
    above = 8 + 21 * (1 + len(modes))  # points: the legend of lateness
    left.set_title("What reaches the NameNode", size=16, pad=above)
    right.set_title("How late pollers see a change", size=16, pad=above)
    _draw_calls(left, info, modes)
    _draw_lateness(right, info, [mode for mode in modes if mode.lateness_s.count])
    return figure


@rc_context(fname=STYLE)
def latency_chart(info: RunInfo, modes: Modes) -> Figure:
    """Return the latency of polls by percentile, stretched towards p99.9."""
    figure = _figure(info, modes, "How long a poll takes, from when it is due to its complete reply", 6)
    axes = figure.subplots()
    shown = [mode for mode in modes if mode.latency_s.p999 > 0]
    if not shown:
        _empty(axes, "no poll got a reply")
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
    figure = _figure(info, modes, cpu(info, modes), 2.2 + 0.34 * max(6, sum(rows)))
    if not used:
        _empty(figure.subplots(), "no CPU time was measured")
        return figure
    panels = figure.subplots(len(used), sharex=True, squeeze=False, height_ratios=rows)[:, 0]
    for axes, (mode, names) in zip(panels, used, strict=True):
        seconds = [mode.cpu_s[name] for name in names]
        bars = axes.barh(range(len(names)), seconds, color=_colour(mode), tick_label=[*map(plain, names)])
        axes.bar_label(bars, [f"{number(each)} s" for each in seconds], padding=4)
        title = f"{plain(mode.mode)}: {number(math.fsum(seconds))} CPU seconds in all"
        axes.set_title(title, color=_colour(mode))
        axes.grid(visible=False, axis="y")
        axes.invert_yaxis()
    panels[-1].set_xlabel("CPU seconds")
    panels[-1].margins(x=0.1)
    return figure


CHARTS: Final[dict[str, Callable[[RunInfo, Modes], Figure]]] = {
    "main": main_chart,
    "latency": latency_chart,
    "cpu": cpu_chart,
}
"""By the name of their file."""


@rc_context(fname=STYLE)
def as_png(figure: Figure) -> bytes:
    """Return a chart as a PNG file."""
    file = io.BytesIO()
    figure.savefig(file, format="png")
    return file.getvalue()


def plain(text: str, most: int = 16) -> str:
    """Return the text on one line, cut to a length; letters that the font does not have are question marks."""
    known = "".join(letter if ord(letter) in _LETTERS else "?" for letter in " ".join(text.split()))
    return known if len(known) <= most else f"{known[: most - 1]}…"


def _figure(info: RunInfo, modes: Modes, title: str, height: float) -> Figure:
    """Return a figure with its title, and below it which run it is of and whether the generator was too slow."""
    figure = Figure(figsize=(12, height))
    lines = textwrap.wrap(plain(title, 195), 65, max_lines=3, placeholder=" …")
    figure.suptitle("\n".join(lines), x=0.01, ha="left")
    late = schedule(modes)
    parts = [f"workload {plain(workload_name(info), 50)}", f"seed {info.seed}", plain(info.date, 30)]
    footer = " · ".join([*parts, plain(late, 80)] if late else parts)
    figure.supxlabel(footer, x=0.01, ha="left", size=11, color="black" if late else "#555555")
    return figure


def _draw_calls(axes: Axes, info: RunInfo, modes: Modes) -> None:
    """Draw the getFileInfo calls of each mode beside the polls that were asked for."""
    asked = polls_asked_per_s(info, info.period_s)
    rates = [calls_per_s(mode) for mode in modes]
    positive = [rate for rate in (asked, *rates) if rate > 0]
    if not modes or not positive:
        _empty(axes, "no calls")
        return
    low, high = _bound(axes, "x", min(*positive, max(positive) / 50) / 2, max(positive))
    places, bars = range(len(modes)), [max(rate, low) for rate in rates]
    axes.barh(places, bars, height=0.6, color=[_colour(mode) for mode in modes])
    names = [f"{plain(mode.mode, 12)}\n{counted(mode.wrong_count, 'wrong answer')}" for mode in modes]
    axes.set_yticks(places, names, size=13)
    axes.set_xlabel("getFileInfo calls per second, logarithmic")
    axes.xaxis.set_major_formatter(EngFormatter())
    axes.grid(visible=False)
    axes.invert_yaxis()
    for place, tick, mode in zip(places, axes.get_yticklabels(), modes, strict=True):
        tick.set(color=_colour(mode), weight="bold" if mode.wrong_count else "normal")
        saved = share_saved(mode, modes)
        label = f"{number(rates[place])} calls/s" + ("" if math.isnan(saved) else f"\n{percent(saved)} saved")
        end = bars[place], place
        if bars[place] > math.sqrt(low * high):  # more than half of the axis: the bar holds its label
            at, side, color = (-8, 0), "right", "white"
        else:
            at, side, color = (8, 0), "left", _colour(mode)
        style: dict[str, Any] = {"ha": side, "va": "center", "color": color, "size": 13, "weight": "bold"}
        axes.annotate(label, end, at, textcoords="offset points", **style)
    if asked > 0:
        axes.axvline(asked, label=f"{number(asked)} polls/s asked for", **_ASKED)
        axes.legend(loc="lower right", bbox_to_anchor=(1, 1))


def _draw_lateness(axes: Axes, info: RunInfo, modes: list[ModeFigures]) -> None:
    """Draw for each mode the share of pollers that have seen a change, by time since its acknowledgement."""
    if not modes:
        _empty(axes, "no change was seen")
        return
    for above, mode in enumerate(modes):
        curve = [(max(value, _AT_ONCE_S), share) for value, share in _curve(mode.lateness_s)]
        label = f": p50 {duration(mode.lateness_s.p50)}, p99 {duration(mode.lateness_s.p99)}"
        _plot(axes, mode, curve, len(modes) - above, label)
    axes.axvline(info.period_s, label=f"poll period {info.period_s:,g} s", **_ASKED)
    seen = [value for mode in modes for value, share in _curve(mode.lateness_s) if share >= _BEGINS]
    _bound(axes, "x", max(min(*seen, info.period_s), _AT_ONCE_S), max(*seen, info.period_s))
    axes.set(ylim=(0, 1.005), ylabel="share of pollers that have seen it")
    axes.yaxis.set_major_formatter(PercentFormatter(1, symbol=" %"))
    axes.set_xlabel("time since it was acknowledged, logarithmic")
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1))


def _plot(axes: Axes, mode: ModeFigures, curve: list[tuple[float, float]], below: int, label: str) -> None:
    """Draw a curve; what lies below others is broader, so that all are seen."""
    style: dict[str, Any] = {"color": _colour(mode), "linewidth": 2.5 * below}
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


def _empty(axes: Axes, why: str) -> None:
    """Write into the empty axes why they are."""
    axes.set(xticks=[], yticks=[])
    axes.text(0.5, 0.5, why, transform=axes.transAxes, ha="center", size=14)


def _colour(mode: ModeFigures) -> str:
    return COLOURS.get(mode.mode, "#009E73")


def _processes(mode: ModeFigures) -> list[str]:
    """Return the processes that used CPU time, in the order of `PROCESSES`."""
    names = (*PROCESSES, *sorted(mode.cpu_s.keys() - set(PROCESSES)))
    return [name for name in names if mode.cpu_s.get(name, 0) > 0]
