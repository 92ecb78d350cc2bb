"""A proxy in front of the session's cluster, which all stories share, for each channel in turn."""

from collections.abc import Iterator

import pytest

from nncache.testbed import Cluster
from tests.real.light_server import LightServer
from tests.real.proxied_cluster import CallTarget, ProxiedCluster
from tests.real.stand import SPARING, Channel, proxied

GLOBS = tuple("/t" + "/*" * depth for depth in range(1, 8))


@pytest.fixture(scope="session", params=Channel, ids=lambda channel: channel.value)
def proxied_cluster(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[ProxiedCluster]:
    """The session's cluster and a proxy with filters for everything below /t."""
    with proxied(cluster, *GLOBS, channel=request.param, polling=SPARING) as proxied_cluster:
        enable = proxied_cluster.call(
            CallTarget.NAMENODE, "PUT", "ENABLEECPOLICY", "/", ecpolicy="XOR-2-1-1024k"
        )
        assert enable.status == 200 or isinstance(cluster, LightServer), enable
        yield proxied_cluster
