"""A NameNode whose web server answers no anonymous caller: the cache works nevertheless."""

import http.client
from collections.abc import Iterator

import pytest

from nncache.testbed import Cluster, ClusterSpec
from nncache.testbed.asker import Asker
from tests.cluster import HADOOP, make_directory
from tests.real.stand import Channel, proxied

WITHOUT_ANONYMOUS = {
    "hadoop.http.filter.initializers": "org.apache.hadoop.security.AuthenticationFilterInitializer",
    "hadoop.http.authentication.type": "simple",
    "hadoop.http.authentication.simple.anonymous.allowed": "false",
}


@pytest.fixture(scope="module")
def strict() -> Iterator[Cluster]:
    """A cluster without anonymous access."""
    spec = ClusterSpec(hadoop_version=HADOOP, with_zookeeper=True, overrides=WITHOUT_ANONYMOUS)
    with Cluster.start(spec) as cluster:
        yield cluster


def status_without_a_name(cluster: Cluster) -> int:
    """Return the status of a request for /jmx without a user name."""
    with Asker(cluster.namenodes[0].http) as namenode:
        return namenode.ask("GET", "/jmx?qry=Hadoop:service=NameNode,name=NameNodeStatus").status


@pytest.mark.timeout(240)
@pytest.mark.parametrize("channel", Channel, ids=lambda channel: channel.value)
def test_a_namenode_without_anonymous_access_is_cached(strict: Cluster, channel: Channel) -> None:
    """The proxy asks `/jmx` with the name of the service's user; so does the test bed for its own questions."""
    assert status_without_a_name(strict) == http.client.UNAUTHORIZED
    make_directory(strict, "/t")
    with proxied(strict, "/t/*", channel=channel) as simulation:
        simulation.make_hit("/t/f", "alice")
