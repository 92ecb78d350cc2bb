"""Two NameNodes say that they are active: the one that became so last is asked, whatever the other one says."""

import pytest

from nncache.testbed import Cluster, ClusterSpec
from tests.channels import Channel, proxied
from tests.cluster import HADOOP, make_directory
from tests.world import Where, World

GLOBS = ("/t/*", "/t/*/*")


@pytest.mark.timeout(240)
@pytest.mark.parametrize("channel", Channel, ids=lambda channel: channel.value)
def test_own_writes_an_old_active_that_goes_on_is_not_asked(channel: Channel) -> None:
    """nn1 is stopped and goes on after nn2 took over: reads and writes stay with nn2, and nothing comes from memory."""
    spec = ClusterSpec(hadoop_version=HADOOP, ha=True, with_zookeeper=channel is Channel.ZOOKEEPER)
    with Cluster.start(spec) as cluster:
        make_directory(cluster, "/t")
        first, second = cluster.namenodes
        with proxied(cluster, *GLOBS, channel=channel) as world:
            first.process.pause()
            cluster.transition_to_active(1)
            world.proxy.process.await_that(
                lambda: world.proxy.readiness().get("active") == second.http, "does not follow the failover"
            )
            world.must(world.call(Where.PROXY, "PUT", "MKDIRS", "/t/made"))
            assert world.ask("/t/made", "alice").status == 200
            first.process.resume()
            first.process.await_that(lambda: first.state() == "active", "does not go on as active")
            world.proxy.process.await_that(
                lambda: world.proxy.readiness().get("active", "") is None, "does not see that two say so"
            )
            world.proxy.await_gate(is_open=False)
            _reads_and_writes_stay(world)
            first.process.kill()
            world.proxy.await_gate()
            world.direct.address = second.http
            world.direct.close()
            world.make_hit("/t/made", "alice")


def _reads_and_writes_stay(world: World) -> None:
    for number in range(5):
        reply = world.ask("/t/made", "alice")
        assert (reply.status, reply.is_hit) == (200, False), reply
        world.must(world.call(Where.PROXY, "PUT", "MKDIRS", f"/t/made/{number}"))
        assert world.ask(f"/t/made/{number}", "alice").status == 200
