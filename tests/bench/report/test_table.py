"""The table says what the figures are, in text and in Markdown."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from nncache.bench.checks import Check
from nncache.bench.figures import ModeFigures
from nncache.bench.report.rounding import NONE
from nncache.bench.report.table import MOST_WRONG, PROOF, WIDTH, as_markdown, as_text, markdown
from nncache.proxy.audit_judge import AUDIT_OUTCOMES
from tests.bench import example_figures as example

EXPECTED = {
    "polls due": ("120,000", "120,000", "120,000"),
    "polls sent": ("120,000", "120,000", "120,000"),
    "polls failed": ("0", "0", "0"),
    "replies per second": ("2,000", "2,000", "2,000"),
    "replies from memory (hits)": ("0 %", "99.17 %", "70.00 %"),
    "latency p50, ms": ("3.10", "0.900", "0.700"),
    "changes": ("600", "600", "600"),
    "lateness p50, ms": ("2,450", "2,475", "4,900"),
    "lateness p99, ms": ("4,851", "4,900", "9,702"),
    "lateness max, ms": ("4,900", "4,950", "9,800"),
    "lateness of the first to see it p99, ms": ("2,376", "2,426", "6,930"),
    "stale answers, not for too long": ("3", "240", "900"),
    "oldest stale answer": ("2.10 ms", "131 ms", "2.99 s"),
    "WRONG answers": ("0", "0", "1,234"),
    "getFileInfo calls": ("120,000", "672", "36,000"),
    "getFileInfo calls per second": ("2,000", "11.2", "600"),
    "getFileInfo calls per change": ("200", "1.12", "60.0"),
    "getFileInfo calls per poll": ("1.00", "0.00560", "0.300"),
    "getFileInfo calls saved against direct": (NONE, "99.44 %", "70.00 %"),
    "calls of all kinds per second": ("2,000", "37.2", "600"),
    "calls of all kinds saved against direct": (NONE, "98.14 %", "70.00 %"),
    "isFileClosed calls": ("0", "300", "0"),
    "calls in all per change": ("200", "1.62", "60.0"),
    "upkeep calls, without any poll": ("0", "1,260", "0"),
    "of them getEditsFromTxid": ("0", "1,200", "0"),
    "NameNode CPU, s": ("48.0", "2.40", "15.0"),
    "NameNode CPU per poll, µs": ("400", "20.0", "125"),
    "NameNode CPU, share of a core": ("80.00 %", "4.00 %", "25.00 %"),
    "NameNode CPU saved against direct": (NONE, "95.00 %", "68.75 %"),
    "proxy CPU, s": (NONE, "9.60", NONE),
    "proxy CPU per poll, µs": (NONE, "80.0", NONE),
    "proxy memory at the end, MiB": (NONE, "96.0", NONE),
    "publisher CPU per poll, µs": (NONE, "5.00", NONE),
    "nginx CPU per poll, µs": (NONE, NONE, "25.0"),
    "nginx memory at the end, MiB": (NONE, NONE, "12.0"),
    "generator CPU, s": ("36.0", "34.0", "33.0"),
    "kept its schedule": ("yes", "yes", "yes"),
}
"""Worked out by hand from the example's figures."""

LONG = "a name that is far longer than any column could ever be, " * 4


def table(*modes: ModeFigures) -> dict[str, tuple[str, ...]]:
    """Return the rows of all tables of these modes' report, by label."""
    lines = as_markdown(example.info(), modes, (), example.also()).splitlines()
    cells = [[part.strip() for part in line.strip("|").split("|")] for line in lines if line.startswith("| ")]
    return {label.replace("\\", ""): tuple(row) for label, *row in cells}


def on_one_line(text: str) -> str:
    """Return the text without line breaks and alignment."""
    return " ".join(text.split())


def test_each_figure_has_its_row() -> None:
    """One row for each figure, one column for each mode, in Markdown and in text."""
    found, text = table(*example.modes()), on_one_line(as_text(example.info(), example.modes(), ()))
    for label, cells in EXPECTED.items():
        assert tuple(cell.strip("*") for cell in found[label]) == cells
        assert f"{label} {' '.join(cells)}" in text


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
def test_bad_news_stands_out(worse: dict[str, object], label: str) -> None:
    """In its own cell and in no other one."""
    bad = replace(example.nncache(), **worse)  # type: ignore[arg-type] # whatever the case says
    found = table(example.direct(), bad).items()
    bold = {(row, n) for row, cells in found for n, cell in enumerate(cells) if cell.startswith("**")}
    assert bold == {(label, 1)}


def test_what_only_some_modes_have_has_rows() -> None:
    """Replies by how they were made but for hits, calls that the table does not know, servers that were there."""
    says = replace(
        example.nncache(),
        answers={"hit": 119_000, "miss": 900, PROOF: 1_100},
        calls={"getFileInfo": 10, "getContentSummary": 2_000},
    )
    found = table(example.direct(), says)
    assert found['replies said to be "miss"'] == (NONE, "900")
    assert found[f'replies said to be "{PROOF}"'] == (NONE, "1,100")
    assert found["of them to prove a caller's right again"] == (NONE, "1,100")
    assert 'replies said to be "hit"' not in found
    assert found["getContentSummary calls"] == ("0", "2,000")
    assert found["calls in all per change"] == ("200", "3.35")
    assert "nginx CPU, s" not in found


@pytest.mark.parametrize("form", [as_text, as_markdown])
def test_all_else_that_a_run_found_is_said(form: Callable[..., str]) -> None:
    """Finding, savings with what was measured, lateness of the generator, and the verdicts in words."""
    late = (example.direct(), replace(example.nncache(), kept_schedule=False), example.nginx())
    text = on_one_line(
        form(example.info(), late, example.CHECKS, example.also()).replace("|", " ").replace("*", "")
    )
    for part in (
        "10,000 pollers, 2,000 polls/s: the NameNode answers 2,000 calls/s directly, 37.2 through nncache, 600",
        "see a change within 4.85 s directly, 4.90 s through nncache, 9.70 s through nginx",
        "The generator did not keep its schedule: nncache.",
        f"1 s nncache 10,000 11.2 99.89 % 10,000 37.2 99.63 % {NONE} 12.00 % {NONE} computed",
        "5 s nncache 2,000 11.2 99.44 % 2,000 37.2 98.14 % 80.00 % 4.00 % 95.00 % computed",
        "5 s nginx 2,000 600 70.00 % 2,000 600 70.00 % 80.00 % 25.00 % 68.75 % measured",
        "30 s nncache 333 10.0 97.00 % 333 73.0 78.08 % 240.00 % 12.00 % 95.00 % measured",
        "both as measured here",
        "At a poll period of 1 s the generator was late: directly by p99 14,142 ms, 1,234 of 200,000 polls not sent.",
        "1 of 3 checks fell short.",
        "met getFileInfo calls per change at most 1.3 1.12",
        "FELL SHORT lateness p99 of nncache at most 5,100 ms 5,420 ms",
    ):
        assert part in text, part
    assert "At a poll period of 30 s" not in text


def test_wrong_answers_are_listed() -> None:
    """The first hundred of each mode, with what was wrong with them; and that there is none."""
    text = as_markdown(example.info(), example.modes(), ())
    assert "1,234 in all, of which 100 are listed" in text
    assert "| nginx | 4000 | 0 | 12.500 | 12.501 | 404 | HIT | never was true |" in text
    assert "| nginx | 4099 | 99 | 111.500 | 111.501 | 404 | HIT | 102 s |" in text
    more = replace(example.nginx(), wrong=tuple(map(example.wrong_answer, range(150))))
    assert as_markdown(example.info(), (more,), ()).count("| HIT |") == MOST_WRONG
    assert "## Wrong answers\n\nNone." in as_markdown(example.info(), (example.nncache(),), ())


def test_no_line_is_wider_than_a_terminal() -> None:
    """Long names are wrapped, and control characters do not reach the terminal."""
    info = replace(example.info(), workload={"name": f"\x1b[2J\n{LONG}", "pollers": 10}, master=LONG)
    odd = replace(example.nginx(), mode=LONG, upkeep={LONG: 3}, calls={LONG: 5, "getFileInfo": 10**12})
    text = as_text(info, (*example.modes(), odd, odd), (Check(LONG, LONG, LONG, is_met=True),))
    assert max(map(len, text.splitlines())) <= WIDTH
    assert "\x1b" not in text


def test_a_run_without_figures_has_a_table() -> None:
    """Nothing polled, nothing changed, nothing counted: dashes, no error and no 'nan'."""
    for modes in ((), (example.nothing_happened(),)):
        for form in (as_text, as_markdown):
            text = form(example.info(), modes, ())
            assert "nan" not in text.lower().replace("namenode", "")
            assert "latency p99.9, ms" in text
    assert table(example.nothing_happened())["latency p99.9, ms"] == (NONE,)


def test_a_command_stays_a_command() -> None:
    """Each line of it is set as code, whatever is in it."""
    info = replace(example.info(), command="one ```\n# two")
    assert "\n    one ```\n    # two\n" in as_markdown(info, (), ())


def test_markdown_shows_a_text_as_it_is() -> None:
    """No text becomes a link, a cell, a tag or a second line."""
    assert markdown("a|b\n<i>[x](y) `c` *d* & e_f") == (r"a\|b &lt;i&gt;\[x\](y) \`c\` \*d\* &amp; e\_f")
