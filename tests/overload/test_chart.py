"""The picture shows each attack once, with a bar for each product."""

from dataclasses import replace
from pathlib import Path

from tests.overload.chart import draw
from tests.overload.figures import Results
from tests.overload.test_verdicts import GOOD


def test_a_run_has_a_picture(tmp_path: Path) -> None:
    """A PNG file; a run without attacks has none."""
    draw(Results(), tmp_path / "none.png")
    draw(Results([replace(GOOD, product="before"), GOOD]), tmp_path / "one.png")
    assert (tmp_path / "one.png").read_bytes().startswith(b"\x89PNG")
    assert not (tmp_path / "none.png").exists()
