"""The charts of a run: the NameNode's load, and the savings of a cache. Their style is in charts.mplstyle."""

import io
import math
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from matplotlib import rc_context
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.font_manager import findfont, get_font
from matplotlib.patches import Patch
from matplotlib.ticker import EngFormatter, MaxNLocator, PercentFormatter

from nncache.bench.report.finding import SAVED, Modes, load, schedule, ways, workload_name
from nncache.bench.report.rounding import counted, duration, number, ratio, saved
from nncache.bench.report.savings import (
    Saving,
    all_calls_per_s,
    cores,
    own_calls,
    polls_asked_per_s,
    savings,
    share_saved,
)
from nncache.bench.shared.figures import Mode, ModeFigures, RunFigures, RunInfo

STYLE: Final = str(Path(__file__).with_name("charts.mplstyle"))

COLOURS: Final[Mapping[str, str]] = {
    Mode.DIRECT: "#000000",
    Mode.NNCACHE: "#0072B2",
    Mode.WAITING: "#009E73",
    Mode.NGINX: "#D55E00",
    Mode.UNPOLLED: "#999999",
}
"""The colour of each mode. Source: M. Okabe, K. Ito, "Color Universal Design", 2008."""

OTHER: Final = "#CC79A7"
"""The colour of any other mode."""

ASKED: Final[dict[str, Any]] = {"color": "#555555", "linestyle": "--"}
"""The style of lines for requested values, as opposed to measured ones."""

_LETTERS: Final = get_font(findfont("DejaVu Sans")).get_charmap().keys()

KINDS: Final[Mapping[str, str]] = {
    "getFileInfo": "getFileInfo:\nthe status of a path",
    "isFileClosed": "isFileClosed: may\nthat status be kept?",
    "getEditsFromTxid": "getEditsFromTxid:\nwhat has changed?",
    "": "all else, such as probes",
}
"""Calls by purpose; the last covers all others. Each has a lighter shade than the previous one."""

SHADES: Final = (1.0, 0.7, 0.4, 0.2)
_OF_SERVERS: Final = {"the NameNode": 1.0, "what stands before it": 0.4}
_SERVERS: Final = ("proxy", "publisher", "nginx")
_ROOM: Final = 1.03
"""The length of the axis, relative to its longest bar."""

_BAR: Final = 0.34  # height of a bar in a row of height 1, with a line of text above and below it
_LINE: Final = 90  # maximum letters in one line

MEASURES: Final = ("of getFileInfo calls", "of all calls", "of the NameNode's\nCPU")
"""The quantities that a cache saves, in the order of their bars, the darkest first."""

_SAVED_SHADES: Final = (1.0, 0.66, 0.4)
_SAVED_BAR: Final = 0.27
_LEAST: Final = -1.0  # twice the calls; bars are cut off there, with their value next to them
_LAST: Final = 0.999  # the share drawn: the rest may be a poll or two of a short run


@rc_context(fname=STYLE)
def main_chart(run: RunFigures) -> Figure:
    """Return the chart of the NameNode's calls, its CPU and the lateness of changes, with the finding as its title."""
    info, modes = run.info, run.modes
    rows = max(2, len(modes))
    figure = figure_of(run, load(info, modes), 7.2 + 1.75 * rows, ways(info, modes))
    calls, cpu_of, late = figure.subplots(3, height_ratios=(rows, rows, 3.2))
    calls.set_title("How many calls the NameNode answers", size=16)
    cpu_of.set_title("How much CPU that takes", size=16)
    late.set_title("How late pollers see a change", size=16)
    _draw_calls(calls, info, modes)
    _draw_cpu(cpu_of, modes)
    _draw_lateness(late, info, [mode for mode in modes if mode.lateness_s.count])
    return figure


@rc_context(fname=STYLE)
def savings_chart(run: RunFigures) -> Figure:
    """Return the chart of the shares of calls and CPU that each cache saves the NameNode, by poll period."""
    rows = [row for row in savings(run.modes, run.info, run.also) if not math.isnan(row.share_of_all)]
    title = "What a cache saves the NameNode, by how often each path is polled"
    figure = figure_of(run, title, 3.4 + 1.15 * max(1, len(rows)), SAVED)
    _draw_savings(figure.subplots(), rows)
    return figure


CHARTS: Final[Mapping[str, Callable[[RunFigures], Figure]]] = {"main": main_chart, "savings": savings_chart}
"""The charts, by file name."""


def _draw_lateness(axes: Axes, info: RunInfo, modes: list[ModeFigures]) -> None:
    """Draw for each mode the share of pollers that have seen a change, by time since its acknowledgement."""
    if not modes:
        empty(axes, "no change was seen")
        return
    for above, mode in enumerate(modes):
        p50, p99 = duration(mode.lateness_s.p50), duration(mode.lateness_s.p99)
        # Lines below others are wider, so that all are visible.
        style: dict[str, Any] = {"color": colour(mode.mode), "linewidth": 2.5 * (len(modes) - above)}
        wrong = counted(mode.wrong_count, "wrong answer")
        style["label"] = f"{plain(mode.mode)}\np50 {p50}, p99 {p99}\n{wrong}"
        axes.plot(*zip(*mode.lateness_s.cdf, strict=True), **style)
    axes.axvline(info.period_s, label=f"poll period {info.period_s:,g} s", **ASKED)
    seen = [value for mode in modes for value, share in mode.lateness_s.cdf if share <= _LAST]
    axes.set(ylim=(0, 1.005), xlim=(0, 1.05 * max([*seen, info.period_s])))
    axes.set_ylabel("share of pollers that have seen it")
    axes.yaxis.set_major_formatter(PercentFormatter(1, symbol=" %"))
    axes.xaxis.set_major_formatter(EngFormatter("s"))
    axes.set_xlabel("time since the NameNode acknowledged it")
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1), labelspacing=0.8)


def _draw_calls(axes: Axes, info: RunInfo, modes: Modes) -> None:
    """Draw all calls that the NameNode answered, by purpose, with the requested rate of polls."""
    asked = polls_asked_per_s(info, info.period_s)
    modes = tuple(mode for mode in modes if mode.mode != Mode.UNPOLLED)
    rates = [
        {name: ratio(calls, mode.duration_s) for name, calls in own_calls(mode).items() if calls}
        for mode in modes
    ]
    bars = [*map(by_kind, rates)]
    most = max([*map(math.fsum, bars), asked if asked > 0 else 0.0], default=0.0)
    if not modes or not most:
        empty(axes, "no calls")
        return
    axes.set(xlabel="calls per second", xlim=(0, most * _ROOM))
    axes.xaxis.set_major_locator(MaxNLocator(6))
    axes.xaxis.set_major_formatter(lambda rate, _: f"{rate:,.10g}")
    for place, (mode, named, parts) in enumerate(zip(modes, rates, bars, strict=True)):
        total = f"{number(all_calls_per_s(mode))} calls/s"
        below = " + ".join(f"{number(rate)} {plain(name)}" for name, rate in named.items())
        _bars(axes, place, mode, dict(zip(SHADES, parts, strict=True)))
        head = _head(total, share_saved(all_calls_per_s, mode, modes))
        _texts(axes, place, mode, head, below if len(named) > 1 else "")
    lines = [axes.axvline(asked, label=f"{number(asked)} polls/s\nasked for", **ASKED)] if asked > 0 else []
    axes.set(ylim=(len(modes) - 0.45, -0.55), yticks=[])
    legend_of(axes, dict(zip(KINDS.values(), SHADES, strict=True)), *lines)


def _draw_cpu(axes: Axes, modes: Modes) -> None:
    """Draw the CPU of the NameNode and, in a lighter shade, of the servers in front of it."""
    known = tuple(mode for mode in modes if "namenode" in mode.cpu_s)
    before = [{name: cores(mode, name) for name in _SERVERS if name in mode.cpu_s} for mode in known]
    own = [cores(mode) for mode in known]
    most = max((each + math.fsum(more.values()) for each, more in zip(own, before, strict=True)), default=0.0)
    if not most:
        empty(axes, "no CPU time was measured")
        return
    axes.set(xlabel="share of one core in use", xlim=(0, most * _ROOM))
    axes.xaxis.set_major_formatter(PercentFormatter(1, symbol=" %"))
    for place, (mode, used, more) in enumerate(zip(known, own, before, strict=True)):
        names = ", ".join(f"{number(100 * value)} % {plain(name)}" for name, value in more.items())
        _bars(axes, place, mode, {1.0: used, 0.4: math.fsum(more.values())})
        total = _head(f"{number(100 * used)} % of a core", share_saved(cores, mode, known))
        _texts(axes, place, mode, total, f"before it: {names}" if names else "")
    axes.set(ylim=(len(known) - 0.45, -0.55), yticks=[])
    legend_of(axes, _OF_SERVERS)


def by_kind(named: Mapping[str, float]) -> tuple[float, ...]:
    """Return calls by kind, in the order of `KINDS`."""
    known = [named.get(kind, 0.0) for kind in KINDS if kind]
    return (*known, sum(rate for name, rate in named.items() if name not in KINDS))


def _head(amount: str, share: float) -> str:
    return amount if math.isnan(share) else f"{amount}, {saved(share)}"


def _bars(axes: Axes, place: int, mode: ModeFigures, parts: Mapping[float, float]) -> None:
    """Draw the parts of a bar, by their shades, from left to right."""
    left = 0.0
    for shade, part in parts.items():
        axes.barh(place, part, left=left, height=_BAR, color=tinted(colour(mode.mode), shade))
        left += part
    axes.grid(visible=False, axis="y")


def _texts(axes: Axes, place: int, mode: ModeFigures, total: str, below: str) -> None:
    """Write the name and the total of a bar above it, and its parts below."""
    above, under = place - _BAR / 2 - 0.04, place + _BAR / 2 + 0.05
    head = plain(f"{plain(mode.mode, 12)}: {total}", _LINE)
    axes.text(0, above, head, color=colour(mode.mode), weight="bold", size=13, va="bottom")
    axes.text(0, under, plain(below, _LINE), color="#555555", size=11, va="top")


def _draw_savings(axes: Axes, rows: list[Saving]) -> None:
    """Draw three bars for each row, from zero, in the colour of its mode."""
    if not rows:
        empty(axes, "nothing to compare with")
        return
    lowest = 0.0
    for place, row in enumerate(rows):
        tint = colour(row.mode)
        for place_in, share in enumerate((row.share, row.share_of_all, row.share_of_cpu)):
            at, known = place + (place_in - 1) * _SAVED_BAR, 0.0 if math.isnan(share) else share
            lowest = min(lowest, known)
            axes.barh(at, known, height=0.9 * _SAVED_BAR, color=tinted(tint, _SAVED_SHADES[place_in]))
            label = "not measured" if math.isnan(share) else saved(share)
            end = max(known, 0.0), at
            style: dict[str, Any] = {"va": "center", "size": 11, "color": tint}
            axes.annotate(label, end, (6, 0), textcoords="offset points", **style)
    left = max(lowest, _LEAST)
    axes.set(xlim=(left, 1.17 - 0.25 * left), ylim=(len(rows) - 0.5, -0.5))
    axes.set_yticks(range(len(rows)), [_named(row) for row in rows], size=13)
    axes.xaxis.set_major_formatter(PercentFormatter(1, symbol=" %"))
    axes.set_xlabel("share saved against polls that go to the NameNode itself")
    axes.grid(visible=False, axis="y")
    legend_of(axes, dict(zip(MEASURES, _SAVED_SHADES, strict=True)))


def _named(row: Saving) -> str:
    how = "" if row.is_measured else "\n(calls computed)"
    return f"{plain(row.mode, 12)},\nevery {row.period_s:,g} s{how}"


# ---- shared by all charts --------------------------------------------------------------------------------------------


def figure_of(run: RunFigures, title: str, height: float, caption: str) -> Figure:
    """Return a figure with a title and, at the bottom, a caption, the run, and a note if the generator was too slow."""
    figure = Figure(figsize=(12, height))
    kept_together = plain(title, 240).replace(" %", "\N{NO-BREAK SPACE}%")
    lines = textwrap.wrap(kept_together, 65, max_lines=4, placeholder=" …")
    figure.suptitle("\n".join(lines), x=0.01, ha="left")
    info, late = run.info, schedule(run.modes)
    parts = [f"workload {plain(workload_name(info), 50)}", f"seed {info.seed}", plain(info.date, 30)]
    footer = textwrap.wrap(plain(caption, 600), 115)
    footer.append(" · ".join([*parts, plain(late, 80)] if late else parts))
    figure.supxlabel("\n".join(footer), x=0.01, ha="left", size=11, color="black" if late else "#555555")
    return figure


def plain(text: str, most: int = 16) -> str:
    """Return the text on one line, cut to a length; letters that the font lacks become question marks."""
    known = "".join(letter if ord(letter) in _LETTERS else "?" for letter in " ".join(text.split()))
    return known if len(known) <= most else f"{known[: most - 1]}…"


def colour(mode: str) -> str:
    """Return the colour of a mode in all charts."""
    return COLOURS.get(mode, OTHER)


def tinted(name: str, shade: float) -> tuple[float, float, float]:
    """Return a colour mixed with white, of which `shade` is the colour's share; it is opaque, unlike one with alpha."""
    red, green, blue = (1 - shade * (1 - part) for part in to_rgb(name))
    return red, green, blue


def legend_of(axes: Axes, names: Mapping[str, float], *more: Artist) -> None:
    """Draw a legend to the right of the axes: the shades by name, and the other artists."""
    grey = [Patch(color=tinted("#333333", shade), label=name) for name, shade in names.items()]
    beside: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.01, 1), "labelspacing": 0.8}
    axes.legend(handles=[*grey, *more], labelcolor="#333333", **beside)


def empty(axes: Axes, why: str) -> None:
    """Write into empty axes why they are empty."""
    axes.set(xticks=[], yticks=[])
    axes.text(0.5, 0.5, why, transform=axes.transAxes, ha="center", size=14)


@rc_context(fname=STYLE)
def as_png(figure: Figure) -> bytes:
    """Return a chart as a PNG file."""
    file = io.BytesIO()
    figure.savefig(file, format="png")
    return file.getvalue()
