"""Fixtures of pytest: a light cluster for a test, and one for a session.

pytest loads it by itself where nncache is installed.
"""

from collections.abc import Iterator

import pytest

from nncache.namenode.cluster import LightCluster


@pytest.fixture
def light_cluster() -> Iterator[LightCluster]:
    """A WebHDFS of this test's own, empty, without Java."""
    with LightCluster() as cluster:
        yield cluster


@pytest.fixture(scope="session")
def light_cluster_of_session() -> Iterator[LightCluster]:
    """A WebHDFS that all tests of the session share."""
    with LightCluster() as cluster:
        yield cluster
