"""Charts are drawn whatever came out, with letters that can be read."""

import io
import itertools
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from matplotlib import image
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text

from nncache.bench.figures import ModeFigures, Quantiles, RunInfo
from nncache.bench.report.charts import as_png, cpu_chart, latency_chart, main_chart
from nncache.bench.report.colours import of_mode
from tests.bench import example_figures as example

Draw = Callable[[RunInfo, tuple[ModeFigures, ...]], Figure]
CHARTS = (main_chart, latency_chart, cpu_chart)


def at_once() -> Quantiles:
    """Return lateness of which most is none at all."""
    return Quantiles(
        count=100, mean=0.1, p50=0.0, p90=0.2, p99=1.0, p999=2.0, max=2.0,
        cdf=((0.0, 0.8), (0.2, 0.9), (1.0, 0.99), (2.0, 1.0)),
    )  # fmt: skip


def alike() -> tuple[ModeFigures, ...]:
    """Return three modes with the same times, and CPU times that are tiny but for one."""
    return tuple(
        replace(
            mode,
            lateness_s=at_once(),
            latency_s=example.latencies(0.001),
            cpu_s={"namenode": 1e-4, "proxy": 2e-4, "publisher": 3e-4, "generator": 100.0, "changer": 0.01},
        )
        for mode in example.modes()
    )


def extreme() -> tuple[ModeFigures, ...]:
    """Return a mode with a single call and times of microseconds, and one with more of all than anybody has."""
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
    "alike": alike(),
    "extreme": extreme(),
    "no curves": tuple(replace(mode, lateness_s=example.quantiles_only(3.0)) for mode in example.modes()),
    "all in no time": tuple(
        replace(mode, lateness_s=replace(at_once(), cdf=((0.0, 1.0),))) for mode in example.modes()
    ),
    "nothing happened": (example.nothing_happened(),),
    "direct and nothing": (example.direct(), example.nothing_happened()),
    "no mode": (),
}
each_case = pytest.mark.parametrize("modes", CASES.values(), ids=CASES)
each_chart = pytest.mark.parametrize("draw", CHARTS)


def texts(figure: Figure) -> list[Text]:
    """Return all letters that a figure shows."""
    figure.draw_without_rendering()
    hidden = {
        id(text)
        for axes in figure.axes
        for axis in (axes.xaxis, axes.yaxis)
        for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks())
        for text in (tick.label1, tick.label2)
        if not inside(axes, tick.get_loc(), is_x=axis is axes.xaxis)
    }
    return [
        text
        for text in figure.findobj(Text)
        if text.get_visible() and text.get_text().strip() and id(text) not in hidden
    ]


def inside(axes: Axes, place: float, *, is_x: bool) -> bool:
    """Whether a tick lies within its axis; those that do not are not drawn."""
    low, high = sorted(axes.get_xlim() if is_x else axes.get_ylim())
    return low <= place <= high


@each_chart
@each_case
def test_letters_never_overlap(draw: Draw, modes: tuple[ModeFigures, ...]) -> None:
    """No text covers another, and none leaves the picture."""
    figure = draw(example.info(), modes)
    boxes = [(text.get_text(), Text.get_window_extent(text)) for text in texts(figure)]
    width, height = figure.canvas.get_width_height()
    for text, box in boxes:
        assert 0 <= box.x0 <= box.x1 <= width, text
        assert 0 <= box.y0 <= box.y1 <= height, text
    for (text, box), (other_text, other) in itertools.combinations(boxes, 2):
        assert not box.padded(-1.5).overlaps(other.padded(-1.5)), (text, other_text)


@each_chart
@each_case
def test_a_chart_is_a_picture(draw: Draw, modes: tuple[ModeFigures, ...]) -> None:
    """A PNG of 1,800 pixels' width, with something on it."""
    png = as_png(draw(example.info(), modes))
    assert png.startswith(b"\x89PNG\r\n")
    pixels = image.imread(io.BytesIO(png))
    assert pixels.shape[1] == 1_800
    assert 500 <= pixels.shape[0] <= 1_200
    assert np.mean(pixels[:, :, :3].min(axis=2) < 0.5) > 0.003  # letters alone are that much


def test_a_mode_has_its_colour_in_the_picture() -> None:
    """The bar and the curve of a mode are drawn in its colour, and it is not there without the mode."""

    def share(modes: tuple[ModeFigures, ...], color: str) -> float:
        pixels = image.imread(io.BytesIO(as_png(main_chart(example.info(), modes))))
        wanted = [int(color[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        return float(np.mean(np.abs(pixels[:, :, :3] - wanted).max(axis=2) < 0.01))

    for mode in example.modes()[1:]:
        assert share(example.modes(), of_mode(mode.mode)) > 0.01
        assert share((example.direct(),), of_mode(mode.mode)) == 0.0


def shown(figure: Figure) -> str:
    """Return all letters of a figure on one line."""
    return " | ".join(" ".join(text.get_text().split()) for text in texts(figure))


def test_the_main_chart_tells_the_story() -> None:
    """The finding, the calls of each mode, what they are measured against, and who was wrong how often."""
    told = shown(main_chart(example.info(), example.modes()))
    for part in (
        "10,000 pollers, 2,000 polls/s: the NameNode answers 2,000 calls/s directly, 11.2 through nncache, 600",
        "11.2 calls/s 99.44 % saved",
        "600 calls/s 70.00 % saved",
        "2,000 polls/s asked for",
        "poll period 5 s",
        "1,234 wrong answers",
        "0 wrong answers",
        "p50 2.48 s, p99 4.90 s",
        "seed 7",
    ):
        assert part in told


def test_other_charts_have_their_numbers() -> None:
    """Quantiles stand by the curves, CPU seconds in the bars or below them."""
    told = shown(latency_chart(example.info(), example.modes()))
    assert "p50 0.900 ms, p99 6.36 ms p99.9 20.1 ms, max 63.6 ms" in told
    told = shown(cpu_chart(example.info(), example.modes()))
    assert "In 60 s the NameNode takes 48.0 CPU seconds directly, 2.40 through nncache, 15.0 through" in told
    assert "proxy 9.60 s" in told
    assert "namenode 2.40 s, publisher 0.600 s, changer 1.50 s" in told


@each_chart
def test_a_generator_that_fell_behind_is_named(draw: Draw) -> None:
    """No chart hides that the generator was too slow."""
    assert "did not keep its schedule: nginx" in shown(draw(example.info(), extreme()))


@each_chart
def test_names_are_no_formulae(draw: Draw) -> None:
    """A name with signs of TeX, or of other scripts, is drawn without an error."""
    info: RunInfo = replace(example.info(), workload={"name": r"$\frac{1}$ \u6f22 漢字 " * 9})
    odd = tuple(replace(mode, mode=rf"$\{mode.mode}$ 漢", cpu_s={r"$x_$漢": 1.0}) for mode in example.modes())
    assert as_png(draw(info, odd))
