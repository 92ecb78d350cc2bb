"""The table's rows: which there are, what stands in them, and which are bad news."""

from dataclasses import replace

import pytest

from nncache.bench.figures import ModeFigures
from nncache.bench.report.rounding import NONE
from nncache.bench.report.rows import PROOF, Row, sections
from tests.bench import example_figures as example


def rows(*modes: ModeFigures) -> dict[str, Row]:
    """Return all rows by their labels, no two of which are the same."""
    found = [row for section in sections(modes) for row in section.rows]
    by_label = {row.label: row for row in found}
    assert len(by_label) == len(found)
    return by_label


def test_each_row_has_a_cell_for_each_mode() -> None:
    """In the modes' order, whatever they know of themselves."""
    modes = (*example.modes(), example.nothing_happened())
    for row in rows(*modes).values():
        assert (len(row.cells), len(row.alarms)) == (4, 4)
    assert rows(*modes)["changes"].cells == ("600", "600", "600", "0")


@pytest.mark.parametrize(
    ("worse", "label"),
    [
        ({"sent": 119_999}, "polls sent"),
        ({"failed": 1}, "polls failed"),
        ({"wrong_count": 1}, "WRONG answers"),
        ({"kept_schedule": False}, "kept its schedule"),
    ],
)
def test_bad_news_stands_out(worse: dict[str, object], label: str) -> None:
    """In its own cell and nowhere else."""
    bad = replace(example.nncache(), **worse)  # type: ignore[arg-type] # whatever the case says
    alarming = {
        (row.label, place)
        for row in rows(example.direct(), bad).values()
        for place, is_alarm in enumerate(row.alarms)
        if is_alarm
    }
    assert alarming == {(label, 1)}


def test_how_answers_came_about_is_told_of_servers_that_say_so() -> None:
    """Each way but hits has a row, which counts; the proofs of rights are named beside the calls, too."""
    says = replace(example.nncache(), answers={"hit": 119_000, "miss": 900, PROOF: 1_100})
    found = rows(example.direct(), says)
    assert found['  replies said to be "miss"'].cells == (NONE, "900")
    assert found[f'  replies said to be "{PROOF}"'].cells == (NONE, "1,100")
    assert found["  of them to prove a caller's right anew"].cells == (NONE, "1,100")
    assert '  replies said to be "hit"' not in found


def test_calls_of_every_name_are_shown() -> None:
    """Those that nobody thought of have rows of their own; upkeep is apart."""
    odd = replace(example.nncache(), calls={"getFileInfo": 10, "getContentSummary": 2_000})
    found = rows(example.direct(), odd)
    assert found["getContentSummary calls"].cells == ("0", "2,000")
    assert found["calls in all per change"].cells == ("200", "3.35")
    assert found["upkeep calls, without any poll"].cells == ("0", "1,260")
    assert found["  of them getServiceStatus"].cells == ("0", "60")


def test_only_servers_that_were_there_have_rows() -> None:
    """Of those between pollers and NameNode, in any mode."""
    alone = rows(example.direct())
    assert not [label for label in alone if label.startswith(("proxy", "publisher", "nginx"))]
    both = rows(example.direct(), example.nginx())
    assert both["nginx CPU, s"].cells == (NONE, "3.00")
    assert "proxy CPU, s" not in both
