"""The page is one file, and its policy allows that file alone."""

import base64
import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path

import nncache.admin
from nncache.admin.status_page import StatusPage, policy_of

FILE = Path(nncache.admin.__file__).with_name("status.html")
PAGE = FILE.read_text(encoding="utf-8")


class Elements(HTMLParser):
    """Takes note of each element and its attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note it."""
        self.seen.append((tag, dict(attrs)))


ELEMENTS = Elements(PAGE).seen


def test_nothing_is_loaded_from_outside() -> None:
    """No address but paths of this port and data: URLs; no import or font in the style."""
    for tag, attributes in ELEMENTS:
        for name in ("src", "href", "action", "data", "poster", "srcset"):
            address = attributes.get(name)
            assert address is None or re.match(r"/(?!/)|#|data:,$", address), (tag, name, address)
    outside = set(re.findall(r"https?://[^\"\s]+", PAGE)) - {"http://www.w3.org/2000/svg"}
    assert not outside
    assert "@import" not in PAGE
    assert "url(" not in PAGE


def test_markup_is_never_made_of_data() -> None:
    """What is shown is set as text; the policy would not run a handler or a style in an attribute anyway."""
    for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "DOMParser"):
        assert word not in PAGE
    assert not [
        each for _, each in ELEMENTS if any(name == "style" or name.startswith("on") for name in each)
    ]


def test_the_policy_names_the_script_and_the_style_by_digest() -> None:
    """A script of one other byte is not run."""
    _, headers = StatusPage("status.html").render("", "")
    policy = headers["Content-Security-Policy"]
    (script,) = re.findall(r"<script>(.*?)</script>", PAGE, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}';" in policy
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    assert policy_of(PAGE.replace("use strict", "use Strict")) != policy


def test_state_and_pages_are_filled_in() -> None:
    """They are all that differs from the file, so the digests hold."""
    body, _ = StatusPage("status.html").render("<p>state</p>", "<ul>pages</ul>")
    text = body.decode()
    assert text.replace("<p>state</p>", "<!-- state -->").replace("<ul>pages</ul>", "<!-- pages -->") == PAGE


def test_a_screen_reader_finds_its_way() -> None:
    """One h1, landmarks, a name for each section, a label for the field; only the gate's state is read out."""
    tags = [tag for tag, _ in ELEMENTS]
    assert all(tags.count(tag) == 1 for tag in ("h1", "header", "main", "footer"))
    ids = {attributes["id"] for _, attributes in ELEMENTS if "id" in attributes}
    for tag, attributes in ELEMENTS:
        if tag == "section":
            assert attributes.get("aria-labelledby") in ids or attributes.get("aria-label")
        if tag == "label":
            assert attributes["for"] in ids
    live = [attributes.get("id") for _, attributes in ELEMENTS if "aria-live" in attributes]
    assert live == ["gate"]
    assert ("html", {"lang": "en"}) in ELEMENTS
    assert ":focus-visible" in PAGE
    assert "outline: none" not in PAGE
