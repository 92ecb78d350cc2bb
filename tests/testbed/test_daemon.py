"""nncache's daemons as processes beside the cluster."""

import pytest

from nncache.testbed import Cluster, StartError
from nncache.testbed.daemon import Proxy, Publisher
from nncache.testbed.ports import is_free
from tests.service import Service


def flags(cluster: Cluster) -> tuple[str, ...]:
    """Return the flags of a proxy that reads the edits itself."""
    namenode = cluster.namenodes[0]
    return (
        *("--namenode-http", namenode.http, "--namenode-rpc", namenode.rpc),
        *("--channel", "direct", "--glob", "/t/*"),
    )


def test_it_starts_tells_and_ends(cluster: Cluster) -> None:
    """Its pages are there while the `with` block lasts, and its ports are free afterwards."""
    with Proxy(*flags(cluster)) as proxy:
        assert proxy.readiness()["active"] == cluster.namenodes[0].http
        proxy.await_gate()
        assert proxy.explain("/t/f")["answer"] == "miss"
        assert proxy.metrics()["nncache_cache_gate_open"] == 1.0
        assert proxy.process.running_pid
    assert proxy.process.pid is None
    assert proxy.readiness() == {}
    assert all(is_free(int(address.rpartition(":")[2])) for address in (proxy.address, proxy.admin))


def test_it_can_be_stopped_and_killed_and_started_again(cluster: Cluster) -> None:
    """Where it was, as another process."""
    with Proxy(*flags(cluster)) as proxy:
        address, pids = proxy.address, {proxy.process.pid}
        for end in (proxy.stop, proxy.kill):
            end()
            assert proxy.process.pid is None
            proxy.start().await_gate()
            pids.add(proxy.process.pid)
        assert proxy.address == address
        assert len(pids) == 3


def test_a_publisher_is_up_before_it_publishes(cluster: Cluster) -> None:
    """And where it was when it is started again after a kill: its admin port says who it is."""
    service = Service.of(cluster)
    with service.publisher() as publisher:
        publisher.await_publishing()
        before = (publisher.admin, publisher.process.pid)
        publisher.kill()
        assert publisher.readiness() == {}
        publisher.start().await_publishing()
        assert publisher.admin == before[0]
        assert publisher.process.pid != before[1]
        assert publisher.metrics()


def test_it_can_be_typed_as_it_was_started() -> None:
    """The demo shows it to the reader."""
    proxy = Proxy("--glob", "/t/*")
    assert proxy.typed == ("proxy", "--listen", proxy.address, "--admin", proxy.admin, "--glob", "/t/*")
    proxy.close()


def test_it_may_be_another_program() -> None:
    """Such as the same daemon under a limit, or that of another checkout."""
    with (
        pytest.raises(StartError, match="no such nncache"),
        Proxy(program=("/bin/sh", "-c", "echo no such nncache")),
    ):
        raise AssertionError("it runs")


def test_a_start_that_fails_says_why() -> None:
    """The end of its log is told."""
    with pytest.raises(StartError, match="max_staleness_s"), Proxy("--max-staleness-s", "-1"):
        pass


@pytest.mark.parametrize("laid_out", [Proxy, Publisher])
def test_what_is_never_started_gives_its_ports_back(laid_out: type[Proxy | Publisher]) -> None:
    """`close` is enough, and may be called again."""
    daemon = laid_out()
    assert daemon.readiness() == {}
    daemon.close()
    daemon.close()
    assert daemon.process.pid is None
