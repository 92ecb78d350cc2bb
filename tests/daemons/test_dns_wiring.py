"""The parts of the DNS daemon together, on a ZooKeeper that a test may kill."""

import asyncio
import json
import socket
import uuid
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import replace

import aiohttp
import dns.asyncquery
import dns.message
import dns.rcode
import pytest
from prometheus_client.parser import text_string_to_metric_families

from nncache.clock import boottime
from nncache.coordination.errors import NotAllowedError
from nncache.daemons import dns_wiring
from nncache.daemons.dns_wiring import DnsFollowing, DnsState, DnsSystem, lines, run_dns
from nncache.errors import ConfigurationError, StartError
from nncache.metrics.table import METRICS
from nncache.registry.access import AccessPolicy
from nncache.registry.dns_zone import Zone
from nncache.registry.operations import Registry
from nncache.registry.record import EntryStatus, ServiceRecord
from nncache.registry.tree_watch import Change, Current, Present, Removed, WatchGap
from nncache.settings.commands import DNS, SettingsOfDns, load_settings
from nncache.testbed.zookeepers import ZooKeeperServer
from tests.coordination.simulations import connected
from tests.patience import HANG_S, until_so
from tests.processes import free_address
from tests.registry.samples import WEBHDFS

pytestmark = pytest.mark.usefixtures("collector")

SRV = "_webhdfs._tcp.hdfs.services.registry.example"


def settings(**flags: object) -> SettingsOfDns:
    """Return settings with a ZooKeeper address where nothing listens."""
    given: dict[str, object] = {
        "admin": "127.0.0.1:0",
        "dns_listen": "127.0.0.1:0",
        "domain": "registry.example",
        "zookeeper": (free_address(),),
    }
    return load_settings(DNS, None, given | flags)


@asynccontextmanager
async def running(chosen: SettingsOfDns) -> AsyncIterator[DnsSystem]:
    """Run a DNS daemon; at the end, stop it and wait for its orderly end."""
    stop = asyncio.Event()
    system = DnsSystem(chosen, boottime)
    async with asyncio.timeout(HANG_S), asyncio.TaskGroup() as group:
        group.create_task(system.serve(stop))
        await until_so(lambda: begun(system))
        try:
            yield system
        finally:
            stop.set()


async def begun(system: DnsSystem) -> bool:
    """Return whether it listens."""
    try:
        return bool(system.address.port)
    except AssertionError:
        return False


async def asked(system: DnsSystem, name: str = SRV) -> dns.message.Message:
    """Query it for SRV records."""
    query = dns.message.make_query(name, "SRV")
    return await dns.asyncquery.tcp(query, system.address.host, port=system.address.port)


async def page(system: DnsSystem, path: str) -> tuple[int, str]:
    """Return the status and body of a page."""
    async with aiohttp.ClientSession() as session, session.get(f"{system.admin_url}{path}") as reply:
        return reply.status, await reply.text()


async def test_without_zookeeper_it_answers_that_it_cannot() -> None:
    """It listens, answers SERVFAIL, is not ready, and gives the reason."""
    async with running(settings()) as system:
        assert (await asked(system)).rcode() == dns.rcode.SERVFAIL
        assert (await page(system, "health"))[0] == 200
        status, text = await page(system, "ready")
        ready = json.loads(text)
        assert (status, ready["ready"], ready["reason"]) == (503, False, "no-zookeeper")
        assert "SERVFAIL" in (await page(system, ""))[1]


async def test_the_metrics_are_those_of_this_daemon() -> None:
    """/metrics has exactly this daemon's rows, in a form that Prometheus parses."""
    async with running(settings()) as system:
        await asked(system)
        _, text = await page(system, "metrics")
    families = {family.name: family for family in text_string_to_metric_families(text)}
    for metric in METRICS:
        assert (metric.name.removesuffix("_total") in families) == ("dns" in metric.daemons), metric.name
    counts = {each.labels["rcode"]: each.value for each in families["nncache_dns_responses"].samples}
    assert (counts["SERVFAIL"], counts["NOERROR"]) == (1, 0)


async def test_what_was_known_is_answered_while_zookeeper_is_away(zookeeper_server: ZooKeeperServer) -> None:
    """The daemon stays ready but not current. It follows the registry again when ZooKeeper is back."""
    root = f"/registry-{uuid.uuid4().hex[:12]}"
    chosen = settings(zookeeper=(zookeeper_server.address,), registry_root=root)

    async def is_found(system: DnsSystem) -> bool:
        return bool((await asked(system)).answer)

    async def is_current(system: DnsSystem) -> bool:
        return json.loads((await page(system, "ready"))[1])["is_current"] is True

    async with running(chosen) as system:
        async with connected(zookeeper_server.address) as session:
            registry = Registry(session, root, AccessPolicy())
            await registry.make_root()
            await registry.bind("/services/hdfs", WEBHDFS)
            await until_so(lambda: is_found(system))
            await until_so(lambda: is_current(system))
        zookeeper_server.process.kill()
        try:
            await until_so(lambda: differs(is_current(system)))
            assert await is_found(system)
            assert (await page(system, "ready"))[0] == 200
        finally:
            zookeeper_server.process.start()
        async with connected(zookeeper_server.address) as session:
            await Registry(session, root, AccessPolicy()).delete("/services/hdfs")
            await until_so(lambda: differs(is_found(system)))
        await until_so(lambda: is_current(system))


async def differs(is_so: Awaitable[bool]) -> bool:
    """Return whether this is false."""
    return not await is_so


@pytest.mark.parametrize("key", ["admin", "dns_listen"])
async def test_an_address_in_use_ends_the_start(key: str) -> None:
    """The error is one line that names the setting."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(StartError, match=f"^{key}: {address}: "):
            await DnsSystem(settings(**{key: address}), boottime).serve(asyncio.Event())


def test_a_login_that_cannot_be_made_ends_the_start() -> None:
    """The error comes before any socket is opened."""
    with pytest.raises(ConfigurationError, match="principal"):
        run_dns(settings(zookeeper_sasl="kerberos"), settings)


def test_the_level_of_the_log_may_change(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every other setting needs a restart."""
    levels = []
    monkeypatch.setattr(dns_wiring, "set_log_level", lambda log: levels.append(log.log_level))
    system = DnsSystem(settings(), boottime)
    system.take(settings(log_level="debug"), frozenset({"log_level"}))
    system.take(settings(log_level="error"), frozenset())
    assert levels == ["debug"]


async def test_a_registry_that_refuses_to_be_read_is_tried_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Each attempt is logged, and queries are still answered."""

    class Refused:
        def __init__(self, *_: object) -> None:
            pass

        async def changes(self) -> AsyncIterator[Change]:
            yield WatchGap("made up")
            raise NotAllowedError("/registry")

    monkeypatch.setattr(dns_wiring, "TreeWatch", Refused)
    monkeypatch.setattr(dns_wiring, "REFUSED_S", 0.01)
    async with running(settings()) as system:
        async with asyncio.timeout(HANG_S):
            while caplog.text.count("the registry is not read") < 2:  # noqa: ASYNC110 - the daemon makes it so
                await asyncio.sleep(0.01)  # polled until the deadline
        assert (await asked(system)).rcode() == dns.rcode.SERVFAIL


def present(name: str, record: ServiceRecord | None = WEBHDFS) -> Present:
    """Return the event of a present entry."""
    path = f"/services/{name}"
    return Present(EntryStatus(path=path, time_ms=0, size_bytes=0, children=0, version=0), record)


async def reported(following: DnsFollowing, zone: Zone, *changes: Change) -> list[tuple[int, bool, bool]]:
    """Follow these changes; after each, return the number of entries, and whether the zone is loaded and current."""
    seen: list[tuple[int, bool, bool]] = []

    async def each() -> AsyncIterator[Change]:
        for change in changes:
            yield change
            seen.append((zone.entries, zone.is_loaded, following.is_current))

    await following.follow(each())
    zone.check()
    return seen


@pytest.fixture
def zone() -> Zone:
    """Return an empty zone."""
    return Zone(18)


async def test_the_zone_is_loaded_when_everything_was_read(zone: Zone) -> None:
    """Earlier, it would answer NXDOMAIN for names that it has not read yet."""
    following = DnsFollowing(zone)
    assert await reported(
        following,
        zone,
        present("a"),
        present("b", None),
        Current(),
        Removed("/services/a"),
        present("c"),
        present("c", None),
    ) == [
        (1, False, False),
        (1, False, False),
        (1, True, True),
        (0, True, True),
        (1, True, True),
        (0, True, True),
    ]


async def test_what_was_known_stays_through_a_gap(zone: Zone) -> None:
    """The zone is not current until everything was read again."""
    following = DnsFollowing(zone)
    assert await reported(
        following, zone, present("a"), Current(), WatchGap("lost"), Removed("/services/a"), Current()
    ) == [
        (1, False, False),
        (1, True, True),
        (1, True, False),
        (0, True, False),
        (0, True, True),
    ]
    assert not following.is_current  # the watch has ended


async def test_another_watch_tells_what_is_gone(zone: Zone) -> None:
    """Entries that it has not named by the time of Current are removed; until then, all stay."""
    following = DnsFollowing(zone)
    await reported(following, zone, present("a"), present("b"), Current())
    assert await reported(following, zone, present("b"), present("c"), Removed("/services/c"), Current()) == [
        (2, True, False),
        (3, True, False),
        (2, True, False),
        (1, True, True),
    ]


async def test_a_large_registry_does_not_hold_up_answers(zone: Zone) -> None:
    """Other tasks run between batches of changes."""
    iterations = 0

    async def count() -> None:
        nonlocal iterations
        while True:
            iterations += 1
            await asyncio.sleep(0)

    async with asyncio.TaskGroup() as tasks:
        counting = tasks.create_task(count())
        await reported(DnsFollowing(zone), zone, *(present(f"s{number}") for number in range(320)), Current())
        counting.cancel()
    assert iterations >= 20


async def test_a_registry_that_is_not_there_is_noticed(zone: Zone) -> None:
    """Everything was read, and the root was not among it."""
    following = DnsFollowing(zone)
    found = []
    root = Present(EntryStatus(path="/", time_ms=0, size_bytes=0, children=0, version=0), None)
    steps: tuple[tuple[Present | Removed, ...], ...] = ((), (root,), (root, Removed("/")))
    for news in steps:
        await reported(following, zone, *news, Current())
        found.append(following.has_root)
    assert found == [False, True, False]


NEW = DnsState(is_loaded=False, is_current=False, is_zookeeper_connected=False)
CONNECTED = DnsState(is_loaded=False, is_current=False, is_zookeeper_connected=True)
WELL = DnsState(is_loaded=True, is_current=True, is_zookeeper_connected=True)
AWAY = DnsState(is_loaded=True, is_current=False, is_zookeeper_connected=False)


def test_an_outage_of_zookeeper_is_a_state_of_its_own() -> None:
    """The daemon stays ready and reports a reason."""
    assert [each.is_ready for each in (NEW, CONNECTED, WELL, AWAY)] == [False, False, True, True]
    assert [each.reason for each in (NEW, CONNECTED, WELL, AWAY)] == [
        "no-zookeeper",
        "not-loaded",
        "",
        "no-zookeeper",
    ]


def test_each_state_is_logged_once() -> None:
    """A line about a fault says what to do."""
    ((news),) = lines(None, NEW)
    assert news.is_bad
    assert "SERVFAIL; see that the servers of zookeeper run" in news.text
    assert lines(NEW, CONNECTED) == ()
    ((news),) = lines(CONNECTED, WELL)
    assert not news.is_bad
    ((news),) = lines(WELL, AWAY)
    assert news.is_bad
    assert "last known" in news.text


def test_a_registry_that_is_not_there_is_named() -> None:
    """The line names the setting to correct."""
    missing = replace(WELL, missing_root="/nope")
    ((news),) = lines(None, missing)
    assert news.is_bad
    assert news.text.startswith(
        "there is no registry at /nope in ZooKeeper: no name is found; correct registry_root"
    )
    assert lines(missing, missing) == ()
    ((news),) = lines(missing, WELL)
    assert not news.is_bad
