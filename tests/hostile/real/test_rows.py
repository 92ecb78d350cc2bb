"""The rows of smuggling beside a real NameNode: what is passed on is answered with its status."""

from tests.hostile.real.rows import compare_rows
from tests.proxied_cluster import ProxiedCluster


async def test_what_is_passed_on_is_answered_as_by_the_namenode(proxied_cluster: ProxiedCluster) -> None:
    """Every row, through the proxy and directly."""
    assert await compare_rows(proxied_cluster) == []
