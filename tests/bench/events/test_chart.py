"""All that happened is on one axis of time, from zero."""

import itertools
from dataclasses import replace

import pytest
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from matplotlib.text import Text

from nncache.bench.events.chart import draw, finding
from nncache.bench.events.seconds import ASKED, FAILED, MEMORY, Course, Happening, Poll, by_second
from nncache.bench.report.charts import as_png

POLLS = [
    Poll(second + part / 10, 0.01, FAILED if second in {3, 4} else ASKED if second == 0 else MEMORY)
    for second in range(10)
    for part in range(10)
]
COURSE = Course(
    pollers=10,
    period_s=1.0,
    date="2026-11-24",
    seconds=by_second(POLLS, 10),
    calls=((1.0, {"getFileInfo": 10.0, "getEditsFromTxid": 90.0, "odd": 3.0}), (3.0, {"getFileInfo": 0.0})),
    happenings=(Happening("restart of the proxy", 3.0, 5.0), Happening("NameNode failover", 8.0, 9.0)),
)


def test_the_title_says_what_came_of_it() -> None:
    """And what was done."""
    assert finding(COURSE) == (
        "Cold start, restart of the proxy, NameNode failover: of 100 polls 70 were answered from memory, 20 failed"
    )


def bars(axes: Axes) -> list[Rectangle]:
    """Return all bars, in the order in which they were drawn."""
    return [patch for patch in axes.patches if isinstance(patch, Rectangle)]


def test_each_second_has_its_bar() -> None:
    """Of polls by outcome, stacked; of calls by name; of the slowest answer."""
    polls, calls, slowest = draw(COURSE).axes
    heights = [bar.get_height() for bar in bars(polls)[:30]]
    assert heights[:10] == [0, 10, 10, 0, 0, 10, 10, 10, 10, 10]
    assert heights[10:20] == [10, *[0] * 9]
    assert heights[20:] == [0, 0, 0, 10, 10, 0, 0, 0, 0, 0]
    assert [bar.get_height() for bar in bars(calls)[:8]] == [10, 0, 0, 0, 90, 0, 3, 0]
    assert [bar.get_x() for bar in bars(calls)[:2]] == [0.0, 1.0]
    assert bars(slowest)[0].get_height() == pytest.approx(0.01)
    assert {axes.get_yscale() for axes in (polls, calls, slowest)} == {"linear"}
    assert {axes.get_xlim() for axes in (polls, calls, slowest)} == {(0, 10)}


@pytest.mark.parametrize("course", [COURSE, replace(COURSE, calls=(), happenings=())], ids=["events", "none"])
def test_texts_do_not_overlap(course: Course) -> None:
    """Names of events among them, and none leaves the picture."""
    figure = draw(course)
    figure.draw_without_rendering()
    width, height = figure.canvas.get_width_height()
    ticks = {label for axes in figure.axes for label in (*axes.get_xticklabels(), *axes.get_yticklabels())}
    boxes = [
        (text.get_text(), text.get_window_extent())
        for text in figure.findobj(Text)
        if text not in ticks and text.get_visible() and text.get_text().strip()
    ]
    for text, box in boxes:
        assert 0 <= box.x0 <= box.x1 <= width, text
        assert 0 <= box.y0 <= box.y1 <= height, text
    for (one, box), (two, other) in itertools.combinations(boxes, 2):
        assert not box.padded(-1.5).overlaps(other.padded(-1.5)), (one, two)
    assert as_png(figure).startswith(b"\x89PNG")
