"""The list of registered proxies, on the cluster's ZooKeeper."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, cast

import pytest

import nncache
from nncache.client import connecting
from nncache.client.registering import BlockingRegistry
from nncache.coordination.acl import ALL, OPEN_ACL, Acl, ZnodeAclEntry, ZnodePerms
from nncache.coordination.errors import ConnectionLostError, CoordinationError, NotAllowedError
from nncache.coordination.watches import Watcher
from nncache.coordination.zookeeper import Znode
from nncache.errors import ConfigurationError
from nncache.registry.access import AccessPolicy
from nncache.registry.daemon_record import PLACE, PROXY, PUBLISHER, RegisteredDaemon
from nncache.registry.errors import PathNotFoundError, RegistryIOError
from nncache.registry.operations import Registry
from nncache.registry.record_json import encode_record
from nncache.registry.tree_watch import Current, Present, Removed, TreeWatch, WatchedTree
from tests.coordination.simulations import connected
from tests.patience import HANG_S, until
from tests.registry.flat_session import FlatSession
from tests.registry.samples import WEBHDFS


def daemon(host: str, kind: str = PROXY) -> RegisteredDaemon:
    """Return a daemon of nncache."""
    urls = (f"http://{host}:1/webhdfs/v1",) if kind == PROXY else ()
    return RegisteredDaemon(kind=kind, host=host, port=1, webhdfs=urls, admin=f"http://{host}:2/")


@pytest.fixture
def registry(place: dict[str, str]) -> Iterator[BlockingRegistry]:
    """Yield a registry with a proxy and a publisher."""
    with nncache.open_registry(**place) as made:
        made.mknode(PLACE, create_parents=True)
        for each in (daemon("a"), daemon("p", PUBLISHER)):
            made.bind(each.path, each.record)
        yield made


def test_proxies_come_and_go(place: dict[str, str], registry: BlockingRegistry) -> None:
    """The list follows their registration. A publisher is not included."""
    with nncache.connect(**place) as proxies:
        assert proxies.urls == ("http://a:1/webhdfs/v1",)
        assert proxies.url() == "http://a:1/webhdfs/v1"
        registry.bind(daemon("b").path, daemon("b").record)
        until(lambda: len(proxies.urls) == 2, lambda: proxies.urls)
        registry.delete(daemon("a").path)
        until(lambda: proxies.urls == ("http://b:1/webhdfs/v1",), lambda: proxies.urls)
        registry.delete(daemon("b").path)
        until(lambda: not proxies.urls, lambda: proxies.urls)
        with pytest.raises(nncache.NoProxyError, match="--registry"):
            proxies.url()


def test_one_that_has_failed_is_passed_over(
    place: dict[str, str], registry: BlockingRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is skipped for a time while there are others."""
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
    """The block fails, rather than yield an empty list."""

    async def set_acl(acl: Acl, version: int) -> None:
        async with connected(place["zookeeper"]) as session:
            await session.set_acl(place["registry_root"] + PLACE, acl, version)

    asyncio.run(set_acl((ZnodeAclEntry("world", "anyone", ALL & ~ZnodePerms.READ),), 0))
    with pytest.raises(RegistryIOError, match="cannot be followed"), nncache.connect(**place):
        pass
    asyncio.run(set_acl(OPEN_ACL, 1))


def record_of(path: str) -> bytes:
    """Return the data of a proxy's znode; other entries have none."""
    name = path.rpartition("/")[2]
    return encode_record(daemon(name).record) if path.startswith(f"/r{PLACE}/") else b""


class Refusing(FlatSession):
    """A session whose reads raise its fault, if it has one."""

    fault: CoordinationError | None = None

    async def read(self, path: str, watcher: Watcher | None) -> Znode:
        """Return a znode, or raise the fault."""
        if self.fault is not None:
            raise self.fault
        return replace(await super().read(path, watcher), data=record_of(path))


class Lent:
    """An open registry over a test's own session, which the test changes on the event loop."""

    root = "/r"

    def __init__(self, session: FlatSession) -> None:
        self._registry = Registry(cast("Any", session), self.root, AccessPolicy())
        self._loop: asyncio.AbstractEventLoop

    async def __aenter__(self) -> Registry:
        self._loop = asyncio.get_running_loop()
        return self._registry

    async def __aexit__(self, *_: object) -> None:
        """Close nothing."""

    def do(self, work: Callable[..., None], *arguments: object) -> None:
        """Run the function on the event loop; wait until it returns."""

        async def done() -> None:
            work(*arguments)

        asyncio.run_coroutine_threadsafe(done(), self._loop).result(HANG_S)


@pytest.mark.parametrize("fault", [NotAllowedError("/r"), CoordinationError("another failure")])
def test_what_is_refused_for_a_time_is_followed_again(
    fault: CoordinationError, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Until then the list stays, with a warning. Then missed removals are applied, and watches are not duplicated."""
    made: list[TreeWatch] = []

    def watch(session: WatchedTree, root: str, path: str) -> TreeWatch:
        made.append(TreeWatch(session, root, path))
        return made[-1]

    monkeypatch.setattr(connecting, "TreeWatch", watch)
    monkeypatch.setattr(connecting, "AGAIN_S", 0.01)
    above = ["/r" + "/".join(PLACE.split("/")[:end]) for end in range(2, PLACE.count("/") + 2)]
    session = Refusing(*above, f"/r{PLACE}/a", f"/r{PLACE}/b")
    lent, both = Lent(session), ("http://a:1/webhdfs/v1", "http://b:1/webhdfs/v1")

    def warnings() -> list[str]:
        return [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]

    with connecting.Proxies(cast("Any", lent)) as proxies:
        assert proxies.urls == both
        session.fault = fault
        lent.do(session.remove, f"/r{PLACE}/a")
        until(lambda: len(warnings()) > 1, warnings)
        assert warnings()[0].startswith(f"the registered proxies cannot be followed: {fault}; ")
        assert proxies.urls == both
        session.fault = None
        until(lambda: proxies.urls == both[1:], lambda: proxies.urls)
        lent.do(session.make, f"/r{PLACE}/c")
        until(lambda: "http://c:1/webhdfs/v1" in proxies.urls, lambda: proxies.urls)
        assert session.watchers == 6  # two for each entry and for their parent
    assert len(made) == 1


class Silent(FlatSession):
    """A session that lost its connection immediately."""

    is_connected = False

    async def read(self, path: str, watcher: Watcher | None) -> Znode:
        """Raise ConnectionLostError."""
        raise ConnectionLostError(path)

    async def wait_connected(self, timeout_s: float | None) -> None:
        """Wait forever."""
        await asyncio.Event().wait()


def test_a_zookeeper_that_falls_silent_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Entering the block does not wait forever."""
    monkeypatch.setattr(connecting, "SILENT_S", 0.05)
    entered: list[Exception] = []

    def enter() -> None:
        try:
            connecting.Proxies(cast("Any", Lent(Silent()))).__enter__()
        except RegistryIOError as error:
            entered.append(error)

    entering = threading.Thread(target=enter, daemon=True)
    entering.start()
    entering.join(5)
    assert [str(each) for each in entered] == [f"{PLACE}: ZooKeeper does not answer"]


def test_the_operations_block(place: dict[str, str]) -> None:
    """Each returns the same as the asynchronous operation."""
    with nncache.open_registry(**place) as registry:
        assert registry.mknode("/services", create_parents=True)
        registry.bind("/services/hdfs", WEBHDFS)
        assert registry.resolve("/services/hdfs") == WEBHDFS
        assert registry.read("/services/hdfs").status == registry.stat("/services/hdfs")
        other = registry.update("/services/hdfs", lambda record: replace(record, description="x"))
        assert [entry.record for entry in registry.find("api=org.apache.hadoop.webhdfs")] == [other]
        assert registry.list("/services") == ("hdfs",)
        assert not registry.add_write_accessor("a", "b")
        registry.clear_write_accessors()
        changes = registry.changes("/services")
        reported = [next(changes) for _ in range(3)]
        assert isinstance(reported[1], Present)
        assert reported[2] == Current()
        assert registry.delete("/services/hdfs")
        assert next(changes) == Removed("/services/hdfs")
        assert not registry.exists("/services/hdfs")
        with pytest.raises(PathNotFoundError):
            registry.resolve("/services/hdfs")
        with pytest.raises(ValueError, match="FIELD=VALUE"):
            registry.find("x")


async def test_the_same_without_blocking(place: dict[str, str]) -> None:
    """`async with` yields the asynchronous operations."""
    async with nncache.open_registry(**place) as registry:
        await registry.make_root()
        await registry.bind("/services/hdfs", WEBHDFS)
        assert await registry.resolve("/services/hdfs") == WEBHDFS


def test_a_zookeeper_that_is_not_there_is_an_error() -> None:
    """Entering the block fails after the session timeout."""
    registry = nncache.open_registry(zookeeper="127.0.0.1:1", zookeeper_session_timeout_s=0.5)
    with pytest.raises(RegistryIOError, match="does not answer"), registry:
        pass


def test_a_wrong_setting_is_named() -> None:
    """The error comes before any server is contacted."""
    with pytest.raises(ConfigurationError, match="zookeeper"):
        nncache.open_registry()
    with pytest.raises(ConfigurationError, match="nothing_of_ours"):
        nncache.open_registry(zookeeper="127.0.0.1:1", nothing_of_ours=1)
    with pytest.raises(ConfigurationError, match="principal"):
        nncache.open_registry(zookeeper="127.0.0.1:1", zookeeper_sasl="kerberos").__enter__()
