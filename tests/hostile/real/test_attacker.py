"""The attacker on the real stack: the short form of `make hostile`."""

from tests.hostile.real.attacker import RealAttack, lay_out
from tests.proxied_cluster import ProxiedCluster


async def test_no_call_of_a_stranger_costs_anybody_a_hit(
    proxied_cluster: ProxiedCluster, hdfs_directory: str
) -> None:
    """150 calls; and each answer is the NameNode's."""
    lay_out(proxied_cluster, hdfs_directory)
    figures = await RealAttack(proxied_cluster, hdfs_directory, seed=1).run(150)
    assert "\n".join(figures.shortfalls(calls=150)) == ""
