"""A proxy of their own for the attacks, in front of the session's cluster."""

from collections.abc import Iterator

import pytest

from nncache.testbed import Cluster
from tests.channels import Channel, proxied
from tests.hostile.real.attacker import MAX_WINDOWS
from tests.proxied_cluster import ProxiedCluster


@pytest.fixture
def proxied_cluster(cluster: Cluster, hdfs_directory: str) -> Iterator[ProxiedCluster]:
    """The session's cluster and a proxy for one directory."""
    globs = [hdfs_directory + "/*" * depth for depth in range(1, 6)]
    with proxied(cluster, *globs, channel=Channel.DIRECT, max_two_step_windows=MAX_WINDOWS) as made:
        yield made
