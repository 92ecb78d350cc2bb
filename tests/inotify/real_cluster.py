"""An inotify service of which every part can be broken separately.

Each publisher reaches ZooKeeper and the NameNode through its own relays. The proxy reaches ZooKeeper, and subscribers
over HTTP reach the proxy, through relays too. The other subscribers and the observer connect directly.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Final, Self, TypeAlias

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException, NoNodeError
from kazoo.protocol.states import ZnodeStat

from nncache.hadoop.namenodes.webhdfs import WebHdfs
from nncache.invalidation.channel.znodes import ZnodePaths
from nncache.invalidation.publisher.identity import parse_identity
from nncache.testbed import Cluster, Relay, ZooKeeperProcess
from nncache.testbed.daemon import PublisherDaemon, Subscriber
from tests.inotify.over_http import HttpSubscriber
from tests.patience import HANG_S
from tests.real.beside import on_hdfs
from tests.service import NAMESERVICE, InotifyService, spelled

PUBLISHERS: Final = 3
SESSION_S: Final = 2.0
SESSION: Final = {"zookeeper_session_timeout_s": SESSION_S}
RECORDS_KEPT: Final = 24
"""Records kept for each filter: few, so that a subscriber that is stopped for long falls behind."""

FILTERS: Final = {"f0": ("{below}/a/*",), "f1": ("{below}/*/x*",), "f2": ("{below}/b/*", "{below}/c/*")}
"""Names of filters, and the globs that each uses in turn; `below` is the history's own directory."""


@dataclass(frozen=True, slots=True)
class Written:
    """A change of a znode, as an observer saw it."""

    at_s: float  # time.monotonic()
    zxid: int  # of the transaction that made it; zxids are ordered across all znodes


class Observer:
    """A ZooKeeper client that records each election, and each record for the caches."""

    def __init__(self, hosts: str, znodes: ZnodePaths) -> None:
        self._kazoo = KazooClient(hosts=hosts, timeout=10.0)
        self._znodes = znodes
        self.elections: list[Written] = []
        self.records: list[Written] = []

    def start(self) -> None:
        """Connect and set the watches."""
        self._kazoo.start(timeout=2 * HANG_S)
        self._kazoo.DataWatch(self._znodes.epoch)(self._into(self.elections))
        self._kazoo.DataWatch(self._znodes.cache)(self._into(self.records))

    def stop(self) -> None:
        """Disconnect."""
        self._kazoo.stop()
        self._kazoo.close()

    def leader(self) -> str | None:
        """Return the address of the leader's admin pages; None: there is no leader, or ZooKeeper does not answer."""
        try:
            identity = parse_identity(self._kazoo.get(self._znodes.publisher)[0])
        except KazooException:
            return None
        return None if identity is None else identity.admin

    def depose(self) -> None:
        """Delete the leader's lock."""
        try:
            self._kazoo.delete(self._znodes.publisher)
        except NoNodeError:
            return

    def _into(self, written: list[Written]) -> Callable[[bytes | None, ZnodeStat | None], None]:
        def note(_data: bytes | None, stat: ZnodeStat | None) -> None:
            if stat is not None:
                written.append(Written(time.monotonic(), stat.last_modified_transaction_id))

        return note


@dataclass(frozen=True, slots=True)
class Member:
    """A publisher and the relays that it connects through."""

    publisher: PublisherDaemon
    to_zookeeper: tuple[Relay, ...]
    to_namenode: tuple[Relay, ...]


Follower: TypeAlias = Subscriber | HttpSubscriber


@dataclass(frozen=True, slots=True, kw_only=True)
class Programs:
    """The programs that run the daemons; an empty tuple: nncache itself."""

    publisher: tuple[str, ...] = ()
    proxy: tuple[str, ...] = ()


AS_IT_IS: Final = Programs()


class RealCluster:
    """The service of one history: filters, publishers, a proxy, subscribers of both kinds, an observer."""

    def __init__(
        self,
        cluster: Cluster,
        zookeepers: Sequence[ZooKeeperProcess],
        name: str,
        programs: Programs = AS_IT_IS,
    ) -> None:
        """Prepare the service in a directory of its own; `zookeepers` are the servers of one ensemble."""
        self.cluster = cluster
        self.zookeepers = tuple(zookeepers)
        self.below = f"/inotify-{name}"
        self.service = InotifyService.of(cluster, ",".join(each.address for each in zookeepers))
        self._close = ExitStack()
        self.members = tuple(self._member(programs.publisher) for _ in range(PUBLISHERS))
        self.proxy_to_zookeeper = self._relays(self.zookeepers)
        self.proxy = self._reaching(self.proxy_to_zookeeper).proxy(program=programs.proxy, **SESSION)
        self._close.callback(self.proxy.close)
        self.to_proxy = self._close.enter_context(Relay(self.proxy.address))
        self.subscribers: dict[str, Subscriber] = {}
        self.streams: dict[str, HttpSubscriber] = {}
        self.globs: dict[str, str] = {}  # as HDFS has them, by name of their filter
        znodes = ZnodePaths(self.service.root, NAMESERVICE)
        self.namespace = znodes.namespace
        self.observer = Observer(self.service.zookeeper, znodes)

    def _member(self, program: tuple[str, ...]) -> Member:
        to_zookeeper = self._relays(self.zookeepers)
        namenode = self.cluster.namenodes[0]
        to_http, to_rpc = (self._close.enter_context(Relay(each)) for each in (namenode.http, namenode.rpc))
        publisher = PublisherDaemon(
            *("--nameservice", NAMESERVICE, "--filters-path", self.service.filters_path),
            *("--namenode-http", to_http.address, "--namenode-rpc", to_rpc.address),
            *self._reaching(to_zookeeper).zookeeper_flags,
            *spelled({"max_records_per_filter": RECORDS_KEPT, **SESSION}),
            program=program,
        )
        self._close.callback(publisher.close)
        return Member(publisher, to_zookeeper, (to_http, to_rpc))

    def _relays(self, servers: Iterable[ZooKeeperProcess]) -> tuple[Relay, ...]:
        return tuple(self._close.enter_context(Relay(each.address)) for each in servers)

    def _reaching(self, relays: Iterable[Relay]) -> InotifyService:
        """Return the service as seen by daemons that reach ZooKeeper through these relays."""
        return replace(self.service, zookeeper=",".join(relay.address for relay in relays))

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self._close.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._close.close()

    def _start(self) -> None:
        on_hdfs(self.cluster, self._make_directories)
        self.globs = {name: glob.format(below=self.below) for name, (glob, *_) in FILTERS.items()}
        self.service.add_all(*(self.service.filter(name, glob) for name, glob in self.globs.items()))
        for member in self.members:
            member.publisher.process.launch()
        self.proxy.process.launch()
        for member in self.members:
            member.publisher.process.await_up()
        self.members[0].publisher.process.await_that(
            lambda: any(each.publisher.readiness().get("ready") is True for each in self.members),
            "and no other publisher publishes",
        )
        self._close.callback(self.observer.stop)
        self.observer.start()
        for name in FILTERS:
            subscriber = self.service.subscriber(name, "--zookeeper-session-timeout-s", str(SESSION_S))
            self.subscribers[name] = self._close.enter_context(subscriber)
        self.proxy.process.await_up()
        for name in FILTERS:
            stream = HttpSubscriber(self.to_proxy.address, name)
            self.streams[name] = self._close.enter_context(stream.following())

    def followers(self) -> Iterator[tuple[str, str, Follower]]:
        """Yield each subscriber with its label and the name of its filter."""
        for name, subscriber in self.subscribers.items():
            yield name, name, subscriber
        for name, stream in self.streams.items():
            yield f"{name} over HTTP", name, stream

    async def _make_directories(self, hdfs: WebHdfs) -> None:
        for part in ("a", "b", "c"):
            await hdfs.mkdirs(f"{self.below}/{part}")

    def modify(self, name: str) -> None:
        """Change a filter to its next glob."""
        globs = [glob.format(below=self.below) for glob in FILTERS[name]]
        self.globs[name] = globs[(globs.index(self.globs[name]) + 1) % len(globs)]
        self.service.modify(name, glob=self.globs[name])

    def leader(self) -> Member | None:
        """Return the publisher that leads; None: no leader is known."""
        admin = self.observer.leader()
        return next((each for each in self.members if each.publisher.admin == admin), None)

    def standby(self) -> Member | None:
        """Return a publisher that runs and does not lead; None: there is none."""
        leader = self.leader()
        running = (each for each in self.members if each.publisher.process.pid is not None)
        return next((each for each in running if each is not leader), None)
