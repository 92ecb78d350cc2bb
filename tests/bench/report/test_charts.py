"""Charts are drawn whatever came out, with texts that can be read."""

import io
import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest
from matplotlib import image
from matplotlib.axis import Axis
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.text import Text

from nncache.bench.figures import AtPeriod, ModeFigures, RunInfo
from nncache.bench.report.canvas import COLOURS
from nncache.bench.report.charts import CHARTS, as_png, main_chart
from tests.bench import example_figures as example

Draw = Callable[[RunInfo, tuple[ModeFigures, ...], tuple[AtPeriod, ...]], Figure]


AT_ONCE = replace(example.uniform(2.0), p50=0.0, cdf=((0.0, 0.8), (0.2, 0.9), (1.0, 0.99), (2.0, 1.0)))
TINY = {"namenode": 1e-4, "proxy": 2e-4, "publisher": 3e-4, "generator": 100.0, "changer": 0.01}


def extreme() -> tuple[ModeFigures, ...]:
    """Return a mode with a single call and times of microseconds, and one with more of all than any run has."""
    little = replace(
        example.nncache(),
        calls={"getFileInfo": 1},
        lateness_s=example.uniform(2e-6),
        latency_s=example.latencies(1e-6),
        cpu_s={"namenode": 1e-6},
    )
    much = replace(
        example.nginx(),
        calls={"getFileInfo": 10**9},
        wrong_count=9_876_543,
        kept_schedule=False,
        lateness_s=example.uniform(5_000.0),
        latency_s=example.latencies(9.0),
    )
    return little, much


CASES = {
    "all": example.modes(),
    "nncache alone": (example.nncache(),),
    "alike": tuple(
        replace(mode, lateness_s=AT_ONCE, latency_s=example.latencies(0.001), cpu_s=TINY)
        for mode in example.modes()
    ),
    "extreme": extreme(),
    "no curves": tuple(replace(mode, lateness_s=example.quantiles_only(3.0)) for mode in example.modes()),
    "all in no time": (replace(example.nncache(), lateness_s=replace(AT_ONCE, cdf=((0.0, 1.0),))),),
    "nothing happened": (example.nothing_happened(),),
    "no mode": (),
}
each_case = pytest.mark.parametrize("modes", CASES.values(), ids=CASES)
each_chart = pytest.mark.parametrize("draw", CHARTS.values(), ids=CHARTS)


def texts(figure: Figure) -> list[Text]:
    """Return all texts that a figure shows, but for ticks beyond the ends of their axis."""
    figure.draw_without_rendering()
    ticks = {text for axes in figure.axes for axis in (axes.xaxis, axes.yaxis) for text in labels_of(axis)}
    return [
        text
        for text in figure.findobj(lambda each: isinstance(each, Text) and each not in ticks)
        if isinstance(text, Text) and text.get_visible() and text.get_text().strip()
    ]


def labels_of(axis: Axis) -> Iterator[Text]:
    """Return the labels of ticks that are not drawn."""
    low, high = sorted(axis.get_view_interval())
    for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
        if not low <= tick.get_loc() <= high:
            yield from (tick.label1, tick.label2)


@each_chart
@each_case
def test_texts_never_overlap(draw: Draw, modes: tuple[ModeFigures, ...]) -> None:
    """No text covers another, and none leaves the picture, which is 1,800 pixels wide."""
    figure = draw(example.info(), modes, example.also())
    boxes = [(text.get_text(), text.get_window_extent()) for text in texts(figure)]
    width, height = figure.canvas.get_width_height()
    assert width == 1_800
    for text, box in boxes:
        assert 0 <= box.x0 <= box.x1 <= width, text
        assert 0 <= box.y0 <= box.y1 <= height, text
    for (text, box), (other_text, other) in itertools.combinations(boxes, 2):
        assert not box.padded(-1.5).overlaps(other.padded(-1.5)), (text, other_text)


def test_what_was_seen_at_once_is_drawn_at_zero() -> None:
    """And a run without any call is said in words."""
    at_once = replace(example.nncache(), lateness_s=AT_ONCE)
    *_, late = main_chart(example.info(), (at_once,)).axes
    curve, *_ = late.lines
    assert np.asarray(curve.get_xdata()).min() == 0.0
    assert late.get_xscale() == "linear"
    unknown = replace(example.info(), workload={})
    assert "no calls | " in shown(main_chart(unknown, (example.nothing_happened(),)))


def test_a_mode_has_its_colour_in_the_picture() -> None:
    """The bar and the curve of a mode are drawn in its colour, and it is not there without the mode."""

    def share(modes: tuple[ModeFigures, ...], mode: str) -> float:
        pixels = image.imread(io.BytesIO(as_png(main_chart(example.info(), modes))))
        return float(np.mean(np.abs(pixels[:, :, :3] - to_rgb(COLOURS[mode])).max(axis=2) < 0.01))

    for mode in example.modes()[1:]:
        assert share(example.modes(), mode.mode) > 0.003
        assert share((example.direct(),), mode.mode) == 0.0


def shown(figure: Figure) -> str:
    """Return all texts of a figure on one line."""
    return " | ".join(" ".join(text.get_text().split()) for text in texts(figure))


def test_charts_have_their_numbers() -> None:
    """The finding, and the figures with their units."""
    main, saved, latency, cpu, others = (
        shown(draw(example.info(), example.modes(), example.also())) for draw in CHARTS.values()
    )
    for part in (
        "10,000 pollers, 2,000 polls/s: the NameNode answers 2,000 calls/s directly, 37.2 through nncache",
        "and uses 80.0 %, 4.00 %, 25.0 % of a core",
        "nncache: 37.2 calls/s, 98.14 % saved",
        "11.2 getFileInfo + 5.00 isFileClosed + 20.0 getEditsFromTxid + 1.00 getServiceStatus",
        "nncache: 4.00 % of a core, 95.00 % saved",
        "before it: 16.0 % proxy, 1.00 % publisher",
        "2,000 polls/s asked for",
        "poll period 5 s",
        "nginx p50 4.90 s, p99 9.70 s 1,234 wrong answers",
        "nncache p50 2.48 s, p99 4.90 s 0 wrong answers",
        "nginx: through a cache that keeps each answer for 5 s.",
        "workload design · seed 7 · 2026-11-22T10:00:00Z",
    ):
        assert part in main, part
    for part in (
        "nncache, every 5 s",
        "99.44 % saved",
        "98.14 % saved",
        "95.00 % saved",
        "nncache, every 1 s (calls computed)",
    ):
        assert part in saved, part
    assert "nncache p50 0.900 ms, p99 6.36 ms p99.9 20.1 ms, max 63.6 ms" in latency
    assert {"99.9 %", "10 ms"} <= set(latency.split(" | "))
    assert "In 60 s the NameNode takes 48.0 CPU seconds directly, 2.40 through nncache, 15.0 through" in cpu
    assert {"nncache: 48.1 CPU seconds in all", "publisher", "0.600 s"} <= set(cpu.split(" | "))
    assert "nncache: queue 0.420 ms, lock 0.310 ms, processing 0.120 ms" in others


@each_chart
def test_a_generator_that_fell_behind_is_named(draw: Draw) -> None:
    """No chart hides that the generator was too slow."""
    assert "did not keep its schedule: nginx" in shown(draw(example.info(), extreme(), example.also()))


@each_chart
def test_names_are_no_formulae(draw: Draw) -> None:
    """A name with signs of TeX, of other scripts or of control is drawn as it is, without an error."""
    info = replace(example.info(), workload={"name": r"$\frac{1}$ \u6f22 漢字 " * 9})
    odd = tuple(
        replace(mode, mode=rf"$\{mode.mode}$ 漢", cpu_s={"$x_$\a漢": 1.0}) for mode in example.modes()
    )
    figure = draw(info, odd, example.also())
    assert as_png(figure).startswith(b"\x89PNG\r\n")
    assert r"$\frac{1}$" in shown(figure)
    assert not any(text.get_parse_math() for text in texts(figure))
