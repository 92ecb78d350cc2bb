"""A report that was written again says the same of the same figures."""

import shutil
from pathlib import Path

from nncache.bench.report.again import write_again
from nncache.bench.report.write import read_figures
from tests.house.tree import ROOT

KEPT = ROOT / "bench" / "results" / "2026-11-22-design"


def test_reports_that_are_kept_say_what_a_report_says_today(tmp_path: Path) -> None:
    """So a change of the report reaches the page that people look at: `python -m nncache.bench.report.again`."""
    shutil.copy(KEPT / "figures.json", tmp_path)
    write_again(tmp_path)
    assert read_figures(tmp_path) == read_figures(KEPT)
    assert (tmp_path / "README.md").read_text() == (KEPT / "README.md").read_text()
    assert {path.name for path in tmp_path.iterdir()} <= {path.name for path in KEPT.iterdir()}
