"""What other clients meet, drawn."""

from dataclasses import replace

import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from nncache.bench.report.others_panel import draw_others
from tests.bench import example_figures as example


def drawn(*modes: object) -> tuple[Axes, Axes]:
    """Return both axes."""
    server, client = Figure().subplots(2)
    draw_others(server, client, modes)  # type: ignore[arg-type] # figures of modes
    return server, client


def texts(axes: Axes) -> list[str]:
    """Return what is written into them."""
    return [text.get_text() for text in axes.texts]


def test_each_mode_has_its_bar_and_its_points() -> None:
    """With their numbers."""
    server, client = drawn(example.direct(), example.nncache())
    assert texts(server)[0] == "direct: queue 0.420 ms, lock 0.310 ms, processing 0.120 ms"
    assert len(server.patches) == 2 * 3
    others = example.direct().others
    assert others is not None
    widths = [bar.get_width() for bar in server.patches[:3]]  # type: ignore[attr-defined] # rectangles
    assert widths == pytest.approx([others.queue_s, others.lock_wait_s, others.processing_s])
    assert texts(client)[1].startswith("nncache: p50 ")


def test_modes_without_are_left_out() -> None:
    """And without any it says so."""
    server, _ = drawn(replace(example.direct(), others=None), example.nncache())
    assert [text.partition(":")[0] for text in texts(server)] == ["nncache"]
    for axes in drawn(replace(example.direct(), others=None)):
        assert texts(axes) == ["no other client was measured"]
