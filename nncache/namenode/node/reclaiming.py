"""Remove detached trees from the store, in small transactions from the leaves up, a part of them at each tick.

HDFS does the same with the blocks of deleted files (FSNamesystem.removeBlocks, BLOCK_DELETION_INCREMENT). No entry is
added to a tree after it was detached, so a listing stays valid.
"""

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from typing import Final

from nncache.coordination.errors import ZnodeError
from nncache.coordination.zookeeper import DeleteOp, ZnodeOp
from nncache.namenode.namespace import layout
from nncache.namenode.namespace.inode import Block, Inode, parse_inode
from nncache.namenode.namespace.leases import dropped
from nncache.namenode.node.filesystem import FileSystem

STEPS_PER_TICK: Final = 500
"""A step reads a part of a directory's entries, or is one transaction."""

_ENTRIES_AT_ONCE: Final = 1_000
_BLOCKS_AT_ONCE: Final = 20
"""Per transaction: with three replicas, nine operations each."""


@dataclass(slots=True)
class _Doomed:
    """An inode of a detached tree, and the rest of its contents."""

    number: int
    led_by: str  # the znode that is deleted with it: its entry, or the tree's item in the queue
    names: list[str] | None = None  # entries not descended into yet; None: not listed yet
    blocks: list[Block] = field(default_factory=list)  # its blocks that still exist


class Reclaimer:
    """Processes the queue of detached trees."""

    def __init__(
        self, file_system: FileSystem, costing_itself: Callable[[str], AbstractContextManager[None]]
    ) -> None:
        """Work on a store; `costing_itself` handles corrupt znodes."""
        self._znodes = file_system.znodes
        self._resolver = file_system.resolver
        self._costing_itself = costing_itself
        # Trees in progress, each with the stack where the next tick continues: the contents of an inode come after it
        # and are deleted first.
        self._begun: dict[str, list[_Doomed]] = {}

    async def tick(self) -> None:
        """Continue for a bounded number of steps. A step that fails is retried at the next tick."""
        names = await self._znodes.children(layout.TREES)
        self._begun = {name: way for name, way in self._begun.items() if name in names}
        steps = STEPS_PER_TICK
        for name in dict.fromkeys((*self._begun, *names)):
            path = f"{layout.TREES}/{name}"
            with self._costing_itself(path), suppress(ZnodeError):
                way = self._begun.pop(name, None) or [_Doomed(int(name), path)]
                while way and steps:
                    steps -= 1
                    await self._step(way)
                    await asyncio.sleep(0)  # an embedded store never yields to the event loop
                if way:  # else, also after an error, it restarts from the top
                    self._begun[name] = way
            if not steps:
                return

    async def _step(self, way: list[_Doomed]) -> None:
        """Descend into the last inode of the stack, or delete a part of it; delete the inode with the last part."""
        doomed = way[-1]
        (znode,) = await self._znodes.get_many([layout.inode(doomed.number)])
        if znode is None:  # another NameNode has deleted it
            way.pop()
            return
        inode = parse_inode(znode.data)
        if doomed.names is None:
            doomed.names = await self._resolver.names(doomed.number) if inode.is_directory else []
            doomed.blocks = list(inode.blocks)
        if doomed.names:
            part = doomed.names[-_ENTRIES_AT_ONCE:]
            del doomed.names[-_ENTRIES_AT_ONCE:]
            below = await self._resolver.entries(doomed.number, part)
            way += [_Doomed(each.inode.id, layout.entry(doomed.number, each.inode.name)) for each in below]
            return
        operations: list[ZnodeOp] = []
        blocks = [block.id for block in doomed.blocks[-_BLOCKS_AT_ONCE:]]
        del doomed.blocks[-_BLOCKS_AT_ONCE:]
        for block, replicas in (await self._resolver.replicas_of(blocks)).items():
            operations += [] if replicas is None else dropped(block, replicas)
        orders = await self._znodes.get_many([f"{layout.RECOVER}/{block}" for block in blocks])
        operations += [DeleteOp(order.path) for order in orders if order is not None]
        if not doomed.blocks:
            operations += [*await self._end_of(inode, znode.version), DeleteOp(doomed.led_by)]
            way.pop()
        await self._znodes.commit(operations)

    async def _end_of(self, inode: Inode, version: int) -> list[ZnodeOp]:
        """Return the operations that delete an empty inode, and its lease."""
        operations: list[ZnodeOp] = [DeleteOp(layout.inode(inode.id), version)]
        if inode.is_directory:
            operations.append(DeleteOp(layout.directory(inode.id)))
        if inode.is_snapshottable:
            found = await self._znodes.get_many([f"{layout.SNAPSHOTTABLE}/{inode.id}"])
            operations += [DeleteOp(each.path) for each in found if each is not None]
        if inode.is_open:
            operations.append(DeleteOp(layout.leased(inode.holder, inode.id)))
            lease = await self._resolver.lease(inode.holder)
            if lease is not None and lease.files == 1:
                operations.append(DeleteOp(layout.lease(inode.holder)))
        return operations
