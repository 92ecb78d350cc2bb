"""What reaches the NameNode, and what that costs: bars from zero, a row a mode."""

import math
from collections.abc import Mapping
from typing import Final

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, PercentFormatter

from nncache.bench.figures import ModeFigures, RunInfo
from nncache.bench.report.canvas import ASKED, colour, empty, legend_of, plain, tinted
from nncache.bench.report.finding import Modes
from nncache.bench.report.rounding import number, ratio, saved
from nncache.bench.report.savings import (
    all_calls_per_s,
    cores,
    own_calls,
    polls_asked_per_s,
    share_of_calls_saved,
    share_of_cpu_saved,
)

KINDS: Final[Mapping[str, str]] = {
    "getFileInfo": "getFileInfo:\nthe status of a path",
    "isFileClosed": "isFileClosed: may\nthat status be kept?",
    "getEditsFromTxid": "getEditsFromTxid:\nwhat has changed?",
    "": "all else, such as probes",
}
"""Calls by what they are for; the last is what is left. Each has a lighter shade than the one before."""

_SHADES: Final = (1.0, 0.7, 0.4, 0.2)
_OF_SERVERS: Final = {"the NameNode": 1.0, "what stands before it": 0.4}
_SERVERS: Final = ("proxy", "publisher", "nginx")
_ROOM: Final = 1.03
"""Of the axis, for its longest bar."""

_BAR: Final = 0.34
"""Its height in a row of height 1: a line of text stands above it, and one below."""

_LINE: Final = 90
"""Letters of one line."""


def draw_calls(axes: Axes, info: RunInfo, modes: Modes) -> None:
    """Draw all calls that the NameNode answered, by what they are for, beside the polls that were asked for."""
    asked = polls_asked_per_s(info, info.period_s)
    bars = [_kinds(mode) for mode in modes]
    most = max([*map(math.fsum, bars), asked if asked > 0 else 0.0], default=0.0)
    if not modes or not most:
        empty(axes, "no calls")
        return
    axes.set(xlabel="calls per second", xlim=(0, most * _ROOM))
    axes.xaxis.set_major_locator(MaxNLocator(6))
    axes.xaxis.set_major_formatter(lambda rate, _: f"{rate:,.10g}")
    for place, (mode, parts) in enumerate(zip(modes, bars, strict=True)):
        total = f"{number(all_calls_per_s(mode))} calls/s"
        rates = {name: ratio(calls, mode.duration_s) for name, calls in _names(mode).items() if calls}
        below = " + ".join(f"{number(rate)} {plain(name)}" for name, rate in rates.items())
        _bars(axes, place, mode, dict(zip(_SHADES, parts, strict=True)))
        _texts(
            axes,
            place,
            mode,
            _head(total, share_of_calls_saved(mode, modes)),
            below if len(rates) > 1 else "",
        )
    lines = [axes.axvline(asked, label=f"{number(asked)} polls/s\nasked for", **ASKED)] if asked > 0 else []
    axes.set(ylim=(len(modes) - 0.45, -0.55), yticks=[])
    legend_of(axes, dict(zip(KINDS.values(), _SHADES, strict=True)), *lines)


def draw_cpu(axes: Axes, modes: Modes) -> None:
    """Draw the CPU of the NameNode and, lighter, that of the servers which stand before it."""
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
        total = _head(f"{number(100 * used)} % of a core", share_of_cpu_saved(mode, known))
        _texts(axes, place, mode, total, f"before it: {names}" if names else "")
    axes.set(ylim=(len(known) - 0.45, -0.55), yticks=[])
    legend_of(axes, _OF_SERVERS)


def _kinds(mode: ModeFigures) -> tuple[float, ...]:
    """Return calls a second, by kind, in the order of `KINDS`."""
    named = _names(mode)
    known = [named.get(kind, 0) for kind in KINDS if kind]
    rates = (*known, sum(named.values()) - sum(known))
    return tuple(ratio(calls, mode.duration_s) for calls in rates)


def _names(mode: ModeFigures) -> dict[str, int]:
    """Return all calls by name, those that come without any poll included."""
    return own_calls(mode)


def _head(amount: str, share: float) -> str:
    return amount if math.isnan(share) else f"{amount}, {saved(share)}"


def _bars(axes: Axes, place: int, mode: ModeFigures, parts: Mapping[float, float]) -> None:
    """Draw the parts, by their shades, one behind the other."""
    left = 0.0
    for shade, part in parts.items():
        axes.barh(place, part, left=left, height=_BAR, color=tinted(colour(mode), shade))
        left += part
    axes.grid(visible=False, axis="y")


def _texts(axes: Axes, place: int, mode: ModeFigures, said: str, below: str) -> None:
    """Name a bar and its total above it, its parts below."""
    above, under = place - _BAR / 2 - 0.04, place + _BAR / 2 + 0.05
    head = plain(f"{plain(mode.mode, 12)}: {said}", _LINE)
    axes.text(0, above, head, color=colour(mode), weight="bold", size=13, va="bottom")
    axes.text(0, under, plain(below, _LINE), color="#555555", size=11, va="top")
