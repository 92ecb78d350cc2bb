"""The namespace over RPC, read and changed at a real NameNode and at a light one: as WebHDFS shows it."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Iterator

import pytest

from nncache.hadoop.errors import (
    MalformedReplyError,
    RemoteCallError,
    RemoteExceptionError,
    WrongAddressError,
)
from nncache.hadoop.filestatus import FileStatus
from nncache.hadoop.namenodes.webhdfs import WebHdfs
from nncache.hadoop.namespace import Namespace, NamespaceCheck
from nncache.hadoop.rpc.namenode import NameNodeRpc
from nncache.hadoop.rpc.namespace_calls import MAX_DIRECTORIES, NamespaceCalls
from nncache.hadoop.rpc.proto import client_namenode_pb2 as client
from nncache.hadoop.rpc.statuses import encode_status, status_of
from nncache.invalidation.filters.quick_hdfs import calls_over_rpc
from nncache.testbed import Cluster
from tests.cluster import make_directory
from tests.real.light_server import LightServer

TIMEOUT_S = 15.0
LIST_LIMIT = 1_000
"""The default of dfs.ls.limit: statuses in one reply."""


@pytest.fixture(scope="module")
def light_server() -> Iterator[LightServer]:
    """Yield a light cluster for this module."""
    with LightServer() as server:
        yield server


@pytest.fixture(params=["cluster", "light_server"])
def upstream(request: pytest.FixtureRequest) -> Cluster:
    """Return the session's cluster, then the light one."""
    cluster: Cluster = request.getfixturevalue(request.param)
    return cluster


@pytest.fixture
def directory(upstream: Cluster) -> str:
    """Return a directory of this test's own."""
    path = f"/t/{uuid.uuid4().hex[:12]}"
    make_directory(upstream, "/t")
    make_directory(upstream, path)
    return path


@pytest.fixture
async def hdfs(upstream: Cluster) -> AsyncIterator[WebHdfs]:
    """Yield a WebHDFS client of the same cluster."""
    async with WebHdfs(f"http://{upstream.namenodes[0].http}", upstream.superuser) as client:
        yield client


@pytest.fixture
async def edits(upstream: Cluster, hdfs: WebHdfs) -> AsyncIterator[NamespaceCalls]:
    """Yield calls as the superuser."""
    async with calls_over_rpc(hdfs, upstream.superuser, timeout_s=TIMEOUT_S) as calls:
        yield calls


async def test_each_change_is_seen(edits: NamespaceCalls, hdfs: WebHdfs, directory: str) -> None:
    """Directories with mode, owner, group and attributes, renamed and deleted."""
    path = f"{directory}/ä b/c"
    assert await edits.mkdirs(path, "750")
    assert await edits.mkdirs(path, "750"), "it is there already"
    await edits.set_owner(path, "alice")
    await edits.set_owner(path, group="users")
    for value in (b"\xff\0one", b"two"):
        await edits.set_xattr(path, "user.nncache.test", value)
        assert await hdfs.xattrs(path) == {"user.nncache.test": value}
    status = await hdfs.status(path)
    assert (status.owner, status.group, status.permission) == ("alice", "users", "750")
    await edits.rename_to(path, f"{directory}/d")
    assert await hdfs.xattrs(f"{directory}/d") == {"user.nncache.test": b"two"}
    assert await edits.delete(f"{directory}/d", recursive=True)
    assert not await edits.delete(f"{directory}/d", recursive=True)


async def test_a_file_is_there_before_it_is_closed(
    upstream: Cluster, edits: NamespaceCalls, hdfs: WebHdfs, directory: str
) -> None:
    """It is empty, and its missing ancestors are created; an existing file is not opened."""
    path, asker = f"{directory}/new/f", NameNodeRpc(upstream.namenodes[0].rpc, upstream.superuser)
    await edits.create(path, "640")
    status = await hdfs.status(path)
    assert (status.type.value, status.length, status.permission) == ("FILE", 0, "640")
    assert not await asker.is_file_closed(path)
    await edits.complete(path)
    assert await asker.is_file_closed(path)
    await asker.close()
    with pytest.raises(RemoteCallError) as caught:
        await edits.create(path)
    assert caught.value.remote.exception == "FileAlreadyExistsException"


async def test_nothing_is_replaced(edits: NamespaceCalls, directory: str) -> None:
    """RENAME with the option NONE behaves the same."""
    for name in ("a", "b"):
        await edits.mkdirs(f"{directory}/{name}")
    with pytest.raises(RemoteCallError) as caught:
        await edits.rename_to(f"{directory}/a", f"{directory}/b")
    assert caught.value.remote.exception == "FileAlreadyExistsException"


async def test_another_namespace_is_not_changed(upstream: Cluster) -> None:
    """Nothing is sent before the namespace is compared."""
    address = upstream.namenodes[0].rpc
    check = NamespaceCheck("nn:9870", address)
    check.note_over_http(Namespace("CID-other", "BP-other"))
    made = NamespaceCalls(address, upstream.superuser, check, timeout_s=TIMEOUT_S)
    with pytest.raises(WrongAddressError):
        await made.confirm_namespace()
    with pytest.raises(WrongAddressError):
        await made.mkdirs("/never")
    await made.close()


async def test_statuses_are_those_of_webhdfs(upstream: Cluster, hdfs: WebHdfs, directory: str) -> None:
    """Files, directories, owners and modes, each by its requested path."""
    path = f"{directory}/ä b"
    await hdfs.mkdirs(f"{path}/c/d", "750")
    await hdfs.set_owner(f"{path}/c", owner="alice", group="users")
    await hdfs.create(f"{path}/file", b"12345", create_parent=False)
    async with calls_over_rpc(hdfs, upstream.superuser, timeout_s=TIMEOUT_S) as reads:
        listed = await reads.list_many([path, f"{path}/c"])
    assert listed == {each: await hdfs.list(each) for each in (path, f"{path}/c")}
    assert [status.path_suffix for status in listed[path]] == ["c", "file"]


async def test_what_is_not_listed_costs_no_other(upstream: Cluster, hdfs: WebHdfs, directory: str) -> None:
    """A missing directory, and one that this user may not read: as with WebHDFS, each has its own permissions."""
    for name, mode in (("open", "755"), ("closed", "700")):
        await hdfs.mkdirs(f"{directory}/{name}/child", mode)
    paths = [f"{directory}/{name}" for name in ("closed", "none", "open")]
    async with calls_over_rpc(hdfs, "bob", timeout_s=TIMEOUT_S) as reads:
        assert [*await reads.list_many(paths)] == [paths[2]]
    async with WebHdfs(f"http://{upstream.namenodes[0].http}", "bob") as bobs:
        with pytest.raises(RemoteExceptionError, match="Permission denied"):
            await bobs.list(paths[0])
    async with calls_over_rpc(hdfs, upstream.superuser, timeout_s=TIMEOUT_S) as reads:
        assert [*await reads.list_many(paths)] == [paths[0], paths[2]]


async def test_more_than_a_reply_holds_is_read_to_its_end(edits: NamespaceCalls, directory: str) -> None:
    """One directory takes two replies, and one follows it."""
    many, few = f"{directory}/many", f"{directory}/few"
    made = [f"{many}/{number:04}" for number in range(LIST_LIMIT + 1)] + [f"{few}/one", f"{few}/two"]
    for start in range(0, len(made), 100):
        await asyncio.gather(*map(edits.mkdirs, made[start : start + 100]))
    listed = await edits.list_many([few, many, few])
    assert [f"{many}/{status.path_suffix}" for status in listed[many]] == made[: LIST_LIMIT + 1]
    assert {status.path_suffix for status in listed[few]} == {"one", "two"}


async def test_more_directories_than_the_namenode_takes_are_refused(edits: NamespaceCalls) -> None:
    """The NameNode has the same limit."""
    assert await edits.list_many(["/"] * MAX_DIRECTORIES)
    with pytest.raises(RemoteCallError):
        await edits.list_many(["/"] * (MAX_DIRECTORIES + 1))


async def test_attributes_are_those_of_webhdfs(upstream: Cluster, hdfs: WebHdfs, directory: str) -> None:
    """All attributes of the namespace `user`, or none; those of a closed directory are refused."""
    path = f"{directory}/closed/with"
    await hdfs.mkdirs(path)
    async with calls_over_rpc(hdfs, upstream.superuser, timeout_s=TIMEOUT_S) as reads:
        assert await reads.xattrs(path) == {}
        for name in ("user.nncache.one", "user.two"):
            await hdfs.set_xattr(path, name, b"\xff\0" + name.encode())
        assert await reads.xattrs(path) == await hdfs.xattrs(path)
        assert len(await reads.xattrs(path)) == 2
        with pytest.raises(RemoteCallError):
            await reads.xattrs(f"{path}/none")
    await hdfs.mkdirs(f"{directory}/own", "700")
    async with calls_over_rpc(hdfs, "bob", timeout_s=TIMEOUT_S) as reads:
        with pytest.raises(RemoteCallError):
            await reads.xattrs(f"{directory}/own")


@pytest.mark.parametrize("bad", [{"file_type": 4}, {"owner": b"\xff"}])
def test_a_status_that_cannot_be_read_is_no_status(bad: dict[str, object]) -> None:
    """Its type is unknown, or a name is not text."""
    good = client.HdfsFileStatus(file_type=1, path=b"p", owner=b"o", group=b"g")
    assert isinstance(status_of(good), FileStatus)
    assert status_of(encode_status(status_of(good))) == status_of(good)
    for field, value in bad.items():
        setattr(good, field, value)
    with pytest.raises(MalformedReplyError, match="cannot be read"):
        status_of(good)


async def test_a_listing_that_does_not_go_on_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """A NameNode that always reports more costs one call, not the publisher."""
    reads = NamespaceCalls("nn:1", "bob", NamespaceCheck("nn:2", "nn:1"), timeout_s=TIMEOUT_S)
    replies = iter([b"\1", b"\2", b"\2"])

    async def call(*_: object) -> client.GetBatchedListingResponse:
        return client.GetBatchedListingResponse(listings=[], has_more=True, start_after=next(replies))

    monkeypatch.setattr(reads._connection, "call", call)  # noqa: SLF001 - a NameNode that never ends
    with pytest.raises(MalformedReplyError, match="goes on where it began"):
        await reads.list_many(["/a"])
