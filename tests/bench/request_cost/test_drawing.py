"""The chart of requests per CPU-second."""

from pathlib import Path

from nncache.bench.request_cost.drawing import draw
from nncache.bench.request_cost.figures import Name, Shape
from tests.bench.request_cost.test_figures import rounds


def test_each_server_has_a_bar_in_each_shape(tmp_path: Path) -> None:
    """And its name beside it; shapes that were not measured have no panel."""
    found = [
        *rounds(Shape.REPEATED, Name.NNCACHE, 100_000.0, 110_000.0),
        *rounds(Shape.REPEATED, Name.NGINX, 60_000.0),
        *rounds(Shape.FORWARDED, Name.NAMENODE, 9_000.0),
    ]
    draw(found, tmp_path / "chart.svg")
    text = (tmp_path / "chart.svg").read_text(encoding="utf-8")
    assert text.count('id="axes_') == 2
