"""The proxy's replies about the registry."""

import asyncio
import json
import threading
from typing import Any

import pytest

from nncache.coordination.acl import ALL, ZnodeAclEntry
from nncache.coordination.zookeeper import CreateOp
from nncache.daemons import registry_source
from nncache.daemons.registry_source import ZooKeeperRegistry
from nncache.proxy.errors import ClientError, EntryNotFoundError, RegistryUnavailableError
from nncache.registry.access import AccessPolicy
from nncache.registry.follower import RegistryFollower
from nncache.registry.operations import Registry
from nncache.registry.record import ServiceRecord, uri_endpoint
from nncache.registry.record_json import encode_record
from nncache.registry.rest.request import read_registry_request
from nncache.registry.rest.waits import RegistryPage
from tests.coordination.fake_zookeeper import FakeZooKeeper
from tests.registry.samples import WEBHDFS, fake_registry

METRICS = ServiceRecord(internal=(uri_endpoint("org.prometheus.metrics", "http", "http://h:1/metrics"),))


@pytest.fixture
async def registry() -> Registry:
    """Return a registry with three entries."""
    made = fake_registry()
    await made.make_root()
    await made.bind("/services/a", WEBHDFS)
    await made.bind("/services/b", METRICS)
    await made.bind("/services/c", WEBHDFS)
    return made


def source_of(registry: Registry | None) -> ZooKeeperRegistry:
    """Return a source whose follower does not run."""
    return ZooKeeperRegistry(lambda: registry, RegistryFollower(lambda: None, "/registry"))


async def html(registry: Registry | None, target: str) -> RegistryPage:
    """Return the HTML page for a browser."""
    accept = ((b"Accept", b"text/html"),)
    return await source_of(registry).page(read_registry_request(f"/v1/registry{target}", accept))


async def page(registry: Registry | None, target: str) -> Any:
    """Return the JSON document for a target."""
    source = source_of(registry)
    return json.loads((await source.page(read_registry_request(f"/v1/registry{target}", ()))).body)


def paths(document: Any) -> list[str]:
    """Return the paths of a document's entries."""
    return [entry["path"] for entry in document["entries"]]


async def test_a_record_is_served_as_its_bytes(registry: Registry) -> None:
    """The bytes are those that Hadoop writes."""
    source = source_of(registry)
    found = await source.page(read_registry_request("/v1/registry/services/a", ()))
    assert found.body == encode_record(WEBHDFS)


async def test_lists_by_page(registry: Registry) -> None:
    """A list of one level has no records; a list of a subtree has them."""
    level = await page(registry, "/services?list&limit=2")
    assert paths(level) == ["/services/a", "/services/b"]
    assert level["entries"][0].keys() == {"path", "time", "size", "children", "version"}
    assert paths(await page(registry, "/services?list&after=/services/b")) == ["/services/c"]
    everything = await page(registry, "?recursive&limit=1")
    assert everything["entries"][0]["record"] == json.loads(encode_record(WEBHDFS))
    assert paths(await page(registry, "?recursive&after=/services/a")) == ["/services/b", "/services/c"]


async def test_searches(registry: Registry) -> None:
    """A search matches a field of an endpoint."""
    assert paths(await page(registry, "?find=api=org.apache.hadoop.webhdfs")) == [
        "/services/a",
        "/services/c",
    ]
    assert paths(await page(registry, "/services/b?find=api=org.apache.hadoop.webhdfs")) == []


async def test_targets_for_prometheus(registry: Registry) -> None:
    """The JSON is a list of groups, as http_sd requires."""
    (group,) = await page(registry, "?format=prometheus")
    assert group["targets"] == ["h:1"]
    assert group["labels"]["__meta_registry_path"] == "/services/b"


@pytest.mark.parametrize(
    ("target", "kind", "part"),
    [
        ("/services/x", EntryNotFoundError, "/services/x: there is no such entry"),
        ("/services/x?list", EntryNotFoundError, "/services/x: there is no such entry"),
        ("/services/x?recursive", EntryNotFoundError, "/services/x: there is no such entry"),
        ("/services", EntryNotFoundError, "/services: the entry has no data"),
        ("/../x", ClientError, "is relative"),
        ("?find=x=y", ClientError, "find: x=y: must be FIELD=VALUE"),
        ("/services/broken", RegistryUnavailableError, "no JSON"),
    ],
)
async def test_what_cannot_be_answered(
    registry: Registry, target: str, kind: type[Exception], part: str
) -> None:
    """The error has the path and the reason."""
    await registry.zookeeper.commit([CreateOp("/registry/services/broken", b'{"type":"JSONServiceRecord"')])
    with pytest.raises(kind) as caught:
        await page(registry, target)
    assert part in str(caught.value)


async def test_without_a_connection_the_registry_is_unavailable() -> None:
    """There may be no session yet, or a session without a connection."""
    with pytest.raises(RegistryUnavailableError, match="not connected"):
        await page(None, "/services/a")
    server = FakeZooKeeper(asyncio.get_running_loop().time)
    cut = Registry(server.session(), "/registry", AccessPolicy())
    server.disconnect()
    for target in ("/services/a", "?list", "?recursive"):
        with pytest.raises(RegistryUnavailableError):
            await page(cut, target)


async def test_a_browser_gets_pages(registry: Registry) -> None:
    """Entry pages and result pages each have their Content-Security-Policy."""
    await registry.zookeeper.commit([CreateOp("/registry/services/broken", b'{"type":"JSONServiceRecord"')])
    for target, part in (
        ("", b"registry/services/"),
        ("/services?limit=2", b"after=%2Fservices%2Fb"),
        ("/services?after=/services/b", b"services/c/"),
        ("/services/a", b"http://h:1/webhdfs/v1"),
        ("/services/broken", b"no JSON"),
        ("?recursive&limit=1", b"after=%2Fservices%2Fa"),
        ("?find=api=org.apache.hadoop.webhdfs", b"services/c/"),
    ):
        shown = await html(registry, target)
        assert (shown.status, shown.content_type) == (200, b"text/html; charset=utf-8")
        assert part in shown.body, target
        assert dict(shown.fields)[b"Content-Security-Policy"].startswith(b"default-src 'none'")
    assert b"services/b/" not in (await html(registry, "?find=api=org.apache.hadoop.webhdfs")).body


@pytest.mark.parametrize(
    ("target", "status", "part"),
    [
        ("/services/x", 404, b"/services/x: there is no such entry"),
        ("/services/x?recursive", 404, b"/services/x: there is no such entry"),
        ("/../x", 400, b"is relative"),
        ("?find=%3Cscript%3E", 400, b"find: &lt;script&gt;: must be FIELD=VALUE"),
    ],
)
async def test_what_a_browser_cannot_be_shown_is_a_page_as_well(
    registry: Registry, target: str, status: int, part: bytes
) -> None:
    """An error that may be retried is not turned into a page."""
    shown = await html(registry, target)
    assert shown.status == status
    assert part in shown.body
    with pytest.raises(RegistryUnavailableError):
        await html(None, "/services")


async def test_a_page_with_a_refused_entry_leads_to_the_others(registry: Registry) -> None:
    """The entry that an ACL refuses is left out, and those behind the page are still linked."""
    await registry.zookeeper.set_acl("/registry/services/b", (ZnodeAclEntry("sasl", "bob", ALL),), 0)
    found = (await html(registry, "/services?limit=2")).body
    assert b"services/a" in found
    assert b"services/b" not in found
    assert b"after=%2Fservices%2Fa" in found


async def test_what_is_followed_is_counted_by_the_follower() -> None:
    """The follower's figures are zero until it runs."""
    source = source_of(None)
    assert source.gaps == 0
    with pytest.raises(RegistryUnavailableError, match="not connected"):
        await source.follow(list[str | None]().append)


@pytest.mark.parametrize("maker", ["found_page", "entry_page"])
async def test_a_large_page_is_made_beside_the_event_loop(
    registry: Registry, maker: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """200 ordinary records took 0.07 s; records as large as users may register took seconds."""
    uris = (f"http://h{number}.example.com/{'x' * 100}" for number in range(128))
    await registry.bind("/services/large", ServiceRecord(external=(uri_endpoint("a", "REST", *uris),)))
    threads = list[threading.Thread]()
    make = getattr(registry_source, maker)

    def noted(*args: Any, **kwargs: Any) -> bytes:
        threads.append(threading.current_thread())
        return bytes(make(*args, **kwargs))

    monkeypatch.setattr(registry_source, maker, noted)
    for target in ("?recursive", "/services/large", "?find=api=none", "/services/a"):
        assert (await html(registry, target)).status == 200
    large, small = threads
    assert (large is threading.main_thread(), small is threading.main_thread()) == (False, True)


async def test_the_names_of_a_list_are_charged_for(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each page reads all names of a list: 50,000 take the loop 0.03 s, and an address may ask 20 times a second."""
    names = tuple(f"entry-{number:06}" for number in range(10_000))

    async def listed(_: str) -> tuple[str, ...]:
        return names

    monkeypatch.setattr(registry, "list", listed)
    request = read_registry_request("/v1/registry/services?list&limit=1", ())
    assert (await source_of(registry).page(request)).read_bytes == 12 * 10_000
    assert (await html(registry, "/services")).read_bytes == 12 * 10_000
