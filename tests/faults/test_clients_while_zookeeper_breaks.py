"""ZooKeeper or the publisher fails in several ways while clients read and files change."""

from collections.abc import Callable, Iterator

import pytest

from nncache.testbed import Cluster, Relay
from nncache.testbed.process import ServerProcess
from nncache.testbed.zookeepers import ZooKeeperServer
from tests.faults.outage import survive
from tests.real.proxied_cluster import ProxiedCluster
from tests.real.stand import Channel, proxied

pytestmark = pytest.mark.timeout(180)

GLOBS = ("/t/*/*", "/t/*/*/*")
SESSION_TIMEOUT_S = 1.0


@pytest.fixture(scope="module")
def relay(zookeeper: ZooKeeperServer) -> Iterator[Relay]:
    """A relay between ZooKeeper and all of its clients."""
    with Relay(zookeeper.address) as relay:
        yield relay


@pytest.fixture(scope="module")
def proxied_cluster(cluster: Cluster, relay: Relay) -> Iterator[ProxiedCluster]:
    """A publisher and a proxy that reach ZooKeeper through the relay."""
    with proxied(
        cluster,
        *GLOBS,
        channel=Channel.ZOOKEEPER,
        zookeeper=relay.address,
        polling={"zookeeper_session_timeout_s": SESSION_TIMEOUT_S},
        zookeeper_session_timeout_s=SESSION_TIMEOUT_S,
    ) as proxied_cluster:
        yield proxied_cluster


@pytest.mark.parametrize("how", [ServerProcess.stop, ServerProcess.kill], ids=["stopped", "killed"])
def test_zookeeper_ends_and_is_started_again(
    proxied_cluster: ProxiedCluster,
    zookeeper: ZooKeeperServer,
    hdfs_directory: str,
    how: Callable[[ServerProcess], None],
) -> None:
    """FailToNameNode, Bounded: the gate closes after its time, and opens by itself once ZooKeeper runs again."""
    survive(proxied_cluster, hdfs_directory, lambda: how(zookeeper.process), zookeeper.process.start)


def test_zookeeper_is_wiped(
    proxied_cluster: ProxiedCluster, zookeeper: ZooKeeperServer, hdfs_directory: str
) -> None:
    """Filters are kept in HDFS, so the publisher fills an empty ZooKeeper again. Earlier coverage does not count."""

    def wiped() -> None:
        zookeeper.wipe()
        zookeeper.process.start()

    survive(proxied_cluster, hdfs_directory, zookeeper.process.stop, wiped)


BREAKS = {"is cut off": Relay.cut, "is a black hole": Relay.black_hole, "hangs": Relay.hold}


@pytest.mark.parametrize("broken", BREAKS.values(), ids=BREAKS)
def test_sessions_expire(
    proxied_cluster: ProxiedCluster, relay: Relay, hdfs_directory: str, broken: Callable[[Relay], None]
) -> None:
    """The outage lasts until the gate closes after 3 s: three times the session timeout."""
    survive(proxied_cluster, hdfs_directory, lambda: broken(relay), relay.restore)


def test_the_publisher_is_killed(proxied_cluster: ProxiedCluster, hdfs_directory: str) -> None:
    """SIGKILL: the dead publisher's ephemeral znode still exists when the next one starts."""
    assert proxied_cluster.publisher is not None
    process = proxied_cluster.publisher.process
    survive(proxied_cluster, hdfs_directory, process.kill, process.launch)


def test_the_publisher_hangs(proxied_cluster: ProxiedCluster, hdfs_directory: str) -> None:
    """SIGSTOP and SIGCONT: its session expires while it is stopped, and it must not write after that."""
    assert proxied_cluster.publisher is not None
    process = proxied_cluster.publisher.process
    survive(proxied_cluster, hdfs_directory, process.pause, process.resume)


def test_a_short_outage_costs_nothing(
    proxied_cluster: ProxiedCluster, relay: Relay, zookeeper: ZooKeeperServer, hdfs_directory: str
) -> None:
    """GapFlush concerns lost events: a reconnect loses none, so the hits remain."""
    paths = [f"{hdfs_directory}/{n}" for n in range(20)]
    proxied_cluster.proxy.await_gate()
    proxied_cluster.settle()
    for path in paths:
        proxied_cluster.make_hit(path, "alice")
    flushes = proxied_cluster.proxy.metrics()["nncache_cache_flushes_total"]
    relay.reset_connections()
    proxied_cluster.settle()
    zookeeper.process.kill()
    zookeeper.process.start()
    proxied_cluster.mkdirs(f"{hdfs_directory}/elsewhere")
    proxied_cluster.settle()
    proxied_cluster.proxy.await_gate()
    assert {proxied_cluster.ask(path, "alice").header("Cache-Status") for path in paths} == {"nncache; hit"}
    assert proxied_cluster.proxy.metrics()["nncache_cache_flushes_total"] == flushes
