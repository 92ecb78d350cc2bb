"""Filters are kept in HDFS in memory and in the real one: what holds for one holds for the other."""

from collections.abc import AsyncIterator

import pytest

from nncache.hadoop.namenodes.webhdfs import WebHdfs
from nncache.invalidation.filters.hdfs_store import FilterStore
from nncache.testbed import Cluster
from tests.invalidation.filters.fake_hdfs import FakeHdfs, Place


@pytest.fixture
def hdfs() -> FakeHdfs:
    """HDFS in memory, which is empty."""
    return FakeHdfs()


@pytest.fixture
def store(hdfs: FakeHdfs) -> FilterStore:
    """Filters that are to be kept in its directory /filters."""
    return FilterStore(hdfs, "/filters")


@pytest.fixture(params=["fake", "real"])
async def place(request: pytest.FixtureRequest) -> AsyncIterator[Place]:
    """A directory for filters that is not there yet, for an administrator."""
    if request.param == "fake":
        yield Place(FakeHdfs(), "/apps/nncache/filters")
        return
    cluster: Cluster = request.getfixturevalue("cluster")
    directory: str = request.getfixturevalue("administrators_directory")
    async with WebHdfs(f"http://{cluster.namenodes[0].http}", cluster.superuser) as hdfs:
        yield Place(hdfs, f"{directory}/apps/filters")
