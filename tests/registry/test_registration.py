"""A daemon's own entry, on a ZooKeeper that the test may stop."""

import asyncio
import logging
import threading
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import pytest

from nncache.clock import boottime
from nncache.coordination.settings import ZooKeeperSettings
from nncache.coordination.zookeeper import CreateOp
from nncache.registry import registration
from nncache.registry.access import AccessPolicy
from nncache.registry.daemon_record import PLACE, PROXY, RegisteredDaemon
from nncache.registry.errors import NoRecordError, RegistryError
from nncache.registry.operations import Registry
from nncache.registry.record import ServiceRecord
from nncache.registry.registration import (
    NO_REGISTRATION,
    Registration,
    RegistrationStats,
    url_of,
)
from nncache.registry.settings import RegistrySettings
from nncache.testbed.zookeepers import ZooKeeperServer
from tests.coordination.simulations import connected
from tests.patience import HANG_S, until_so
from tests.processes import free_address

DAEMON = RegisteredDaemon(
    kind=PROXY, host="h", port=1, webhdfs=("http://h:1/webhdfs/v1",), admin="http://h:2/"
)


@dataclass
class Fixture:
    """A registration that runs, and another client of the registry."""

    registration: Registration
    registry: Registry

    async def until(self, record: ServiceRecord | None) -> None:
        """Wait until this record is bound; None: no record."""
        async with asyncio.timeout(HANG_S):
            while True:
                if await self._bound() == record:
                    return
                await asyncio.sleep(0.02)  # repeated until the deadline

    async def until_registered(self) -> None:
        """Wait until the daemon is registered."""
        await until_so(lambda: self.registration.stats().is_registered)

    async def _bound(self) -> ServiceRecord | None:
        try:
            return await self.registry.resolve(DAEMON.path)
        except RegistryError:
            return None


@asynccontextmanager
async def fixture(
    address: str, root: str | None = None, daemon: Callable[[], RegisteredDaemon] = lambda: DAEMON
) -> AsyncIterator[Fixture]:
    """Run a registration, in a registry of its own unless a root is given."""
    root = root or f"/registry-{uuid.uuid4().hex[:12]}"
    settings = ZooKeeperSettings(zookeeper=(address,))
    made = Registration(settings, RegistrySettings(registry_root=root), boottime, None, daemon)
    async with connected(address) as session, asyncio.TaskGroup() as tasks:
        running = tasks.create_task(made.run())
        try:
            yield Fixture(made, Registry(session, root, AccessPolicy()))
        finally:
            running.cancel()


@pytest.fixture
async def registered(
    zookeeper_server: ZooKeeperServer, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Fixture]:
    """Yield a registration that is complete, and checks often."""
    monkeypatch.setattr(registration, "AGAIN_S", 0.05)
    monkeypatch.setattr(registration, "LOOK_S", 0.05)
    async with fixture(zookeeper_server.address) as made:
        await made.until(DAEMON.record)
        yield made


async def test_a_clean_stop_removes_the_entry(registered: Fixture) -> None:
    """No entry is created afterwards, and the metrics show that."""
    assert registered.registration.registry() is not None
    await registered.until_registered()
    wanted = RegistrationStats(is_wanted=True, is_registered=True, is_connected=True)
    assert registered.registration.stats() == wanted
    await registered.registration.withdraw()
    assert registered.registration.stats() == RegistrationStats(is_connected=True)
    await registered.until(None)
    for _ in range(10):  # it checks in between
        await asyncio.sleep(registration.LOOK_S)
        await registered.until(None)
    assert not registered.registration.stats().is_registered


async def test_what_is_there_of_an_earlier_run_is_replaced(registered: Fixture) -> None:
    """Any previous content is replaced."""
    await registered.registry.bind(DAEMON.path, ServiceRecord(description="of before"), overwrite=True)
    await registered.until(DAEMON.record)
    await registered.registry.delete(DAEMON.path)
    await registered.registry.zookeeper.commit([CreateOp(registered.registry.znode(DAEMON.path), b"")])
    with pytest.raises(NoRecordError):
        await registered.registry.resolve("/services")
    await registered.until(DAEMON.record)


async def test_another_daemon_of_the_same_name_is_named(
    registered: Fixture, caplog: pytest.LogCaptureFixture
) -> None:
    """Each of its records is logged once: the two overwrite each other's entry."""
    other = replace(DAEMON, admin="http://h:3/").record
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            await registered.registry.bind(DAEMON.path, other, overwrite=True)
            await registered.until(DAEMON.record)
    lines = [record.getMessage() for record in caplog.records if "replaced" in record.getMessage()]
    (line,) = lines
    assert line.startswith(
        f"{DAEMON.path} was replaced by another daemon (nncache proxy at h:1, at h:1, h:3, h:3)"
    )


async def test_what_another_daemon_has_bound_since_then_stays(
    zookeeper_server: ZooKeeperServer, caplog: pytest.LogCaptureFixture
) -> None:
    """The next daemon has the same name and record, and started before this one ends."""
    async with fixture(zookeeper_server.address) as before:
        await before.until_registered()
        async with fixture(zookeeper_server.address, before.registration.root) as after:
            await after.until_registered()
            await before.registration.withdraw()
            assert await after.registry.resolve(DAEMON.path) == DAEMON.record
            assert "left /services/nncache/components/proxy-h-1 in the service registry" in caplog.text
            await after.registration.withdraw()
            await after.until(None)


async def test_a_name_server_that_fails_leaves_no_second_entry(
    zookeeper_server: ZooKeeperServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While it fails, this machine's name has no domain. The whole name replaces that, and then stays."""
    monkeypatch.setattr(registration, "LOOK_S", 0.05)
    whole = replace(DAEMON, host="h.example")
    hosts = iter([DAEMON, whole])
    async with fixture(zookeeper_server.address, daemon=lambda: next(hosts, DAEMON)) as made:
        await made.until(DAEMON.record)
        await made.until(None)
        for _ in range(10):  # it checks in between
            await asyncio.sleep(registration.LOOK_S)
        assert await made.registry.list(PLACE) == ("proxy-h-example-1",)
        assert await made.registry.resolve(whole.path) == whole.record
        await made.registration.withdraw()
        assert await made.registry.list(PLACE) == ()


async def test_a_registry_that_was_wiped_gets_the_entry_again(registered: Fixture) -> None:
    """The entry is checked periodically."""
    await registered.registry.delete("/services", recursive=True)
    await registered.until(DAEMON.record)


async def test_a_zookeeper_that_is_away_costs_a_line_in_the_log(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stop waits for it only until its deadline."""
    monkeypatch.setattr(registration, "WITHDRAW_S", 0.1)
    settings = ZooKeeperSettings(zookeeper=(free_address(),), zookeeper_session_timeout_s=0.2)
    away = Registration(settings, RegistrySettings(), boottime, None, lambda: DAEMON)
    await away.withdraw()  # before it runs there is nothing to withdraw
    with caplog.at_level(logging.WARNING):
        async with asyncio.timeout(HANG_S), asyncio.TaskGroup() as tasks:
            running = tasks.create_task(away.run())
            while True:
                if "not registered as /services/nncache/components/proxy-h-1" in caplog.text:
                    break
                await asyncio.sleep(0.01)  # repeated until the deadline
            await away.withdraw()
            running.cancel()
    assert replace(away.stats(), failures=0) == NO_REGISTRATION
    assert away.stats().failures >= 1
    assert "left /services/nncache/components/proxy-h-1 in the service registry" in caplog.text
    assert away.registry() is None


async def test_a_name_server_that_hangs_does_not_keep_the_process() -> None:
    """At its end Python waits for all threads except daemon threads."""
    asked = list[bool]()

    def daemon() -> RegisteredDaemon:
        asked.append(threading.current_thread().daemon)
        return DAEMON

    settings = ZooKeeperSettings(zookeeper=(free_address(),), zookeeper_session_timeout_s=0.2)
    registering = Registration(settings, RegistrySettings(), boottime, None, daemon)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(registering.run())
        await until_so(lambda: bool(asked))
        running.cancel()
    assert asked == [True]


def test_an_ipv6_address_has_brackets_in_a_url() -> None:
    """RFC 3986, section 3.2.2 requires them."""
    assert url_of("http", "::1", 80) == "http://[::1]:80/"
    assert url_of("https", "h", 443, "/webhdfs/v1") == "https://h:443/webhdfs/v1"
