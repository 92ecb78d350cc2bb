"""The NameNode's edits cannot be read, or its RPC is slow, while clients read and files change."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from nncache.hadoop.calls import PREFIX
from nncache.testbed import Cluster, Relay
from nncache.testbed.asker import Asker
from nncache.testbed.daemon import ProxyDaemon
from tests.faults.outage import survive
from tests.patience import HANG_S
from tests.real.proxied_cluster import CallTarget, ProxiedCluster
from tests.real.stand import proxied

GLOBS = ("/t/*/*", "/t/*/*/*")


@pytest.fixture(scope="module")
def relay(cluster: Cluster) -> Iterator[Relay]:
    """A relay in front of the NameNode's RPC port."""
    with Relay(cluster.namenodes[0].rpc) as relay:
        yield relay


@pytest.fixture(scope="module")
def proxied_cluster(cluster: Cluster, relay: Relay) -> Iterator[ProxiedCluster]:
    """A proxy that reads the edits through the relay."""
    with proxied(cluster, *GLOBS, rpc=relay.address) as proxied_cluster:
        yield proxied_cluster


BREAKS: dict[str, Callable[[Relay], None]] = {
    "the RPC port is cut off": Relay.cut,
    "the RPC port is a black hole": Relay.black_hole,
    "the RPC port hangs and answers late": Relay.hold,
}


@pytest.mark.parametrize("broken", BREAKS.values(), ids=BREAKS)
def test_no_read_fails_and_none_is_older_than_the_bound(
    proxied_cluster: ProxiedCluster, relay: Relay, hdfs_directory: str, broken: Callable[[Relay], None]
) -> None:
    """FailToNameNode and Bounded: calls are forwarded while no edits arrive, and caching resumes by itself."""
    survive(proxied_cluster, hdfs_directory, lambda: broken(relay), relay.restore)


def test_a_short_cut_costs_nothing(
    proxied_cluster: ProxiedCluster, relay: Relay, hdfs_directory: str
) -> None:
    """GapFlush concerns lost events: a reconnect loses none, so the hits remain."""
    paths = [f"{hdfs_directory}/{n}" for n in range(20)]
    proxied_cluster.settle()
    for path in paths:
        proxied_cluster.make_hit(path, "alice")
    flushes = proxied_cluster.proxy.metrics()["nncache_cache_flushes_total"]
    relay.reset_connections()
    proxied_cluster.proxy.await_gate()
    assert {proxied_cluster.ask(path, "alice").header("Cache-Status") for path in paths} == {"nncache; hit"}
    assert proxied_cluster.proxy.metrics()["nncache_cache_flushes_total"] == flushes


def test_without_the_right_to_edits_all_is_forwarded(cluster: Cluster, hdfs_directory: str) -> None:
    """Inotify needs a superuser: without one the proxy only forwards, and its log names the setting to change."""
    namenode = cluster.namenodes[0]
    flags = ("--namenode-http", namenode.http, "--namenode-rpc", namenode.rpc, "--user", "alice")
    with ProxyDaemon(*flags, "--glob", "/t/*/*") as proxy:
        proxied_cluster = ProxiedCluster(cluster, proxy)
        for _ in range(5):
            assert proxied_cluster.disagreement(f"{hdfs_directory}/f", "alice") == []
        proxy.process.await_that(lambda: "--user" in proxy.process.log.read_text(), "says nothing of --user")
        assert not proxied_cluster.ask(f"{hdfs_directory}/f", "alice").is_hit
        proxied_cluster.close()


def test_a_wait_without_edits_is_answered_at_its_end(
    proxied_cluster: ProxiedCluster, relay: Relay, hdfs_directory: str
) -> None:
    """Bounded: the gate is closed when the wait ends, so the NameNode is asked."""
    path = f"{hdfs_directory}/_SUCCESS"
    proxied_cluster.settle()
    with ThreadPoolExecutor(1) as clients, Asker(proxied_cluster.proxy.address) as client:
        target = f"{PREFIX}{path}?op=GETFILESTATUS&user.name=alice"
        waiting = clients.submit(client.ask, "GET", target, headers=(("Prefer", "wait=4"),))
        proxied_cluster.proxy.process.await_that(
            lambda: proxied_cluster.proxy.metrics()["nncache_waiters"] == 1, "does not hold it"
        )
        relay.black_hole()
        try:
            proxied_cluster.do(CallTarget.NAMENODE, "PUT", "MKDIRS", path)
            reply = waiting.result(HANG_S)
        finally:
            relay.restore()
    assert (reply.status, reply.header("Preference-Applied")) == (200, "wait=4")
    assert "hit" not in reply.header("Cache-Status")
    proxied_cluster.proxy.await_gate()


ONE_WAY_S = 0.6
"""Two of these exceed `namenode_query_timeout_s`, while a poll of the edits still keeps the gate open."""


def test_slow_rpc_costs_an_upload_time_and_others_nothing(
    proxied_cluster: ProxiedCluster, relay: Relay, hdfs_directory: str
) -> None:
    """HitsKept: the redirect waits until the proxy knows what the second step can create."""
    paths = [f"{hdfs_directory}/{n}" for n in range(5)]
    proxied_cluster.settle()
    for path in paths:
        proxied_cluster.make_hit(path, "alice")
    reported: list[str] = []

    def ask() -> None:
        reported.extend(proxied_cluster.ask(path, "alice").header("Cache-Status") for path in paths)

    relay.delay(ONE_WAY_S)
    try:
        made = proxied_cluster.write(CallTarget.PROXY, f"{hdfs_directory}/new/x", b"data", "bob", between=ask)
        assert made.status == 201
    finally:
        relay.restore()
    assert len(reported) == len(paths)
    assert not [each for each in reported if "two-step-write" in each]
