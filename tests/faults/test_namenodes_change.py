"""The active NameNode dies, restarts, hands over, or continues beside another. These clusters are for breaking."""

import asyncio
import http.client
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from nncache.hadoop.errors import NoActiveNameNodeError, RemoteCallError
from nncache.hadoop.namenode_settings import NameNodeSettings
from nncache.hadoop.namenodes.pool import NameNodePool
from nncache.hadoop.remote_exception import Verdict
from nncache.testbed import Cluster, ClusterSpec
from tests.cluster import HADOOP, make_directory
from tests.faults.follower import Follower
from tests.patience import HANG_S, SLACK_S, until_so
from tests.real.pollers import Pollers
from tests.real.proxied_cluster import MAX_STALENESS_S, CallTarget, ProxiedCluster
from tests.real.stand import Channel, proxied

pytestmark = pytest.mark.timeout(240)

BOTH = pytest.mark.parametrize("channel", Channel, ids=lambda channel: channel.value)


@pytest.fixture(scope="module")
def lone() -> Iterator[Cluster]:
    """A cluster of one NameNode; tests may kill it, but leave it running."""
    with Cluster.start(ClusterSpec(hadoop_version=HADOOP, with_zookeeper=True)) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def started_pair() -> Iterator[Cluster]:
    """An HA pair in the state in which the last test left it; see `pair`."""
    with Cluster.start(ClusterSpec(hadoop_version=HADOOP, with_zookeeper=True, ha=True)) as cluster:
        yield cluster


@pytest.fixture
def pair(started_pair: Cluster) -> Cluster:
    """Return the HA pair with both NameNodes running and the first one active."""
    for namenode in started_pair.namenodes:
        if namenode.process.pid is None:
            namenode.process.start()
    if started_pair.namenodes[0].state() != "active":
        started_pair.transition_to_standby(1)
        started_pair.transition_to_active(0)
        started_pair.await_writable()
    return started_pair


@pytest.fixture
def top(channel: Channel) -> str:
    """Return the directory of one channel's tests."""
    return f"/{channel.value}"


def globs(top: str) -> tuple[str, str]:
    """Return globs that match all paths of these tests below a directory."""
    return f"{top}/*", f"{top}/*/*"


@BOTH
def test_a_restarted_namenode_means_an_empty_cache(lone: Cluster, channel: Channel, top: str) -> None:
    """Edits that a NameNode showed before it died may not be in its log, so every path is asked for again."""
    make_directory(lone, top)
    path = f"{top}/f"
    with proxied(lone, *globs(top), channel=channel) as proxied_cluster:
        proxied_cluster.make_hit(path, "alice")
        flushes = proxied_cluster.proxy.metrics()["nncache_cache_flushes_total"]
        term = proxied_cluster.proxy.explain(path)["term"]
        namenode = lone.namenodes[0].process
        namenode.kill()
        time_of_death = time.monotonic()
        gone = proxied_cluster.ask(path, "alice")
        assert gone.status in {404, 502, 503, 504}, gone
        proxied_cluster.proxy.await_gate(is_open=False)
        assert time.monotonic() - time_of_death <= MAX_STALENESS_S + SLACK_S
        namenode.start()
        proxied_cluster.direct.close()
        proxied_cluster.proxy.await_gate()
        lone.await_writable()
        proxied_cluster.do(CallTarget.NAMENODE, "PUT", "MKDIRS", path)
        proxied_cluster.await_agreement(path, "alice", since=time.monotonic())
        proxied_cluster.make_hit(path, "alice")
        assert proxied_cluster.proxy.explain(path)["term"] > term
        assert proxied_cluster.proxy.metrics()["nncache_cache_flushes_total"] > flushes


@BOTH
def test_reads_go_on_with_the_other_namenode_of_a_pair(pair: Cluster, channel: Channel, top: str) -> None:
    """FailToNameNode: after a failover the new active answers the same clients, and later the cache does again."""
    make_directory(pair, top)
    path = f"{top}/f"
    first, second = pair.namenodes
    with proxied(pair, *globs(top), channel=channel) as proxied_cluster:
        proxied_cluster.make_hit(path, "alice")
        term = proxied_cluster.proxy.explain(path)["term"]
        pair.transition_to_standby(0)
        pair.transition_to_active(1)
        proxied_cluster.direct.address = second.http
        proxied_cluster.direct.close()
        since = time.monotonic()
        proxied_cluster.do(CallTarget.NAMENODE, "PUT", "MKDIRS", path)
        with Pollers(proxied_cluster.proxy.address, [(path, "alice")]) as pollers:
            proxied_cluster.await_agreement(path, "alice", since=since)
            first.process.kill()
            pollers.await_hits(after=time.monotonic(), timeout_s=HANG_S)
        assert pollers.failed() == []
        assert proxied_cluster.proxy.explain(path)["term"] > term
        proxied_cluster.do(CallTarget.PROXY, "DELETE", "DELETE", path)
        assert proxied_cluster.disagreement(path, "alice") == []
        assert proxied_cluster.make_hit(path, "alice").status == 404


@pytest.mark.long
@BOTH
def test_waits_survive_a_failover(pair: Cluster, channel: Channel, top: str) -> None:
    """FailToNameNode: each wait ends with an answer, 503 if no NameNode is active for long; later waits work again."""
    make_directory(pair, top)
    target = f"/webhdfs/v1{top}/_SUCCESS?op=GETFILESTATUS&user.name=alice"

    def wait() -> tuple[int, str | None]:
        client = http.client.HTTPConnection(proxied_cluster.proxy.address, timeout=HANG_S)
        client.request("GET", target, headers={"Prefer": "wait=50"})
        reply = client.getresponse()
        reply.read()
        client.close()
        return reply.status, reply.getheader("Preference-Applied")

    def are_held() -> None:
        proxied_cluster.proxy.process.await_that(
            lambda: proxied_cluster.proxy.metrics()["nncache_waiters"] == 4, "does not hold them"
        )

    with proxied(pair, *globs(top), channel=channel) as proxied_cluster, ThreadPoolExecutor(4) as clients:
        waiting = [clients.submit(wait) for _ in range(4)]
        are_held()
        pair.transition_to_standby(0)
        pair.transition_to_active(1)
        assert {each.result(HANG_S) for each in waiting} <= {(404, None), (503, None)}
        proxied_cluster.direct.address = pair.namenodes[1].http
        proxied_cluster.direct.close()
        proxied_cluster.proxy.await_gate()
        waiting = [clients.submit(wait) for _ in range(4)]
        are_held()
        proxied_cluster.do(CallTarget.NAMENODE, "PUT", "MKDIRS", f"{top}/_SUCCESS")
        assert {each.result(HANG_S) for each in waiting} == {(200, "wait=50")}


@BOTH
def test_own_writes_an_old_active_that_goes_on_is_not_asked(
    pair: Cluster, channel: Channel, top: str
) -> None:
    """nn1 is paused and resumes after nn2 took over: reads and writes stay with nn2, and nothing comes from memory."""
    make_directory(pair, top)
    first, second = pair.namenodes
    with proxied(pair, *globs(top), channel=channel) as proxied_cluster:
        first.process.pause()
        pair.transition_to_active(1)
        proxied_cluster.proxy.process.await_that(
            lambda: proxied_cluster.proxy.readiness().get("active") == second.http,
            "does not follow the failover",
        )
        proxied_cluster.do(CallTarget.PROXY, "PUT", "MKDIRS", f"{top}/made")
        assert proxied_cluster.ask(f"{top}/made", "alice").status == 200
        first.process.resume()
        first.process.await_that(lambda: first.state() == "active", "does not go on as active")
        proxied_cluster.proxy.process.await_that(
            lambda: proxied_cluster.proxy.readiness().get("active", "") is None,
            "does not see that two say so",
        )
        proxied_cluster.proxy.await_gate(is_open=False)
        _reads_and_writes_stay(proxied_cluster, f"{top}/made")
        first.process.kill()
        proxied_cluster.proxy.await_gate()
        proxied_cluster.direct.address = second.http
        proxied_cluster.direct.close()
        proxied_cluster.make_hit(f"{top}/made", "alice")


def _reads_and_writes_stay(proxied_cluster: ProxiedCluster, made: str) -> None:
    for number in range(5):
        reply = proxied_cluster.ask(made, "alice")
        assert (reply.status, reply.is_hit) == (200, False), reply
        proxied_cluster.do(CallTarget.PROXY, "PUT", "MKDIRS", f"{made}/{number}")
        assert proxied_cluster.ask(f"{made}/{number}", "alice").status == 200


async def test_a_failover_costs_everything_and_is_followed(pair: Cluster) -> None:
    """The active NameNode is killed: nothing is covered until the other one is active, in a new term."""
    follower = Follower(pair)
    async with follower.running():
        await follower.covered()
        await follower.make("/pair/a")
        await follower.covered()
        pair.namenodes[0].process.signal(signal.SIGKILL)
        await asyncio.to_thread(pair.transition_to_active, 1)
        await until_so(lambda: follower.judge.opened == 2)
        await follower.make("/pair/b")
        await follower.covered()
    assert {"/pair/a", "/pair/b"} <= set(follower.judge.applied_at)
    assert "another one" in follower.judge.closed[0]


async def test_the_pool_follows_a_handover_and_a_death(pair: Cluster) -> None:
    """After a handover, and after a kill, the other NameNode is active, in a new term."""
    settings = NameNodeSettings(
        namenode_http=tuple(namenode.http for namenode in pair.namenodes),
        namenode_rpc=tuple(namenode.rpc for namenode in pair.namenodes),
        user=pair.superuser,
    )
    pool = NameNodePool(settings, time.monotonic)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(pool.run())
        await _fail_over(pair, pool)
        running.cancel()
    await pool.close()


async def _fail_over(cluster: Cluster, pool: NameNodePool) -> None:
    first, second = pool.namenodes
    active = await pool.wait_active(10)
    assert (active.namenode, active.term) == (first, 1)
    assert active.namespace is not None
    last_txid = await pool.rpc(first).get_current_edit_log_txid()
    assert await pool.last_txid(first) >= last_txid
    with pytest.raises(NoActiveNameNodeError, match="is standby"):
        await pool.last_txid(second)

    await asyncio.to_thread(cluster.transition_to_standby, 0)
    with pytest.raises(RemoteCallError) as caught:
        await pool.rpc(first).get_edits(last_txid)  # on a connection from the time when it was active
    assert caught.value.verdict is Verdict.STANDBY
    await asyncio.to_thread(cluster.transition_to_active, 1)
    pool.suspect(first, "StandbyException")
    async with asyncio.timeout(HANG_S):
        while (active_now := pool.active) is None or active_now.term == 1:
            await pool.wait_probed()
    assert active_now.namenode == second
    assert active_now.transition_ms > active.transition_ms
    assert active_now.namespace == active.namespace, "an HA pair serves one namespace"
    assert await pool.rpc(second).get_current_edit_log_txid() > last_txid
    async with asyncio.timeout(HANG_S):
        while (probe := pool.last_probe) is None or probe.term == 1:
            await pool.wait_probed()
    assert probe.txid > last_txid, "it has read all that the former one wrote"

    cluster.namenodes[1].process.kill()
    await asyncio.to_thread(cluster.transition_to_active, 0)
    pool.suspect(second, "connection refused")
    async with asyncio.timeout(HANG_S):
        while (active_now := pool.active) is None or active_now.namenode == second:
            await pool.wait_probed()
    assert active_now.namenode == first
    assert active_now.term > 2
    assert active_now.started_ms == active.started_ms
    assert active_now.transition_ms > active.transition_ms
    assert pool.stats().contradictions == 0
