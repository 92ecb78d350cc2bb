"""Changes of the namespace over RPC, against a real NameNode: as WebHDFS shows them."""

from collections.abc import AsyncIterator

import pytest

from nncache.hadoop.errors import RemoteCallError, WrongAddressError
from nncache.hadoop.namespace import Namespace, NamespaceCheck
from nncache.hadoop.rpc.namenode import NameNodeRpc
from nncache.hadoop.rpc.namespace_edits import NamespaceEdits
from nncache.hadoop.webhdfs import WebHdfs
from nncache.testbed import Cluster

TIMEOUT_S = 15.0


@pytest.fixture
async def hdfs(cluster: Cluster) -> AsyncIterator[WebHdfs]:
    """The same over WebHDFS."""
    async with WebHdfs(f"http://{cluster.namenodes[0].http}", cluster.superuser) as client:
        yield client


@pytest.fixture
async def edits(cluster: Cluster, hdfs: WebHdfs) -> AsyncIterator[NamespaceEdits]:
    """As the superuser, at the address that the NameNode names itself."""
    address, check = await hdfs.rpc_side()
    made = NamespaceEdits(address, cluster.superuser, check, timeout_s=TIMEOUT_S)
    await made.connect()
    yield made
    await made.close()


async def test_each_change_is_seen(edits: NamespaceEdits, hdfs: WebHdfs, hdfs_directory: str) -> None:
    """Directories with their mode, owner, group, attributes, moved and deleted."""
    path = f"{hdfs_directory}/ä b/c"
    assert await edits.mkdirs(path, "750")
    assert await edits.mkdirs(path, "750"), "it is there already"
    await edits.set_owner(path, "alice")
    await edits.set_owner(path, group="users")
    for value in (b"\xff\0one", b"two"):
        await edits.set_xattr(path, "user.nncache.test", value)
        assert await hdfs.xattrs(path) == {"user.nncache.test": value}
    status = await hdfs.status(path)
    assert (status.owner, status.group, status.permission) == ("alice", "users", "750")
    await edits.rename_to(path, f"{hdfs_directory}/d")
    assert await hdfs.xattrs(f"{hdfs_directory}/d") == {"user.nncache.test": b"two"}
    assert await edits.delete(f"{hdfs_directory}/d", recursive=True)
    assert not await edits.delete(f"{hdfs_directory}/d", recursive=True)


async def test_a_file_is_there_before_it_is_closed(
    cluster: Cluster, edits: NamespaceEdits, hdfs: WebHdfs, hdfs_directory: str
) -> None:
    """It is empty, with the directories above it; what is there already is not opened."""
    path, asker = f"{hdfs_directory}/new/f", NameNodeRpc(cluster.namenodes[0].rpc, cluster.superuser)
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


async def test_nothing_is_replaced(edits: NamespaceEdits, hdfs_directory: str) -> None:
    """As by RENAME with the option NONE."""
    for name in ("a", "b"):
        await edits.mkdirs(f"{hdfs_directory}/{name}")
    with pytest.raises(RemoteCallError) as caught:
        await edits.rename_to(f"{hdfs_directory}/a", f"{hdfs_directory}/b")
    assert caught.value.remote.exception == "FileAlreadyExistsException"


async def test_another_namespace_is_not_changed(cluster: Cluster) -> None:
    """Nothing is sent before the namespace was compared."""
    address = cluster.namenodes[0].rpc
    check = NamespaceCheck("nn:9870", address)
    check.said_over_http(Namespace("CID-other", "BP-other"))
    made = NamespaceEdits(address, cluster.superuser, check, timeout_s=TIMEOUT_S)
    with pytest.raises(WrongAddressError):
        await made.connect()
    with pytest.raises(WrongAddressError):
        await made.mkdirs("/never")
    await made.close()
