"""The table says what the figures are, in text and in Markdown."""

from dataclasses import replace

import pytest

from nncache.bench.checks import Check
from nncache.bench.figures import ModeFigures
from nncache.bench.report.rounding import NONE
from nncache.bench.report.table import WIDTH, as_markdown, as_text, markdown
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
    "isFileClosed calls": ("0", "300", "0"),
    "calls in all per change": ("200", "1.62", "60.0"),
    "upkeep calls, without any poll": ("0", "1,260", "0"),
    "of them getEditsFromTxid": ("0", "1,200", "0"),
    "NameNode CPU, s": ("48.0", "2.40", "15.0"),
    "NameNode CPU per poll, µs": ("400", "20.0", "125"),
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


def text_rows(text: str) -> dict[str, tuple[str, ...]]:
    """Return the rows of the text, by label; cells stand two blanks or more apart."""
    rows = {}
    for line in text.splitlines():
        label, *cells = (part.strip() for part in line.strip().split("  ") if part.strip())
        rows[label] = tuple(cells)
    return rows


def markdown_rows(text: str) -> dict[str, tuple[str, ...]]:
    """Return the rows of all tables, by label."""
    rows = {}
    for line in text.splitlines():
        if line.startswith("| "):
            label, *cells = (part.strip() for part in line.strip("|").split("|"))
            rows[label] = tuple(cells)
    return rows


@pytest.mark.parametrize("label", EXPECTED)
def test_each_figure_has_its_row(label: str) -> None:
    """One row for each figure, one column for each mode, in text and in Markdown."""
    arguments = (example.info(), example.modes(), ())
    assert text_rows("\n".join(filter(None, as_text(*arguments).splitlines())))[label] == EXPECTED[label]
    assert markdown_rows(as_markdown(*arguments))[label] == EXPECTED[label]


def test_savings_say_whether_they_were_measured() -> None:
    """Each row of the savings is marked, and the formula stands beside them."""
    text = as_text(example.info(), example.modes(), ())
    rows = {" ".join(line.split()) for line in text.splitlines()}
    assert {
        "1 s, nncache 10,000 11.2 99.89 % computed",
        "5 s, nncache 2,000 11.2 99.44 % measured",
        "5 s, nginx 2,000 600 70.00 % measured",
        "30 s, nncache 333 11.2 96.64 % computed",
    } <= rows
    page = as_markdown(example.info(), example.modes(), ())
    assert "| 30 s | nncache | 333 | 11.2 | 96.64 % | computed |" in page
    assert all("getFileInfo calls per change" in form for form in (text, page))


def test_a_schedule_that_was_not_kept_is_said_with_the_savings() -> None:
    """By how much, and where: 1 s directly, and nothing of 30 s."""
    for form in (as_text, as_markdown):
        said = " ".join(form(example.info(), example.modes(), (), example.also()).split())
        late = "At a poll period of 1 s the generator was late: directly by p99"
        assert late in said
        assert "1,234 of 200,000 polls not sent" in said
        assert "At a poll period of 30 s" not in said
        assert late not in " ".join(form(example.info(), example.modes(), ()).split())


def test_checks_are_told_in_words() -> None:
    """Who sees no colours still sees which check fell short."""
    text = as_text(example.info(), example.modes(), example.CHECKS)
    assert "met        getFileInfo calls per change: wanted at most 1.3, measured 1.12" in text
    assert "FELL SHORT lateness p99 of nncache: wanted at most 5,100 ms, measured 5,420 ms" in text
    page = as_markdown(example.info(), example.modes(), example.CHECKS)
    assert "| lateness p99 of nncache | at most 5,100 ms | 5,420 ms | FELL SHORT |" in page


def test_the_finding_is_in_the_text() -> None:
    """The first lines say what came out."""
    text = " ".join(as_text(example.info(), example.modes(), ()).split())
    assert (
        "10,000 pollers, 2,000 polls/s: the NameNode answers 2,000 calls/s directly, "
        "11.2 through nncache, 600 through nginx."
    ) in text
    assert "see a change within 4.85 s directly, 4.90 s through nncache, 9.70 s through nginx" in text


def test_a_generator_that_fell_behind_is_named() -> None:
    """Figures of a generator that was too slow are never shown without saying so."""
    late = replace(example.nncache(), kept_schedule=False)
    text = as_text(example.info(), (example.direct(), late), ())
    assert "The generator did not keep its schedule: nncache." in text
    assert text_rows("\n".join(filter(None, text.splitlines())))["kept its schedule"] == ("yes", "NO")


def test_no_line_is_wider_than_a_terminal() -> None:
    """Long names are wrapped or cut, and control characters do not reach the terminal."""
    info = replace(example.info(), workload={"name": f"\x1b[2J\n{LONG}", "pollers": 10}, master=LONG)
    odd = replace(
        example.nginx(),
        mode=LONG,
        upkeep={LONG: 3},
        cpu_s={LONG: 1.0},
        calls={LONG: 5, "getFileInfo": 10**12},
    )
    text = as_text(info, (*example.modes(), odd, odd), (Check(LONG, LONG, LONG, is_met=True),))
    assert max(map(len, text.splitlines())) <= WIDTH
    assert "\x1b" not in text


@pytest.mark.parametrize("modes", [(), (example.nothing_happened(),)], ids=["no mode", "nothing happened"])
def test_a_run_without_figures_has_a_table(modes: tuple[ModeFigures, ...]) -> None:
    """Nothing polled, nothing changed, nothing counted: dashes, no error and no 'nan'."""
    for form in (as_text, as_markdown):
        told = form(example.info(), modes, ())
        assert "nan" not in told.lower().replace("namenode", "")
        assert "latency p99.9, ms" in told


def test_markdown_shows_a_text_as_it_is() -> None:
    """No text becomes a link, a cell, a tag or a second line."""
    assert markdown("a|b\n<i>[x](y) `c` *d* & e_f") == (r"a\|b &lt;i&gt;\[x\](y) \`c\` \*d\* &amp; e\_f")
