"""Directories and attributes over RPC, from a real NameNode: what WebHDFS says of them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from nncache.hadoop.errors import MalformedReplyError, RemoteCallError, RemoteExceptionError
from nncache.hadoop.filestatus import FileStatus
from nncache.hadoop.namespace import NamespaceCheck
from nncache.hadoop.rpc.namespace_edits import NamespaceEdits
from nncache.hadoop.rpc.namespace_reads import MAX_DIRECTORIES, NamespaceReads, status_of
from nncache.hadoop.rpc.proto import client_namenode_pb2 as client
from nncache.hadoop.webhdfs import WebHdfs
from nncache.testbed import Cluster

TIMEOUT_S = 15.0
LIST_LIMIT = 1_000
"""dfs.ls.limit, by default: statuses of one reply."""


@pytest.fixture
async def hdfs(cluster: Cluster) -> AsyncIterator[WebHdfs]:
    """The same over WebHDFS."""
    async with WebHdfs(f"http://{cluster.namenodes[0].http}", cluster.superuser) as client:
        yield client


@asynccontextmanager
async def reading(hdfs: WebHdfs, user: str) -> AsyncIterator[NamespaceReads]:
    """Give reads as this user."""
    address, check = await hdfs.rpc_side()
    reads = NamespaceReads(address, user, check, timeout_s=TIMEOUT_S)
    try:
        await reads.connect()
        yield reads
    finally:
        await reads.close()


async def test_statuses_are_those_of_webhdfs(cluster: Cluster, hdfs: WebHdfs, hdfs_directory: str) -> None:
    """Files, directories, owners, modes; each by the path that was asked for."""
    path = f"{hdfs_directory}/ä b"
    await hdfs.mkdirs(f"{path}/c/d", "750")
    await hdfs.set_owner(f"{path}/c", owner="alice", group="users")
    await hdfs.create(f"{path}/file", b"12345", create_parent=False)
    async with reading(hdfs, cluster.superuser) as reads:
        listed = await reads.list_many([path, f"{path}/c"])
    assert listed == {each: await hdfs.list(each) for each in (path, f"{path}/c")}
    assert [status.path_suffix for status in listed[path]] == ["c", "file"]


async def test_what_is_not_listed_costs_no_other(
    cluster: Cluster, hdfs: WebHdfs, hdfs_directory: str
) -> None:
    """One that is not there, and one that this user may not read: as with WebHDFS, permissions are each directory's."""
    for name, mode in (("open", "755"), ("closed", "700")):
        await hdfs.mkdirs(f"{hdfs_directory}/{name}/child", mode)
    paths = [f"{hdfs_directory}/{name}" for name in ("closed", "none", "open")]
    async with reading(hdfs, "bob") as reads:
        assert [*await reads.list_many(paths)] == [paths[2]]
    async with WebHdfs(f"http://{cluster.namenodes[0].http}", "bob") as bobs:
        with pytest.raises(RemoteExceptionError, match="Permission denied"):
            await bobs.list(paths[0])
    async with reading(hdfs, cluster.superuser) as reads:
        assert [*await reads.list_many(paths)] == [paths[0], paths[2]]


async def test_more_than_a_reply_holds_is_read_to_its_end(
    cluster: Cluster, hdfs: WebHdfs, hdfs_directory: str
) -> None:
    """One directory in two replies, and one after the other."""
    many, few = f"{hdfs_directory}/many", f"{hdfs_directory}/few"
    address, check = await hdfs.rpc_side()
    edits = NamespaceEdits(address, cluster.superuser, check, timeout_s=TIMEOUT_S)
    try:
        await edits.connect()
        made = [f"{many}/{number:04}" for number in range(LIST_LIMIT + 1)] + [f"{few}/one", f"{few}/two"]
        for start in range(0, len(made), 100):
            await asyncio.gather(*map(edits.mkdirs, made[start : start + 100]))
    finally:
        await edits.close()
    async with reading(hdfs, cluster.superuser) as reads:
        listed = await reads.list_many([few, many, few])
    assert [f"{many}/{status.path_suffix}" for status in listed[many]] == made[: LIST_LIMIT + 1]
    assert {status.path_suffix for status in listed[few]} == {"one", "two"}


async def test_more_directories_than_the_namenode_takes_are_refused(cluster: Cluster, hdfs: WebHdfs) -> None:
    """Its limit is ours."""
    async with reading(hdfs, cluster.superuser) as reads:
        assert await reads.list_many(["/"] * MAX_DIRECTORIES)
        with pytest.raises(RemoteCallError):
            await reads.list_many(["/"] * (MAX_DIRECTORIES + 1))


async def test_attributes_are_those_of_webhdfs(cluster: Cluster, hdfs: WebHdfs, hdfs_directory: str) -> None:
    """All of the namespace `user`, and none; one may not read those of what is closed."""
    path = f"{hdfs_directory}/closed/with"
    await hdfs.mkdirs(path)
    async with reading(hdfs, cluster.superuser) as reads:
        assert await reads.xattrs(path) == {}
        for name in ("user.nncache.one", "user.two"):
            await hdfs.set_xattr(path, name, b"\xff\0" + name.encode())
        assert await reads.xattrs(path) == await hdfs.xattrs(path)
        assert len(await reads.xattrs(path)) == 2
        with pytest.raises(RemoteCallError):
            await reads.xattrs(f"{path}/none")
    await hdfs.mkdirs(f"{hdfs_directory}/own", "700")
    async with reading(hdfs, "bob") as reads:
        with pytest.raises(RemoteCallError):
            await reads.xattrs(f"{hdfs_directory}/own")


@pytest.mark.parametrize("bad", [{"file_type": 4}, {"owner": b"\xff"}])
def test_a_status_that_cannot_be_read_is_no_status(bad: dict[str, object]) -> None:
    """A type that is none, a name that is no text."""
    good = client.HdfsFileStatus(file_type=1, path=b"p", owner=b"o", group=b"g")
    assert isinstance(status_of(good), FileStatus)
    for field, value in bad.items():
        setattr(good, field, value)
    with pytest.raises(MalformedReplyError, match="cannot be read"):
        status_of(good)


async def test_a_listing_that_does_not_go_on_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """A NameNode that says without end that there is more costs a call, not the publisher."""
    reads = NamespaceReads("nn:1", "bob", NamespaceCheck("nn:2", "nn:1"), timeout_s=TIMEOUT_S)
    replies = iter([b"\1", b"\2", b"\2"])

    async def call(*_: object) -> client.GetBatchedListingResponse:
        return client.GetBatchedListingResponse(listings=[], has_more=True, start_after=next(replies))

    monkeypatch.setattr(reads._connection, "call", call)  # noqa: SLF001 - a NameNode that never ends
    with pytest.raises(MalformedReplyError, match="goes on where it began"):
        await reads.list_many(["/a"])
