"""The status page of a real proxy, in a real Chromium."""

import html
import re
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from urllib.parse import quote

import pytest

from nncache.testbed import Cluster
from nncache.testbed.daemon import ProxyDaemon
from tests.browser.chromium import CHROMIUM, TOO_WIDE, WIDTHS, opened, shown, text_of
from tests.cluster import make_directory
from tests.processes import fetched
from tests.service import InotifyService

pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(300),
    pytest.mark.skipif(CHROMIUM is None, reason="apt-get install chromium"),
]

SCRIPT = "<script>document.title='owned'</script>"
ASKED = 20


@pytest.fixture(scope="module")
def proxy(cluster: Cluster) -> Iterator[ProxyDaemon]:
    """Yield a proxy that has served hits, and has received markup in a path and in a user name."""
    make_directory(cluster, "/watched")
    service = InotifyService.of(cluster)
    with ProxyDaemon(*service.namenode_flags, "--glob", "/watched/*", "--user", cluster.superuser) as running:
        running.await_gate()
        # Sent first: at a high rate, only a sample of the requests is recorded.
        hostile = f"/webhdfs/v1{quote(f'/watched/{SCRIPT}')}?op=GETFILESTATUS&user.name={quote(SCRIPT)}"
        assert fetched(running.address, hostile)[0][0] in {HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND}
        target = "/webhdfs/v1/watched/_SUCCESS?op=GETFILESTATUS&user.name=joe"
        while not fetched(running.address, target)[0][1].endswith("hit"):
            pass  # soon, once the gate is open
        fetched(running.address, target, ASKED)
        yield running


def test_the_figures_are_in_the_page(proxy: ProxyDaemon, tmp_path: Path) -> None:
    """Savings, freshness, the hottest names, forward reasons, NameNodes, filters, settings."""
    dom = shown(proxy.admin, tmp_path)
    assert text_of(dom, "gate") == "Gate open"
    assert re.fullmatch(r"[1-9]\d(\.\d)? %", text_of(dom, "ratio"))
    assert f"{ASKED}" <= re.search(r"(\d+) since start", text_of(dom, "requests-sub"))[1]  # type: ignore[index] # fails if there is none
    assert "/watched/_SUCCESS" in text_of(dom, "paths")
    assert "joe" in text_of(dom, "callers")
    assert "127.0.0.1" in text_of(dom, "addresses")
    assert "miss" in text_of(dom, "misses")
    assert "opened" in text_of(dom, "history")
    assert "active" in text_of(dom, "namenodes")
    assert "/watched/*" in text_of(dom, "filters")
    assert "max_staleness_s" in text_of(dom, "settings")
    assert 'id="silence" role="alert" hidden' in dom


def test_markup_in_names_is_text(proxy: ProxyDaemon, tmp_path: Path) -> None:
    """The page shows the markup and does not run it."""
    dom = shown(proxy.admin, tmp_path)
    assert dom.count(html.escape(SCRIPT, quote=False)) >= 2, "as a path and as a caller"
    assert SCRIPT not in dom
    assert "<title>owned" not in dom


def test_a_path_is_explained(proxy: ProxyDaemon, tmp_path: Path) -> None:
    """The explanation is in words."""
    dom = shown(proxy.admin, tmp_path, f"/?path={quote('/watched/_SUCCESS')}")
    explained = text_of(dom, "explained")
    assert "from memory, to every caller proven to be allowed to see it" in explained
    assert "does not exist (status 404" in explained
    assert "user=joe" in explained


def test_what_is_no_path_is_reported_in_words(proxy: ProxyDaemon, tmp_path: Path) -> None:
    """The message is escaped as well."""
    assert "Not explained" in text_of(shown(proxy.admin, tmp_path, "/?path=%2Fa%00"), "explained")


def test_without_a_script_the_state_is_there(proxy: ProxyDaemon) -> None:
    """The page links the JSON figures, too. Read over HTTP, since Chromium prints no DOM without scripts."""
    ((_, _, page),) = fetched(proxy.admin, "/")
    assert f"active NameNode: {proxy.readiness()['active']}; gate: open" in text_of(page, "state")
    (fallback,) = re.findall("<noscript>(.*?)</noscript>", page, re.DOTALL)
    assert '<a href="status">/status</a>, as JSON' in fallback


ASKED_SO_OFTEN = (
    "performance.getEntriesByType('resource').filter(each => each.name.endsWith('/status')).length"
)


async def test_it_is_live_while_it_is_seen(proxy: ProxyDaemon, tmp_path: Path) -> None:
    """A hidden tab sends no requests; back in front, it sends one immediately."""
    async with opened(f"http://{proxy.admin}/", tmp_path) as tab:
        await tab.until(f"{ASKED_SO_OFTEN} >= 2")
        await tab.hide()
        await tab.until("document.visibilityState === 'hidden'")
        before = await tab.value(ASKED_SO_OFTEN)
        await tab.value("new Promise(done => setTimeout(done, 3 * EVERY_MS))")
        assert await tab.value(ASKED_SO_OFTEN) <= before + 1, "one may have been on its way"
        await tab.show()
        await tab.until(f"{ASKED_SO_OFTEN} >= {before + 2}")


async def test_the_keyboard_reaches_what_can_be_done(proxy: ProxyDaemon, tmp_path: Path) -> None:
    """In the page's order, each with a visible focus."""
    async with opened(f"http://{proxy.admin}/", tmp_path) as tab:
        await tab.until("heard !== null")
        assert await tab.reached_by_tab(4) == ["Skip to the figures", "path", "Explain", "Settings in force"]


async def test_it_fits_the_window(proxy: ProxyDaemon, tmp_path: Path) -> None:
    """Wide tables scroll within their own frames."""
    async with opened(f"http://{proxy.admin}/", tmp_path) as tab:
        await tab.until("heard !== null")
        for width in WIDTHS:
            await tab.resize(width)
            assert not await tab.value(TOO_WIDE), width
