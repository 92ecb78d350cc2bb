"""Spellings of paths at the real NameNode: the short form of `make hostile`."""

from tests.hostile.real.paths import compare, lay_out
from tests.proxied_cluster import ProxiedCluster


async def test_spellings_are_answered_as_by_the_namenode(
    proxied_cluster: ProxiedCluster, hdfs_directory: str
) -> None:
    """150 of them, up to three times each: the same status and bytes, from memory as well."""
    lay_out(proxied_cluster, hdfs_directory)
    figures = await compare(proxied_cluster, hdfs_directory, forms=150, seed=1)
    assert figures.shortfalls(forms=150) == []
