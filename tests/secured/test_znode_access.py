"""Who reads and writes what the service has in ZooKeeper, tried past all of its code, on a secured cluster."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import NoAuthError
from kazoo.security import OPEN_ACL_UNSAFE

from nncache.testbed import Cluster, Kdc
from nncache.testbed.daemon import Publisher
from nncache.testbed.spec import REALM
from tests.cluster import make_directory, webhdfs
from tests.patience import HANG_S
from tests.secured.raw_zookeeper import ANONYMOUS, PASSWORD, all_paths, deeds, raw
from tests.secured.service import identity_flags, keytab_of, run, without, zookeeper_flags

ROOT: Final = "/protected"
NAMESERVICE: Final = "ns1"
TOP: Final = f"{ROOT}/{NAMESERVICE}"
FILTERS_PATH: Final = "/filters/protected"
SERVICE: Final = "nncache/localhost"
READ: Final = {"get", "list", "see the ACL"}


@dataclass(frozen=True, slots=True)
class Service:
    """A publisher that logs in at ZooKeeper, and two filters: `alices` for bob, `bobs` for nobody else."""

    cluster: Cluster
    kdc: Kdc

    @property
    def zookeeper(self) -> str:
        """Its address."""
        assert self.cluster.zookeeper is not None
        return self.cluster.zookeeper.address

    def filters(self, user: str, *words: str) -> None:
        """Change filters as this principal; fails where HDFS does not let them."""
        own = identity_flags(self.cluster, self.kdc, f"{user}@{REALM}", user.partition("/")[0])
        run("filters", *words, *without(own, "--namenode-rpc"), "--filters-path", FILTERS_PATH)

    def publisher(self, *flags: str) -> Publisher:
        """Return a publisher that is not started yet."""
        return Publisher(
            *identity_flags(self.cluster, self.kdc),
            *zookeeper_flags(self.cluster, ROOT),
            *("--filters-path", FILTERS_PATH, "--zookeeper-sasl", "kerberos", "--nameservice", NAMESERVICE),
            *flags,
        )

    @contextmanager
    def client(self, who: str) -> Iterator[KazooClient]:
        """Be a client of ZooKeeper's."""
        with raw(self.zookeeper, who, self.kdc) as client:
            yield client


@pytest.fixture
def service(secured_cluster: Cluster, kdc: Kdc) -> Service:
    """Lay it out, with an event in each filter's way."""
    made = Service(secured_cluster, kdc)
    keytab_of(kdc, SERVICE)
    make_directory(secured_cluster, "/p")
    for name, owner in (("alices", "alice"), ("bobs", "bob")):
        made.filters(SERVICE, "add", "--name", name, "--glob", f"/p/{name}/*", "--owner", owner)
    made.filters("alice", "allow", "alices", "bob")
    return made


def happen(service: Service, client: KazooClient) -> None:
    """Have an event in each filter, and wait until it is published."""
    for name in ("alices", "bobs"):
        stream = f"{TOP}/{name}"
        before = set(client.get_children(stream))
        webhdfs(service.cluster, "PUT", f"/p/{name}/{time.monotonic_ns()}", "MKDIRS")
        until(lambda stream=stream, before=before: set(client.get_children(stream)) != before)


def until(is_so: Callable[[], bool]) -> float:
    """Wait until it is; return the seconds that it took."""
    began_at = time.monotonic()
    while not is_so():
        assert time.monotonic() - began_at < HANG_S
        time.sleep(0.02)
    return time.monotonic() - began_at


def reads(client: KazooClient, path: str) -> bool:
    """Tell whether a client reads a znode."""
    try:
        client.get(path)
    except NoAuthError:
        return False
    return True


def test_strangers_read_and_write_nothing_and_subscribers_read_their_filter(service: Service) -> None:
    """Anonymous, a password of their own, and carol's ticket: nothing. bob: exactly his filters. The owner too."""
    with service.publisher() as publisher, service.client(SERVICE) as own:
        publisher.await_publishing()
        until(lambda: own.exists(f"{TOP}/bobs") is not None)
        happen(service, own)
        paths = all_paths(own, ROOT)
        assert len(paths) > len({f"{TOP}/.cache", f"{TOP}/alices", f"{TOP}/bobs"}) + 6
        for stranger in (ANONYMOUS, PASSWORD, "carol"):
            with service.client(stranger) as client:
                allowed = {path: sorted(k for k, v in deeds(client, path).items() if v) for path in paths}
            assert {path: done for path, done in allowed.items() if done} == {}, stranger
        for reader, names in (("bob", ("alices", "bobs")), ("alice", ("alices",))):
            theirs = {
                path
                for path in paths
                for name in names
                if f"{path}/".startswith((f"{TOP}/{name}/", f"{TOP}/.filters/{name}/"))
            }
            with service.client(reader) as client:
                allowed = {path: sorted(k for k, v in deeds(client, path).items() if v) for path in paths}
            assert {path: set(done) for path, done in allowed.items() if done} == dict.fromkeys(theirs, READ), reader
