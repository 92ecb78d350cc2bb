"""Spellings of paths at the real NameNode: the short form of `make hostile`."""

from tests.hostile.real.paths import compare, lay_out
from tests.world import World


async def test_spellings_are_answered_as_by_the_namenode(world: World, hdfs_directory: str) -> None:
    """150 of them, up to three times each: the same status and bytes, from memory as well."""
    lay_out(world, hdfs_directory)
    figures = await compare(world, hdfs_directory, forms=150, seed=1)
    assert figures.shortfalls(forms=150) == []
