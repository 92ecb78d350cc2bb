"""The page is well-formed, needs nothing beside it, and takes every text for text."""

import base64
from dataclasses import replace
from urllib.parse import quote
from xml.etree import ElementTree as ET

from nncache.bench.checks import Check
from nncache.bench.report.page import page
from nncache.bench.report.table import as_markdown
from tests.bench import example_figures as example

CHARTS = {
    "main": b"main picture",
    "savings": b"savings picture",
    "latency": b"latency picture",
    "cpu": b"cpu picture",
    "others": b"others picture",
}


def elements(html: str) -> list[ET.Element]:
    """Return all elements of a page, which is read as XML: every element that is opened is closed."""
    return [*ET.fromstring(html.removeprefix("<!DOCTYPE html>")).iter()]  # noqa: S314 - our own


def test_the_page_needs_nothing_beside_it() -> None:
    """No script, no style sheet, no picture and no font comes from elsewhere; links stay in the directory."""
    source = as_markdown(example.info(), example.modes(), example.CHECKS, (), example.LIMITS)
    html = page("design", source, CHARTS)
    found = elements(html)
    assert not {"script", "link", "iframe", "object", "embed", "base", "form"} & {each.tag for each in found}
    assert not any(part in html for part in ("url(", "@import", "http://", "https://", "srcset"))
    pictures = [
        each.get("src", "").removeprefix("data:image/png;base64,") for each in found if each.tag == "img"
    ]
    assert [*map(base64.b64decode, pictures)] == [*CHARTS.values()]
    links = [each.get("href", "") for each in found if each.tag == "a"]
    assert {"figures.json", "report.html", "nncache/polls.parquet"} <= set(links)
    assert not any(":" in link or link.startswith("/") for link in links)
    assert "width=device-width, initial-scale=1" in {each.get("content") for each in found}
    assert "color-scheme: light dark" in html
    text = "".join(found[0].itertext())
    for part in (
        "600",
        "No Kerberos <yet>.",
        "Example CPU <2 GHz>",
        "nginx: 1.22.1",
        "seed 7",
        "1,234 in all",
    ):
        assert part in text, part


def named(name: str) -> list[ET.Element]:
    """Return the page of a run in which all that others name has this name."""
    info = replace(
        example.info(),
        workload={"name": name, "description": name, name: name, "pollers": 1},
        machine={name: name},
        versions={name: name},
        **dict.fromkeys(("command", "master", "date"), name),  # type: ignore[arg-type] # names
    )
    wrong = (replace(example.wrong_answer(3), served=name),)
    counts = {field: {name: 1} for field in ("answers", "calls", "upkeep")}
    mode = replace(example.nginx(), mode=name, wrong=wrong, **counts)  # type: ignore[arg-type] # by name
    source = as_markdown(info, (mode,), (Check(name, name, name, is_met=False),), (), (name,))
    return elements(page(name, source, CHARTS))


def test_texts_are_taken_for_text() -> None:
    """Whatever a workload, a server or a check is called, it adds no element and no attribute, and is shown."""
    evil = (
        "\"><script>alert('1')</script>{{ 7 * 7 }}<img src=http://x onerror=x>&amp; ![a](b) | `c` **d** _e_"
    )
    found, wanted = named(evil), named("x")
    assert [(each.tag, each.keys()) for each in found] == [(each.tag, each.keys()) for each in wanted]
    text = "".join(found[0].itertext()).replace(evil, "x").replace(quote(evil, safe=""), "x")
    assert text == "".join(wanted[0].itertext())
