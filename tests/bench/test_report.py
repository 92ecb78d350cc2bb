"""What a run's report says of its figures: savings against sums done by hand, sentences, rounding, tables."""

import math
from dataclasses import replace
from pathlib import Path

import pytest

from nncache.auditing.audit_judge import AUDIT_OUTCOMES
from nncache.bench.report.finding import load, meanwhile
from nncache.bench.report.report import WIDTH, as_markdown, as_text, markdown, write_report
from nncache.bench.report.savings import Saving, all_calls_per_s, savings, share_saved
from nncache.bench.shared.driver import Figure
from nncache.bench.shared.figures import ModeFigures, RunFigures
from tests.bench import example_figures as example

LONG = "a name that is far longer than any column could ever be, " * 4
INFO = example.info()


def test_upkeep_of_a_publisher_that_runs_anyway_is_not_directs() -> None:
    """On a cluster of one's own it polls the edits all the time; nginx needs none either."""
    upkeep = {"getEditsFromTxid": 3_000, "probe (JMX)": 120}
    beside = tuple(replace(mode, upkeep=upkeep) for mode in example.modes())
    assert load(INFO, beside[::2]) == load(INFO, example.modes()[::2])
    saved = share_saved(all_calls_per_s, beside[1], beside)
    assert saved == pytest.approx(1 - all_calls_per_s(beside[1]) / 2_000)
    assert meanwhile(beside) == (
        "A publisher or a proxy of nncache ran while polls went straight to the NameNode: its 52.0 calls a second are "
        "left out of the figures of direct; their CPU is part of it"
    )
    assert meanwhile(example.modes()) == ""


def rows(found: tuple[Saving, ...]) -> list[tuple[str, float, float, float, bool]]:
    """Return the rows without their shares."""
    return [
        (row.mode, row.period_s, row.direct_calls_per_s, row.calls_per_s, row.is_measured) for row in found
    ]


def test_periods_that_were_not_run_are_computed() -> None:
    """10 changes/s of 1.12 calls each are 11.2 calls/s at any period; without a cache there is one for each poll."""
    found = savings(example.modes(), example.info(), (), (1.0, 5.0, 30.0))
    assert rows(found) == [
        ("nncache", 1.0, 10_000.0, 11.2, False),
        ("nncache", 5.0, 2_000.0, 11.2, True),
        ("nginx", 5.0, 2_000.0, 600.0, True),
        ("nncache", 30.0, pytest.approx(333.333, abs=0.001), 11.2, False),
    ]
    assert [row.share for row in found] == pytest.approx([0.99888, 0.9944, 0.7, 0.9664])


def test_another_period_is_measured_if_its_schedule_was_kept() -> None:
    """30 s was (in a third of the time, with 333 calls a second directly), 1 s was not."""
    found = savings(example.modes(), example.info(), example.also())
    assert rows(found) == [
        ("nncache", 1.0, 10_000.0, 11.2, False),
        ("nncache", 5.0, 2_000.0, 11.2, True),
        ("nginx", 5.0, 2_000.0, 600.0, True),
        ("nncache", 30.0, 333.0, 10.0, True),
    ]
    assert found[3].share == pytest.approx(1 - 10 / 333)


@pytest.mark.parametrize("late", ["direct", "nncache"])
def test_what_was_measured_too_slowly_is_computed(late: str) -> None:
    """If the generator fell behind, in this mode or in `direct`, nothing was measured at that period."""
    modes = tuple(replace(mode, kept_schedule=mode.mode != late) for mode in example.modes())
    found = savings(modes, example.info(), (), ())
    (row,) = (row for row in found if row.mode == "nncache")
    assert not row.is_measured
    assert row.direct_calls_per_s == 2_000.0


def test_no_cache_asks_more_often_than_it_is_asked() -> None:
    """With polls rarer than changes, at most a call for each poll; nothing is said of a mode without polls."""
    modes = (replace(example.nncache(), calls={"getFileInfo": 60_000}), example.nothing_happened())
    (at_the_period, rare) = savings(modes, example.info(), (), (30.0,))
    assert (at_the_period.share, rare.share) == (0.5, 0.0)
    assert not at_the_period.is_measured, "there is no direct mode to compare with"


def test_all_calls_and_the_cpu_are_saved_less() -> None:
    """Polls of the edits and probes come without any poll, at any period; an idle NameNode uses CPU as well."""
    found = savings(example.modes(), example.info(), example.also())
    often, at_the_period, by_nginx, rare = found
    assert [row.all_per_s for row in found] == pytest.approx(
        [37.2, 37.2, 600.0, 10 + 5 * 3 + 21 * 3 - 15 + 0.0]
    )
    assert (often.direct_all_per_s, rare.direct_all_per_s) == (10_000.0, 333.0)
    assert (at_the_period.share_of_all, at_the_period.share_of_cpu) == pytest.approx((0.9814, 0.95))
    assert (by_nginx.share_of_all, by_nginx.share_of_cpu) == pytest.approx((0.7, 0.6875))
    assert math.isnan(often.share_of_cpu), "not all polls were sent directly"
    assert (rare.direct_cores, rare.cores) == pytest.approx((48 / 20, 2.4 / 20))


def table(*modes: ModeFigures) -> dict[str, tuple[str, ...]]:
    """Return the rows of all tables of these modes' report, by label."""
    lines = as_markdown(RunFigures(example.info(), modes, example.also()), ()).splitlines()
    cells = [[part.strip() for part in line.strip("|").split("|")] for line in lines if line.startswith("| ")]
    return {label.replace("\\", ""): tuple(row) for label, *row in cells}


@pytest.mark.parametrize(
    ("worse", "label"),
    [
        ({"sent": 119_999}, "polls sent"),
        ({"failed": 1}, "polls failed"),
        ({"wrong_count": 1}, "WRONG answers"),
        ({"kept_schedule": False}, "kept its schedule"),
        ({"audited": {"same": 5, "beyond": 1}}, AUDIT_OUTCOMES["beyond"]),
    ],
)
def test_bad_news_is_printed_in_bold(worse: dict[str, object], label: str) -> None:
    """In its own cell and in no other one."""
    bad = replace(example.nncache(), **worse)  # type: ignore[arg-type] # whatever the case says
    found = table(example.direct(), bad).items()
    bold = {(row, n) for row, cells in found for n, cell in enumerate(cells) if cell.startswith("**")}
    assert bold == {(label, 1)}


def test_no_line_is_wider_than_a_terminal() -> None:
    """Long names are wrapped, and control characters do not reach the terminal."""
    info = replace(example.info(), workload={"name": f"\x1b[2J\n{LONG}", "pollers": 10}, master=LONG)
    odd = replace(example.nginx(), mode=LONG, upkeep={LONG: 3}, calls={LONG: 5, "getFileInfo": 10**12})
    text = as_text(RunFigures(info, (*example.modes(), odd, odd)), (Figure(LONG, 1, LONG),))
    assert max(map(len, text.splitlines())) <= WIDTH
    assert "\x1b" not in text


def test_markdown_shows_a_text_as_it_is() -> None:
    """No text becomes a link, a cell, a tag or a second line."""
    assert markdown("a|b\n<i>[x](y) `c` *d* & e_f") == (r"a\|b &lt;i&gt;\[x\](y) \`c\` \*d\* &amp; e\_f")


@pytest.mark.parametrize("modes", [example.modes(), (), (example.nothing_happened(),)])
def test_a_report_is_written_of_whatever_was_run(tmp_path: Path, modes: tuple[ModeFigures, ...]) -> None:
    """Its page needs nothing beside it."""
    run = RunFigures(example.info(), modes, example.also() if modes else ())
    write_report(tmp_path / "made", run, example.CHECKS)
    assert {path.name for path in (tmp_path / "made").iterdir()} == {
        *("README.md", "figures.json", "main.png", "report.html", "savings.png")
    }
    html = (tmp_path / "made" / "report.html").read_text(encoding="utf-8")
    assert html.count('src="data:image/png;base64,') == html.count("<img ") > 0
    assert "http://" not in html.replace("http://www.w3.org", "")
