"""A DataNode in its NameNode's process: uploads, reads, and orders.

The NameNode treats each upload as a client with its own lease, as in HDFS.
"""

import asyncio
import contextlib
import hashlib
import logging
import random
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Final

from nncache.namenode.datanode.peers import PeerError, Peers
from nncache.namenode.datanode.pipeline import Pipeline
from nncache.namenode.datanode.recovery import decide_recovery
from nncache.namenode.datanode.replicas import CorruptReplicaError, ReplicaInfo, Replicas, WritingReplica
from nncache.namenode.namespace.create import NewFile
from nncache.namenode.namespace.inode import Block, BlockState, Inode
from nncache.namenode.namespace.leases import Recovered
from nncache.namenode.namespace.permissions import Caller
from nncache.namenode.namespace.refusal import Refusal, io_error
from nncache.namenode.node.claims import Claim, Claims
from nncache.namenode.node.namenode import NameNodeService, RecoveryOrder

_log = logging.getLogger(__name__)

RENEW_EVERY_S: Final = 30.0
_COMPLETE_AGAIN_S: Final = (0.002, 0.004, 0.008, 0.016, 0.032)
_EMPTY_MD5: Final = "70bc8f4b72a86921468bf8e8441dce51"
"""MD5 of a file without blocks: that of 32 zero bytes, as in HDFS."""


class StoppedError(Exception):
    """The DataNode stopped after the number of bytes in `DataNode.stop_after`."""


class DataNode:
    """Stores replicas, and serves reads and writes of them.

    Attributes:
        stop_after: number of bytes after which an upload stops, as if the process had been killed; None: never.
        transfers: number of uploads, reads and copies in flight.
        failures: number of disk failures since start.
        peers: the client of the other DataNodes; None if this is the only one.
    """

    def __init__(
        self,
        name: str,
        namenode: NameNodeService,
        directory: Path,
        *,
        is_durable: bool = True,
        peers: Peers | None = None,
        claims: Claims | None = None,
    ) -> None:
        """Store replicas in `directory`. `peers` and `claims` are those of one of several; else it is the only one."""
        self.name = name
        self.stop_after: int | None = None
        self.transfers = 0
        self.failures = 0
        self.peers = peers
        self._namenode = namenode
        self._claims = claims
        self._replicas = Replicas(directory, is_durable=is_durable)
        self._holders: dict[str, None] = {}  # lease holders of uploads in flight
        self._renewed_at = 0.0
        self._refused: set[int] = set()  # blocks that were, in the work of this second
        self._refused_before: set[int] = set()  # and of the one before: they are logged
        self._writing: dict[int, WritingReplica] = {}  # by block
        self._left = {block for block, found in self._replicas.blocks().items() if not found.is_finalized}

    async def start(self) -> None:
        """Register, and report the replicas on disk."""
        await self._namenode.register(self.name)
        if self.peers is not None:
            return  # `reporting.py` reports the differences from the inventory
        for block, found in self._replicas.blocks().items():
            if found.is_finalized:
                await self._report(Block(block, found.stamp, found.length))

    @contextlib.contextmanager
    def transferring(self) -> Iterator[None]:
        """Count a transfer while it is in flight."""
        self.transfers += 1
        try:
            yield
        finally:
            self.transfers -= 1

    @property
    def replicas(self) -> Replicas:
        """The replicas on disk."""
        return self._replicas

    # ---- uploads -------------------------------------------------------------------------------------------------

    async def create(self, caller: Caller, path: str, file: NewFile, host: str) -> "Upload":
        """Open a new file for writing."""
        holder = self._holder()
        made = await self._namenode.create(caller, path, file, holder, host)
        self._holders[holder] = None
        return Upload(self, self._namenode, path, holder, made)

    async def append(self, caller: Caller, path: str, host: str) -> "Upload":
        """Open a file for append."""
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
        """Renew the leases of all uploads in flight, twice a minute by `now`; what fails is due again at once."""
        if now - self._renewed_at >= RENEW_EVERY_S:
            for holder in tuple(self._holders):
                await self._namenode.renew_lease(holder)
            self._renewed_at = now

    def begin(self, block: Block) -> WritingReplica | None:
        """Begin a replica; None: the disk fails, and another DataNode may take it."""
        try:
            self._writing[block.id] = replica = self._replicas.create(block.id, block.stamp)
        except OSError:
            if self.peers is None:
                raise
            self.failures += 1
            return None
        return replica

    def prepare(self, block: int, stamp: int, since: int) -> int:
        """Begin or resume a replica that another DataNode sends. Return its length here, in bytes.

        A replica is resumed if its stamp is `since` or later. Raises Refusal if its stamp is later than `stamp`.
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
        """Return a replica that `prepare` has begun. Raises Refusal if it is not being written under this stamp."""
        replica = self._writing.get(block)
        if replica is None or replica.stamp != stamp:
            raise io_error(f"block {block} is not being written here under the stamp {stamp}")
        return replica

    async def reopen(self, block: Block, before: Block, targets: Sequence[str]) -> WritingReplica | None:
        """Resume the replica of `before` under the new stamp of `block`; None: only other targets have a valid one."""
        found = self._replicas.find(block.id)
        if self.peers is None:
            if found is None:
                raise io_error(f"Cannot append to a non-existent replica {block}")
        elif self.name not in targets or found is None or found.length != before.length:
            return None
        try:
            self._writing[block.id] = replica = self._replicas.reopen(block.id, block.stamp)
        except CorruptReplicaError as corrupt:
            await self.found_corrupt(block.id)
            if self.peers is None:
                raise io_error(f"Cannot append to a corrupt replica {block}: {corrupt}") from corrupt
            return None
        return replica

    async def finish(self, replica: WritingReplica) -> Block:
        """Finalize a replica, and report it."""
        replica.finish()
        self._writing.pop(replica.block, None)
        block = Block(replica.block, replica.stamp, replica.length)
        await self._report(block)
        return block

    def leave(self, holder: str, replica: WritingReplica | None) -> None:
        """End an upload, closed or not. A replica that was being written is kept for recovery."""
        self._holders.pop(holder, None)
        if replica is not None:
            self.left(replica)

    def left(self, replica: WritingReplica) -> None:
        """Stop writing a replica, and keep it for recovery."""
        replica.stop()
        if self._writing.get(replica.block) is replica:
            del self._writing[replica.block]
            self._left.add(replica.block)

    def forget(self, block: int) -> None:
        """Delete the replica of a block that other DataNodes hold."""
        self.stop(block)
        self._replicas.delete(block)

    async def _report(self, block: Block) -> None:
        if not await self._namenode.received(block, self.name):
            self._discard(block)

    def _discard(self, block: Block) -> None:
        """Delete a replica that no file needs, unless it was recovered under another stamp meanwhile."""
        found = self._replicas.find(block.id)
        if found is not None and found.stamp == block.stamp:
            self._replicas.delete(block.id)

    @staticmethod
    def _holder() -> str:
        number = random.randint(-(2**31), 2**31 - 1)  # noqa: S311 - a name, not a secret
        return f"DFSClient_NONMAPREDUCE_{number}_1"

    # ---- reads ---------------------------------------------------------------------------------------------------

    def visible_length(self, file: Inode) -> int:
        """Return the readable length of a file, including the written bytes of a last block under construction."""
        if not file.blocks or file.blocks[-1].state is BlockState.COMPLETE:
            return file.length
        return file.known_length + self._size(file.blocks[-1])

    def _size(self, block: Block) -> int:
        """Return the readable length of a block. During an append, this is at least the length before it."""
        found = self._replicas.find(block.id)
        if found is None or block.state is BlockState.COMPLETE:
            return block.length
        return max(found.length, block.length if block.truncate_to < 0 else block.truncate_to)

    def holds(self, block: Block) -> bool:
        """Tell whether this DataNode has a readable replica: one with an older stamp may have other content."""
        found = self._replicas.find(block.id)
        if found is None or self.peers is None:
            return found is not None
        is_whole = block.state in {BlockState.COMPLETE, BlockState.COMMITTED}
        return found.stamp >= block.stamp and (found.length >= block.length or not is_whole)

    def parts(self, file: Inode, begin: int, length: int) -> Iterator[tuple[Block, int, int]]:
        """Yield the blocks of a range of a file, each with the offset and the length of the range within it."""
        at = 0
        for block in file.blocks:
            size = self._size(block)
            first, last = max(begin, at), min(begin + length, at + size)
            if first < last:
                yield block, first - at, last - first
            at += size

    def read_block(self, block: int, begin: int, length: int) -> Iterator[bytes]:
        """Yield a range of a local replica.

        An append changes the last chunk before its CRC: after a mismatch, the rest is read once more.

        Raises:
            CorruptReplicaError: a chunk differs from what was written.
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
        """Return the algorithm and the hexadecimal bytes of a file's checksum: MD5 of the MD5s of the blocks' CRCs."""
        if not file.blocks:
            return "MD5-of-0MD5-of-0CRC32", f"{0:08x}{0:016x}{_EMPTY_MD5}{0:08x}"
        per_block = len(crcs[0]) // 4 if len(file.blocks) > 1 else 0  # after CONCAT, the first may be short
        sums = b"".join(hashlib.md5(each, usedforsecurity=False).digest() for each in crcs)
        whole = hashlib.md5(sums, usedforsecurity=False).hexdigest()
        return f"MD5-of-{per_block}MD5-of-512CRC32", f"{512:08x}{per_block:016x}{whole}{0:08x}"

    async def tidy(self) -> None:
        """Delete unfinished replicas of pipelines that continued without this DataNode."""
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
        """Count a disk failure, and report a local replica as corrupt."""
        self.failures += 1
        await self._namenode.mark_corrupt(block, self.name)

    # ---- orders --------------------------------------------------------------------------------------------------

    def stop(self, block: int) -> ReplicaInfo | None:
        """Stop writing a replica. Return its state; None: no replica."""
        if block in self._writing:
            self.left(self._writing[block])  # the next write raises an error
        return self._replicas.find(block)

    async def recover(self, block: int, stamp: int, length: int) -> None:
        """Truncate a replica, finalize it, and report it."""
        self._replicas.recover(block, stamp, length)
        await self._report(Block(block, stamp, length))

    async def work(self) -> None:
        """Carry out the NameNode's queued orders to recover and delete replicas of this DataNode."""
        if self._claims is not None:
            await self._claims.tidy()
        self._refused, self._refused_before = set(), self._refused
        for order in await self._namenode.orders(self.name):
            with self._costing_itself(order.recovery.block):
                if self._claims is None:
                    await self._recover(order, None)
                    continue
                async with self._claims.claimed("recover", order.znode) as claim:
                    if claim is not None:
                        await self._recover(order, claim)
        for block in await self._namenode.deletions(self.name):
            if block not in self._writing:
                with self._costing_itself(block):
                    self._replicas.delete(block)
                    await self._namenode.deleted(self.name, block)
        if self.peers is not None:
            await self.tidy()

    @contextlib.contextmanager
    def _costing_itself(self, block: int) -> Iterator[None]:
        """Catch a refusal of the disk or the NameNode, so that it delays this block alone; it is retried."""
        try:
            yield
        except (OSError, Refusal) as error:
            self.failures += isinstance(error, OSError)
            if block not in self._refused_before:
                _log.warning("block %d is left to the next second: %s", block, error)
            self._refused.add(block)

    async def _recover(self, order: RecoveryOrder, claim: Claim | None) -> None:
        """Bring all replicas of a block to the same length (BlockRecoveryWorker)."""
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
            return  # a later recovery is under way, or an unavailable DataNode may hold data to keep
        done: list[str] = []
        for name in outcome.datanodes:
            with contextlib.suppress(PeerError, CorruptReplicaError):
                if self.peers is None:
                    self._replicas.recover(wanted.block, wanted.recovery_id, outcome.length)
                elif name == self.name:
                    await self.recover(wanted.block, wanted.recovery_id, outcome.length)
                else:
                    await self.peers.recover(name, wanted.block, wanted.recovery_id, outcome.length)
                done.append(name)
        if done or outcome.is_empty:
            await self._namenode.commit_synchronization(
                Recovered(order=wanted, length=outcome.length, datanodes=tuple(done)), claim
            )

    async def copy_blocks(self) -> None:
        """Carry out the orders to copy blocks, one after the other. A failure is counted and retried later."""
        for block, order in await self._namenode.copies(self.name):
            stored = await self._namenode.block(block)
            if stored is None:
                await self._namenode.end_copy(order, has_failed=False)
                continue
            if block in self._writing or stored.state is not BlockState.COMPLETE:
                continue  # the block is about to change
            try:
                with self.transferring():
                    await self._copy(stored, order.path)
            except (PeerError, OSError) as error:
                _log.warning("%s could not be copied here: %s", stored, error)
                await self._namenode.end_copy(order, has_failed=True)

    async def _copy(self, block: Block, order: str) -> None:
        assert self.peers is not None, "there is no other DataNode to copy from"
        replica = self._replicas.copy(block.id, block.stamp)
        try:
            async for part in self.peers.read(block, 0, block.length):
                replica.write(part)
        finally:
            replica.stop()
        replica.adopt()
        if not await self._namenode.received(block, self.name, order):
            # The order was withdrawn. If `adopt` replaced a replica, the next block report corrects that.
            self._discard(block)


class Upload:
    """A file that a client is writing through this DataNode."""

    def __init__(
        self, datanode: DataNode, namenode: NameNodeService, path: str, holder: str, file: Inode
    ) -> None:
        self._datanode = datanode
        self._namenode = namenode
        self._path = path
        self._holder = holder
        self._file = file
        self._pipeline: Pipeline | None = None
        self._last: Block | None = None  # the last finished block
        self._written = 0
        self._failed: set[str] = set()  # DataNodes

    async def resume(self) -> None:
        """Reopen the last block, if it is not full."""
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

        If the body breaks off or the NameNode refuses the next block, close the file with the bytes written so far.
        """
        try:
            async for data in body:
                await self.write(data)
        except (ConnectionError, asyncio.CancelledError):
            await self.close()
            raise
        except Refusal:
            with contextlib.suppress(Refusal):  # the lease was taken over, or the file deleted
                await self.close()
            raise
        await self.close()

    async def write(self, data: bytes) -> None:
        """Append bytes to the file."""
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
        """Finish the last block and close the file. Raises Refusal if its blocks have too few replicas."""
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
        """Break off the upload without closing the file; no effect if it is closed."""
        if self._pipeline is not None:
            await self._pipeline.close()
        self.leave()

    def leave(self) -> None:
        """End the upload without closing the file: its lease then lasts until a limit expires."""
        self._datanode.leave(self._holder, None if self._pipeline is None else self._pipeline.own)
        self._pipeline = None

    # ---- calls of the pipeline --------------------------------------------------------------------------------

    async def advance(self, block: Block, targets: tuple[str, ...]) -> None:
        """Register the new stamp of the block and the DataNodes that continue it."""
        await self._namenode.update_pipeline(self._path, self._holder, block, targets, self._file.id)

    async def instead(self, block: Block) -> tuple[Block, tuple[str, ...]]:
        """Abandon a block that no DataNode can take; return a new one with targets that have not failed."""
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
