"""A proxy in front of a cluster, with either source of changes."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from enum import Enum
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any, Final, assert_never

from nncache.invalidation.filters.definition import Filter
from nncache.testbed import Cluster
from nncache.testbed.daemon import ProxyDaemon, PublisherDaemon
from tests.auth_methods import USER_NAME, AuthMethod
from tests.real.namespace_server import NamespaceServer
from tests.real.proxied_cluster import ProxiedCluster
from tests.secured.service import principal_flags
from tests.secured.terminating import termination_settings
from tests.service import InotifyService, spelled

SPARING: Final[Mapping[str, object]] = MappingProxyType({"poll_interval_s": 0.05})
"""Settings of a poller of edits that runs all session and mostly finds nothing: the other tests need the CPUs."""


class Channel(Enum):
    """The built-in channels, by their names in the settings."""

    DIRECT = "direct"
    ZOOKEEPER = "zookeeper"


class OwnChannel(Enum):
    """The channel of a `NamespaceServer`."""

    FEED = "feed"


@contextmanager
def proxied(
    cluster: Cluster,
    *globs: str,
    channel: Channel | OwnChannel = Channel.DIRECT,
    rpc: str | None = None,
    zookeeper: str | None = None,
    polling: Mapping[str, Any] = MappingProxyType({}),
    way: AuthMethod = USER_NAME,
    program: tuple[str, ...] = (),
    more_filters: Sequence[Filter] = (),
    **flags: object,
) -> Iterator[ProxiedCluster]:
    """Run a proxy in front of a cluster's NameNode; yield it when its gate is open.

    `rpc` replaces the NameNode's RPC address, for example by a relay's; `zookeeper` replaces the cluster's ZooKeeper,
    or is that of a service registry on the direct channel. `polling` are settings of the process that reads the edits,
    `flags` additional ones of the proxy. `way` is the clients' authentication method; with Kerberos all daemons use the
    service's keytab (needs `tests.kerberos.clients_of`), and the proxy authenticates clients if the method requires it.
    `program` runs the proxy; `more_filters` need the ZooKeeper channel.
    """
    with ExitStack() as running:
        if way.is_judged_by_proxy:
            assert cluster.kdc is not None
            directory = Path(running.enter_context(TemporaryDirectory(prefix="nncache-termination-")))
            flags |= termination_settings(cluster.kdc, directory)
        publisher: PublisherDaemon | None = None
        service: InotifyService | None = None
        match channel:
            case Channel.DIRECT | OwnChannel.FEED:
                if channel is OwnChannel.FEED:
                    assert isinstance(cluster, NamespaceServer)
                    zookeeper, flags = cluster.servers, {**flags, "feed_root": cluster.root}
                http = ",".join(namenode.http for namenode in cluster.namenodes)
                rpc = rpc or ",".join(namenode.rpc for namenode in cluster.namenodes)
                proxy = ProxyDaemon(
                    *("--namenode-http", http, "--namenode-rpc", rpc, "--channel", channel.value),
                    *(principal_flags(cluster.kdc) if cluster.kdc is not None else ()),
                    *(argument for glob in globs for argument in ("--glob", glob)),
                    *(() if zookeeper is None else ("--zookeeper", zookeeper)),
                    *spelled({**polling, **flags}),
                    program=program,
                )
            case Channel.ZOOKEEPER:
                service = InotifyService.of(cluster, zookeeper)
                own = (service.filter(f"f{number}", glob) for number, glob in enumerate(globs))
                service.add_all(*own, *more_filters)
                publisher = running.enter_context(service.publisher(**polling))
                proxy = service.proxy(program=program, **flags)
            case _:
                assert_never(channel)
        running.enter_context(proxy)
        proxy.await_gate()
        proxied_cluster = ProxiedCluster(cluster, proxy, publisher, service, way)
        running.callback(proxied_cluster.close)
        yield proxied_cluster
