"""A report is a directory of files, and its figures can be read again."""

from pathlib import Path

import pytest

from nncache.bench.figures import ModeFigures
from nncache.bench.report.write import FiguresError, read_figures, write_report
from tests.bench import example_figures as example

FILES = {"main.png", "savings.png", "latency.png", "cpu.png", "report.html", "README.md", "figures.json"}


@pytest.mark.parametrize("modes", [(), example.modes()], ids=["no mode", "all"])
def test_all_files_are_written_and_figures_read_again(tmp_path: Path, modes: tuple[ModeFigures, ...]) -> None:
    """In a directory that is made for them; what is read is what was written, so that runs can be compared."""
    directory = tmp_path / "results" / "2026-11-22"
    write_report(directory, example.info(), modes, example.CHECKS, example.LIMITS, example.also())
    assert {path.name for path in directory.iterdir()} == FILES | ({"others.png"} if modes else set())
    assert read_figures(directory) == (example.info(), modes, example.also())
    assert "](main.png)" in (directory / "README.md").read_text(encoding="utf-8")
    assert (directory / "report.html").read_text(encoding="utf-8").count("data:image/png;base64,") == (
        5 if modes else 3
    )


@pytest.mark.parametrize("content", [None, "", "[]", '{"modes": [7]}', '{"modes": [{}]}', '{"info": {}}'])
def test_a_file_that_is_wrong_is_named(tmp_path: Path, content: str | None) -> None:
    """What can't be read is named with its path."""
    if content is not None:
        (tmp_path / "figures.json").write_text(content, encoding="utf-8")
    with pytest.raises(FiguresError, match=r"figures\.json: "):
        read_figures(tmp_path)
