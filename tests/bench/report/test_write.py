"""A report is a directory of files, and its figures can be read again."""

from dataclasses import replace
from pathlib import Path

import pytest

from nncache.bench.figures import ModeFigures
from nncache.bench.report.write import FiguresError, read_figures, write_report
from tests.bench import example_figures as example

FILES = {"main.png", "latency.png", "cpu.png", "report.html", "README.md", "figures.json"}


def test_all_files_are_written(tmp_path: Path) -> None:
    """Charts, page, README.md and figures, in a directory that is made for them."""
    directory = tmp_path / "results" / "2026-11-22"
    write_report(directory, example.info(), example.modes(), example.CHECKS, example.LIMITS)
    assert {path.name for path in directory.iterdir()} == FILES
    readme = (directory / "README.md").read_text(encoding="utf-8")
    for part in (
        "# 10,000 pollers, 2,000 polls/s: the NameNode answers 2,000 calls/s directly, 11.2 through nncache",
        "](main.png)",
        "[report.html](report.html)",
        "    python -m nncache.bench.run_pollers --pollers 10000 --duration 60 --seed 7",
        "| getFileInfo calls per change | 200 | 1.12 | 60.0 |",
        "| WRONG answers | 0 | 0 | 1,234 |",
        "| 5 s | nncache | 2,000 | 11.2 | 99.44 % | measured |",
        "| lateness p99 of nncache | at most 5,100 ms | 5,420 ms | FELL SHORT |",
        "- No Kerberos &lt;yet&gt;.",
        "- processor: Example CPU &lt;2 GHz&gt;",
    ):
        assert part in readme
    for chart in ("main", "latency", "cpu"):
        assert (directory / f"{chart}.png").read_bytes().startswith(b"\x89PNG\r\n")


def test_figures_are_read_again_as_they_were(tmp_path: Path) -> None:
    """What is read is what was written, so that runs can be compared later."""
    write_report(tmp_path, example.info(), example.modes(), (), (), example.also())
    assert read_figures(tmp_path) == (example.info(), example.modes(), example.also())


def test_no_number_is_read_as_no_number(tmp_path: Path) -> None:
    """Quantiles of nothing are NaN also after they have been JSON, which has no such number."""
    never = replace(example.nothing_happened(), wrong=(example.wrong_answer(0),))
    write_report(tmp_path, example.info(), (never,), (), ())
    info, modes, _ = read_figures(tmp_path)
    assert (info, repr(modes)) == (example.info(), repr((never,)))


@pytest.mark.parametrize("modes", [(), (example.nncache(),)], ids=["no mode", "nncache alone"])
def test_a_mode_may_be_missing(tmp_path: Path, modes: tuple[ModeFigures, ...]) -> None:
    """A run of fewer modes has all files too."""
    write_report(tmp_path, example.info(), modes, (), ())
    assert {path.name for path in tmp_path.iterdir()} == FILES
    assert read_figures(tmp_path)[1] == modes


@pytest.mark.parametrize("content", [None, "", "[]", '{"modes": [7]}', '{"modes": [{}]}', '{"info": {}}'])
def test_a_file_that_is_wrong_is_named(tmp_path: Path, content: str | None) -> None:
    """What can't be read is named with its path."""
    if content is not None:
        (tmp_path / "figures.json").write_text(content, encoding="utf-8")
    with pytest.raises(FiguresError, match=r"figures\.json: "):
        read_figures(tmp_path)


def test_a_command_stays_a_command(tmp_path: Path) -> None:
    """Each line of the command is set as code, whatever is in it."""
    info = replace(example.info(), command="one ```\n# two")
    write_report(tmp_path, info, (), (), ())
    assert "\n    one ```\n    # two\n" in (tmp_path / "README.md").read_text(encoding="utf-8")
