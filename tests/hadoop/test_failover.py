"""The pool over a real HA pair."""

import asyncio
import time

import pytest

from nncache.hadoop.errors import NoActiveNameNodeError, RemoteCallError
from nncache.hadoop.namenode_settings import NameNodeSettings
from nncache.hadoop.pool import NameNodePool
from nncache.hadoop.remote_exception import Verdict
from nncache.testbed import Cluster, ClusterSpec
from tests.cluster import HADOOP
from tests.patience import HANG_S


async def test_a_real_pair_fails_over() -> None:
    """Handed over, then killed: each time the other one is the active one, with a term of its own."""
    spec = ClusterSpec(hadoop_version=HADOOP, ha=True, with_datanode=False)
    cluster = await asyncio.to_thread(Cluster.start, spec)
    try:
        settings = NameNodeSettings(
            namenode_http=tuple(namenode.http for namenode in cluster.namenodes),
            namenode_rpc=tuple(namenode.rpc for namenode in cluster.namenodes),
            user=cluster.superuser,
        )
        pool = NameNodePool(settings, time.monotonic)
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(pool.run())
            await _fail_over(cluster, pool)
            running.cancel()
        await pool.close()
    finally:
        await asyncio.to_thread(cluster.stop)


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
        await pool.rpc(first).get_edits(last_txid)  # on a connection from when it was active
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
