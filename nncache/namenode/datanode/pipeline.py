"""The pipeline of one block of an upload to all its target DataNodes.

The DataNode that receives the upload writes the first replica, if its disk works, and forwards the bytes along the
chain. If a DataNode of the chain fails, the block continues without it under the next stamp, which marks the failed
replica as stale. Each remaining DataNode reports its length and gets the bytes that it lacks. If none is left, another
chain gets the block from its beginning, under another id.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from nncache.namenode.datanode.peers import Link, LinkError
from nncache.namenode.datanode.replicas import CorruptReplicaError, WritingReplica
from nncache.namenode.namespace.inode import Block
from nncache.namenode.namespace.refusal import io_error

if TYPE_CHECKING:
    from nncache.namenode.datanode.datanode import DataNode, Upload


class Pipeline:
    """Writes a block.

    Attributes:
        block: the block with its current id and stamp.
        length: number of bytes written so far.
        failed: DataNodes that this upload no longer uses.
    """

    def __init__(
        self,
        datanode: "DataNode",
        upload: "Upload",
        block: Block,
        targets: Sequence[str],
        own: WritingReplica | None,
        failed: set[str],
        length: int = 0,
    ) -> None:
        """Write a block from offset `length` on; `own` is the replica of this DataNode, if it has one."""
        self.block = block
        self.length = length
        self.failed = failed
        self._datanode = datanode
        self._upload = upload
        self._name = datanode.name
        self._peers = datanode.peers  # None: it is the only one
        self._since = block.stamp  # a replica with an earlier stamp is not from this pipeline
        self._chain = [each for each in targets if each != datanode.name]
        self._own = own
        # The local bytes that can be sent again: the block's id, and their number.
        self._kept = (block.id, 0 if own is None else self.length)
        self._link: Link | None = None

    async def open(self, since: int) -> None:
        """Open the chain. Its DataNodes resume replicas with the stamp `since` or a later one."""
        self._since = since
        if self._chain and self._peers is not None:
            try:
                self._link = await self._peers.link(self._chain, self.block, since)
                await self._send_on(b"")
            except LinkError as failed:
                await self._go_on_without(failed.name, b"")
        elif self._own is None:
            await self._begin_elsewhere(b"")

    @property
    def own(self) -> WritingReplica | None:
        """The replica of this DataNode; None: it has none, or its disk failed."""
        return self._own

    async def write(self, part: bytes) -> None:
        """Append bytes to the block.

        Raises:
            Refusal: the NameNode refuses to continue, or no remaining DataNode has all earlier bytes.
            ReplicaStoppedError: the block is being recovered.
        """
        if self._own is not None:
            try:
                self._own.write(part)
                self._kept = (self.block.id, self._own.length)
            except OSError:
                if self._peers is None:
                    raise
                self._drop_own()
        self.length += len(part)
        if self._link is not None:
            try:
                await self._link.send(part)
            except LinkError as failed:
                await self._go_on_without(failed.name, part)
        elif self._own is None:
            await self._begin_elsewhere(part)

    async def finish(self) -> Block:
        """Finish the block once all remaining DataNodes have acknowledged it. Return it with stamp and length."""
        while True:
            try:
                if self._link is not None:
                    await self._link.finish()
            except LinkError as failed:
                await self._go_on_without(failed.name, b"")
                continue
            if self._own is None:
                break
            try:
                await self._datanode.finish(self._own)
                break
            except OSError:
                if self._peers is None:
                    raise
                self._drop_own()
                if self._link is not None:
                    break
                await self._begin_elsewhere(b"")
        self._link = None
        if self._own is None:
            self._datanode.forget(self._kept[0])
        return Block(self.block.id, self.block.stamp, self.length)

    async def close(self) -> None:
        """Close the chain; its DataNodes keep their replicas for recovery."""
        if self._link is not None:
            await self._link.close()
            self._link = None

    # ---- failures ------------------------------------------------------------------------------------------------

    def _drop_own(self) -> None:
        """Continue without this DataNode's replica after a disk failure. Its bytes can still be read."""
        self.failed.add(self._name)
        self._own = None

    async def _go_on_without(self, name: str, part: bytes) -> None:
        """Continue without a failed DataNode; `part` is the latest write."""
        await self.close()
        while True:
            self.failed.add(name)
            self._chain = [each for each in self._chain if each not in self.failed]
            if not self._chain and self._own is None:
                await self._begin_elsewhere(part)
                return
            self.block = msgspec.structs.replace(self.block, stamp=self.block.stamp + 1)
            own = () if self._own is None else (self._name,)
            # Before any replica has the stamp: a replica with a later stamp than the NameNode's could not be recovered.
            await self._upload.advance(self.block, (*own, *self._chain))
            if self._own is not None:
                self._own.restamp(self.block.stamp)
            try:
                if self._chain and self._peers is not None:
                    self._link = await self._peers.link(self._chain, self.block, self._since)
                    await self._send_on(part)
            except LinkError as failed:
                await self.close()
                name = failed.name
                continue
            return

    async def _begin_elsewhere(self, part: bytes) -> None:
        """Write the block from its beginning to other DataNodes, under another id."""
        _, kept = self._kept
        before = self.length - len(part)
        if kept < before:  # bytes would be lost with the old block: keep it, as its DataNodes may return
            raise io_error(
                f"All datanodes are bad. Aborting: {self.block} has {before} bytes, of which {kept} are here"
            )
        while True:
            self.block, targets = await self._upload.instead(self.block)
            self._since = self.block.stamp
            self._chain = [name for name in targets if name != self._name]
            assert self._peers is not None, "a DataNode that has no peers is in no chain"
            try:
                self._link = await self._peers.link(self._chain, self.block, self._since)
                await self._send_on(part)
            except LinkError as failed:
                await self.close()
                self.failed.add(failed.name)
                continue
            return

    async def _send_on(self, part: bytes) -> None:
        """Send the next DataNode the bytes of the block that it lacks; `part` is the latest write."""
        assert self._link is not None, "the way was opened just now"
        at = self._link.has
        _, kept = self._kept
        if at > self.length or (at < self.length - len(part) and kept < self.length - len(part)):
            raise io_error(
                f"All datanodes are bad. Aborting: {self.block} has {self.length} bytes, of which {kept} can be sent "
                f"again, and the next DataNode has {at}"
            )
        try:
            for data in self._again(at, min(kept, self.length)):
                await self._link.send(data)
                at += len(data)
        except CorruptReplicaError as corrupt:
            raise io_error(f"All datanodes are bad. Aborting: {corrupt}") from corrupt
        if at < self.length:
            await self._link.send(part[at - self.length :])

    def _again(self, begin: int, end: int) -> Iterator[bytes]:
        block, _ = self._kept
        if begin < end:
            yield from self._datanode.replicas.read_begun(block, begin, end)
