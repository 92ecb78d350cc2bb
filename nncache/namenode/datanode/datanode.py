"""A DataNode in its NameNode's process: uploads, reads, and what is ordered.

For the NameNode an upload is a client with a lease of its own, as in HDFS.
"""

import asyncio
import contextlib
import hashlib
import random
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Final

from nncache.namenode.datanode.recovery import decide_recovery
from nncache.namenode.datanode.replicas import Replicas, WritingReplica
from nncache.namenode.namespace.create import NewFile
from nncache.namenode.namespace.inode import Block, BlockState, Inode
from nncache.namenode.namespace.permissions import Caller
from nncache.namenode.namespace.refusal import Refusal, io_error
from nncache.namenode.node.namenode import NameNode

RENEW_EVERY_S: Final = 30.0
_COMPLETE_AGAIN_S: Final = (0.002, 0.004, 0.008, 0.016, 0.032)
_EMPTY_MD5: Final = "70bc8f4b72a86921468bf8e8441dce51"
"""Of a file without a block: that of 32 zero bytes, as HDFS has it."""


class StoppedError(Exception):
    """The DataNode was made to stop after so many bytes (`DataNode.stop_after`)."""


class DataNode:
    """Keeps replicas, and serves those who read and write them.

    Attributes:
        stop_after: bytes of an upload after which it stops dead, as if the process had been killed; None: never.
    """

    def __init__(self, name: str, namenode: NameNode, directory: Path, *, is_durable: bool = True) -> None:
        self.name = name
        self.stop_after: int | None = None
        self._namenode = namenode
        self._replicas = Replicas(directory, is_durable=is_durable)
        self._holders: dict[str, None] = {}  # of uploads under way
        self._renewed_at = 0.0
        self._writing: dict[int, WritingReplica] = {}  # by block

    async def start(self) -> None:
        """Register, and report what is there."""
        await self._namenode.register(self.name)
        for block, found in self._replicas.blocks().items():
            if found.is_finalized:
                await self._report(Block(block, found.stamp, found.length))

    # ---- uploads -------------------------------------------------------------------------------------------------

    async def create(self, caller: Caller, path: str, file: NewFile, host: str) -> "Upload":
        """Open a new file for writing."""
        holder = self._holder()
        made = await self._namenode.create(caller, path, file, holder, host)
        self._holders[holder] = None
        return Upload(self, self._namenode, path, holder, made)

    async def append(self, caller: Caller, path: str, host: str) -> "Upload":
        """Open a file for writing more."""
        holder = self._holder()
        opened = await self._namenode.append(caller, path, holder, host)
        self._holders[holder] = None
        upload = Upload(self, self._namenode, path, holder, opened)
        await upload.resume()
        return upload

    async def renew_when_due(self, now: float) -> None:
        """Renew the leases of all uploads under way, twice a minute; also when a test has moved the clock."""
        if now - self._renewed_at >= RENEW_EVERY_S:
            self._renewed_at = now
            for holder in tuple(self._holders):
                await self._namenode.renew_lease(holder)

    def begin(self, block: Block) -> WritingReplica:
        """Begin a replica."""
        self._writing[block.id] = replica = self._replicas.create(block.id, block.stamp)
        return replica

    def reopen(self, block: Block) -> WritingReplica:
        """Go on with a replica."""
        if self._replicas.find(block.id) is None:
            raise io_error(f"Cannot append to a non-existent replica {block}")
        self._writing[block.id] = replica = self._replicas.reopen(block.id, block.stamp)
        return replica

    async def finish(self, replica: WritingReplica) -> Block:
        """Make a replica whole, and report it."""
        replica.finish()
        self._writing.pop(replica.block, None)
        block = Block(replica.block, replica.stamp, replica.length)
        await self._report(block)
        return block

    def leave(self, holder: str, replica: WritingReplica | None) -> None:
        """End an upload, however it ends; what was being written stays to be recovered."""
        self._holders.pop(holder, None)
        if replica is not None:
            replica.stop()
            self._writing.pop(replica.block, None)

    async def _report(self, block: Block) -> None:
        if not await self._namenode.received(block, self.name):
            self._replicas.delete(block.id)

    @staticmethod
    def _holder() -> str:
        number = random.randint(-(2**31), 2**31 - 1)  # noqa: S311 - a name, no secret
        return f"DFSClient_NONMAPREDUCE_{number}_1"

    # ---- reads ---------------------------------------------------------------------------------------------------

    def visible_length(self, file: Inode) -> int:
        """Return how far a file can be read; of one that is being written, as far as its last replica has come."""
        if not file.blocks or file.blocks[-1].state is BlockState.COMPLETE:
            return file.length
        found = self._replicas.find(file.blocks[-1].id)
        return file.known_length + (0 if found is None else found.length)

    def holds(self, block: int) -> bool:
        """Tell whether there is a replica here."""
        return self._replicas.find(block) is not None

    def parts(self, file: Inode, begin: int, length: int) -> Iterator[tuple[int, int, int]]:
        """Yield of which blocks a part of a file consists: each with where it begins in it, and its length."""
        at = 0
        for block in file.blocks:
            found = self._replicas.find(block.id)
            size = block.length if block.state is BlockState.COMPLETE or found is None else found.length
            first, last = max(begin, at), min(begin + length, at + size)
            if first < last:
                yield block.id, first - at, last - first
            at += size

    def read_block(self, block: int, begin: int, length: int) -> Iterator[bytes]:
        """Yield a part of a replica that is here."""
        return self._replicas.read(block, begin, length)

    def read(self, file: Inode, begin: int, length: int) -> Iterator[bytes]:
        """Yield a part of a file, all of which is here."""
        for part in self.parts(file, begin, length):
            yield from self._replicas.read(*part)

    def crcs(self, block: int) -> bytes:
        """Return all CRCs of a replica that is here."""
        return self._replicas.crcs(block)

    @staticmethod
    def checksum(file: Inode, crcs: Sequence[bytes]) -> tuple[str, str]:
        """Return the algorithm and the bytes of a file's checksum: MD5 of the MD5 of each block's CRCs."""
        if not file.blocks:
            return "MD5-of-0MD5-of-0CRC32", f"{0:08x}{0:016x}{_EMPTY_MD5}{0:08x}"
        per_block = file.block_size // 512 if len(file.blocks) > 1 else 0
        sums = b"".join(hashlib.md5(each, usedforsecurity=False).digest() for each in crcs)
        whole = hashlib.md5(sums, usedforsecurity=False).hexdigest()
        return f"MD5-of-{per_block}MD5-of-512CRC32", f"{512:08x}{per_block:016x}{whole}{0:08x}"

    # ---- orders --------------------------------------------------------------------------------------------------

    async def work(self) -> None:
        """Recover and delete what the NameNode has in its queues for this DataNode."""
        for order in await self._namenode.orders(self.name):
            if order.block in self._writing:
                self._writing.pop(order.block).stop()  # its writer notices that when it goes on
            outcome = decide_recovery(order, {self.name: self._replicas.find(order.block)})
            if outcome is None:
                continue
            if not outcome.is_empty:
                self._replicas.recover(order.block, order.recovery_id, outcome.length)
            await self._namenode.commit_synchronization(outcome)
        for block in await self._namenode.deletions(self.name):
            if block not in self._writing:
                self._replicas.delete(block)
                await self._namenode.deleted(self.name, block)


class Upload:
    """A file that is being written through this DataNode."""

    def __init__(self, datanode: DataNode, namenode: NameNode, path: str, holder: str, file: Inode) -> None:
        self._datanode = datanode
        self._namenode = namenode
        self._path = path
        self._holder = holder
        self._file = file
        self._replica: WritingReplica | None = None
        self._last: Block | None = None  # the last block that is whole
        self._written = 0

    async def resume(self) -> None:
        """Go on with the last block, if it is not full."""
        blocks = self._file.blocks
        if not blocks:
            return
        self._last = blocks[-1]
        if blocks[-1].length < self._file.block_size:
            block = await self._namenode.begin_pipeline(self._path, self._holder, blocks[-1], self._file.id)
            self._replica = self._datanode.reopen(block)

    async def write_all(self, body: AsyncIterator[bytes]) -> None:
        """Write a body, and close the file.

        It is closed with what has been written also if the body breaks off, or if the NameNode refuses the next block.
        """
        try:
            async for data in body:
                await self.write(data)
        except (ConnectionError, asyncio.CancelledError):
            await self.close()
            raise
        except Refusal:
            with contextlib.suppress(Refusal):  # it was taken from this writer, or deleted
                await self.close()
            raise
        await self.close()

    async def write(self, data: bytes) -> None:
        """Write what follows."""
        view = memoryview(data)
        while view:
            if self._replica is None:
                block = await self._namenode.add_block(self._path, self._holder, self._last, self._file.id)
                self._replica = self._datanode.begin(block)
            room = self._file.block_size - self._replica.length
            part = bytes(view[:room])
            self._replica.write(part)
            view = view[room:]
            self._written += len(part)
            if self._datanode.stop_after is not None and self._written >= self._datanode.stop_after:
                self.leave()
                raise StoppedError(f"{self._path}: stopped after {self._written} bytes")
            if self._replica.length == self._file.block_size:
                await self._finish_block()

    async def close(self) -> None:
        """Close the file."""
        await self._finish_block()
        for wait_s in _COMPLETE_AGAIN_S:
            if await self._namenode.complete(self._path, self._holder, self._last, self._file.id):
                self._datanode.leave(self._holder, None)
                return
            await asyncio.sleep(wait_s)
        raise io_error(
            f"Unable to close file because the last block {self._last} does not have enough number of replicas."
        )

    def leave(self) -> None:
        """End without closing the file: its lease goes on until a limit is over."""
        self._datanode.leave(self._holder, self._replica)
        self._replica = None

    async def _finish_block(self) -> None:
        if self._replica is not None:
            replica, self._replica = self._replica, None
            self._last = await self._datanode.finish(replica)
