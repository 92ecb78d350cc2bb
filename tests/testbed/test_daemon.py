"""The proxy as a process beside the cluster."""

import pytest

from testbed import Cluster, StartError
from testbed.daemon import Proxy
from testbed.ports import is_free


def test_it_starts_tells_and_ends(cluster: Cluster) -> None:
    """Its pages are there while the `with` block lasts, and its ports are free afterwards."""
    namenode = cluster.namenodes[0]
    flags = ("--namenode-http", namenode.http, "--namenode-rpc", namenode.rpc, "--glob", "/t/*")
    with Proxy(*flags) as proxy:
        assert proxy.readiness()["active"] == namenode.http
        proxy.await_gate()
        assert proxy.explain("/t/f")["answer"] == "miss"
        assert proxy.metrics()["nncache_cache_gate_open"] == 1.0
        pid = proxy.process.pid
        assert pid is not None
    assert proxy.process.pid is None
    assert proxy.readiness() == {}
    assert all(is_free(int(address.rpartition(":")[2])) for address in (proxy.address, proxy.admin))


def test_a_start_that_fails_says_why() -> None:
    """The end of its log is told."""
    with pytest.raises(StartError, match="max_staleness_s"), Proxy("--max-staleness-s", "-1"):
        pass
