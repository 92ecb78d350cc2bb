"""The auditor on a real NameNode: it ignores direct changes, and finds a cache that misses them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import aiohttp
import pytest
from click.testing import CliRunner, Result
from prometheus_client.parser import text_string_to_metric_families

from nncache.auditing import auditor
from nncache.cache.metadata_cache import MetadataCache
from nncache.clock import boottime
from nncache.commands.audit import audit
from nncache.daemons.proxy_wiring import ProxySystem
from nncache.settings.commands import PROXY, load_settings
from nncache.settings.federation import Federation
from nncache.testbed import Cluster
from tests.patience import HANG_S
from tests.processes import free_address

CHANGES = 40


pytestmark = pytest.mark.usefixtures("collector")


@dataclass
class Fixture:
    """A proxy that audits each hit, and its NameNode."""

    session: aiohttp.ClientSession
    namenode: str
    proxy: str
    admin: str
    path: str
    user: str

    async def read(self) -> str:
        """Read through the proxy; return its `Cache-Status`."""
        url = f"http://{self.proxy}/webhdfs/v1{self.path}?op=GETFILESTATUS&user.name={self.user}"
        async with self.session.get(url) as reply:
            assert reply.status == 200
            return reply.headers["Cache-Status"]

    async def change(self, permission: int) -> None:
        """Change the path directly at the NameNode."""
        call = f"op=SETPERMISSION&permission={permission}&user.name={self.user}"
        async with self.session.put(f"http://{self.namenode}/webhdfs/v1{self.path}?{call}") as reply:
            assert reply.status == 200

    async def hit(self) -> None:
        """Read until the answer comes from memory."""
        while await self.read() != "nncache; hit":  # noqa: ASYNC110 - the cache sends no signal
            await asyncio.sleep(0.01)

    async def outcomes(self) -> dict[str, float]:
        """Return the nonzero counts of the auditor's outcomes."""
        async with self.session.get(f"http://{self.admin}/metrics") as reply:
            page = await reply.text()
        return {
            sample.labels["outcome"]: sample.value
            for family in text_string_to_metric_families(page)
            for sample in family.samples
            if sample.name == "nncache_audit_total" and sample.value
        }


@asynccontextmanager
async def fixture(cluster: Cluster, directory: str) -> AsyncIterator[Fixture]:
    """Run the proxy in this process and make the path."""
    namenode, listen, admin, user = cluster.namenodes[0], free_address(), free_address(), cluster.superuser
    flags: dict[str, object] = {
        "listen": listen,
        "admin": admin,
        "user": user,
        "glob": (f"{directory}/*",),
        "audit_share": "1",
    }
    of_namenode: dict[str, object] = {"namenode_http": (namenode.http,), "namenode_rpc": (namenode.rpc,)}
    system = ProxySystem(Federation.of_one(load_settings(PROXY, None, flags | of_namenode)), boottime)
    stop, path = asyncio.Event(), f"{directory}/d"
    async with asyncio.timeout(HANG_S), aiohttp.ClientSession() as session, asyncio.TaskGroup() as group:
        group.create_task(system.serve(stop))
        try:
            made = f"http://{namenode.http}/webhdfs/v1{path}?op=MKDIRS&user.name={user}"
            async with session.put(made) as reply:
                assert reply.status == 200
            s = Fixture(session, namenode.http, listen, admin, path, user)
            while True:
                try:
                    await s.hit()
                except aiohttp.ClientConnectionError:
                    await asyncio.sleep(0.05)  # not listening yet; polled until the test's timeout
                else:
                    break
            yield s
        finally:
            stop.set()


@pytest.mark.timeout(120)
async def test_changes_are_no_fault(
    cluster: Cluster, hdfs_directory: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bounded: a hit just before a change and the NameNode's answer just after it may differ."""
    monkeypatch.setattr(auditor, "PER_CALL", 1.0)
    async with fixture(cluster, hdfs_directory) as s:
        for number in range(CHANGES):
            await s.hit()
            async with asyncio.TaskGroup() as at_once:
                at_once.create_task(s.change(700 + number % 8))
                for _ in range(4):
                    at_once.create_task(s.read())
        while sum((found := await s.outcomes()).values()) < CHANGES / 2:
            await s.hit()
    assert set(found) <= {"same", "changed"}


@pytest.mark.timeout(120)
async def test_a_cache_that_misses_a_change_is_found(
    cluster: Cluster, hdfs_directory: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bounded, broken on purpose: the cache applies no change."""
    monkeypatch.setattr(auditor, "PER_CALL", 1.0)
    monkeypatch.setattr(MetadataCache, "apply", lambda *_, **__: None)
    async with fixture(cluster, hdfs_directory) as s:
        await s.change(701)
        while "beyond" not in await s.outcomes():
            await s.hit()
            async with s.session.get(
                f"http://{s.proxy}/webhdfs/v1/?op=LISTSTATUS&user.name={s.user}"
            ) as reply:
                assert reply.status == 200, "a call more, for a question more"


async def audited(s: Fixture, *words: str, seconds: float = 1.0) -> Result:
    """Run `nncache audit` against the proxy."""
    flags = ("--admin", s.admin, "--user", s.user, "--rate", "100", "--seconds", str(seconds))
    return await asyncio.to_thread(CliRunner().invoke, audit, [*words, *flags])


@pytest.mark.timeout(120)
async def test_from_outside_changes_are_no_fault(cluster: Cluster, hdfs_directory: str) -> None:
    """Bounded, checked by `nncache audit` while the path changes continuously."""

    async def change_on() -> None:
        number = 0
        while True:
            number += 1
            await s.change(700 + number % 8)
            await s.hit()

    async with fixture(cluster, hdfs_directory) as s, asyncio.TaskGroup() as beside:
        changing = beside.create_task(change_on())
        result = await audited(s, s.path)
        changing.cancel()
    assert "answers from memory compared, none beyond the bound" in result.output
    assert result.exit_code == 0


@pytest.mark.timeout(120)
async def test_from_outside_a_cache_that_misses_a_change_is_found(
    cluster: Cluster, hdfs_directory: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bounded, broken on purpose: the cache applies no change, and `nncache audit` names the path."""
    async with fixture(cluster, hdfs_directory) as s:
        monkeypatch.setattr(MetadataCache, "apply", lambda *_, **__: None)
        await s.change(701)
        result = await audited(s, "--filter", f"{hdfs_directory}/*", seconds=0.1)
    assert f"wrong answer from memory: {s.path}" in result.output
    assert result.exit_code == 1
