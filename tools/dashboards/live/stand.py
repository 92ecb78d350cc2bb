"""The running system: cluster, ZooKeeper, publisher, two proxies, and a Prometheus of them."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from nncache.hadoop.webhdfs import WebHdfs
from nncache.invalidation.filters.definition import Filter
from nncache.invalidation.filters.hdfs_store import FilterStore
from nncache.testbed import Cluster, ClusterSpec
from nncache.testbed.daemon import Daemon, Proxy, Publisher
from nncache.testbed.prometheus import Prometheus
from nncache.testbed.prometheus import installed as prometheus_is_there
from tools.dashboards.live.load import GLOB, OWNER

RULES: Final = Path(__file__).resolve().parents[3] / "deploy" / "prometheus" / "nncache.rules.yml"
PROXIES: Final = 2

_NAMESERVICE: Final = "ns1"
_FILTERS: Final = "/filters"
_INTERVAL: Final = "2s"


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """What a system must have.

    Attributes:
        is_pair: two NameNodes, of which the first is active at the start.
        flags_of_first_proxy: beside those that all have.
    """

    is_pair: bool = False
    flags_of_first_proxy: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Stand:
    """What runs."""

    cluster: Cluster
    publisher: Publisher
    proxies: tuple[Proxy, ...]
    prometheus: Prometheus

    @property
    def daemons(self) -> tuple[Daemon, ...]:
        """All that Prometheus scrapes."""
        return (self.publisher, *self.proxies)


@contextmanager
def running(hadoop_version: str, say: Callable[[str], None], needs: Needs = Needs()) -> Iterator[Stand]:
    """Start everything, and stop it when the context ends, however that comes.

    Raises:
        TestbedError: something is missing or does not start; nothing is left running then.
    """
    prometheus_is_there()
    with ExitStack() as stack:
        say("a real HDFS on this machine, NameNode and DataNode, and a ZooKeeper")
        spec = ClusterSpec(hadoop_version=hadoop_version, with_zookeeper=True, ha=needs.is_pair)
        cluster = stack.enter_context(Cluster.start(spec, progress=say))
        assert cluster.zookeeper is not None
        asyncio.run(_add_filter(cluster))
        flags = (
            *("--nameservice", _NAMESERVICE, "--user", cluster.superuser),
            *("--namenode-http", ",".join(each.http for each in cluster.namenodes)),
            *("--namenode-rpc", ",".join(each.rpc for each in cluster.namenodes)),
            *("--zookeeper", cluster.zookeeper.address),
        )
        say(f"a publisher and {PROXIES} proxies")
        publisher = stack.enter_context(Publisher(*flags, "--filters-path", _FILTERS))
        publisher.await_publishing()
        proxies = tuple(
            stack.enter_context(Proxy(*flags, *(() if number else needs.flags_of_first_proxy)))
            for number in range(PROXIES)
        )
        for proxy in proxies:
            proxy.await_gate()
        say("Prometheus with the rules of deploy/prometheus")
        targets = [each.admin for each in (publisher, *proxies)]
        prometheus = stack.enter_context(
            Prometheus(targets, RULES.read_text(encoding="utf-8"), interval=_INTERVAL)
        )
        prometheus.await_targets()
        yield Stand(cluster=cluster, publisher=publisher, proxies=proxies, prometheus=prometheus)


async def _add_filter(cluster: Cluster) -> None:
    async with WebHdfs(f"http://{cluster.namenodes[0].http}", cluster.superuser) as hdfs:
        await FilterStore(hdfs, _FILTERS).add(Filter("workflows", GLOB, OWNER, ("bob",)))
