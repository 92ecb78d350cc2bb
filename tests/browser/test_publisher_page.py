"""The status page of a real publisher, in a real Chromium."""

import html
import re
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path

import pytest

from nncache.testbed import Cluster
from nncache.testbed.daemon import PublisherDaemon
from tests.browser.chromium import CHROMIUM, TOO_WIDE, WIDTHS, opened, shown, text_of
from tests.cluster import make_directory, webhdfs
from tests.processes import fetched
from tests.service import InotifyService

pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(300),
    pytest.mark.skipif(CHROMIUM is None, reason="apt-get install chromium"),
]

SCRIPT = "<script>document.title='owned'<"
"""A name for a directory; it cannot contain a slash."""


@pytest.fixture(scope="module")
def publisher(cluster: Cluster) -> Iterator[PublisherDaemon]:
    """Yield a publisher with a filter that an event has matched, and a broken filter whose name is markup."""
    make_directory(cluster, "/published")
    service = InotifyService.of(cluster)
    service.add("ours", "/published/*")
    make_directory(cluster, f"{service.filters_path}/{SCRIPT}")
    with service.publisher(user=cluster.superuser, max_write_ops_per_s=15) as running:
        running.await_publishing()
        while running.metrics()["nncache_publisher_filters"] < 1:
            pass  # soon read from HDFS
        assert webhdfs(cluster, "PUT", "/published/a", "MKDIRS")[0] == HTTPStatus.OK
        while running.metrics()["nncache_publisher_events_matched_total"] < 1:
            pass  # soon seen in the edits
        yield running


def test_the_figures_are_in_the_page(publisher: PublisherDaemon, tmp_path: Path) -> None:
    """Position, filters with their published events, broken filters, ZooKeeper, NameNodes, polling, settings."""
    dom = shown(publisher.admin, tmp_path)
    assert text_of(dom, "publishing") == "Publishing"
    assert re.fullmatch(r"[\d,]+ txids?", text_of(dom, "lag"))
    assert "1 since start, for 1 filters" in text_of(dom, "events-sub")
    assert "of the limit of 15.0/s" in text_of(dom, "writes-sub")
    assert "of a core of the NameNode" in text_of(dom, "cost-sub")
    ours = text_of(dom, "filters").partition("ours")[2]
    assert re.match(r"\W+of \w+\W+/published/\*\s+1\s+1\s+\d\d:\d\d:\d\d\s+[\d,]+\s", ours)
    assert "not in force" in text_of(dom, "broken")
    assert "added" in text_of(dom, "changes")
    assert re.search(r"Last published\s+[\d,]+", text_of(dom, "position"))
    assert re.search(r"Connection\s+up", text_of(dom, "zookeeper"))
    assert "publishing" in text_of(dom, "history")
    assert "active" in text_of(dom, "namenodes")
    assert "max_write_ops_per_s" in text_of(dom, "settings")
    assert 'id="silence" role="alert" hidden' in dom


def test_markup_in_names_is_text(publisher: PublisherDaemon, tmp_path: Path) -> None:
    """The page shows the markup and does not run it."""
    dom = shown(publisher.admin, tmp_path)
    assert html.escape(SCRIPT, quote=False) in text_of_raw(dom)
    assert "<title>owned" not in dom


def text_of_raw(dom: str) -> str:
    """Return the part of the DOM with the broken filters, unchanged."""
    return dom.partition('id="broken"')[2].partition("</section>")[0]


def test_without_a_script_the_state_is_there(publisher: PublisherDaemon) -> None:
    """The page links the JSON figures, too. Read over HTTP, since Chromium prints no DOM without scripts."""
    ((_, _, page),) = fetched(publisher.admin, "/")
    assert "publishing 1 filters up to transaction" in text_of(page, "state")
    (fallback,) = re.findall("<noscript>(.*?)</noscript>", page, re.DOTALL)
    assert '<a href="status">/status</a>, as JSON' in fallback


async def test_the_keyboard_reaches_what_can_be_done(publisher: PublisherDaemon, tmp_path: Path) -> None:
    """In the page's order, each with a visible focus."""
    async with opened(f"http://{publisher.admin}/", tmp_path) as tab:
        await tab.until("heard !== null")
        assert await tab.reached_by_tab(3) == ["Skip to the figures", "Settings in force", "/health"]


async def test_wide_tables_scroll_by_keyboard(publisher: PublisherDaemon, tmp_path: Path) -> None:
    """A table that scrolls takes the focus, under its section's name; one that fits does not."""
    async with opened(f"http://{publisher.admin}/", tmp_path) as tab:
        for width, expected in ((360, "h-filters,h-changes,h-namenodes"), (1280, "")):
            await tab.resize(width)
            await tab.until("heard !== null")
            places = "[...document.querySelectorAll('.scroll[tabindex=\"0\"][role=group]')]"
            named = f"{places}.map(each => each.getAttribute('aria-labelledby'))"
            await tab.until(f"String({named}) === '{expected}'")
            wide = "[...document.querySelectorAll('.scroll')].filter(each => each.scrollWidth > each.clientWidth)"
            assert await tab.value(f"{wide}.length") == await tab.value(f"{places}.length")


async def test_it_fits_the_window(publisher: PublisherDaemon, tmp_path: Path) -> None:
    """Wide tables scroll within their own frames."""
    async with opened(f"http://{publisher.admin}/", tmp_path) as tab:
        await tab.until("heard !== null")
        for width in WIDTHS:
            await tab.resize(width)
            assert not await tab.value(TOO_WIDE), width
