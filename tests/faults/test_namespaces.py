"""Two clusters: mixed-up addresses never cause a hit, and behind one proxy neither cluster affects the other."""

import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

import nncache
from nncache.hadoop.events import Create
from nncache.hadoop.jmx import BLOCK_POOL_QUERY, CLUSTER_QUERY, parse_block_pool, parse_cluster_id
from nncache.hadoop.namespace import Namespace
from nncache.testbed import Cluster, ClusterSpec, Relay
from nncache.testbed.asker import Asker, RawReply
from nncache.testbed.daemon import ProxyDaemon, PublisherDaemon
from tests.cluster import HADOOP, make_directory
from tests.real.proxied_cluster import CallTarget, ProxiedCluster
from tests.real.stand import Channel, proxied
from tests.service import NAMESERVICE, InotifyService

GLOB = "/t/*"

pytestmark = pytest.mark.timeout(300)
BOTH = pytest.mark.parametrize("channel", Channel, ids=lambda channel: channel.value)


@pytest.fixture(scope="module")
def other() -> Iterator[Cluster]:
    """Another healthy cluster, with a namespace of its own."""
    with Cluster.start(ClusterSpec(hadoop_version=HADOOP, with_datanode=False)) as cluster:
        yield cluster


def namespace_of(cluster: Cluster) -> Namespace:
    """Return the namespace that its NameNode reports over HTTP."""
    with Asker(cluster.namenodes[0].http) as namenode:
        cluster_id = parse_cluster_id(namenode.ask("GET", CLUSTER_QUERY).body)
        return Namespace(cluster_id, parse_block_pool(namenode.ask("GET", BLOCK_POOL_QUERY).body))


def fresh() -> str:
    """Return a path that no other test has used."""
    return f"/t/{uuid.uuid4().hex}"


def names_both(text: str, *clusters: Cluster) -> bool:
    """Return whether the text has the cluster id and the block pool of each cluster."""
    spaces = [namespace_of(cluster) for cluster in clusters]
    return all(part in text for space in spaces for part in (space.cluster_id, space.block_pool))


def addresses(cluster: Cluster, rpc: str) -> tuple[str, ...]:
    """Return the flags of a proxy or publisher that asks this cluster over HTTP and the address `rpc` over RPC."""
    return (
        *("--nameservice", NAMESERVICE),
        *("--namenode-http", cluster.namenodes[0].http),
        *("--namenode-rpc", rpc),
    )


@contextmanager
def mixed_up(cluster: Cluster, rpc: str, channel: Channel) -> Iterator[ProxiedCluster]:
    """Start a proxy with the HTTP address of a cluster and another RPC address, and wait until it has compared them."""
    flags = addresses(cluster, rpc)
    with ExitStack() as running:
        if channel is Channel.DIRECT:
            proxy = ProxyDaemon(*flags, "--channel", "direct", "--glob", GLOB)
        else:
            service = InotifyService.of(cluster)
            service.add("f", GLOB)
            running.enter_context(service.publisher()).await_publishing()
            proxy = ProxyDaemon(*flags, *service.zookeeper_flags)
        running.enter_context(proxy)
        proxy.process.await_that(
            lambda: bool(proxy.readiness().get("is_gate_open")) or "serves namespace" in log_of(proxy),
            "neither opens its gate nor says why not",
        )
        proxied_cluster = ProxiedCluster(cluster, proxy)
        running.callback(proxied_cluster.close)
        yield proxied_cluster


def log_of(daemon: ProxyDaemon | PublisherDaemon) -> str:
    """Return the daemon's log."""
    return daemon.process.log.read_text(encoding="utf-8")


@BOTH
def test_the_rpc_address_of_another_cluster_never_makes_a_hit(
    cluster: Cluster, other: Cluster, channel: Channel
) -> None:
    """Bounded: a deletion here shows immediately. Log, /ready and explain name both namespaces and the remedy."""
    make_directory(cluster, "/t")
    path = fresh()
    with mixed_up(cluster, other.namenodes[0].rpc, channel) as proxied_cluster:
        proxied_cluster.do(CallTarget.NAMENODE, "PUT", "MKDIRS", path)
        for _ in range(2):
            assert (reply := proxied_cluster.ask(path, "alice")).status == 200
            assert not reply.is_hit, reply
        proxied_cluster.do(CallTarget.NAMENODE, "DELETE", "DELETE", path)
        gone_at = time.monotonic()
        while time.monotonic() < gone_at + 4.0:  # longer than max_staleness_s
            assert proxied_cluster.ask(path, "alice").status == 404
            time.sleep(0.1)
        ready = proxied_cluster.proxy.readiness()
        assert not ready["is_gate_open"]
        assert names_both(ready["gate"], cluster, other), ready
        (warning,) = [
            line
            for line in log_of(proxied_cluster.proxy).splitlines()
            if "WARNING" in line and "serves" in line
        ]
        assert names_both(warning, cluster, other), warning
        assert "--namenode-rpc" in warning
        explained = proxied_cluster.proxy.explain(path)
        assert names_both(explained["gate"], cluster, other), explained
        (namenode,) = explained["namenodes"]
        assert namenode["namespace_over_http"] == str(namespace_of(cluster))
        assert namenode["namespace_over_rpc"] == str(namespace_of(other))


@BOTH
def test_a_connection_made_again_is_compared_again(
    cluster: Cluster, other: Cluster, channel: Channel
) -> None:
    """Bounded: the RPC address begins to lead to another cluster. The gate stays closed until that is mended."""
    make_directory(cluster, "/t")
    path, file = fresh(), fresh()
    with Relay(cluster.namenodes[0].rpc) as relay, ExitStack() as running:
        if channel is Channel.DIRECT:
            proxied_cluster = running.enter_context(proxied(cluster, GLOB, rpc=relay.address))
        else:
            proxied_cluster = running.enter_context(mixed_up(cluster, relay.address, channel))
            proxied_cluster.proxy.await_gate()
        proxied_cluster.do(CallTarget.NAMENODE, "PUT", "MKDIRS", path)
        proxied_cluster.make_hit(path, "alice")
        relay.lead_to(other.namenodes[0].rpc)
        proxied_cluster.put(CallTarget.NAMENODE, file, b"1")
        assert proxied_cluster.ask(file, "alice").status == 200  # asks over RPC whether the file is closed
        proxied_cluster.proxy.await_gate(is_open=False)
        proxied_cluster.do(CallTarget.NAMENODE, "DELETE", "DELETE", path)
        assert proxied_cluster.ask(path, "alice").status == 404
        proxied_cluster.proxy.process.await_that(
            lambda: names_both(proxied_cluster.proxy.readiness()["gate"], cluster, other),
            "does not name both",
        )
        relay.lead_to(cluster.namenodes[0].rpc)
        proxied_cluster.proxy.await_gate()
        proxied_cluster.make_hit(path, "alice")


def test_a_publisher_reads_no_edits_of_another_cluster(cluster: Cluster, other: Cluster) -> None:
    """GapFlush: the publisher publishes no edit that the NameNode of the HTTP address did not make."""
    service = InotifyService.of(cluster)
    flags = addresses(cluster, other.namenodes[0].rpc)
    publisher = PublisherDaemon(*flags, *service.zookeeper_flags, "--filters-path", service.filters_path)
    with publisher:
        publisher.process.await_that(
            lambda: publisher.readiness()["ready"] or "serves namespace" in log_of(publisher),
            "neither publishes nor says why not",
        )
        ready = publisher.readiness()
        assert not ready["ready"]
        assert names_both(ready["state"], cluster, other), ready
        assert "--namenode-rpc" in log_of(publisher)


FEDERATED = """
user = "{one.superuser}"
failover_wait_s = 0.5
max_staleness_s = 1.5
filters_path = "{service.filters_path}"

[mounts]
"/" = "one"
"/two" = "two"

[namespaces.one]
namenode_http = ["{one.namenodes[0].http}"]
namenode_rpc = ["{one.namenodes[0].rpc}"]
zookeeper = ["{service.zookeeper}"]
zookeeper_root = "{service.root}"
max_staleness_s = 30  # a slow machine may be late with its changes; that of the other one must not matter

[namespaces.two]
namenode_http = ["{two.namenodes[0].http}"]
namenode_rpc = ["{two.namenodes[0].rpc}"]
glob = ["/two/*"]
"""


def test_one_of_two_namespaces_is_killed_and_the_other_goes_on(
    cluster: Cluster, other: Cluster, tmp_path: Path
) -> None:
    """Hits, writes, changes and events of the other namespace continue, and are counted; one file serves all commands.

    The other cluster stays killed: this test is the last one here.
    """
    service = InotifyService.of(cluster)
    service.add("f", GLOB)
    config = tmp_path / "nncache.toml"
    config.write_text(FEDERATED.format(one=cluster, two=other, service=service))
    make_directory(cluster, "/t")
    make_directory(other, "/two")
    make_directory(other, "/two/d")
    path = fresh()
    make_directory(cluster, path)  # before anything follows: a late event would make a read a miss
    with PublisherDaemon("--config", str(config), "--namespace", "/t/x") as publisher:
        publisher.await_publishing()
        with ProxyDaemon("--config", str(config)) as proxy, Asker(proxy.address) as clients:

            def ask(path: str, op: str = "GETFILESTATUS", method: str = "GET") -> RawReply:
                return clients.ask(method, f"/webhdfs/v1{path}?op={op}&user.name={cluster.superuser}")

            def make_hit(path: str) -> None:
                proxy.process.await_that(lambda: ask(path).is_hit, f"{path} is no hit")

            proxy.await_gate()
            make_hit(path)
            make_hit("/two/d")
            before = proxy.metrics()
            other.namenodes[0].process.kill()
            asked, died_at, is_known = 0, time.monotonic(), False
            while not is_known or time.monotonic() < died_at + 1.0:
                assert (reply := ask(path)).is_hit, reply.headers
                asked += 1
                is_known = asked % 100 == 0 and not proxy.readiness()["namespaces"]["two"]["is_gate_open"]
            assert ask("/two/d").status == 503
            after, ready = proxy.metrics(), proxy.readiness()
            of_one, of_two = (f'nncache_requests_total{{namespace="{name}"}}' for name in ("one", "two"))
            assert after[of_one] - before[of_one] == asked
            assert after[of_two] - before[of_two] == 1
            assert (ready["ready"], ready["reason"]) == (True, "no-active-namenode")
            assert ready["namespaces"]["one"]["is_gate_open"]
            assert proxy.explain("/two/d")["namespace"] == "two"
            with nncache.subscribe("f", config=config, namespace=path) as events:
                assert ask(f"{path}2", "MKDIRS", "PUT").status == 200
                (event,) = next(events).events
                assert isinstance(event, Create)
                assert event.path == f"{path}2"
            make_hit(f"{path}2")
