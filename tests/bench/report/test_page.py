"""The page is well-formed, needs nothing beside it, and takes every text for text."""

import base64
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from nncache.bench.checks import Check
from nncache.bench.figures import ModeFigures
from nncache.bench.report.page import MOST_WRONG, page
from nncache.bench.report.rows import sections
from tests.bench import example_figures as example

CHARTS = {"main": b"main picture", "latency": b"latency picture", "cpu": b"cpu picture"}
VOID = {"meta", "img", "br", "hr", "link", "input"}


class Reader(HTMLParser):
    """Reads a page strictly: every element that is opened is closed, in order.

    Attributes:
        attributes: (element, name, value) of all.
        cells: the texts of all cells of tables.
    """

    def __init__(self, html: str) -> None:
        super().__init__()
        self.attributes: list[tuple[str, str, str]] = []
        self.elements: list[str] = []
        self.cells: list[str] = []
        self._open: list[str] = []
        self._text: list[str] = []
        self.feed(html)
        self.close()
        assert not self._open

    @property
    def text(self) -> str:
        """What a reader sees."""
        return " ".join(" ".join(self._text).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take an element's beginning."""
        self.elements.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in VOID:
            self._open.append(tag)
        if tag in {"td", "th"}:
            self.cells.append("")

    def handle_endtag(self, tag: str) -> None:
        """Take an element's end, which must be that of the last one that was opened."""
        assert self._open, f"</{tag}> closes nothing"
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Take a piece of text."""
        if self._open and self._open[-1] not in {"style", "title"}:
            self._text.append(data)
        if {"td", "th"} & set(self._open):
            self.cells[-1] += data


def made(
    modes: tuple[ModeFigures, ...] | None = None,
    checks: tuple[Check, ...] = example.CHECKS,
    limits: tuple[str, ...] = example.LIMITS,
) -> str:
    """Return the example's page."""
    return page(example.info(), example.modes() if modes is None else modes, checks, limits, CHARTS)


def test_every_figure_is_on_the_page() -> None:
    """All cells of the table, the finding, savings, checks, limits, machine, versions and the command."""
    reader = Reader(made())
    for section in sections(example.modes()):
        for row in section.rows:
            assert row.label in reader.cells or row.label.strip() in map(str.strip, reader.cells)
            assert set(row.cells) <= set(reader.cells)
    for part in (
        "10,000 pollers, 2,000 polls/s: the NameNode answers 2,000 calls/s directly, 11.2 through nncache",
        "wrong answers: 0 directly, 0 through nncache, 1,234 through nginx",
        "30 s nncache 333 11.2 96.64 % computed",
        "5 s nncache 2,000 11.2 99.44 % measured",
        "No Kerberos <yet>.",
        "Example CPU <2 GHz>",
        "nginx 1.22.1",
        "python -m nncache.bench.run_pollers --pollers 10000 --duration 60 --seed 7",
        "seed 7",
    ):
        assert part in reader.text, part


def test_the_page_needs_nothing_beside_it() -> None:
    """No script, no style sheet, no picture and no font comes from elsewhere; links stay in the directory."""
    html = made()
    reader = Reader(html)
    assert not {"script", "link", "iframe", "object", "embed", "base", "form"} & set(reader.elements)
    assert not any(name.startswith("on") for _, name, _ in reader.attributes)
    assert "url(" not in html
    assert "@import" not in html
    assert "http://" not in html
    assert "https://" not in html
    sources = [value for _, name, value in reader.attributes if name in {"src", "srcset"}]
    assert [base64.b64decode(value.removeprefix("data:image/png;base64,")) for value in sources] == [
        b"main picture",
        b"latency picture",
        b"cpu picture",
    ]
    links = [value for _, name, value in reader.attributes if name == "href"]
    assert "nncache/polls.parquet" in links
    assert "figures.json" in links
    assert len(links) == 1 + 3 * 4
    assert not any(":" in link or link.startswith("/") for link in links)


def test_the_page_fits_phones_and_dark_rooms() -> None:
    """It says that it fits the width of the screen, and has colours for both schemes."""
    html = made()
    assert 'content="width=device-width, initial-scale=1"' in html
    assert "prefers-color-scheme: dark" in html


def test_checks_are_told_in_words() -> None:
    """Who sees no colours still sees which check fell short."""
    reader = Reader(made())
    assert "1 of 3 checks fell short." in reader.text
    assert "✗ fell short lateness p99 of nncache at most 5,100 ms 5,420 ms" in reader.text
    assert "✓ met getFileInfo calls per change at most 1.3 1.12" in reader.text
    assert "All 2 checks are met." in Reader(made(checks=example.CHECKS[:2])).text


def test_wrong_answers_are_listed() -> None:
    """The first hundred of each mode stand on the page, with what was wrong with them."""
    reader = Reader(made())
    assert "1,234 in all, of which 100 are listed" in reader.text
    assert "nginx 4000 0 12.500 12.501 404 HIT never was true" in reader.text
    assert "nginx 4099 99 111.500 111.501 404 HIT 102 s" in reader.text
    more = replace(example.nginx(), wrong=tuple(map(example.wrong_answer, range(150))))
    assert Reader(made(modes=(more,))).cells.count("HIT") == MOST_WRONG


def test_no_wrong_answer_is_said_too() -> None:
    """Silence would not do."""
    assert "Wrong answers None." in Reader(made(modes=(example.nncache(),))).text


def test_a_generator_that_fell_behind_is_named() -> None:
    """The page says it above all figures."""
    late = replace(example.nncache(), kept_schedule=False)
    assert "The generator did not keep its schedule: nncache." in Reader(made(modes=(late,))).text


def test_texts_are_taken_for_text() -> None:
    """Whatever a workload, a server or a check is called, it adds no element and no attribute."""
    evil = "\"><script>alert('1')</script>{{ 7 * 7 }}<img src=http://example.com onerror=x>&amp;"
    info = replace(
        example.info(),
        workload={"name": evil, "description": evil, evil: evil, "pollers": 1},
        machine={evil: evil},
        versions={evil: evil},
        command=evil,
        master=evil,
        date=evil,
    )
    wrong = replace(example.wrong_answer(3), served=evil)
    odd = replace(example.nginx(), mode=evil, cpu_s={evil: 1.0}, upkeep={evil: 1}, wrong=(wrong,))
    clean = replace(example.nginx(), mode="x", cpu_s={"x": 1.0}, upkeep={"x": 1}, wrong=(wrong,))
    plain = replace(
        example.info(), workload={"name": "x", "description": "x", "x": "x", "pollers": 1},
        machine={"x": "x"}, versions={"x": "x"},
    )  # fmt: skip
    found = Reader(page(info, (odd,), (Check(evil, evil, evil, is_met=False),), (evil,), CHARTS))
    wanted = Reader(page(plain, (clean,), (Check("x", "x", "x", is_met=False),), ("x",), CHARTS))
    assert found.elements == wanted.elements
    assert [(tag, name) for tag, name, _ in found.attributes] == [
        (tag, name) for tag, name, _ in wanted.attributes
    ]
    assert " ".join(evil.split()) in found.text


@pytest.mark.parametrize("modes", [(), (example.nothing_happened(),)], ids=["no mode", "nothing happened"])
def test_a_run_without_figures_has_a_page(modes: tuple[ModeFigures, ...]) -> None:
    """Nothing polled, nothing changed, nothing counted: dashes, no error and no 'nan'."""
    reader = Reader(made(modes=modes, checks=(), limits=()))
    assert "nan" not in reader.cells
    assert "What was run" in reader.text
