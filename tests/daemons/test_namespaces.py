"""A proxy with two namespaces: each has its own NameNode, and the admin pages name both."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
import pytest

from nncache.clock import boottime
from nncache.daemons.proxy_wiring import ProxySystem
from nncache.hadoop.mounts import MountTable
from nncache.settings.federation import Federation
from tests.daemons.test_proxy_wiring import answers, settings
from tests.fake_namenode import FakeNameNode

pytestmark = pytest.mark.usefixtures("collector")


@dataclass
class Fixture:
    """Two NameNodes behind one proxy, mounted at /one and /two."""

    one: FakeNameNode
    two: FakeNameNode
    federation: Federation
    system: ProxySystem
    session: aiohttp.ClientSession

    async def ask(self, target: str, method: str = "GET") -> tuple[int, str]:
        """Send a request to the proxy; return status and body."""
        url = f"http://{self.federation.of_proxy.proxy.listen}/webhdfs/v1{target}"
        async with self.session.request(method, url) as reply:
            return reply.status, await reply.text()

    async def page(self, target: str, method: str = "GET") -> Any:
        """Return a page of the admin port, parsed if it is a JSON object."""
        url = f"http://{self.federation.of_proxy.proxy.admin}{target}"
        async with self.session.request(method, url) as reply:
            text = await reply.text()
        return json.loads(text) if text.startswith("{") else text

    async def active(self, *wanted: bool) -> dict[str, Any]:
        """Wait until exactly these namespaces have a known active NameNode; return the document of /ready."""
        while True:
            ready = await self.page("/ready")
            if [each["active"] is not None for each in ready["namespaces"].values()] == list(wanted):
                return dict(ready)
            await asyncio.sleep(0.02)  # polled until the test's timeout


@asynccontextmanager
async def fixture() -> AsyncIterator[Fixture]:
    """Run the NameNodes and the proxy."""
    async with FakeNameNode() as one, FakeNameNode() as two, aiohttp.ClientSession() as session:
        first = settings(one.http)
        at = {"listen": first.proxy.listen, "admin": first.proxy.admin}
        federation = Federation(
            {"one": first, "two": settings(two.http, **at, failover_wait_s="0.1")},
            MountTable({"/one": "one", "/two": "two"}),
        )
        system, stop = ProxySystem(federation, boottime), asyncio.Event()
        async with asyncio.timeout(60), asyncio.TaskGroup() as group:
            group.create_task(system.serve(stop))
            try:
                await answers(first.proxy.admin)
                made = Fixture(one, two, federation, system, session)
                await made.active(True, True)
                yield made
            finally:
                stop.set()


STATUS = "op=GETFILESTATUS&user.name=joe"


async def test_each_request_goes_to_the_namenode_of_its_namespace() -> None:
    """This holds for GETFILESTATUS, LISTSTATUS and MKDIRS. A request outside all mount points reaches no NameNode."""
    async with fixture() as s:
        for _ in range(6):
            assert (await s.ask(f"/one/x?{STATUS}"))[0] == 200
            assert (await s.ask("/two/y?op=LISTSTATUS&user.name=joe"))[0] == 200
        assert (await s.ask("/two/z?op=MKDIRS&user.name=joe", "PUT"))[0] == 200
        assert (await s.ask(f"/three?{STATUS}"))[0] == 404
        assert (await s.ask(f"/?{STATUS}"))[0] == 403
        assert (await s.ask("/one/x?op=RENAME&destination=/two/x", "PUT"))[0] == 403
        assert s.one.calls == [f"/webhdfs/v1/one/x?{STATUS}"] * 6
        assert [each.partition("?")[0] for each in s.two.calls] == ["/webhdfs/v1/two/y"] * 6 + [
            "/webhdfs/v1/two/z"
        ]


async def test_a_namenode_that_is_away_costs_the_others_nothing() -> None:
    """The proxy stays ready, and its pages name the namespace that is not."""
    async with fixture() as s:
        await s.two.__aexit__(None, None, None)
        ready = await s.active(True, False)
        assert (ready["ready"], ready["reason"]) == (True, "no-active-namenode")
        assert [(await s.page(f"/ready/{name}"))["ready"] for name in ("one", "two")] == [True, False]
        assert (await s.ask(f"/two/x?{STATUS}"))[0] == 503
        assert (await s.ask(f"/one/x?{STATUS}"))[0] == 200


async def test_metrics_tell_the_namespaces_apart() -> None:
    """Each request is counted once, under its namespace."""
    async with fixture() as s:
        await s.ask(f"/one/x?{STATUS}")
        await s.ask(f"/three?{STATUS}")
        page = await s.page("/metrics")
    lines = {line.rpartition(" ")[0]: line.rpartition(" ")[2] for line in page.splitlines()}
    requests = 'nncache_requests_total{namespace="%s",operation="%s",result="%s"}'
    assert lines[requests % ("one", "GETFILESTATUS", "forwarded")] == "1.0"
    assert lines[requests % ("two", "GETFILESTATUS", "forwarded")] == "0.0"
    assert lines[requests % ("", "other", "refused")] == "1.0"
    assert lines["nncache_event_loop_stalls_total"]


async def test_explain_and_purge_find_the_namespace_of_a_path() -> None:
    """They report a path outside all mount points. A subtree is purged in each namespace that holds a part of it."""
    async with fixture() as s:
        explained = await s.page("/explain?path=/two/x")
        assert (explained["namespace"], explained["path"]) == ("two", "/two/x")
        assert [each["http"] for each in explained["namenodes"]] == [s.two.http]
        assert "is mounted nowhere" in (await s.page("/explain?path=/three"))["error"]
        assert "lies above the mount points" in (await s.page("/explain?path=/"))["error"]
        purged = (await s.page("/purge?path=/two/x", "POST"))["purged"]
        assert [each["path"] for each in purged] == ["/two/x"]
        assert "no namespace is mounted" in (await s.page("/purge?path=/three", "POST"))["error"]
        assert len((await s.page("/purge?path=/&subtree=true", "POST"))["purged"]) == 2
        assert len((await s.page("/purge?filter=/w/*", "POST"))["purged"]) == 2
        assert "no filter" in (await s.page("/purge?filter=/none/*", "POST"))["error"]
        s.system.take(settings(s.one.http, glob=("/w/*", "/v/*")), frozenset({"glob"}), "one")  # type: ignore[arg-type] # a list's flag
        assert len((await s.page("/purge?filter=/v/*", "POST"))["purged"]) == 1
        assert (await s.page("/sample"))["paths"] == []
        assert (await s.page("/sample?filter=/v/*"))["paths"] == []
        assert "no filter" in (await s.page("/sample?filter=/none/*"))["error"]


async def test_the_status_page_shows_all_and_each() -> None:
    """The totals include requests that belong to no namespace."""
    async with fixture() as s:
        await s.ask(f"/one/x?{STATUS}")
        await s.ask(f"/three?{STATUS}")
        status = await s.page("/status")
        while not status["gate"]["history"]:  # sampled every LOOK_EVERY_S
            status = await s.page("/status")
    assert status["saved"]["since_start"]["requests"] == 2
    assert [(each["name"], each["mounts"], each["is_ready"]) for each in status["namespaces"]] == [
        ("one", ["/one"], True),
        ("two", ["/two"], True),
    ]
    assert [each["saved"]["since_start"]["requests"] for each in status["namespaces"]] == [1, 0]
    assert status["gate"]["state"].startswith("closed: one: ")
    assert {each["name"] for each in status["hottest"]["paths"]} >= {"/one/x"}
