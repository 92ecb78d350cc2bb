"""The edits that two NameNodes report about one tree, in a form that compares equal byte for byte except for times."""

import asyncio
from collections.abc import Iterator

from google.protobuf.message import Message

from nncache.hadoop.rpc.connection import Method, RpcConnection
from nncache.hadoop.rpc.namenode import NameNodeRpc
from nncache.hadoop.rpc.proto import client_namenode_pb2 as client
from nncache.hadoop.rpc.proto import inotify_pb2 as pb

TIMEOUT_S = 20.0
RECENT_MS = 1_000_000_000_000
"""Times after 2001 come from a clock, and differ; a time set by a client is earlier."""

_GET_EDITS = Method("org.apache.hadoop.hdfs.protocol.ClientProtocol", "getEditsFromTxid", is_repeatable=True)
_KINDS: dict[int, type[Message]] = {
    pb.EVENT_CREATE: pb.CreateEvent,
    pb.EVENT_CLOSE: pb.CloseEvent,
    pb.EVENT_APPEND: pb.AppendEvent,
    pb.EVENT_RENAME: pb.RenameEvent,
    pb.EVENT_METADATA: pb.MetadataUpdateEvent,
    pb.EVENT_UNLINK: pb.UnlinkEvent,
    pb.EVENT_TRUNCATE: pb.TruncateEvent,
}
_TIMES = ("ctime", "timestamp", "mtime", "atime")

Edit = tuple[tuple[str, bytes], ...]
"""The events of one transaction: as text, and as bytes with the times removed."""


def last_txid(rpc: str, superuser: str) -> int:
    """Return the id of the last transaction that a NameNode has written."""

    async def ask() -> int:
        namenode = NameNodeRpc(rpc, superuser, timeout_s=TIMEOUT_S)
        try:
            return await namenode.get_current_edit_log_txid()
        finally:
            await namenode.close()

    return asyncio.run(ask())


def edits_of(rpc: str, superuser: str, after_txid: int, root: str) -> list[Edit]:
    """Return the transactions with events about a tree, in order."""
    return asyncio.run(_edits_of(rpc, superuser, after_txid, root))


async def _edits_of(rpc: str, superuser: str, after_txid: int, root: str) -> list[Edit]:
    connection = RpcConnection(rpc, superuser)
    found: list[Edit] = []
    at = after_txid + 1
    try:
        while True:
            reply = await connection.call(
                _GET_EDITS,
                client.GetEditsFromTxidRequest(txid=at),
                client.GetEditsFromTxidResponse,
                TIMEOUT_S,
            )
            page = reply.events_list
            if page.first_txid < 0:
                return found
            assert page.first_txid == at, f"asked for {at}, got {page.first_txid}"
            edits = (tuple(_comparable(batch, root)) for batch in page.batch)
            found += [edit for edit in edits if edit]
            at = page.last_txid + 1
    finally:
        await connection.close()


def _comparable(batch: pb.EventBatch, root: str) -> Iterator[tuple[str, bytes]]:
    for raw in batch.events:
        message = _KINDS[raw.type].FromString(raw.contents)
        if root.encode() not in raw.contents:
            continue
        for name in _TIMES:
            if getattr(message, name, 0) > RECENT_MS:
                setattr(message, name, 0)
        yield f"{type(message).__name__} {str(message).replace(chr(10), ' ')}", message.SerializeToString()
