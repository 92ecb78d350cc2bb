"""One picture of a run: all that happened on one axis of time."""

import textwrap
from collections.abc import Mapping
from typing import Final

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from nncache.bench.events.seconds import ASKED, FAILED, MEMORY, OUTCOMES, Course
from nncache.bench.report.canvas import COLOURS, STYLE, tinted
from nncache.bench.report.load_panels import KINDS

_COLOURS: Final = {MEMORY: COLOURS["nncache"], ASKED: "#56B4E9", FAILED: COLOURS["nginx"]}
_SHADES: Final = (1.0, 0.7, 0.4, 0.2)
CAPTION: Final = (
    "Every bar is a second. Polls are sent when they are due, whatever became of those before; one that is due while "
    "the proxy is away fails at once, and one that waits counts for the second in which it was due. Black lines: what "
    "was done, from the command to its end. The calls are those of both NameNodes, those that change files included. "
    "This is one proxy alone: behind a load balancer with another one, its restart fails no poll."
)
"""What must be known to read it."""


@rc_context(fname=STYLE)
def draw(course: Course) -> Figure:
    """Return the picture, with the finding as its title."""
    figure = Figure(figsize=(12, 11.5))
    figure.suptitle("\n".join(textwrap.wrap(finding(course), 65)), x=0.01, ha="left")
    polls, calls, slowest = figure.subplots(3, sharex=True, height_ratios=(1.2, 1, 0.8))
    polls.set_title("What answers the polls", size=16, pad=34)
    calls.set_title("How many calls the NameNodes answer", size=16)
    slowest.set_title("How long 99 % of the answers take at most", size=16)
    _draw_polls(polls, course)
    _draw_calls(calls, course)
    times = range(len(course.seconds))
    slowest.bar(times, [each.p99_s for each in course.seconds], width=1, align="edge", color="#555555")
    slowest.set(
        ylabel="seconds",
        xlabel="seconds since the first poll, to a proxy whose cache is empty",
        ylim=(0, None),
    )
    for axes in (polls, calls, slowest):
        axes.grid(visible=False, axis="x")
        axes.set_xlim(0, len(course.seconds))
        for each in course.happenings:
            axes.axvspan(each.from_s, each.until_s, color="#DDDDDD", zorder=0)
            for at in (each.from_s, each.until_s):
                axes.axvline(at, color="black", linewidth=1)
    wrapped = "\n".join(textwrap.wrap(CAPTION, 115))
    figure.supxlabel(f"{wrapped}\n{course.date}", x=0.01, ha="left", size=11, color="#555555")
    return figure


def finding(course: Course) -> str:
    """Say in a sentence what came of all polls."""
    memory, failed = course.count(MEMORY), course.count(FAILED)
    what = ", ".join(["Cold start", *(each.what for each in course.happenings)])
    return f"{what}: of {course.polls:,} polls {memory:,} were answered from memory, {failed:,} failed"


def _draw_polls(axes: Axes, course: Course) -> None:
    below = [0] * len(course.seconds)
    for outcome in OUTCOMES:
        counts = [each.polls[outcome] for each in course.seconds]
        axes.bar(range(len(below)), counts, bottom=below, width=1, align="edge", color=_COLOURS[outcome])
        below = [base + count for base, count in zip(below, counts, strict=True)]
    axes.set_ylabel("polls per second")
    for each in course.happenings:
        at = (each.from_s + each.until_s) / 2
        axes.text(
            at,
            1.02,
            "\n".join(textwrap.wrap(each.what, 14)),
            transform=axes.get_xaxis_transform(),
            ha="center",
            size=11,
        )
    handles = [Patch(color=_COLOURS[outcome], label=outcome) for outcome in OUTCOMES]
    axes.legend(handles=handles, loc="upper left", bbox_to_anchor=(1.01, 1), labelcolor="#333333")


def _draw_calls(axes: Axes, course: Course) -> None:
    ends = [until for until, _ in course.calls]
    starts = [0.0, *ends][: len(ends)]
    widths = [end - start for start, end in zip(starts, ends, strict=True)]
    below = [0.0] * len(ends)
    for (kind, meaning), shade in zip(KINDS.items(), _SHADES, strict=True):
        rates = [calls.get(kind, 0.0) if kind else _others(calls) for _, calls in course.calls]
        axes.bar(
            starts,
            rates,
            width=widths,
            bottom=below,
            align="edge",
            color=tinted("#333333", shade),
            label=meaning,
        )
        below = [base + rate for base, rate in zip(below, rates, strict=True)]
    axes.set_ylabel("calls per second")
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1), labelcolor="#333333", labelspacing=0.8)


def _others(calls: Mapping[str, float]) -> float:
    return sum(rate for name, rate in calls.items() if name not in KINDS)
