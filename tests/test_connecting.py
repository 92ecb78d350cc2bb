"""Proxies by name, on the cluster's ZooKeeper."""

import asyncio
import time
from collections.abc import Callable, Iterator

import pytest

import nncache
from nncache import connecting
from nncache.connecting import Proxies
from nncache.coordination.acl import ALL, OPEN, Acl, AclEntry, Right
from nncache.registering import BlockingRegistry
from nncache.registry.daemon_record import PLACE, PROXY, PUBLISHER, RegisteredDaemon
from nncache.registry.errors import RegistryIOError
from nncache.testbed import Cluster
from tests.coordination.simulations import connected
from tests.patience import HANG_S
from tests.registry.samples import place_of_its_own


def daemon(host: str, kind: str = PROXY) -> RegisteredDaemon:
    """Return one of our daemons."""
    urls = (f"http://{host}:1/webhdfs/v1",) if kind == PROXY else ()
    return RegisteredDaemon(kind=kind, host=host, port=1, webhdfs=urls, admin=f"http://{host}:2/")


@pytest.fixture
def place(cluster: Cluster) -> Iterator[dict[str, str]]:
    """Yield the settings of a registry of its own."""
    with place_of_its_own(cluster) as settings:
        yield settings


@pytest.fixture
def registry(place: dict[str, str]) -> Iterator[BlockingRegistry]:
    """Yield a registry with a proxy and a publisher."""
    with nncache.open_registry(**place) as made:
        made.mknode(PLACE, create_parents=True)
        for each in (daemon("a"), daemon("p", PUBLISHER)):
            made.bind(each.path, each.record)
        yield made


def until(proxies: Proxies, is_so: Callable[[tuple[str, ...]], bool]) -> None:
    """Wait until this is so of their URLs."""
    deadline = time.monotonic() + HANG_S
    while not is_so(proxies.urls):
        assert time.monotonic() < deadline, proxies.urls
        time.sleep(0.01)


def test_proxies_come_and_go(place: dict[str, str], registry: BlockingRegistry) -> None:
    """As they register; a publisher is none."""
    with nncache.connect(**place) as proxies:
        assert proxies.urls == ("http://a:1/webhdfs/v1",)
        assert proxies.url() == "http://a:1/webhdfs/v1"
        registry.bind(daemon("b").path, daemon("b").record)
        until(proxies, lambda urls: len(urls) == 2)
        registry.delete(daemon("a").path)
        until(proxies, lambda urls: urls == ("http://b:1/webhdfs/v1",))
        registry.delete(daemon("b").path)
        until(proxies, lambda urls: not urls)
        with pytest.raises(nncache.NoProxyError, match="--registry"):
            proxies.url()


def test_one_that_has_failed_is_passed_over(
    place: dict[str, str], registry: BlockingRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While there are others, and for a time."""
    now = 1000.0
    monkeypatch.setattr(connecting, "boottime", lambda: now)
    registry.bind(daemon("b").path, daemon("b").record)
    with nncache.connect(**place) as proxies:
        a, b = sorted(proxies.urls)
        assert {proxies.url() for _ in range(100)} == {a, b}
        proxies.failed(a)
        assert {proxies.url() for _ in range(100)} == {b}
        proxies.failed(b)
        assert {proxies.url() for _ in range(100)} == {a, b}
        now += connecting.FAILED_S
        assert {proxies.url() for _ in range(100)} == {a, b}


def test_a_place_that_may_not_be_read_is_an_error(place: dict[str, str], registry: BlockingRegistry) -> None:
    """Rather than no proxies."""

    async def set_acl(acl: Acl, version: int) -> None:
        async with connected(place["zookeeper"]) as session:
            await session.set_acl(place["registry_root"] + PLACE, acl, version)

    asyncio.run(set_acl((AclEntry("world", "anyone", ALL & ~Right.READ),), 0))
    with pytest.raises(RegistryIOError, match="cannot be followed"), nncache.connect(**place):
        pass
    asyncio.run(set_acl(OPEN, 1))
