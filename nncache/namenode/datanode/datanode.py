"""A DataNode in its NameNode's process: uploads, reads, and what is ordered.

For the NameNode an upload is a client with a lease of its own, as in HDFS.
"""

import asyncio
import contextlib
import hashlib
import logging
import random
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from nncache.namenode.datanode.peers import PeerError, Peers
from nncache.namenode.datanode.pipeline import Pipeline
from nncache.namenode.datanode.recovery import decide_recovery
from nncache.namenode.datanode.replicas import CorruptReplicaError, Found, Replicas, WritingReplica
from nncache.namenode.namespace.create import NewFile
from nncache.namenode.namespace.inode import Block, BlockState, Inode
from nncache.namenode.namespace.leases import Recovered
from nncache.namenode.namespace.permissions import Caller
from nncache.namenode.namespace.refusal import Refusal, io_error
from nncache.namenode.node.claims import Claim, Claims
from nncache.namenode.node.ledger import Ledger
from nncache.namenode.node.namenode import NameNode, RecoveryOrder

_log = logging.getLogger(__name__)

RENEW_EVERY_S: Final = 30.0
_COMPLETE_AGAIN_S: Final = (0.002, 0.004, 0.008, 0.016, 0.032)
_EMPTY_MD5: Final = "70bc8f4b72a86921468bf8e8441dce51"
"""Of a file without a block: that of 32 zero bytes, as HDFS has it."""


@dataclass(frozen=True, slots=True)
class Together:
    """What a DataNode needs that is one of several."""

    peers: Peers
    ledger: Ledger
    claims: Claims


class StoppedError(Exception):
    """The DataNode was made to stop after so many bytes (`DataNode.stop_after`)."""


class DataNode:
    """Keeps replicas, and serves those who read and write them.

    Attributes:
        stop_after: bytes of an upload after which it stops dead, as if the process had been killed; None: never.
        transfers: uploads, reads and copies under way.
        failures: of the disk, since it was started.
    """

    def __init__(
        self,
        name: str,
        namenode: NameNode,
        directory: Path,
        *,
        is_durable: bool = True,
        together: Together | None = None,
    ) -> None:
        """Keep replicas in a directory; without `together` it is the only DataNode."""
        self.name = name
        self.stop_after: int | None = None
        self.transfers = 0
        self.failures = 0
        self._namenode = namenode
        self._together = together
        self._ledger = None if together is None else together.ledger
        self._replicas = Replicas(directory, is_durable=is_durable)
        self._holders: dict[str, None] = {}  # of uploads under way
        self._renewed_at = 0.0
        self._refused: set[int] = set()  # blocks that were, in the work of this second
        self._refused_before: set[int] = set()  # and of the one before: they are logged
        self._writing: dict[int, WritingReplica] = {}  # by block
        self._left = {block for block, found in self._replicas.blocks().items() if not found.is_finalized}

    async def start(self) -> None:
        """Register, and report what is there."""
        await self._namenode.register(self.name)
        if self._together is not None:
            return  # it is reported where it is not what is known (`reporting.py`)
        for block, found in self._replicas.blocks().items():
            if found.is_finalized:
                await self._report(Block(block, found.stamp, found.length))

    @contextlib.contextmanager
    def transferring(self) -> Iterator[None]:
        """Count a transfer."""
        self.transfers += 1
        try:
            yield
        finally:
            self.transfers -= 1

    @property
    def peers(self) -> Peers | None:
        """What asks the others."""
        return None if self._together is None else self._together.peers

    @property
    def replicas(self) -> Replicas:
        """What is on the disk."""
        return self._replicas

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
        try:
            await upload.resume()
        except BaseException:
            await upload.abort()
            raise
        return upload

    async def renew_when_due(self, now: float) -> None:
        """Renew the leases of all uploads under way, twice a minute; what fails is due again at once."""
        if now - self._renewed_at >= RENEW_EVERY_S:
            for holder in tuple(self._holders):
                await self._namenode.renew_lease(holder)
            self._renewed_at = now

    def begin(self, block: Block) -> WritingReplica | None:
        """Begin a replica; None: the disk does not take it, but others may."""
        try:
            self._writing[block.id] = replica = self._replicas.create(block.id, block.stamp)
        except OSError:
            if self._together is None:
                raise
            self.failures += 1
            return None
        return replica

    def prepare(self, block: int, stamp: int, since: int) -> int:
        """Begin a replica that another DataNode sends, or go on with it; return how much of it is here.

        What is here counts if it was written under the stamp `since`, or a later one. Raises Refusal: it is further.
        """
        found = self.stop(block)
        if found is not None and found.stamp > stamp:
            raise io_error(f"Replica of block {block} has stamp {found.stamp}, which is later than {stamp}")
        if found is None or found.stamp < since:
            replica = self._replicas.create(block, stamp)
        else:
            replica = self._replicas.reopen(block, stamp)
        self._writing[block] = replica
        return replica.length

    def prepared(self, block: int, stamp: int) -> WritingReplica:
        """Return a replica that was begun so. Raises Refusal: another pipeline has it."""
        replica = self._writing.get(block)
        if replica is None or replica.stamp != stamp:
            raise io_error(f"block {block} is not being written here under the stamp {stamp}")
        return replica

    async def reopen(self, block: Block, before: Block, targets: Sequence[str]) -> WritingReplica | None:
        """Go on with a replica that was like this before; None: it is not good, and others of the targets are."""
        found = self._replicas.find(block.id)
        if self._together is None:
            if found is None:
                raise io_error(f"Cannot append to a non-existent replica {block}")
        elif self.name not in targets or found is None or found.length != before.length:
            return None
        try:
            self._writing[block.id] = replica = self._replicas.reopen(block.id, block.stamp)
        except CorruptReplicaError as corrupt:
            await self.found_corrupt(block.id)
            if self._together is None:
                raise io_error(f"Cannot append to a corrupt replica {block}: {corrupt}") from corrupt
            return None
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
            self.left(replica)

    def left(self, replica: WritingReplica) -> None:
        """Leave a replica as it is, to be recovered: nothing more comes for it."""
        replica.stop()
        if self._writing.get(replica.block) is replica:
            del self._writing[replica.block]
            self._left.add(replica.block)

    def forget(self, block: int) -> None:
        """Delete what is here of a block that others hold."""
        self.stop(block)
        self._replicas.delete(block)

    async def _report(self, block: Block) -> None:
        if not await self._namenode.received(block, self.name, self._ledger):
            self._discard(block)

    def _discard(self, block: Block) -> None:
        """Delete a replica that may go, unless it has been recovered under another stamp meanwhile."""
        found = self._replicas.find(block.id)
        if found is not None and found.stamp == block.stamp:
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
        return file.known_length + self._size(file.blocks[-1])

    def _size(self, block: Block) -> int:
        """Return how far a block can be read: one that is being written no less far than before its append."""
        found = self._replicas.find(block.id)
        if found is None or block.state is BlockState.COMPLETE:
            return block.length
        return max(found.length, block.length if block.truncate_to < 0 else block.truncate_to)

    def holds(self, block: Block) -> bool:
        """Tell whether there is a replica here that can be read: of another stamp it may be another block's."""
        found = self._replicas.find(block.id)
        if found is None or self._together is None:
            return found is not None
        is_whole = block.state in {BlockState.COMPLETE, BlockState.COMMITTED}
        return found.stamp >= block.stamp and (found.length >= block.length or not is_whole)

    def parts(self, file: Inode, begin: int, length: int) -> Iterator[tuple[Block, int, int]]:
        """Yield of which blocks a part of a file consists: each with where it begins in it, and its length."""
        at = 0
        for block in file.blocks:
            size = self._size(block)
            first, last = max(begin, at), min(begin + length, at + size)
            if first < last:
                yield block, first - at, last - first
            at += size

    def read_block(self, block: int, begin: int, length: int) -> Iterator[bytes]:
        """Yield a part of a replica that is here.

        An append changes the CRC of the last chunk after the chunk: what does not fit is read once more, as it is then.

        Raises:
            CorruptReplicaError: a chunk is not what was written.
        """
        end = begin + length
        with contextlib.suppress(CorruptReplicaError):
            for part in self._read_now(block, begin, end):
                yield part
                begin += len(part)
            return
        yield from self._read_now(block, begin, end)

    def _read_now(self, block: int, begin: int, end: int) -> Iterator[bytes]:
        if block in self._writing:
            return self._replicas.read_begun(block, begin, end)
        return self._replicas.read(block, begin, end - begin)

    @staticmethod
    def checksum(file: Inode, crcs: Sequence[bytes]) -> tuple[str, str]:
        """Return the algorithm and the bytes of a file's checksum: MD5 of the MD5 of each block's CRCs."""
        if not file.blocks:
            return "MD5-of-0MD5-of-0CRC32", f"{0:08x}{0:016x}{_EMPTY_MD5}{0:08x}"
        per_block = file.block_size // 512 if len(file.blocks) > 1 else 0
        sums = b"".join(hashlib.md5(each, usedforsecurity=False).digest() for each in crcs)
        whole = hashlib.md5(sums, usedforsecurity=False).hexdigest()
        return f"MD5-of-{per_block}MD5-of-512CRC32", f"{512:08x}{per_block:016x}{whole}{0:08x}"

    async def tidy(self) -> None:
        """Delete what was begun here, and left behind by a pipeline that went on without this DataNode."""
        for block in tuple(self._left):
            found = self._replicas.find(block)
            is_left = found is not None and not found.is_finalized and block not in self._writing
            if is_left and not await self._namenode.may_go(block, self.name):
                continue
            with self._costing_itself(block):
                found = self._replicas.find(block)
                if found is not None and not found.is_finalized and block not in self._writing:
                    self._replicas.delete(block)
                self._left.discard(block)

    async def found_corrupt(self, block: int) -> None:
        """Take down that a replica here is not what was written."""
        self.failures += 1
        await self._namenode.mark_corrupt(block, self.name)

    # ---- orders --------------------------------------------------------------------------------------------------

    def stop(self, block: int) -> Found | None:
        """Write a replica no further; return what is here of it."""
        if block in self._writing:
            self.left(self._writing[block])  # its writer notices that when it goes on
        return self._replicas.find(block)

    async def recover(self, block: int, stamp: int, length: int) -> None:
        """Cut a replica, make it whole, and report it."""
        self._replicas.recover(block, stamp, length)
        await self._report(Block(block, stamp, length))

    async def work(self) -> None:
        """Recover and delete what the NameNode has in its queues for this DataNode."""
        if self._together is not None:
            await self._together.claims.tidy()
        self._refused, self._refused_before = set(), self._refused
        for order in await self._namenode.orders(self.name):
            with self._costing_itself(order.recovery.block):
                if self._together is None:
                    await self._recover(order, None)
                    continue
                async with self._together.claims.claimed("recover", order.znode) as claim:
                    if claim is not None:
                        await self._recover(order, claim)
        for block in await self._namenode.deletions(self.name):
            if block not in self._writing:
                with self._costing_itself(block):
                    self._replicas.delete(block)
                    await self._namenode.deleted(self.name, block, self._ledger)
        if self._together is not None:
            await self.tidy()

    @contextlib.contextmanager
    def _costing_itself(self, block: int) -> Iterator[None]:
        """Have a block that the disk or the NameNode refuses keep from no other one; it is tried again later."""
        try:
            yield
        except (OSError, Refusal) as error:
            self.failures += isinstance(error, OSError)
            if block not in self._refused_before:
                _log.warning("block %d is left to the next second: %s", block, error)
            self._refused.add(block)

    async def _recover(self, order: RecoveryOrder, claim: Claim | None) -> None:
        """Bring all replicas of a block to one length (BlockRecoveryWorker)."""
        wanted = order.recovery
        found = {self.name: self.stop(wanted.block)}
        others = [name for name in order.datanodes if name != self.name] if self.peers is not None else []
        silent: list[str] = []
        for name in others:
            assert self.peers is not None, "there are no others without them"
            try:
                found[name] = await self.peers.stop(name, wanted.block)
            except PeerError:
                silent.append(name)
        outcome = decide_recovery(wanted, found)
        if outcome is None or (outcome.is_empty and silent):
            return  # a later one is under way; or one that does not answer may have what is to be kept
        done: list[str] = []
        for name in outcome.datanodes:
            with contextlib.suppress(PeerError, CorruptReplicaError):
                if self._together is None:
                    self._replicas.recover(wanted.block, wanted.recovery_id, outcome.length)
                elif name == self.name:
                    await self.recover(wanted.block, wanted.recovery_id, outcome.length)
                else:
                    await self._together.peers.recover(name, wanted.block, wanted.recovery_id, outcome.length)
                done.append(name)
        if done or outcome.is_empty:
            await self._namenode.commit_synchronization(
                Recovered(order=wanted, length=outcome.length, datanodes=tuple(done)), claim
            )

    async def copy_blocks(self) -> None:
        """Copy the blocks that are ordered, one after the other; what fails is counted, and tried again later."""
        for block, order in await self._namenode.copies(self.name):
            stored = await self._namenode.block(block)
            if stored is None:
                await self._namenode.end_copy(order, has_failed=False)
                continue
            if block in self._writing or stored.state is not BlockState.COMPLETE:
                continue  # it is going to be another one
            try:
                with self.transferring():
                    await self._copy(stored, order.path)
            except (PeerError, OSError) as error:
                _log.warning("%s could not be copied here: %s", stored, error)
                await self._namenode.end_copy(order, has_failed=True)

    async def _copy(self, block: Block, order: str) -> None:
        assert self._together is not None, "there is no other DataNode to copy from"
        replica = self._replicas.copy(block.id, block.stamp)
        try:
            async for part in self._together.peers.read(block, 0, block.length):
                replica.write(part)
        finally:
            replica.stop()
        replica.adopt()
        if not await self._namenode.received(block, self.name, self._ledger, order):
            self._discard(block)  # it was withdrawn; if something was here before, the next report says so


class Upload:
    """A file that is being written through this DataNode."""

    def __init__(self, datanode: DataNode, namenode: NameNode, path: str, holder: str, file: Inode) -> None:
        self._datanode = datanode
        self._namenode = namenode
        self._path = path
        self._holder = holder
        self._file = file
        self._pipeline: Pipeline | None = None
        self._last: Block | None = None  # the last block that is whole
        self._written = 0
        self._failed: set[str] = set()  # DataNodes

    async def resume(self) -> None:
        """Go on with the last block, if it is not full."""
        blocks = self._file.blocks
        if not blocks:
            return
        self._last = blocks[-1]
        if blocks[-1].length < self._file.block_size:
            block, targets = await self._namenode.begin_pipeline(
                self._path, self._holder, blocks[-1], self._file.id
            )
            own = await self._datanode.reopen(block, blocks[-1], targets)
            await self._begin(block, targets, own, since=blocks[-1].stamp, length=blocks[-1].length)

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
            if self._pipeline is None:
                block, targets = await self._next_block()
                own = self._datanode.begin(block) if self._datanode.name in targets else None
                await self._begin(block, targets, own, since=block.stamp)
            assert self._pipeline is not None, "it was begun just now"
            room = self._file.block_size - self._pipeline.length
            part = bytes(view[:room])
            await self._pipeline.write(part)
            view = view[room:]
            self._written += len(part)
            if self._datanode.stop_after is not None and self._written >= self._datanode.stop_after:
                await self.abort()
                raise StoppedError(f"{self._path}: stopped after {self._written} bytes")
            if self._pipeline.length == self._file.block_size:
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

    async def abort(self) -> None:
        """Break off, unless the file is closed."""
        if self._pipeline is not None:
            await self._pipeline.close()
        self.leave()

    def leave(self) -> None:
        """End without closing the file: its lease goes on until a limit is over."""
        self._datanode.leave(self._holder, None if self._pipeline is None else self._pipeline.own)
        self._pipeline = None

    # ---- what a block needs (`pipeline.py`) -------------------------------------------------------------------

    async def advance(self, block: Block, targets: tuple[str, ...]) -> None:
        """Take the stamp with which the block goes on at these DataNodes."""
        await self._namenode.update_pipeline(self._path, self._holder, block, targets, self._file.id)

    async def instead(self, block: Block) -> tuple[Block, tuple[str, ...]]:
        """Give another block for one that no DataNode takes, without those that have failed."""
        await self._namenode.abandon_block(self._path, self._holder, block, self._file.id)
        return await self._next_block()

    async def _next_block(self) -> tuple[Block, tuple[str, ...]]:
        name = self._datanode.name
        return await self._namenode.add_block(
            self._path,
            self._holder,
            self._last,
            self._file.id,
            first="" if name in self._failed else name,
            excluded=frozenset(self._failed),
        )

    async def _begin(
        self,
        block: Block,
        targets: tuple[str, ...],
        own: WritingReplica | None,
        *,
        since: int,
        length: int = 0,
    ) -> None:
        if own is None:
            self._failed.add(self._datanode.name)
        self._pipeline = Pipeline(self._datanode, self, block, targets, own, self._failed, length)
        await self._pipeline.open(since)

    async def _finish_block(self) -> None:
        if self._pipeline is not None:
            pipeline, self._pipeline = self._pipeline, None
            try:
                self._last = await pipeline.finish()
            finally:
                await pipeline.close()
