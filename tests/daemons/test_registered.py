"""Registration of a proxy and a publisher on a real ZooKeeper, from start to stop."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

import aiohttp
import pytest

from nncache.clock import boottime
from nncache.daemons.proxy_wiring import ProxySystem
from nncache.daemons.publisher_wiring import PublisherSystem
from nncache.daemons.registered import publisher_daemon
from nncache.errors import ConfigurationError
from nncache.hadoop.mounts import MountTable
from nncache.registry.access import AccessPolicy
from nncache.registry.operations import Registry
from nncache.settings.commands import PROXY, PUBLISHER, load_settings
from nncache.settings.federation import Federation
from nncache.testbed.zookeepers import ZooKeeperServer
from tests.coordination.simulations import connected
from tests.patience import HANG_S
from tests.processes import free_address
from tests.registry.samples import WEBHDFS

pytestmark = pytest.mark.usefixtures("collector")

PLACE = "/services/nncache/components"


def common(zookeeper: str, root: str) -> dict[str, object]:
    """Return settings for both daemons, with NameNode addresses where nothing listens."""
    return {
        "registry": True,
        "registry_root": root,
        "zookeeper": (zookeeper,),
        "admin": free_address(),
        "namenode_http": (free_address(),),
        "namenode_rpc": (free_address(),),
    }


async def until(found: Callable[[], Awaitable[object]]) -> Any:
    """Wait for a true result; return it."""
    async with asyncio.timeout(HANG_S):
        while True:
            if value := await found():
                return value
            await asyncio.sleep(0.02)  # polled until the deadline


async def names(registry: Registry) -> tuple[str, ...]:
    """Return the names of the registered daemons."""
    return await registry.list(PLACE) if await registry.exists(PLACE) else ()


async def test_a_proxy_is_found_while_it_serves(zookeeper_server: ZooKeeperServer) -> None:
    """It is found in ZooKeeper and over HTTP. A stop removes the entry before the proxy stops serving."""
    given = common(zookeeper_server.address, "/registry-proxy") | {
        "channel": "direct",
        "listen": free_address(),
        "glob": ("/w/*",),
        "lame_duck_s": 0.3,
    }
    chosen, stop = load_settings(PROXY, None, given), asyncio.Event()
    async with connected(zookeeper_server.address) as session, asyncio.TaskGroup() as tasks:
        registry = Registry(session, "/registry-proxy", AccessPolicy())
        served = tasks.create_task(ProxySystem(Federation.of_one(chosen), boottime).serve(stop))
        (name,) = await until(lambda: names(registry))
        listen = chosen.proxy.listen
        assert name == f"proxy-127-0-0-1-{listen.partition(':')[2]}"
        await registry.bind("/services/other", WEBHDFS)

        async def get(target: str) -> tuple[int, Any]:
            status, _, text = await asked(f"http://{listen}{target}")
            return status, json.loads(text)

        status, record = await get(f"/v1/registry{PLACE}/{name}")
        assert status == 200
        assert record["external"][0]["addresses"] == [{"uri": f"http://{listen}/webhdfs/v1"}]
        _, (group,) = await get("/v1/registry/services?format=prometheus")
        assert group["targets"] == [chosen.proxy.admin]
        _, found = await get("/v1/registry?find=api=org.apache.hadoop.webhdfs")
        assert [entry["path"] for entry in found["entries"]] == [f"{PLACE}/{name}", "/services/other"]
        stop.set()

        async def is_gone() -> bool:
            return not await names(registry)

        await until(is_gone)
        assert not served.done()  # it still serves for lame_duck_s
        assert (await get("/v1/registry/services/other"))[0] == 200


async def test_a_proxy_of_several_namespaces_is_registered_once(zookeeper_server: ZooKeeperServer) -> None:
    """Its entry names all namespaces, and it serves the registry in addition to them."""
    given = common(zookeeper_server.address, "/registry-several") | {
        "channel": "direct",
        "listen": free_address(),
        "glob": ("/w/*",),
    }
    others = {"namenode_http": (free_address(),), "namenode_rpc": (free_address(),)}
    federation = Federation(
        {
            name: load_settings(PROXY, None, given | others | {"nameservice": name})
            for name, others in (("ns1", {}), ("ns2", others))
        },
        MountTable({"/one": "ns1", "/two": "ns2"}),
    )
    stop = asyncio.Event()
    async with connected(zookeeper_server.address) as session, asyncio.TaskGroup() as tasks:
        registry = Registry(session, "/registry-several", AccessPolicy())
        tasks.create_task(ProxySystem(federation, boottime).serve(stop))
        (name,) = await until(lambda: names(registry))
        listen = federation.of_proxy.proxy.listen
        status, _, text = await asked(f"http://{listen}/v1/registry{PLACE}/{name}")
        assert status == 200
        record = json.loads(text)
        assert record["nncache:nameservice"] == "ns1,ns2"
        assert record["external"][0]["addresses"] == [{"uri": f"http://{listen}/webhdfs/v1"}]
        status, _, text = await asked(f"http://{listen}/webhdfs/v1/other?op=GETFILESTATUS")
        assert (status, "FileNotFoundException" in text) == (404, True)  # outside all mount points
        _, _, page = await asked(f"http://{federation.of_proxy.proxy.admin}/metrics")
        assert 'nncache_registry_requests_total{answer="found"} 1.0' in page
        stop.set()
    async with connected(zookeeper_server.address) as session:
        assert await names(Registry(session, "/registry-several", AccessPolicy())) == ()


async def asked(url: str, **fields: str) -> tuple[int, Mapping[str, str], str]:
    """Return the status, header fields and body of a reply."""
    async with aiohttp.ClientSession() as http, http.get(url, headers=fields) as reply:
        return reply.status, reply.headers, await reply.text()


async def test_a_client_waits_for_what_changes(zookeeper_server: ZooKeeperServer) -> None:
    """A long poll survives a reload, and ends with another client's write or a drain. A browser gets a page."""
    given = common(zookeeper_server.address, "/registry-waited") | {
        "channel": "direct",
        "listen": free_address(),
        "glob": ("/w/*",),
    }
    chosen, stop = load_settings(PROXY, None, given), asyncio.Event()
    url = f"http://{chosen.proxy.listen}/v1/registry/services/other"
    async with connected(zookeeper_server.address) as session, asyncio.TaskGroup() as tasks:
        registry = Registry(session, "/registry-waited", AccessPolicy())
        system = ProxySystem(Federation.of_one(chosen), boottime)
        tasks.create_task(system.serve(stop))
        await until(lambda: names(registry))
        await registry.bind("/services/other", WEBHDFS)

        async def held() -> asyncio.Task[Any]:
            """Start a long poll; return its task when the proxy holds it."""
            _, fields, _ = await asked(url)
            task = tasks.create_task(waited(fields["ETag"]))
            await until(waiters)
            return task

        async def waited(etag: str) -> tuple[int, Mapping[str, str], str]:
            """Return the reply of a client that retries when the loss of ZooKeeper cut its wait short."""
            while True:
                answer = await asked(url, Prefer="wait=50", **{"If-None-Match": etag})
                if "Preference-Applied" in answer[1] or stop.is_set():
                    return answer
                await asyncio.sleep(0.2)  # the client's own interval

        async def waiters() -> object:
            return figure(system, "registry").waiters

        first = await held()
        system.take(chosen, {"log_level"})
        await registry.bind("/services/other", replace(WEBHDFS, description="new"), overwrite=True)
        status, fields, text = await first
        assert (status, fields["Preference-Applied"], json.loads(text)["description"]) == (
            200,
            "wait=50",
            "new",
        )
        _, fields, page = await asked(url, Accept="text/html")
        assert fields["Content-Type"] == "text/html; charset=utf-8"
        assert "<bdi>new</bdi>" in page
        second = await held()
        assert figure(system, "registration").is_registered
        stop.set()
        status, fields, _ = await second
        assert (status, fields.get("Preference-Applied")) == (304, None)


def figure(system: ProxySystem, room: str) -> Any:
    """Return the figures of a room."""
    return system._figures()[room]  # noqa: SLF001 - the figures that are scraped


async def test_a_proxy_that_does_not_register_serves_no_registry(zookeeper_server: ZooKeeperServer) -> None:
    """Requests for it get the replies of a proxy without a registry."""
    given = common(zookeeper_server.address, "/registry-none") | {
        "registry": False,
        "channel": "direct",
        "listen": free_address(),
        "glob": ("/w/*",),
    }
    chosen, stop = load_settings(PROXY, None, given), asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(ProxySystem(Federation.of_one(chosen), boottime).serve(stop))

        async def answer() -> str:
            try:
                async with (
                    aiohttp.ClientSession() as http,
                    http.get(f"http://{chosen.proxy.listen}/v1/registry") as reply,
                ):
                    return await reply.text()
            except aiohttp.ClientConnectorError:
                return ""

        assert "/v1/registry where they are on; the status page" in await until(answer)
        stop.set()


async def test_a_publisher_is_found_while_it_runs(zookeeper_server: ZooKeeperServer) -> None:
    """Its record has its admin page and its metrics."""
    chosen = load_settings(
        PUBLISHER, None, common(zookeeper_server.address, "/registry-pub") | {"user": "hdfs"}
    )
    stop = asyncio.Event()
    async with connected(zookeeper_server.address) as session, asyncio.TaskGroup() as tasks:
        registry = Registry(session, "/registry-pub", AccessPolicy())
        tasks.create_task(PublisherSystem(chosen, boottime).serve(stop))
        (name,) = await until(lambda: names(registry))
        assert name == f"publisher-127-0-0-1-{chosen.publisher.admin.partition(':')[2]}"
        record = await registry.resolve(f"{PLACE}/{name}")
        assert record == publisher_daemon(chosen, f"http://{chosen.publisher.admin}/").record
        stop.set()
    async with connected(zookeeper_server.address) as session:
        assert await names(Registry(session, "/registry-pub", AccessPolicy())) == ()


@pytest.mark.parametrize("form", [PROXY, PUBLISHER])
def test_registering_needs_zookeeper_and_if_secure_a_login(form: Any) -> None:
    """The error comes before anything starts."""
    given = common("h:1", "/registry") | ({"glob": ("/w/*",), "channel": "direct"} if form is PROXY else {})
    missing = given | {"zookeeper": ()}
    with pytest.raises(ConfigurationError, match="zookeeper"):
        load_settings(form, None, missing)
    with pytest.raises(ConfigurationError, match="registry_secure"):
        load_settings(form, None, given | {"registry_secure": True, "registry_realm": "R"})
