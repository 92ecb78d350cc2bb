"""Edits of a real NameNode: their fields equal those of its OfflineEditsViewer, and their events those of inotify."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from nncache.hadoop.editlog.batches import batch_of
from nncache.hadoop.editlog.frames import Stop, read_frames, read_segment
from nncache.hadoop.editlog.ops import Op, OpCode, decode_op
from nncache.hadoop.events import EventBatch
from nncache.hadoop.namenodes.webhdfs import WebHdfs
from nncache.hadoop.rpc.namenode import NameNodeRpc
from nncache.testbed import Cluster, ClusterSpec
from nncache.testbed.java import DFS_ADMIN
from tests.cluster import HADOOP, webhdfs
from tests.hadoop.editlog import oev

NAMES = ("plain", "grüß", "日本", "emoji😀x", "a b+%;&<>'\"", "x" * 255)
ACL = "user::rwx,user:bob:r-x,group::r-x,other::---"
DEFAULT_ACL = "default:user:bob:rwx,user:carol:r-x,mask::rwx"

# Method, path, operation and parameters of WebHDFS calls, in an order in which they succeed.
CALLS: tuple[tuple[str, str, str, dict[str, Any]], ...] = (
    *(("PUT", f"/names/{name}", "SETACL", {"aclspec": ACL}) for name in NAMES),
    ("PUT", "/o", "SETREPLICATION", {"replication": 3}),
    ("PUT", "/o", "SETPERMISSION", {"permission": "640"}),
    ("PUT", "/a", "SETPERMISSION", {"permission": "1777"}),
    ("PUT", "/o", "SETOWNER", {"owner": "alice"}),
    ("PUT", "/o", "SETOWNER", {"group": "users"}),
    ("PUT", "/o", "SETTIMES", {"modificationtime": 1000000000000}),
    ("PUT", "/o", "SETTIMES", {"accesstime": 1000000000000}),
    ("PUT", "/a", "SETQUOTA", {"namespacequota": 100, "storagespacequota": 1 << 40}),
    ("PUT", "/a", "SETQUOTABYSTORAGETYPE", {"storagetype": "SSD", "storagespacequota": 1 << 30}),
    ("PUT", "/o", "RENAME", {"destination": "/a/b"}),
    ("PUT", "/a/b/o", "RENAME", {"destination": "/o2", "renameoptions": "OVERWRITE"}),
    ("POST", "/c1", "CONCAT", {"sources": "/c2,/c3"}),
    ("POST", "/w", "TRUNCATE", {"newlength": 1024}),
    ("POST", "/w", "TRUNCATE", {"newlength": 100}),
    ("PUT", "/a", "MODIFYACLENTRIES", {"aclspec": DEFAULT_ACL}),
    ("PUT", "/a/inherits", "MKDIRS", {}),
    ("PUT", "/a", "REMOVEACL", {}),
    ("PUT", "/c1", "SETXATTR", {"xattr.name": "user.a", "xattr.value": "", "flag": "CREATE"}),
    ("PUT", "/c1", "SETXATTR", {"xattr.name": "trusted.b", "xattr.value": "0x00ff", "flag": "CREATE"}),
    ("PUT", "/c1", "REMOVEXATTR", {"xattr.name": "user.a"}),
    ("PUT", "/s", "MKDIRS", {}),
    ("PUT", "/s", "ALLOWSNAPSHOT", {}),
    ("PUT", "/s", "CREATESNAPSHOT", {"snapshotname": "s1"}),
    ("PUT", "/s", "RENAMESNAPSHOT", {"oldsnapshotname": "s1", "snapshotname": "s2"}),
    ("DELETE", "/s", "DELETESNAPSHOT", {"snapshotname": "s2"}),
    ("PUT", "/s", "DISALLOWSNAPSHOT", {}),
    ("PUT", "/s", "SETSTORAGEPOLICY", {"storagepolicy": "COLD"}),
    ("POST", "/s", "UNSETSTORAGEPOLICY", {}),
    ("PUT", "/", "ENABLEECPOLICY", {"ecpolicy": "XOR-2-1-1024k"}),
    ("PUT", "/ec", "MKDIRS", {}),
    ("PUT", "/ec", "SETECPOLICY", {"ecpolicy": "XOR-2-1-1024k"}),
    ("PUT", "/ec/below", "MKDIRS", {}),
    ("POST", "/ec", "UNSETECPOLICY", {}),
    ("PUT", "/", "DISABLEECPOLICY", {"ecpolicy": "XOR-2-1-1024k"}),
    ("DELETE", "/c1", "DELETE", {}),
    ("DELETE", "/a", "DELETE", {"recursive": "true"}),
    ("GET", "/", "GETDELEGATIONTOKEN", {"renewer": "alice"}),
)

CACHE_ADMIN = "org.apache.hadoop.hdfs.tools.CacheAdmin"
COMMANDS: tuple[tuple[str, ...], ...] = (
    (CACHE_ADMIN, "-addPool", "p1", "-owner", "alice", "-mode", "755", "-limit", "1000000", "-maxTtl", "1d"),
    (CACHE_ADMIN, "-modifyPool", "p1", "-limit", "2000000"),
    (CACHE_ADMIN, "-addDirective", "-path", "/w", "-pool", "p1", "-replication", "1"),
    (CACHE_ADMIN, "-modifyDirective", "-id", "1", "-ttl", "1h"),
    (CACHE_ADMIN, "-removeDirective", "1"),
    (CACHE_ADMIN, "-removePool", "p1"),
    (DFS_ADMIN, "-safemode", "enter"),
    (DFS_ADMIN, "-rollingUpgrade", "prepare"),
    (DFS_ADMIN, "-safemode", "leave"),
    (DFS_ADMIN, "-rollingUpgrade", "finalize"),
)
NOT_PROVOKED = {
    OpCode.SET_GENSTAMP_V1,  # obsolete, like the next two
    OpCode.SET_NS_QUOTA,
    OpCode.CLEAR_NS_QUOTA,
    OpCode.SYMLINK,  # no NameNode writes it without a change of its code
    OpCode.REASSIGN_LEASE,  # like the next three, tested only with a program in Java
    OpCode.ADD_ERASURE_CODING_POLICY,
    OpCode.REMOVE_ERASURE_CODING_POLICY,
    OpCode.CANCEL_DELEGATION_TOKEN,
    OpCode.RENEW_DELEGATION_TOKEN,
}


@dataclass(frozen=True, slots=True)
class Written:
    """A NameNode's edits: the closed segments, and the batches of inotify."""

    cluster: Cluster
    segments: tuple[Path, ...]
    batches: tuple[EventBatch, ...]  # by getEditsFromTxid

    def operations(self) -> Iterator[tuple[Path, Op]]:
        """Yield all operations, each of which must be known."""
        for file in self.segments:
            layout_version, read = read_segment(file.read_bytes())
            assert layout_version is not None
            assert read.stop is Stop.END
            for frame in read.frames:
                op = decode_op(frame, layout_version)
                assert isinstance(op, Op), op
                yield file, op


@pytest.fixture(scope="module")
def written() -> Iterator[Written]:
    """Yield the edits after all kinds of operations were provoked."""
    spec = ClusterSpec(
        hadoop_version=HADOOP,
        overrides={"dfs.namenode.delegation.token.always-use": "true", "dfs.blocksize": "1024"},
    )
    with Cluster.start(spec) as cluster:
        asyncio.run(_write_files(cluster))
        for method, path, op, parameters in CALLS:
            status, body = webhdfs(cluster, method, path, op, **parameters)
            assert status == HTTPStatus.OK, (op, path, body)
        for main, *arguments in COMMANDS:
            done = cluster.run_main(main, *arguments)
            assert done.returncode == 0, (arguments, done.stdout, done.stderr)
        batches = asyncio.run(_roll(cluster))
        yield Written(cluster, tuple(sorted(_current(cluster).glob("edits_0*"))), batches)


def _current(cluster: Cluster) -> Path:
    return cluster.directory / "data" / cluster.namenodes[0].id / "current"


async def _write_files(cluster: Cluster) -> None:
    async with WebHdfs(f"http://{cluster.namenodes[0].http}", cluster.superuser) as hdfs:
        await hdfs.mkdirs("/a/b/c")
        for name in NAMES:
            await hdfs.create(f"/names/{name}")
            await hdfs.set_xattr(f"/names/{name}", "user.k", b"\0\1\xff")
            await hdfs.set_owner(f"/names/{name}", "usér", "gr😀p")
        for path in ("/o", "/o", "/o2", "/c1", "/c2", "/c3"):
            await hdfs.create(path, b"x" * 1024, overwrite=True)
        await hdfs.create("/w", b"x" * 2500)
        await hdfs.append("/w", b"more")


async def _roll(cluster: Cluster) -> tuple[EventBatch, ...]:
    """Close the open segment; return the batches of all transactions before the new one."""
    rpc = NameNodeRpc(cluster.namenodes[0].rpc, cluster.superuser)
    try:
        end = await rpc.roll_edits()
        txid, batches = 1, list[EventBatch]()
        while txid < end:
            page = await rpc.get_edits(txid)
            batches += (batch for batch in page.batches if batch.txid < end)
            txid = page.last_txid + 1
        return tuple(batches)
    finally:
        await rpc.close()


def test_all_that_can_be_provoked_was_written(written: Written) -> None:
    """Without all operations the other tests would prove nothing."""
    assert {op.code for _, op in written.operations()} == set(OpCode) - NOT_PROVOKED


def test_fields_are_those_of_the_offline_edits_viewer(written: Written, tmp_path: Path) -> None:
    """Every field of every operation is compared, except those that hold secrets."""
    xml = {file: tmp_path / f"{file.name}.xml" for file in written.segments}
    for file, output in xml.items():
        assert (
            written.cluster.run_main(oev.MAIN, "-p", "xml", "-i", str(file), "-o", str(output)).returncode
            == 0
        )
    theirs = [record for output in xml.values() for record in oev.read_xml(output)]
    assert [oev.leaves_of(op) for _, op in written.operations()] == theirs


def test_events_are_those_of_inotify(written: Written) -> None:
    """Each transaction has the same events, and no other transaction has any."""
    decoded = [batch for _, op in written.operations() if (batch := batch_of(op)) is not None]
    with_events = [EventBatch(batch.txid, batch.events) for batch in decoded if batch.events]
    assert with_events == list(written.batches)
    assert any(batch.changes for batch in decoded)


def test_an_open_segment_is_read_on(written: Written) -> None:
    """Reading continues where the frames ended, before the padding."""
    (file,) = _current(written.cluster).glob("edits_inprogress_*")
    layout_version, before = read_segment(file.read_bytes())
    assert (layout_version, before.stop) == (_layout(written), Stop.PADDING)
    assert webhdfs(written.cluster, "PUT", "/later", "MKDIRS")[0] == HTTPStatus.OK
    data = file.read_bytes()
    more = read_frames(data, before.offset, after_txid=before.frames[-1].txid)
    assert more.stop is Stop.PADDING
    assert layout_version is not None
    ops = [decode_op(frame, layout_version) for frame in more.frames]
    assert [op.fields["path"] for op in ops if isinstance(op, Op) and op.code is OpCode.MKDIR] == ["/later"]
    assert read_segment(data)[1].frames == before.frames + more.frames


def _layout(written: Written) -> int | None:
    return read_segment(written.segments[0].read_bytes())[0]
