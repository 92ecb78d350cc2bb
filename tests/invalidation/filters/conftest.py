"""Filters are stored in a fake HDFS and in a real one: both must behave alike."""

from collections.abc import AsyncIterator

import pytest

from nncache.hadoop.namenodes.webhdfs import WebHdfs
from nncache.invalidation.filters.hdfs_store import FilterStore
from nncache.testbed import Cluster
from tests.invalidation.filters.fake_hdfs import FakeHdfs, Place


@pytest.fixture
def hdfs() -> FakeHdfs:
    """An empty HDFS in memory."""
    return FakeHdfs()


@pytest.fixture
def store(hdfs: FakeHdfs) -> FilterStore:
    """A store in the directory /filters of the fake HDFS."""
    return FilterStore(hdfs, "/filters")


@pytest.fixture(params=["fake", "real"])
async def place(request: pytest.FixtureRequest) -> AsyncIterator[Place]:
    """HDFS as an administrator, and a path for filters that does not exist yet."""
    if request.param == "fake":
        yield Place(FakeHdfs(), "/apps/nncache/filters")
        return
    cluster: Cluster = request.getfixturevalue("cluster")
    directory: str = request.getfixturevalue("administrators_directory")
    async with WebHdfs(f"http://{cluster.namenodes[0].http}", cluster.superuser) as hdfs:
        yield Place(hdfs, f"{directory}/apps/filters")
