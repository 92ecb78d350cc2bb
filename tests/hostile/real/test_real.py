"""Attacks at a real NameNode: the short form of `make hostile real`."""

from collections.abc import Iterator

import pytest

from nncache.testbed import Cluster
from tests.hostile.real import attacker, paths
from tests.hostile.real.rows import compare_rows
from tests.real.proxied_cluster import ProxiedCluster
from tests.real.stand import Channel, proxied


@pytest.fixture
def proxied_cluster(cluster: Cluster, hdfs_directory: str) -> Iterator[ProxiedCluster]:
    """Yield the session's cluster with a proxy for one directory."""
    globs = [hdfs_directory + "/*" * depth for depth in range(1, 6)]
    windows = attacker.MAX_WINDOWS
    with proxied(cluster, *globs, channel=Channel.DIRECT, max_two_step_windows=windows) as made:
        yield made


async def test_no_call_of_a_stranger_costs_anybody_a_hit(
    proxied_cluster: ProxiedCluster, hdfs_directory: str
) -> None:
    """After 150 calls all polls are hits, and each answer is the NameNode's."""
    attacker.lay_out(proxied_cluster, hdfs_directory)
    figures = await attacker.RealAttack(proxied_cluster, hdfs_directory, seed=1).run(150)
    assert "\n".join(figures.shortfalls(calls=150)) == ""


async def test_spellings_are_answered_as_by_the_namenode(
    proxied_cluster: ProxiedCluster, hdfs_directory: str
) -> None:
    """150 spellings, up to three times each, get the same status and bytes, from memory as well."""
    paths.lay_out(proxied_cluster, hdfs_directory)
    figures = await paths.compare(proxied_cluster, hdfs_directory, forms=150, seed=1)
    assert figures.shortfalls(forms=150) == []


async def test_what_is_passed_on_is_answered_as_by_the_namenode(proxied_cluster: ProxiedCluster) -> None:
    """The proxy answers each smuggling row with the NameNode's status, or refuses it."""
    assert await compare_rows(proxied_cluster) == []
