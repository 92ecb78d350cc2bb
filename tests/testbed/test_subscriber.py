"""Somebody who follows a filter."""

from collections.abc import Iterator

import pytest

from nncache.testbed import Cluster, StartError
from tests.cluster import make_directory, webhdfs
from tests.service import Service


@pytest.fixture
def service(cluster: Cluster, hdfs_directory: str) -> Iterator[Service]:
    """A service with one filter, f, of all that is in the test's directory."""
    service = Service.of(cluster)
    service.add("f", f"{hdfs_directory}/*")
    with service.publisher() as publisher:
        publisher.await_publishing()
        yield service


def test_it_prints_all_that_happens_from_its_start_on(service: Service, hdfs_directory: str) -> None:
    """In order, in Hadoop's words."""
    with service.subscriber("f") as subscriber:
        assert subscriber.events() == ()
        make_directory(service.cluster, f"{hdfs_directory}/d")
        webhdfs(service.cluster, "DELETE", f"{hdfs_directory}/d", "DELETE")
        subscriber.await_that(
            lambda it: "UNLINK" in {event["type"] for event in it.events()}, "tells nothing"
        )
        told = [(event["type"], event["path"]) for event in subscriber.events()]
        assert told[0] == ("CREATE", f"{hdfs_directory}/d")
        assert told[-1] == ("UNLINK", f"{hdfs_directory}/d")
        assert subscriber.gaps() == ()
        assert subscriber.typed[:3] == ("watch", "f", "--json")
    assert subscriber.process.pid is None
    assert subscriber.lines() == ()


def test_one_that_cannot_follow_says_why(service: Service) -> None:
    """As a person at a terminal would be told."""
    with pytest.raises(StartError, match="nncache watch ended with"), service.subscriber("nowhere"):
        pass
