"""The small WebHDFS client, with a real NameNode and DataNode."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import msgspec
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from nncache.hadoop.errors import MalformedReplyError, RemoteExceptionError, WebHdfsError
from nncache.hadoop.filestatus import FileStatus, FileType
from nncache.hadoop.namenodes.webhdfs import WebHdfs
from nncache.hadoop.remote_exception import Verdict
from nncache.hadoop.rpc.namenode import NameNodeRpc
from nncache.testbed import Cluster

ODD_NAME = "ä b+c%41&?#;,=x"


@pytest.fixture
async def hdfs(cluster: Cluster) -> AsyncIterator[WebHdfs]:
    """Yield a client of the superuser."""
    async with WebHdfs(f"http://{cluster.namenodes[0].http}/", cluster.superuser) as client:
        yield client


async def test_files(hdfs: WebHdfs, hdfs_directory: str) -> None:
    """Files are written, read, appended to, renamed and deleted, with any name."""
    path = f"{hdfs_directory}/{ODD_NAME}"
    await hdfs.create(path, b"one", permission="600")
    assert await hdfs.read(path) == b"one"
    await hdfs.append(path, b"two")
    assert await hdfs.read(path) == b"onetwo"
    status = await hdfs.status(path)
    assert (status.type, status.length, status.permission) == (FileType.FILE, 6, "600")
    await hdfs.create(f"{hdfs_directory}/empty")
    assert (await hdfs.status(f"{hdfs_directory}/empty")).length == 0
    assert await hdfs.rename(f"{hdfs_directory}/empty", f"{hdfs_directory}/moved")
    assert not await hdfs.exists(f"{hdfs_directory}/empty")
    assert await hdfs.delete(f"{hdfs_directory}/moved")
    assert not await hdfs.delete(f"{hdfs_directory}/moved")


async def test_an_existing_file_is_replaced_only_on_demand(hdfs: WebHdfs, hdfs_directory: str) -> None:
    """`hdfs dfs -put` has `-f` for that."""
    path = f"{hdfs_directory}/f"
    await hdfs.create(path, b"one")
    with pytest.raises(RemoteExceptionError, match="FileAlreadyExistsException"):
        await hdfs.create(path, b"two")
    await hdfs.create(path, b"three", overwrite=True)
    assert await hdfs.read(path) == b"three"


async def test_a_name_that_is_taken_is_not_taken_again(hdfs: WebHdfs, hdfs_directory: str) -> None:
    """RENAME with an option never moves into a directory, unlike the one without; the parent must exist."""
    for name in ("a", "b"):
        await hdfs.mkdirs(f"{hdfs_directory}/{name}")
    with pytest.raises(RemoteExceptionError, match="FileAlreadyExistsException"):
        await hdfs.rename_to(f"{hdfs_directory}/a", f"{hdfs_directory}/b")
    assert await hdfs.list(f"{hdfs_directory}/b") == ()
    with pytest.raises(RemoteExceptionError, match="FileNotFoundException"):
        await hdfs.rename_to(f"{hdfs_directory}/a", f"{hdfs_directory}/none/a")
    await hdfs.rename_to(f"{hdfs_directory}/a", f"{hdfs_directory}/b/a")
    assert [status.path_suffix for status in await hdfs.list(f"{hdfs_directory}/b")] == ["a"]


async def test_a_file_can_be_made_without_its_parents(hdfs: WebHdfs, hdfs_directory: str) -> None:
    """CREATE creates missing ancestors unless the parameter forbids it."""
    with pytest.raises(RemoteExceptionError, match="FileNotFoundException"):
        await hdfs.create(f"{hdfs_directory}/none/f", create_parent=False)
    assert not await hdfs.exists(f"{hdfs_directory}/none")
    await hdfs.create(f"{hdfs_directory}/made/f")
    await hdfs.create(f"{hdfs_directory}/made/g", create_parent=False)
    assert len(await hdfs.list(f"{hdfs_directory}/made")) == 2


async def test_a_standby_leads_to_the_active_one(cluster: Cluster, hdfs_directory: str) -> None:
    """The NameNodes may be listed in any order."""
    app = web.Application()

    async def refuse(_: web.Request) -> web.Response:
        remote = {"exception": "StandbyException", "javaClassName": "org.apache.hadoop.ipc.StandbyException"}
        return web.json_response({"RemoteException": remote}, status=403)

    app.router.add_route("*", "/{path:.*}", refuse)
    namenode = f"http://{cluster.namenodes[0].http}"
    async with (
        TestServer(app) as standby,
        WebHdfs(str(standby.make_url("/")), cluster.superuser, others=[namenode]) as hdfs,
    ):
        await hdfs.create(f"{hdfs_directory}/f", b"data")
        assert await hdfs.read(f"{hdfs_directory}/f") == b"data"
        assert hdfs.url("OPEN", "/f").startswith(namenode)


async def test_directories_and_what_is_known_of_them(hdfs: WebHdfs, hdfs_directory: str) -> None:
    """A directory is created with its ancestors, listed, and its metadata is set."""
    path = f"{hdfs_directory}/x/y"
    assert await hdfs.mkdirs(path, "750")
    assert [status.path_suffix for status in await hdfs.list(f"{hdfs_directory}/x")] == ["y"]
    assert await hdfs.list(path) == ()
    await hdfs.set_owner(path, "alice", "users")
    await hdfs.set_permission(path, "1700")
    await hdfs.set_times(path, modification_ms=1234)
    status = await hdfs.status(path)
    assert (status.owner, status.group, status.permission, status.modification_time) == (
        "alice",
        "users",
        "1700",
        1234,
    )
    await hdfs.set_owner(path, group="supergroup")
    assert (await hdfs.status(path)).owner == "alice"


async def test_everyone_is_someone(cluster: Cluster, hdfs: WebHdfs, hdfs_directory: str) -> None:
    """A user has only that user's rights; acting for others needs a right of its own."""
    path = f"{hdfs_directory}/private"
    await hdfs.mkdirs(path, "700")
    base = f"http://{cluster.namenodes[0].http}"
    async with WebHdfs(base, "bob") as bob:
        with pytest.raises(RemoteExceptionError, match="403 AccessControlException") as caught:
            await bob.exists(f"{path}/x")
        assert caught.value.status == 403
        assert caught.value.verdict is Verdict.ACCESS_CONTROL
        assert caught.value.remote.java_class_name == "org.apache.hadoop.security.AccessControlException"
    async with WebHdfs(base, "bob", doas="alice") as impostor:
        with pytest.raises(RemoteExceptionError, match="not allowed to impersonate alice"):
            await impostor.status("/")


async def test_a_missing_path_is_an_error_with_a_verdict(hdfs: WebHdfs, hdfs_directory: str) -> None:
    """This holds for every call that reads."""
    calls: tuple[Callable[[str], Awaitable[object]], ...] = (hdfs.status, hdfs.list, hdfs.read)
    for call in calls:
        with pytest.raises(RemoteExceptionError, match="404 FileNotFoundException") as caught:
            await call(f"{hdfs_directory}/none")
        assert caught.value.verdict is Verdict.FILE_NOT_FOUND


async def test_a_file_is_open_while_its_data_comes(
    cluster: Cluster, hdfs: WebHdfs, hdfs_directory: str
) -> None:
    """An async iterable of data keeps the file open: tests get an open file that way."""
    path = f"{hdfs_directory}/open"
    rpc = NameNodeRpc(cluster.namenodes[0].rpc, cluster.superuser)
    may_end = asyncio.Event()

    async def data() -> AsyncIterator[bytes]:
        yield b"x"
        await may_end.wait()

    async with asyncio.TaskGroup() as tasks, asyncio.timeout(20):
        writing = tasks.create_task(hdfs.create(path, data()))
        while not await rpc.exists(path):  # noqa: ASYNC110 - a NameNode has no event for it that this client sees
            await asyncio.sleep(0.01)
        assert not await rpc.is_file_closed(path)
        may_end.set()
        await writing
        assert await rpc.is_file_closed(path)
    await rpc.close()


@pytest.mark.parametrize(
    ("status", "body"), [(200, "{}"), (200, ""), (404, "<html>"), (302, ""), (500, "{}")]
)
async def test_an_answer_of_another_kind_is_an_error(status: int, body: str) -> None:
    """A login page is not a status, and a redirect without a Location leads nowhere."""
    app = web.Application()

    async def answer(_: web.Request) -> web.Response:
        return web.Response(status=status, text=body)

    app.router.add_route("*", "/{path:.*}", answer)
    async with TestServer(app) as server, WebHdfs(str(server.make_url("/")), "bob") as hdfs:
        for call in (hdfs.status("/"), hdfs.list("/"), hdfs.mkdirs("/a"), hdfs.read("/a")):
            with pytest.raises((WebHdfsError, MalformedReplyError)):
                await call


@pytest.mark.parametrize("keeps_connections", [False, True])
async def test_extended_attributes(cluster: Cluster, hdfs_directory: str, keeps_connections: bool) -> None:
    """A value may be any bytes or empty, and setting it again replaces it."""
    base = f"http://{cluster.namenodes[0].http}"
    async with WebHdfs(base, cluster.superuser, keeps_connections=keeps_connections) as hdfs:
        await hdfs.mkdirs(f"{hdfs_directory}/{ODD_NAME}")
        path = f"{hdfs_directory}/{ODD_NAME}"
        assert await hdfs.xattrs(path) == {}
        for value in (b"", b"\xff\0", b'"quoted"'):
            await hdfs.set_xattr(path, "user.nncache.test", value)
            assert await hdfs.xattrs(path) == {"user.nncache.test": value}


async def test_the_rpc_port_is_the_active_namenodes() -> None:
    """A standby answers JMX as well, and may be the first that is named."""

    def answering(state: str) -> web.Application:
        bean = {"State": state, "HostAndPort": f"{state}:8020", "ClusterId": "CID-1", "BlockPoolId": "BP-1"}
        root = FileStatus(
            type=FileType.DIRECTORY, path_suffix="", length=0, owner="o", group="g", permission="755",
            access_time=0, modification_time=0, block_size=0, replication=0, file_id=1, children_num=0,
            storage_policy=0,
        )  # fmt: skip
        refusal = {"RemoteException": {"exception": "StandbyException", "message": "no"}}

        async def answer(request: web.Request) -> web.Response:
            if request.path == "/jmx":
                return web.json_response({"beans": [bean]})
            if state == "standby":
                return web.json_response(refusal, status=403)
            return web.json_response({"FileStatus": msgspec.to_builtins(root)})

        app = web.Application()
        app.router.add_get("/{path:.*}", answer)
        return app

    async with (
        TestServer(answering("standby")) as standby,
        TestServer(answering("active")) as active,
        WebHdfs(str(standby.make_url("/")), "bob", others=[str(active.make_url("/"))]) as hdfs,
    ):
        address, _ = await hdfs.rpc_side()
    assert address == "active:8020"


async def test_the_rpc_port_is_where_the_namenode_says(cluster: Cluster) -> None:
    """The namespace behind that port is returned too."""
    async with WebHdfs(f"http://{cluster.namenodes[0].http}", "bob") as hdfs:
        address, check = await hdfs.rpc_side()
    assert address.rpartition(":")[2] == cluster.namenodes[0].rpc.rpartition(":")[2]
    rpc = NameNodeRpc(address, "bob", check=check)
    await rpc.confirm_namespace()
    await rpc.close()
    assert check.over_rpc == check.over_http is not None
