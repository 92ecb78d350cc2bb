"""The chart of growth."""

from pathlib import Path

from nncache.bench.growth.drawing import draw
from nncache.bench.growth.figures import WAYS, Growth, sizes_of
from nncache.bench.request_cost.figures import Name
from tests.bench.growth.test_figures import rounds


def test_each_growth_has_a_panel(tmp_path: Path) -> None:
    """With a line for each server and way, and what a hit costs with the fewest; what was not measured has none."""
    found = [
        each
        for growth in (Growth.FILTERS, Growth.CONNECTIONS)
        for way in WAYS[growth]
        for size in sizes_of(growth)
        for each in rounds(growth, size, 8.0, 8.5, way=way)
    ]
    found += rounds(Growth.CONNECTIONS, 64, 20.0, name=Name.NGINX)
    draw(found, tmp_path / "chart.svg")
    text = (tmp_path / "chart.svg").read_text(encoding="utf-8")
    assert text.count('id="axes_') == 2
    assert text.count("µs with 64") == 2
    assert text.count("µs with 10 ") == 2
