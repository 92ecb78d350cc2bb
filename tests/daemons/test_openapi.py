"""docs/openapi.yaml is valid and names exactly the served paths. A client generated from it reads a fleet."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest
from openapi_spec_validator import validate

from nncache.clock import boottime
from nncache.daemons.dns_wiring import DnsSystem
from nncache.daemons.history import History, Totals
from nncache.daemons.proxy_status import status_of
from nncache.daemons.proxy_wiring import ProxySystem
from nncache.daemons.publisher_status import PublisherTotals
from nncache.daemons.publisher_status import status_of as publisher_status_of
from nncache.daemons.publisher_wiring import PublisherSystem
from nncache.daemons.status_of_all import status_of_all
from nncache.events import events_request
from nncache.hadoop.mounts import MountTable
from nncache.registry.daemon_record import ADMIN_API, PLACE
from nncache.registry.rest import request as registry_request
from nncache.settings.commands import DNS, PROXY, PUBLISHER, SettingsOfProxy, load_settings
from nncache.settings.federation import Federation
from nncache.testbed.zookeepers import ZooKeeperServer
from tests.daemons import test_proxy_status, test_publisher_status
from tests.fake_namenode import FakeNameNode
from tests.openapi import DOCUMENT, FILE, operations, parameters, wrongs, wrongs_of
from tests.patience import HANG_S
from tests.processes import free_address
from tools.docs.json_shapes import shapes

pytestmark = pytest.mark.usefixtures("collector")

NOWHERE = {"namenode_http": ("127.0.0.1:1",), "namenode_rpc": ("127.0.0.1:2",)}


def test_it_is_valid() -> None:
    """The validator uses the schema of the OpenAPI initiative."""
    validate(DOCUMENT)


def routes(system: ProxySystem | PublisherSystem | DnsSystem) -> set[tuple[str, str]]:
    """Return the methods and paths of its admin port, with a namespace's name as a parameter."""
    router = system._admin._runner.app.router  # noqa: SLF001 - only the router knows all paths
    found = {(route.method, route.resource.canonical) for route in router.routes() if route.resource}
    names = ("/ready/one", "/ready/two")
    return {
        (method, "/ready/{namespace}" if path in names else path)
        for method, path in found
        if method != "HEAD"
    }


def test_what_an_admin_port_serves_is_in_it_and_nothing_else() -> None:
    """This holds for the proxy, the publisher and the DNS daemon."""
    chosen = load_settings(PROXY, None, {"glob": ("/w/*",), **NOWHERE})
    two = Federation({"one": chosen, "two": chosen}, MountTable({"/one": "one", "/two": "two"}))
    assert routes(ProxySystem(two, boottime)) == operations("proxy")
    publisher = load_settings(PUBLISHER, None, {"zookeeper": ("127.0.0.1:3",), **NOWHERE})
    assert routes(PublisherSystem(publisher, boottime)) == operations("publisher")
    dns = load_settings(DNS, None, {"zookeeper": ("127.0.0.1:3",), "domain": "example.com"})
    assert routes(DnsSystem(dns, boottime)) == operations("dns")


def test_what_clients_are_served_is_in_it_and_nothing_else() -> None:
    """Apart from WebHDFS: paths and query parameters."""
    registry, events = registry_request.REGISTRY, events_request.EVENTS
    assert operations("clients") == {("GET", registry), ("GET", f"{registry}/{{path}}"), ("GET", events)}
    for path in (registry, f"{registry}/{{path}}"):
        assert parameters(path, "query") == set(registry_request.KNOWN)
    assert parameters(events, "query") == set(events_request.KNOWN)


def schema(name: str) -> dict[str, str]:
    """Return the schema of this name."""
    return {"$ref": f"#/components/schemas/{name}"}


def read(value: object) -> Any:
    """Return a value as a client reads it from JSON."""
    return json.loads(msgspec.json.encode(value))


def test_documents_with_all_there_can_be() -> None:
    """A proxy of one namespace or several, and a publisher, with histories. A missing or additional key is invalid."""
    recent, publishing = History(100.0, Totals()), History(100.0, PublisherTotals())
    recent.look(105.0, Totals(), is_well=True, state="open")
    publishing.look(105.0, PublisherTotals(), is_well=True, state="")
    seen = replace(test_proxy_status.SEEN, history=recent)
    several = status_of_all({"one": seen, "two": seen}, {"/": "one", "/two": "two"}, 5, recent)
    published = replace(test_publisher_status.SEEN, history=publishing)
    assert wrongs_of(schema("ProxyStatus"), read(status_of(seen))) == []
    assert wrongs_of(schema("ProxyStatus"), read(several)) == []
    assert wrongs_of(schema("PublisherStatus"), read(publisher_status_of(published))) == []
    printed = dict(shapes())
    assert wrongs_of(schema("Explanation"), json.loads(printed["explain"])) == []  # of a cached path
    assert wrongs_of(schema("Purged"), json.loads(printed["purge"])) == []
    missing = read(status_of(seen))
    del missing["gate"]["age_s"]
    assert wrongs_of(schema("ProxyStatus"), missing) == ["$.gate: 'age_s' is a required property"]
    more = read(status_of(seen)) | {"more": 1}
    assert any("'more' was unexpected" in each for each in wrongs_of(schema("ProxyStatus"), more))


@asynccontextmanager
async def fleet(zookeeper: str, registry_root: str) -> AsyncIterator[tuple[list[SettingsOfProxy], str]]:
    """Run three registered proxies and a publisher; yield the proxies' settings and the publisher's admin address."""
    stop = asyncio.Event()
    async with FakeNameNode() as namenode, asyncio.timeout(HANG_S), asyncio.TaskGroup() as tasks:
        common = {
            "zookeeper": (zookeeper,),
            "registry": True,
            "registry_root": registry_root,
            "namenode_http": (namenode.http,),
            "namenode_rpc": (free_address(),),
        }
        proxies = [
            load_settings(
                PROXY,
                None,
                common
                | {"listen": free_address(), "admin": free_address(), "channel": "direct", "glob": ("/w/*",)},
            )
            for _ in range(3)
        ]
        publisher = load_settings(PUBLISHER, None, common | {"admin": free_address()})
        for each in proxies:
            tasks.create_task(ProxySystem(Federation.of_one(each), boottime).serve(stop))
        tasks.create_task(PublisherSystem(publisher, boottime).serve(stop))
        try:
            yield proxies, str(publisher.publisher.admin)
        finally:
            stop.set()


async def answer(
    session: aiohttp.ClientSession, address: str, target: str, method: str = "GET"
) -> tuple[int, str, Any]:
    """Wait for a listener; return status, media type and body, parsed if it is JSON."""
    while True:
        try:
            async with session.request(method, f"http://{address}{target}") as reply:
                text = await reply.text()
                return (
                    reply.status,
                    reply.content_type,
                    json.loads(text) if "json" in reply.content_type else text,
                )
        except aiohttp.ClientConnectorError:
            await asyncio.sleep(0.02)  # polled until the deadline


QUESTIONS = {
    "/": ("/",),
    "/health": ("/health",),
    "/ready": ("/ready",),
    "/metrics": ("/metrics",),
    "/status": ("/status",),
    "/filters": ("/filters",),
    "/explain": ("/explain?path=/w/a", "/explain?path=w"),
    "/sample": ("/sample", "/sample?limit=0"),
    "/ready/{namespace}": (),  # a proxy of several namespaces only
    "/purge": ("/purge?path=/w/a&subtree=true", "/purge"),
    "/v1/registry": ("/v1/registry", "/v1/registry?list", "/v1/registry?format=html", "/v1/registry?limit=0"),
    "/v1/registry/{path}": tuple(
        f"/v1/registry{target}"
        for target in (
            PLACE + "?recursive",
            PLACE + "?find=api=org.apache.hadoop.webhdfs",
            PLACE + "?format=prometheus",
            "/no/such",
        )
    ),
    "/v1/events": ("/v1/events?filter=f&user.name=joe", "/v1/events"),
}
"""The targets requested for each path. The root of a registry has no record."""


async def registered(session: aiohttp.ClientSession, proxies: list[SettingsOfProxy]) -> list[str]:
    """Wait until all daemons are registered; return their entry names."""
    while True:
        status, _, page = await answer(session, str(proxies[0].proxy.listen), f"/v1/registry{PLACE}?list")
        if status == 200 and len(page["entries"]) == len(proxies) + 1:
            return [each["path"].rpartition("/")[2] for each in page["entries"]]
        await asyncio.sleep(0.02)  # polled until the deadline


async def test_what_daemons_answer_is_as_it_says(zookeeper_server: ZooKeeperServer) -> None:
    """Every path of every daemon, with valid and invalid parameters."""
    async with (
        aiohttp.ClientSession() as session,
        fleet(zookeeper_server.address, "/registry-openapi") as (proxies, publisher),
    ):
        name, *_ = await registered(session, proxies)
        one = proxies[0].proxy
        seen = set[tuple[str, int]]()
        for tag, address in (("proxy", one.admin), ("publisher", publisher), ("clients", one.listen)):
            for method, path in operations(tag):
                records = (f"/v1/registry{PLACE}/{name}",) if path == "/v1/registry/{path}" else ()
                for target in (*QUESTIONS[path], *records):
                    status, media_type, got = await answer(session, str(address), target, method)
                    assert wrongs(method, path, status, media_type, got) == [], target
                    seen.add((path, status))
    assert {path for path, status in seen if status == 200} >= QUESTIONS.keys() - {
        "/v1/events",
        "/ready/{namespace}",
        "/ready",
    }


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Yield the name of a package generated from the document."""
    name = "client_of_nncache"
    (tmp_path / "config.yml").write_text("post_hooks: []\n")
    command = [
        *(sys.executable, "-m", "openapi_python_client", "generate", "--path", str(FILE), "--meta", "none"),
        *(
            "--output-path",
            str(tmp_path / name),
            "--config",
            str(tmp_path / "config.yml"),
            "--fail-on-warning",
        ),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=HANG_S)
    assert done.returncode == 0, done.stdout + done.stderr
    monkeypatch.syspath_prepend(tmp_path)
    yield name
    for module in [each for each in sys.modules if each.partition(".")[0] == name]:
        del sys.modules[module]


async def test_a_generated_client_reads_a_fleet(zookeeper_server: ZooKeeperServer, client: str) -> None:
    """It reads the registry of one proxy, then the status of all three and of the publisher."""
    ask_registry = import_module(f"{client}.api.clients.registry_root").asyncio
    ask_status = import_module(f"{client}.api.proxy.status").asyncio
    models: Any = import_module(f"{client}.models")
    new_client: Any = import_module(client).Client
    async with (
        aiohttp.ClientSession() as session,
        fleet(zookeeper_server.address, "/registry-client") as (proxies, _),
    ):
        await registered(session, proxies)
        async with new_client(base_url=f"http://{proxies[0].proxy.listen}") as at_clients_port:
            found = await ask_registry(client=at_clients_port, find=f"api={ADMIN_API}")
        assert isinstance(found, models.RegistryEntries)
        statuses = []
        for entry in found.entries:
            (admin,) = (each for each in entry.record.internal if each.api == ADMIN_API)
            async with new_client(base_url=admin.addresses[0]["uri"].removesuffix("/")) as at_admin_port:
                statuses.append(await ask_status(client=at_admin_port))
        assert [type(each) for each in statuses] == [*[models.ProxyStatus] * 3, models.PublisherStatus]
        assert {each.settings["listen"] for each in statuses[:3]} == {
            str(each.proxy.listen) for each in proxies
        }
        assert all(each.gate.is_open is False and each.edits.source for each in statuses[:3])
