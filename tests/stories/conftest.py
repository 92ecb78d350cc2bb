"""One proxy in front of the session's cluster, for all stories."""

from collections.abc import Iterator

import pytest

from testbed import Cluster
from tests.world import Where, World, proxied

GLOBS = tuple("/t" + "/*" * depth for depth in range(1, 8))


@pytest.fixture(scope="session")
def world(cluster: Cluster) -> Iterator[World]:
    """The session's cluster and a proxy whose filters match everything below /t."""
    with proxied(cluster, *GLOBS) as world:
        enable = world.call(Where.NAMENODE, "PUT", "ENABLEECPOLICY", "/", ecpolicy="XOR-2-1-1024k")
        assert enable.status == 200, enable
        yield world
