"""The NameNode's RPC is slower than a question beside a call may be, while somebody uploads."""

from collections.abc import Iterator

import pytest

from nncache.testbed import Cluster, Relay
from tests.channels import proxied
from tests.proxied_cluster import ProxiedCluster, Where

ONE_WAY_S = 0.6
"""Two of them are more than `namenode_query_timeout_s`, and a poll of the edits still keeps the gate open."""


@pytest.fixture(scope="module")
def relay(cluster: Cluster) -> Iterator[Relay]:
    """A relay before the NameNode's RPC port."""
    with Relay(cluster.namenodes[0].rpc) as relay:
        yield relay


@pytest.fixture(scope="module")
def proxied_cluster(cluster: Cluster, relay: Relay) -> Iterator[ProxiedCluster]:
    """A proxy that asks through the relay."""
    with proxied(cluster, "/t/*/*", "/t/*/*/*", rpc=relay.address) as proxied_cluster:
        yield proxied_cluster


def test_it_costs_the_upload_time_and_others_nothing(
    proxied_cluster: ProxiedCluster, relay: Relay, hdfs_directory: str
) -> None:
    """HitsKept: the redirect waits until it is known what its second step can make."""
    paths = [f"{hdfs_directory}/{n}" for n in range(5)]
    proxied_cluster.settle()
    for path in paths:
        proxied_cluster.make_hit(path, "alice")
    reported: list[str] = []

    def ask() -> None:
        reported.extend(proxied_cluster.ask(path, "alice").header("Cache-Status") for path in paths)

    relay.delay(ONE_WAY_S)
    try:
        assert (
            proxied_cluster.write(Where.PROXY, f"{hdfs_directory}/new/x", b"data", "bob", between=ask).status
            == 201
        )
    finally:
        relay.restore()
    assert len(reported) == len(paths)
    assert not [each for each in reported if "two-step-write" in each]
