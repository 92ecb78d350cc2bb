"""The pages form a site: complete, without broken links and without external resources."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.docs.pages import DOCS
from tests.house.tree import ROOT

_LOADING = {"img": "src", "script": "src", "iframe": "src", "link": "href", "source": "src", "video": "src"}
"""Elements whose resources a browser fetches by itself, with the attribute that has the URL."""


class Loads(HTMLParser):
    """Collects the URLs that a browser fetches for a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Record the URLs of an element."""
        self.found += [value for name, value in attrs if name == _LOADING.get(tag) and value]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `make site` does."""
    place = tmp_path_factory.mktemp("site")
    build = (
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "--strict",
        "--site-dir",
        place,
    )  # --quiet would disable --strict
    done = subprocess.run(
        build,
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return place


def test_each_page_is_there(site: Path) -> None:
    """In a strict build, a page missing in the navigation and a broken link or anchor are errors."""
    pages = {path.relative_to(DOCS).with_suffix(".html") for path in DOCS.rglob("*.md")}
    assert len(pages) > 20
    assert pages <= {path.relative_to(site) for path in site.rglob("*.html")}


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    """The site works without other networks, and no third party learns of its readers."""
    pages = sorted(site.rglob("*.html"))
    for page in pages:
        loads = Loads()
        loads.feed(page.read_text(encoding="utf-8"))
        assert loads.found
        assert [url for url in loads.found if re.match(r"(\w+:)?//", url)] == [], page.name
    for style in site.rglob("*.css"):
        assert (
            re.findall(r"(?:@import\s+|url\()[\"']?(?:https?:)?//", style.read_text(encoding="utf-8")) == []
        )


def test_the_search_needs_no_server(site: Path) -> None:
    """A page opened as a file loads its index as a script, and uses a frame instead of a worker."""
    assert (site / "search" / "search_index.js").read_text(encoding="utf-8").startswith("var __index = {")
    assert 'src="assets/iframe-worker.js"' in (site / "index.html").read_text(encoding="utf-8")
    assert (site / "assets" / "iframe-worker.js").is_file()
