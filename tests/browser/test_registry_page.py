"""The registry's pages, in a real Chromium: a record is hostile input."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from nncache.clock import boottime
from nncache.coordination.zookeeper import CreateOp
from nncache.daemons.registry_source import ZooKeeperRegistry
from nncache.proxy.clients.request import Request
from nncache.proxy.clients.response import RawResponse
from nncache.proxy.clients.server import Server
from nncache.proxy.limits import LimitSettings
from nncache.proxy.traffic import Traffic
from nncache.registry.follower import RegistryFollower
from nncache.registry.operations import Registry
from nncache.registry.record import Endpoint, ServiceRecord, host_port_endpoint, uri_endpoint
from nncache.registry.record_json import encode_record
from nncache.registry.rest.endpoint import RegistryEndpoint
from tests.browser.chromium import CHROMIUM, TOO_WIDE, WIDTHS, Tab, opened
from tests.proxy.kept_hits import fast_path_alone
from tests.registry.samples import fake_registry

pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(300),
    pytest.mark.skipif(CHROMIUM is None, reason="apt-get install chromium"),
]

SCRIPT = (
    """</style></title></bdi>"'><script>window.owned = 1</script>"""
    """<img src=x onerror="window.owned = 1"><base href=//x>"""
)
HOSTILE = "javascript:window.owned = 1"
NAME = "<img src=x onerror='window.owned=1'>"
"""The name of an entry, as a raw ZooKeeper client can create it; it cannot contain a slash."""

URL = "http://127.0.0.1:1/webhdfs/v1"
TAME = ServiceRecord(
    description="HBase of the cluster",
    external=(
        uri_endpoint("org.apache.hadoop.webhdfs", "REST", URL),
        Endpoint(
            api="org.apache.hbase",
            protocol="zookeeper",
            address_type="zktriple",
            addresses=({"host": "zk1.example.com", "port": "2181", "path": "/hbase"},) * 3,
        ),
    ),
    internal=(host_port_endpoint("classpath:javax.management.jmx", "rmi", ("h" * 200, 1)),),
    attributes={"yarn:persistence": "permanent", "long": "y" * 300},
)


def hostile() -> ServiceRecord:
    """Return a record with markup in each field, and with script URLs as addresses."""
    endpoints = tuple(
        Endpoint(api=SCRIPT, protocol=SCRIPT, address_type=kind, addresses=addresses)
        for kind, addresses in (
            ("uri", ({"uri": HOSTILE}, {"uri": SCRIPT}, {"uri": f"http://{SCRIPT}"}, {"uri": f" {HOSTILE}"})),
            ("host/port", ({"host": SCRIPT, "port": SCRIPT},)),
            (SCRIPT, ({SCRIPT: SCRIPT, "uri": HOSTILE},)),
        )
    )
    return ServiceRecord(
        description=SCRIPT,
        external=endpoints,
        internal=endpoints,
        attributes={SCRIPT: SCRIPT, "yarn:id": SCRIPT, "yarn:persistence": SCRIPT},
    )


@dataclass
class Fixture:
    """A server and its registry."""

    registry: Registry
    port: int

    def url(self, target: str) -> str:
        """Return the URL of a page."""
        return f"http://127.0.0.1:{self.port}/v1/registry{target}"


@asynccontextmanager
async def fixture() -> AsyncIterator[Fixture]:
    """Yield a running server with a registry of harmless and hostile records."""
    registry = fake_registry()
    await registry.make_root()
    await registry.bind("/services/hbase", TAME)
    await registry.bind("/services/hbase/one", TAME)
    made = (("/hostile", encode_record(hostile())), (f"/hostile/{NAME}", encode_record(hostile())))
    await registry.zookeeper.commit([CreateOp(registry.znode(path), data) for path, data in made])

    async def others(_: Request) -> RawResponse:
        return RawResponse(404, "Not Found", (), body=b"")

    traffic, limits = Traffic(boottime), LimitSettings()
    source = ZooKeeperRegistry(lambda: registry, RegistryFollower(lambda: None, registry.root))
    endpoint = RegistryEndpoint(source, traffic, limits)
    server = Server(endpoint.before(others), fast_path_alone(boottime), limits, traffic=traffic)
    await server.start("127.0.0.1", 0)
    try:
        yield Fixture(registry, server.port)
    finally:
        await server.stop()


async def ready(tab: Tab) -> None:
    """Wait until the page is complete."""
    await tab.until("document.readyState === 'complete' && document.querySelector('footer') !== null")


@pytest.mark.parametrize(
    "target", ["/hostile", "/hostile?recursive", "/hostile?find=protocol=%3Cx", "/hostile/nothing"]
)
async def test_a_hostile_record_does_nothing(target: str, tmp_path: Path) -> None:
    """No script runs, markup creates no element, no link leads to a script; the page loads nothing else."""
    async with fixture() as s, opened(s.url(target), tmp_path) as tab:
        await ready(tab)
        assert await tab.value("window.owned") is None
        elements = "document.querySelectorAll('script, img, base, iframe, object').length"
        assert await tab.value(elements) == 0
        protocols = (
            "[...document.links].map(each => each.protocol).filter(each => !/^https?:$/.test(each)).length"
        )
        assert await tab.value(protocols) == 0
        assert await tab.value("[...document.links].filter(each => each.host !== location.host).length") == 0
        assert await tab.value("performance.getEntriesByType('resource').length") == 0
        assert await tab.value("document.title.startsWith('/hostile')")
    if target == "/hostile":
        async with fixture() as s, opened(s.url(target), tmp_path / "second") as tab:
            await ready(tab)
            text = await tab.value("document.body.textContent")
            assert text.count(SCRIPT) >= 20, "as text"
            await tab.value("[...document.links].find(each => each.textContent.includes('onerror')).click()")
            await tab.until("location.pathname.includes('onerror')")
            await ready(tab)
            assert await tab.value("window.owned") is None


async def test_the_policy_forbids_what_may_still_come_through(tmp_path: Path) -> None:
    """An injected script, event handler or style has no effect, and an injected image is not loaded."""
    async with fixture() as s, opened(s.url("/services/hbase"), tmp_path) as tab:
        await ready(tab)
        await tab.value(
            "document.body.insertAdjacentHTML('beforeend', '<img src=/x onerror=\"window.owned = 1\">');"
            "document.body.appendChild(Object.assign(document.createElement('script'), {text: 'window.owned = 1'}));"
            "document.body.appendChild(Object.assign(document.createElement('style'), {textContent: 'a {color: red}'}))"
        )
        await tab.until("document.images[0].complete")
        assert await tab.value("window.owned") is None
        assert await tab.value("getComputedStyle(document.links[0]).color") != "rgb(255, 0, 0)"


async def test_entries_are_reached_by_links(tmp_path: Path) -> None:
    """Links lead to children, to parents by the path, and to search results."""
    async with fixture() as s, opened(s.url(""), tmp_path) as tab:
        for name, path in (
            ("services", "/services/"),
            ("hbase", "/services/hbase/"),
            ("one", "/services/hbase/one/"),
        ):
            await ready(tab)
            await tab.value(f"[...document.links].find(each => each.textContent === '{name}').click()")
            await tab.until(f"location.pathname === '/v1/registry{path}'")
        await ready(tab)
        assert await tab.value(f"[...document.links].some(each => each.href === '{URL}')")
        await tab.value(
            "[...document.querySelectorAll('nav a')].find(each => each.textContent === 'hbase').click()"
        )
        await tab.until("location.pathname === '/v1/registry/services/hbase/'")
        await ready(tab)
        await tab.value(
            "document.forms[0].find.value = 'api=org.apache.hbase', document.forms[0].requestSubmit()"
        )
        await tab.until("location.search === '?find=api%3Dorg.apache.hbase'")
        await ready(tab)
        found = "[...document.querySelectorAll('td.found')].map(each => each.textContent).join()"
        assert await tab.value(found) == "/services/hbase,/services/hbase/one"


async def test_the_keyboard_reaches_what_can_be_done(tmp_path: Path) -> None:
    """In the page's order, each with a visible focus."""
    async with fixture() as s, opened(s.url("/services/hbase"), tmp_path) as tab:
        await ready(tab)
        wanted = ["Skip to the entry", "registry", "services", "hbase", URL, "one", "find", "Find"]
        assert await tab.reached_by_tab(len(wanted)) == wanted


@pytest.mark.parametrize("target", ["/services/hbase", "/services", "?recursive", "/hostile"])
async def test_it_fits_the_window(tmp_path: Path, target: str) -> None:
    """The rule holds whatever a record contains."""
    async with fixture() as s, opened(s.url(target), tmp_path) as tab:
        await ready(tab)
        for width in WIDTHS:
            await tab.resize(width)
            assert not await tab.value(TOO_WIDE), width


async def test_it_follows_the_light_or_the_dark_of_the_reader(tmp_path: Path) -> None:
    """The page follows prefers-color-scheme; text has enough contrast in both schemes (WCAG 2.2, 1.4.3)."""
    async with fixture() as s, opened(s.url("/services/hbase"), tmp_path) as tab:
        await ready(tab)
        seen = set()
        for scheme in ("light", "dark"):
            feature = {"name": "prefers-color-scheme", "value": scheme}
            await tab.send("Emulation.setEmulatedMedia", features=[feature])
            seen.add(await tab.value("getComputedStyle(document.body).backgroundColor"))
            assert await tab.value(CONTRAST) >= 4.5
        assert len(seen) == 2


CONTRAST = """
(() => {
  const light = colour => {
    const [r, g, b] = colour.match(/[0-9.]+/g).map(each => each / 255)
      .map(each => each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const card = light(getComputedStyle(document.querySelector('section')).backgroundColor);
  return Math.min(...[...document.querySelectorAll('section a, section th, section bdi, section dt')].map(each => {
    const text = light(getComputedStyle(each).color);
    return (Math.max(card, text) + 0.05) / (Math.min(card, text) + 0.05);
  }));
})()
"""
"""The lowest contrast between a text and its card."""
