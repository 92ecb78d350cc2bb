"""An inotify service of a single test: filters, publishers and proxies, started as an operator would start them."""

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace

from nncache.hadoop.namenodes.webhdfs import WebHdfs
from nncache.invalidation.filters.definition import Filter
from nncache.invalidation.filters.hdfs_store import FilterStore
from nncache.testbed import Cluster
from nncache.testbed.daemon import ProxyDaemon, PublisherDaemon, Subscriber
from tests.secured.service import own_identity, principal_flags

NAMESERVICE = "ns1"


@dataclass(frozen=True, slots=True)
class InotifyService:
    """An inotify service with separate places in HDFS and ZooKeeper, so that tests do not interfere."""

    cluster: Cluster
    zookeeper: str  # host:port
    root: str
    filters_path: str

    @classmethod
    def of(cls, cluster: Cluster, zookeeper: str | None = None) -> "InotifyService":
        """Return a new service, on the cluster's ZooKeeper unless another one is given."""
        if zookeeper is None:
            zookeeper = cluster.zookeeper.address
        name = uuid.uuid4().hex[:12]
        return cls(cluster, zookeeper, f"/inotify-{name}", f"/filters/{name}")

    @property
    def namenode_flags(self) -> tuple[str, ...]:
        """Flags of the NameNodes' addresses, and of the service's principal on a cluster with Kerberos."""
        http = ",".join(namenode.http for namenode in self.cluster.namenodes)
        rpc = ",".join(namenode.rpc for namenode in self.cluster.namenodes)
        own = principal_flags(self.cluster.kdc) if self.cluster.kdc is not None else ()
        return ("--nameservice", NAMESERVICE, "--namenode-http", http, "--namenode-rpc", rpc, *own)

    @property
    def zookeeper_flags(self) -> tuple[str, ...]:
        """Flags of ZooKeeper's address and root."""
        return ("--zookeeper", self.zookeeper, "--zookeeper-root", self.root)

    def filter(self, name: str, glob: str) -> Filter:
        """Return a filter of the superuser to which alice may subscribe."""
        return Filter(name, glob, self.cluster.superuser, ("alice",))

    def add(self, name: str, glob: str) -> None:
        """Add the filter that `filter` returns."""
        self.add_all(self.filter(name, glob))

    def add_all(self, *filters: Filter) -> None:
        """Add filters."""

        async def carry_out(store: FilterStore) -> None:
            for each in filters:
                await store.add(each)

        self._on_store(carry_out)

    def modify(self, name: str, *, glob: str) -> None:
        """Change the glob of a filter."""

        async def carry_out(store: FilterStore) -> None:
            before = (await store.get(name)).filter
            await store.change(before, replace(before, path_glob=glob))

        self._on_store(carry_out)

    def remove(self, name: str) -> None:
        """Remove a filter."""
        self._on_store(lambda store: store.remove(name))

    def _on_store(self, act: Callable[[FilterStore], Awaitable[object]]) -> None:
        async def carry_out() -> None:
            active = next(
                (each for each in self.cluster.namenodes if each.state() == "active"),
                self.cluster.namenodes[0],
            )
            address, identity = f"http://{active.http}", own_identity(self.cluster)
            async with WebHdfs(address, self.cluster.superuser, identity=identity) as hdfs:
                await act(FilterStore(hdfs, self.filters_path))

        asyncio.run(carry_out())

    def publisher(self, **flags: object) -> PublisherDaemon:
        """Return a publisher that is not started yet."""
        return PublisherDaemon(
            *self.namenode_flags,
            *self.zookeeper_flags,
            *("--filters-path", self.filters_path),
            *spelled(flags),
        )

    def proxy(self, *, program: tuple[str, ...] = (), **flags: object) -> ProxyDaemon:
        """Return a proxy that is not started yet."""
        return ProxyDaemon(*self.namenode_flags, *self.zookeeper_flags, *spelled(flags), program=program)

    def subscriber(self, filter_name: str, *arguments: str) -> Subscriber:
        """Return a subscriber of a filter that is not started yet."""
        return Subscriber(filter_name, "--nameservice", NAMESERVICE, *self.zookeeper_flags, *arguments)


def spelled(flags: Mapping[str, object]) -> list[str]:
    """Return command-line words of these flags; a flag that is True has no value."""
    words = ((f"--{name.replace('_', '-')}", value) for name, value in flags.items())
    return [part for name, value in words for part in ((name,) if value is True else (name, str(value)))]
