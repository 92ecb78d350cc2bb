"""Each page is self-contained, and its policy allows only its own script and style."""

import base64
import hashlib
import re
from html.parser import HTMLParser

import pytest

from nncache.admin.status_page import StatusPage, policy_of

PAGES = ("namenode.html", "proxy.html", "publisher.html")


def text_of(name: str) -> str:
    """Return a page with empty state and links."""
    return StatusPage(name).render("<!-- state -->", "<!-- pages -->")[0].decode()


class Elements(HTMLParser):
    """Records each element and its attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Record the element."""
        self.seen.append((tag, dict(attrs)))


@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_loaded_from_outside(name: str) -> None:
    """Addresses are data: URLs, or relative: a reverse proxy may serve the port below a path."""
    page = text_of(name)
    for tag, attributes in Elements(page).seen:
        for key in ("src", "href", "action", "data", "poster", "srcset"):
            address = attributes.get(key)
            assert address is None or re.match(r"[a-z]+$|#|data:,$", address), (tag, key, address)
    assert not re.search(r"""ask\(["'`]/""", page)
    outside = set(re.findall(r"https?://[^\"\s]+", page)) - {"http://www.w3.org/2000/svg"}
    assert not outside
    assert "@import" not in page
    assert "url(" not in page


@pytest.mark.parametrize("name", PAGES)
def test_markup_is_never_made_of_data(name: str) -> None:
    """Data is inserted as text. The policy also forbids event handlers and inline styles."""
    page = text_of(name)
    for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "DOMParser"):
        assert word not in page
    assert not [
        each
        for _, each in Elements(page).seen
        if any(name == "style" or name.startswith("on") for name in each)
    ]


@pytest.mark.parametrize("name", PAGES)
def test_the_policy_names_the_script_and_the_style_by_digest(name: str) -> None:
    """A script that differs by a byte is not run. All pages share the first script."""
    page = text_of(name)
    _, headers = StatusPage(name).render("", "")
    policy = headers["Content-Security-Policy"]
    digests = [
        f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
        for script in re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    ]
    assert f"script-src {' '.join(digests)};" in policy
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    assert policy_of(page.replace("use strict", "use Strict")) != policy


@pytest.mark.parametrize("name", PAGES)
def test_state_and_pages_are_filled_in(name: str) -> None:
    """Nothing else differs from the file, so the digests stay valid."""
    page = text_of(name)
    body, _ = StatusPage(name).render("<p>state</p>", "<ul>pages</ul>")
    text = body.decode()
    assert text.replace("<p>state</p>", "<!-- state -->").replace("<ul>pages</ul>", "<!-- pages -->") == page


@pytest.mark.parametrize("name", PAGES)
def test_a_screen_reader_finds_its_way(name: str) -> None:
    """One h1, landmarks, a name per section, a label for the field; only the state is a live region."""
    page = text_of(name)
    tags = [tag for tag, _ in Elements(page).seen]
    assert all(tags.count(tag) == 1 for tag in ("h1", "header", "main", "footer"))
    ids = {attributes["id"] for _, attributes in Elements(page).seen if "id" in attributes}
    for tag, attributes in Elements(page).seen:
        if tag == "section":
            assert attributes.get("aria-labelledby") in ids or attributes.get("aria-label")
        if tag == "label":
            assert attributes["for"] in ids
    live = [attributes.get("id") for _, attributes in Elements(page).seen if "aria-live" in attributes]
    assert live == [{"namenode.html": "active", "proxy.html": "gate", "publisher.html": "publishing"}[name]]
    assert ("html", {"lang": "en"}) in Elements(page).seen
    assert ":focus-visible" in page
    assert "outline: none" not in page
