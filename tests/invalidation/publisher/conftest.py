"""The environment of a publisher, in virtual time."""

import pytest

from tests.invalidation.publisher.fake_cluster import FakeCluster, fake_cluster


@pytest.fixture
async def on() -> FakeCluster:
    """A NameNode, ZooKeeper, and filters in HDFS."""
    return fake_cluster()
