"""nncache as operators run it: filters, a publisher process and a proxy process."""

import asyncio
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from enum import StrEnum
from typing import Final
from urllib.parse import urlsplit

from nncache.auditing.audit_judge import AuditOutcome
from nncache.bench.servers.counters import TIMEOUT_S
from nncache.bench.servers.running import RunningServer, ServerProgress
from nncache.bench.shared.driver import add_filters
from nncache.client.connecting import connect
from nncache.invalidation.filters.definition import Filter
from nncache.testbed import Cluster, ClusterNameNode
from nncache.testbed.daemon import Daemon, ProxyDaemon, PublisherDaemon

AUDITING: Final = ("--audit-share", "0.05")
"""The share of a measured proxy's hits that it compares with the NameNode: at most one for 100 forwarded calls."""


class Channel(StrEnum):
    """How changes reach the proxy."""

    ZOOKEEPER = "zookeeper"  # a publisher reads the edits, ZooKeeper carries them
    DIRECT = "direct"  # the proxy reads the edits itself


@contextmanager
def nncache(
    cluster: Cluster,
    globs: Sequence[str],
    channel: Channel,
    proxy_flags: Sequence[str] = (),
    *,
    edits_flags: Sequence[str] = (),
) -> Iterator[RunningServer]:
    """Run a proxy that caches these globs, with its gate open; stop all its daemons at the end.

    With the ZooKeeper channel, the proxy is registered there and found by name. `edits_flags` are further flags of the
    daemon that reads edits: the publisher, or else the proxy.
    """
    common, name = cluster.flags, uuid.uuid4().hex[:12]
    filters_path, registry_root = f"/filters-{name}", f"/registry-{name}"
    with ExitStack() as running:
        daemons: dict[str, Daemon] = {}
        if channel is Channel.ZOOKEEPER:
            common += ("--zookeeper", cluster.zookeeper.address, "--zookeeper-root", f"/inotify-{name}")
            filters = (Filter(f"f{number:05}", glob, cluster.superuser) for number, glob in enumerate(globs))
            asyncio.run(add_filters(cluster, filters_path, filters))
            publisher = running.enter_context(
                PublisherDaemon(*common, "--filters-path", filters_path, *edits_flags)
            )
            publisher.await_publishing()
            daemons["publisher"] = publisher
            own: tuple[str, ...] = ("--registry", "--registry-root", registry_root)
        else:
            kept = (word for glob in globs for word in ("--glob", glob))
            own = ("--channel", "direct", *kept, *edits_flags)
        proxy = running.enter_context(ProxyDaemon(*common, *own, *proxy_flags))
        proxy.await_gate()
        address = proxy.address
        if channel is Channel.ZOOKEEPER:
            proxy.process.await_that(
                lambda: proxy.metrics()["nncache_channel_filters"] == len(globs), "does not have all filters"
            )
            proxy.process.await_that(lambda: proxy.metrics()["nncache_registered"] == 1, "has not registered")
            with connect(zookeeper=cluster.zookeeper.address, registry_root=registry_root) as proxies:
                address = urlsplit(proxies.url()).netloc
        daemons["proxy"] = proxy
        yield RunningServer(
            address=address,
            processes={source: daemon.process.running_pid for source, daemon in daemons.items()},
            upkeep=lambda: _probes(daemons, cluster.namenodes[0]),
            progress=lambda: _progress(proxy.metrics(TIMEOUT_S)),
            metrics=lambda: proxy.metrics(TIMEOUT_S),
        )


def _progress(metrics: Mapping[str, float]) -> ServerProgress:
    return ServerProgress(
        answered=int(metrics['nncache_requests_total{result="hit"}']),
        connections=int(metrics["nncache_connections_open"]),
        entries=int(metrics["nncache_cache_entries"]),
    )


def _probes(daemons: Mapping[str, Daemon], namenode: ClusterNameNode) -> dict[str, float]:
    name = f'nncache_namenode_probes_total{{namenode="{namenode.http}"}}'
    return {"upkeep:probe (JMX)": sum(daemon.metrics()[name] for daemon in daemons.values())}


def audited(metrics: Mapping[str, float]) -> dict[str, float]:
    """Return the number of answers compared with the NameNode's own, by outcome; empty without an auditor."""
    names = {str(each): f'nncache_audit_total{{outcome="{each}"}}' for each in AuditOutcome}
    return {outcome: metrics[name] for outcome, name in names.items() if name in metrics}
