"""The direct channel over a real NameNode whose connections are cut, black-holed and reset."""

import asyncio
import random
from collections.abc import Callable

import pytest

from nncache.clock import boottime
from nncache.hadoop.change import AccessChanged, Appeared, Closed, Moved, Opened, Vanished
from nncache.hadoop.namenodes.webhdfs import WebHdfs
from nncache.invalidation.consumer import Consumer
from nncache.testbed import Cluster, Relay
from tests.faults.follower import Follower, summary
from tests.invalidation.fakes import RecordingSink
from tests.patience import until_so

pytestmark = pytest.mark.timeout(300)  # the first of the session's tests waits for the cluster


async def test_real_changes_are_applied_in_order(cluster: Cluster, hdfs_directory: str) -> None:
    """Each operation becomes the changes that it means, in the order of the operations; then they are covered."""
    follower, sink = Follower(cluster), RecordingSink()
    follower.consumer = Consumer(sink, follower.stream, boottime)
    async with follower.running():
        await until_so(lambda: bool(sink.of("cover")))
        async with WebHdfs(f"http://{cluster.namenodes[0].http}", "alice") as alice:
            await alice.create(f"{hdfs_directory}/f", b"1")
            await alice.append(f"{hdfs_directory}/f", b"2")
            await alice.set_permission(f"{hdfs_directory}/f", "600")
            await alice.rename(f"{hdfs_directory}/f", f"{hdfs_directory}/g")
            await alice.delete(f"{hdfs_directory}/g")
        end = boottime()
        await until_so(lambda: follower.consumer.stats().fresh_as_of >= end)
    f, g = f"{hdfs_directory}/f", f"{hdfs_directory}/g"
    assert sink.changes == [
        Appeared(f),
        Opened(f),
        Closed(f),
        Opened(f),
        Closed(f),
        AccessChanged(f),
        Moved(f, g),
        Vanished(g),
    ]


async def test_each_change_is_applied(
    cluster: Cluster, hdfs_directory: str, record_testsuite_property: Callable[[str, object], None]
) -> None:
    """The latencies are recorded (on an idle machine: p50 7 ms, p99 15 ms)."""
    follower = Follower(cluster)
    chance = random.Random(1)
    async with follower.running():
        await follower.covered()
        for number in range(200):
            await follower.make(f"{hdfs_directory}/{number}")
            await asyncio.sleep(chance.uniform(0.0, 0.04))
        await follower.covered()
    latencies_s = follower.latencies_s()
    record_testsuite_property("latency_of_a_change", summary(latencies_s))
    assert len(latencies_s) == 200


@pytest.mark.parametrize("broken", [Relay.cut, Relay.black_hole], ids=["cut off", "silent"])
async def test_an_rpc_port_out_of_reach_loses_nothing(
    cluster: Cluster, hdfs_directory: str, broken: Callable[[Relay], None]
) -> None:
    """FailToNameNode: during the outage nothing is covered and nothing flushed; later all missed changes arrive."""
    with Relay(cluster.namenodes[0].rpc) as relay:
        follower = Follower(cluster, rpc=(relay.address,))
        async with follower.running():
            await follower.covered()
            broken(relay)
            broken_at = boottime()
            await follower.make(f"{hdfs_directory}/a", f"{hdfs_directory}/b")
            await asyncio.sleep(3.0)
            assert follower.judge.fresh_as_of <= broken_at
            relay.restore()
            await follower.covered()
        assert len(follower.judge.applied_at) == 2
        assert (follower.judge.opened, follower.consumer.stats().streams_lost) == (1, 0)


async def test_connections_reset_under_load_lose_nothing(cluster: Cluster, hdfs_directory: str) -> None:
    """Resets during and between polls: each change is applied once, and the stream is never lost."""
    with Relay(cluster.namenodes[0].rpc) as relay:
        follower = Follower(cluster, rpc=(relay.address,))
        async with follower.running():
            await follower.covered()
            for number in range(20):
                await follower.make(f"{hdfs_directory}/{number}/a", f"{hdfs_directory}/{number}/b")
                relay.reset_connections()
            await follower.covered()
        assert follower.judge.opened == 1
        assert follower.consumer.stats().channel.reconnects > 0
        assert all(path in follower.judge.applied_at for _, path in follower.judge.acknowledged)


async def test_who_is_no_superuser_finds_advice_in_the_log(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    """The log has one error, which names the setting to change, and no stream opens."""
    follower = Follower(cluster, user="alice")
    async with follower.running():
        # On a busy machine the first stream may fail earlier for another reason.
        await until_so(lambda: any(record.levelname == "ERROR" for record in caplog.records))
        assert follower.judge.opened == 0
    (message,) = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert "superuser" in message.lower()
    assert "--user" in message
