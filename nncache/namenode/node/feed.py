"""The feed of edits: all changes in order, for its readers (HDFS inotify).

Each change writes its edit in its own transaction, as a sequential znode: no counter is set, so two changes never
conflict, and there is no gap. Edits are grouped in segments. The root's inode names the segment that is written to, and
every change checks that inode: once another segment is begun, the segment before it has its last edit. The last edit
has no events, as in HDFS, and is seen by a reader that waits for the next edit. So the transaction id of an edit is its
number in the segment, counted on from all earlier segments.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import msgspec

from nncache.coordination.errors import ZnodeError
from nncache.coordination.zookeeper import CreateOp, DeleteOp, SetDataOp, ZnodeOp, Znodes
from nncache.hadoop import feed_znodes
from nncache.hadoop.events import EditsPage, EventBatch
from nncache.namenode.namespace import layout
from nncache.namenode.namespace.inode import ROOT_ID, encode, parse_inode
from nncache.namenode.namespace.transaction import MAX_OPERATIONS

FIRST_SEGMENT: Final = 1
FIRST_TXID: Final = 1

MAX_EVENTS: Final = 1_000
"""Per page (dfs.namenode.inotify.max.events.per.rpc)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EditsLimits:
    """Limits on the number of edits."""

    segment: int = 1_000  # edits after which the next segment is begun
    kept: int = 10_000  # at least; older segments are dropped (dfs.namenode.num.extra.edits.retained)


@dataclass(frozen=True, slots=True)
class _Segment:
    number: int
    first_txid: int
    edits: int

    @property
    def last_txid(self) -> int:
        """The last transaction id in the segment; in an empty one, the last id before it."""
        return self.first_txid + self.edits - 1

    def path(self, txid: int) -> str:
        """Return the path of an edit."""
        return feed_znodes.edit(self.number, txid - self.first_txid)


def first_operations() -> list[ZnodeOp]:
    """Return the operations that create an empty feed. Its first edit has no events, as in HDFS's log."""
    return [
        CreateOp(feed_znodes.EDITS, feed_znodes.encode_first(FIRST_SEGMENT, FIRST_TXID)),
        CreateOp(feed_znodes.segment(FIRST_SEGMENT), b""),
        CreateOp(feed_znodes.new_edit(FIRST_SEGMENT), feed_znodes.encode_edit(()), sequential=True),
    ]


class Feed:
    """Reads the edits of a store, and bounds their number."""

    def __init__(self, znodes: Znodes, limits: EditsLimits) -> None:
        self._znodes = znodes
        self._limits = limits
        self._seen = (FIRST_SEGMENT, FIRST_SEGMENT)  # the first and last known segment

    async def last_txid(self) -> int:
        """Return the transaction id of the last edit. No change that was answered before has a larger id."""
        return (await self._segments())[-1].last_txid

    async def page(self, from_txid: int) -> EditsPage:
        """Return the edits from an id on, or from the first kept edit (NameNodeRpcServer.getEditsFromTxid)."""
        while True:
            segments = await self._segments()
            end = segments[-1].last_txid
            if from_txid > end:
                return EditsPage(-1, -1, end, ())
            begin = max(from_txid, segments[0].first_txid)
            txids = range(begin, min(end, begin + MAX_EVENTS - 1) + 1)
            paths = [
                segment.path(txid)
                for segment in segments
                for txid in range(max(begin, segment.first_txid), min(segment.last_txid, txids[-1]) + 1)
            ]
            found = [znode.data for znode in await self._znodes.get_many(paths) if znode is not None]
            if len(found) == len(txids):  # else some were dropped concurrently
                return _page(txids, found, end)

    async def keep(self) -> None:
        """Begin a new segment if the last one is full, and drop the oldest ones."""
        segments = await self._segments()
        if segments[-1].edits >= self._limits.segment:
            await self._begin(segments[-1].number + 1)
        await self._drop(segments)

    async def _segments(self) -> list[_Segment]:
        """Return all kept segments, the oldest first, as of one moment."""
        while True:
            first_seen, last_seen = self._seen
            numbers = range(first_seen, last_seen + 2)
            edits, *found = await self._znodes.get_many(
                [feed_znodes.EDITS, *(feed_znodes.segment(number) for number in numbers)]
            )
            assert edits is not None, "a namespace is formatted before it is served"
            first, txid = feed_znodes.parse_first(edits.data)
            segments: list[_Segment] = []
            for number, znode in zip(numbers, found, strict=True):
                if znode is not None and number >= first:
                    segments.append(_Segment(number, txid, znode.children))
                    txid += znode.children
            self._seen = first, max(first, last_seen + (found[-1] is not None))
            if segments and found[-1] is None:
                return segments

    async def _begin(self, number: int) -> None:
        (znode,) = await self._znodes.get_many([layout.inode(ROOT_ID)])
        assert znode is not None, "there is always a root"
        root = msgspec.structs.replace(parse_inode(znode.data), segment=number)
        begin: list[ZnodeOp] = [
            CreateOp(feed_znodes.new_edit(number - 1), feed_znodes.encode_edit(()), sequential=True),
            CreateOp(feed_znodes.segment(number), b""),
            SetDataOp(layout.inode(ROOT_ID), encode(root), znode.version),
        ]
        try:
            await self._znodes.commit(begin)
        except ZnodeError:
            return  # another NameNode has begun it, or the root was changed: retried at the next tick

    async def _drop(self, segments: list[_Segment]) -> None:
        """Drop old segments: write the new first segment, then delete the earlier ones."""
        left = sum(segment.edits for segment in segments)
        first = segments[0]
        for segment, following in pairwise(segments):
            left -= segment.edits
            if left >= self._limits.kept:
                first = following
        if first is not segments[0]:
            await self._znodes.commit(
                [SetDataOp(feed_znodes.EDITS, feed_znodes.encode_first(first.number, first.first_txid))]
            )
        for name in await self._znodes.children(feed_znodes.EDITS):
            if int(name) < first.number:
                await self._sweep(int(name))

    async def _sweep(self, number: int) -> None:
        path = feed_znodes.segment(number)
        names = await self._znodes.children(path)
        for at in range(0, len(names), MAX_OPERATIONS):
            await self._znodes.commit(
                [DeleteOp(f"{path}/{name}") for name in names[at : at + MAX_OPERATIONS]]
            )
        await self._znodes.commit([DeleteOp(path)])


def _page(txids: range, found: list[bytes], end: int) -> EditsPage:
    batches: list[EventBatch] = []
    events = 0
    last = txids[0]
    for last, data in zip(txids, found, strict=True):
        batch = feed_znodes.parse_edit(data)
        if batch:
            batches.append(EventBatch(last, batch))
        events += len(batch)
        if events >= MAX_EVENTS:
            break
    return EditsPage(txids[0], last, end, tuple(batches))
