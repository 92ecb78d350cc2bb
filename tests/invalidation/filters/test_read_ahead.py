"""Filters read ahead are equal to those read one by one; whatever cannot be read ahead is requested as before."""

from collections.abc import AsyncIterator, Mapping

import pytest

from nncache.hadoop.filestatus import FileStatus
from nncache.hadoop.namenodes.webhdfs import WebHdfs
from nncache.hadoop.namespace import Namespace
from nncache.invalidation.filters.definition import DEFINITION, SUBSCRIBERS, Filter
from nncache.invalidation.filters.hdfs_reader import FilterReader
from nncache.invalidation.filters.hdfs_store import FilterStore
from nncache.invalidation.filters.quick_hdfs import WORTH_IT, ReadBefore, quick, reading_ahead
from nncache.testbed import Cluster
from tests.invalidation.filters.fake_hdfs import FakeHdfs, Naming

PATH = "/filters"
TIMEOUT_S = 15.0
NAMES = tuple(f"f{number:02}" for number in range(WORTH_IT))


class Counted(WebHdfs):
    """HDFS over WebHDFS, with a count of reads."""

    reads = 0

    async def list(self, path: str) -> tuple[FileStatus, ...]:
        """Return the statuses of a directory's children."""
        self.reads += 1
        return await super().list(path)

    async def xattrs(self, path: str) -> Mapping[str, bytes]:
        """Return the extended attributes of a path."""
        self.reads += 1
        return await super().xattrs(path)


@pytest.fixture
async def hdfs(cluster: Cluster) -> AsyncIterator[Counted]:
    """The real HDFS."""
    async with Counted(f"http://{cluster.namenodes[0].http}", cluster.superuser) as found:
        yield found


async def test_all_kinds_of_filters_are_as_without(
    cluster: Cluster, hdfs: Counted, hdfs_directory: str
) -> None:
    """Filters with an attribute, a file, subscribers or none, and broken ones. One WebHDFS call is left: the names."""
    path = f"{hdfs_directory}/filters"
    async with quick(hdfs, cluster.superuser, timeout_s=TIMEOUT_S) as fast:
        store = FilterStore(fast, path)
        for number, name in enumerate(NAMES):
            users = tuple(f"user{each}" for each in range(number % 3))
            await store.add(Filter(name, f"/user/{name}/*", "joe", users))
        of_a_file = b'{"name": "f00", "pathGlob": "/of/a/file/*"}'
        await fast.create(f"{path}/f00/{DEFINITION}", of_a_file, create_parent=False)
        await fast.mkdirs(f"{path}/empty")
        await fast.mkdirs(f"{path}/no-definition/{SUBSCRIBERS}")
        await fast.create(f"{path}/file", create_parent=False)
        await fast.mkdirs(f"{path}/list-is-a-file")
        await fast.create(f"{path}/list-is-a-file/{SUBSCRIBERS}", create_parent=False)
    expected = await FilterReader(hdfs, path).read_all()
    assert len(expected.filters) == WORTH_IT
    assert expected.filters["f00"].path_glob == "/of/a/file/*"
    assert expected.broken.keys() == {"empty", "no-definition", "file", "list-is-a-file"}
    reader = FilterReader(hdfs, path, reading_ahead(hdfs, cluster.superuser, timeout_s=TIMEOUT_S))
    hdfs.reads = 0
    assert await reader.read_all() == expected
    assert hdfs.reads == 1


async def test_a_user_who_may_not_read_gets_the_same_as_before(
    cluster: Cluster, hdfs: Counted, hdfs_directory: str
) -> None:
    """WebHDFS is asked again for what RPC refuses, and its answer counts: an unreadable filter costs only itself."""
    path = f"{hdfs_directory}/filters"
    async with quick(hdfs, cluster.superuser, timeout_s=TIMEOUT_S) as fast:
        store = FilterStore(fast, path)
        for name in NAMES:
            await store.add(Filter(name, f"/user/{name}/*", "joe"))
        await fast.mkdirs(f"{path}/closed", "700")
    async with WebHdfs(f"http://{cluster.namenodes[0].http}", "bob") as bobs:
        await bobs.status("/")
        expected = await FilterReader(bobs, path).read_all()
        ahead = reading_ahead(bobs, "bob", timeout_s=TIMEOUT_S)
        assert await FilterReader(bobs, path, ahead).read_all() == expected
    assert expected.broken.keys() == {"closed"}
    assert len(expected.filters) == WORTH_IT


@pytest.mark.parametrize("address", ["", "127.0.0.1:1"])
async def test_without_rpc_each_is_asked(address: str) -> None:
    """Each filter is read alone if the RPC port is not reported, or not reachable."""
    hdfs = Naming(address, Namespace("CID", "BP"))
    store = FilterStore(hdfs, PATH)
    for name in NAMES:
        await store.add(Filter(name, f"/user/{name}/*", "joe"))
    ahead = reading_ahead(hdfs, "joe", timeout_s=TIMEOUT_S)
    assert (await FilterReader(hdfs, PATH, ahead).read_all()).filters.keys() == {*NAMES}


async def test_few_filters_are_worth_no_connection() -> None:
    """With one filter fewer WebHDFS is used, without a request for the RPC address."""
    hdfs = Naming("127.0.0.1:1", Namespace("CID", "BP"))
    ahead = reading_ahead(hdfs, "joe", timeout_s=TIMEOUT_S)
    assert await ahead(PATH, NAMES[1:]) is hdfs
    assert await ahead(PATH, NAMES) is not hdfs


async def test_what_was_read_ahead_is_used_once() -> None:
    """A second request, for example of a filter that was replaced, returns the present state."""
    hdfs = FakeHdfs()
    await hdfs.mkdirs("/a/now")
    await hdfs.set_xattr("/a", "user.b", b"now")
    before = ReadBefore(hdfs, {"/a": ()}, {"/a": {}})
    assert (await before.list("/a"), await before.xattrs("/a")) == ((), {})
    assert [status.path_suffix for status in await before.list("/a")] == ["now"]
    assert await before.xattrs("/a") == {"user.b": b"now"}
