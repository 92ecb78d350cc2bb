"""What clients that do not poll meet at the NameNode: a row a mode."""

import math
from typing import Final

from matplotlib.axes import Axes
from matplotlib.ticker import EngFormatter

from nncache.bench.figures import ModeFigures, OthersFigures
from nncache.bench.report.canvas import colour, empty, legend_of, plain, tinted
from nncache.bench.report.finding import Modes
from nncache.bench.report.rounding import duration

KINDS: Final = {"waits in the queue": 1.0, "waits for the lock": 0.6, "is processed": 0.3}
"""Parts of a call's time at the RPC server, and their shades."""

_BAR: Final = 0.34
_MARKS: Final = {"p50": "o", "p99": "D"}


def draw_others(server: Axes, client: Axes, modes: Modes) -> None:
    """Draw the RPC server's own means as bars, and below what a client measures as points."""
    known = [(mode, mode.others) for mode in modes if mode.others is not None]
    if not any(each.took_s.count for _, each in known):
        for axes in (server, client):
            empty(axes, "no other client was measured")
        return
    for place, (mode, each) in enumerate(known):
        _bars(server, place, mode, each)
        _points(client, place, mode, each)
    for axes in (server, client):
        axes.set(ylim=(len(known) - 0.45, -0.55), yticks=[])
        axes.set_xlim(left=0)
        axes.grid(visible=False, axis="y")
        axes.xaxis.set_major_formatter(EngFormatter("s"))
    server.set_xlabel("mean time of an RPC call at the NameNode")
    client.set_xlabel("time of a client's checkAccess, p50 (circle) and p99 (diamond)")
    legend_of(server, KINDS)


def _bars(axes: Axes, place: int, mode: ModeFigures, others: OthersFigures) -> None:
    left = 0.0
    parts = (others.queue_s, others.lock_wait_s, others.processing_s)
    for part, shade in zip(parts, KINDS.values(), strict=True):
        axes.barh(place, part or 0.0, left=left, height=_BAR, color=tinted(colour(mode), shade))
        left += part or 0.0
    named = zip(("queue", "lock", "processing"), parts, strict=True)
    said = ", ".join(f"{name} {duration(math.nan if part is None else part)}" for name, part in named)
    _name(axes, place, mode, said)


def _points(axes: Axes, place: int, mode: ModeFigures, others: OthersFigures) -> None:
    p50, p99 = others.took_s.p50, others.took_s.p99
    axes.plot([p50, p99], [place, place], color=tinted(colour(mode), 0.4), linewidth=2)
    for value, mark in zip((p50, p99), _MARKS.values(), strict=True):
        axes.plot(value, place, mark, color=colour(mode), markersize=9)
    _name(axes, place, mode, f"p50 {duration(p50)}, p99 {duration(p99)}, {others.failed} failed")


def _name(axes: Axes, place: int, mode: ModeFigures, said: str) -> None:
    head = plain(f"{plain(mode.mode, 12)}: {said}", 90)
    axes.text(0, place - _BAR / 2 - 0.04, head, color=colour(mode), weight="bold", size=13, va="bottom")
