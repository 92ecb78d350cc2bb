"""Keep as many replicas of each block as its file wants: the NameNodes' side of the queues about blocks.

The leader checks the blocks queued in `/work_queues/wait_for_acks`: those that were written recently, that have lost a
replica, or whose file wants another number. It orders copies and deletions, which DataNodes carry out. Any NameNode may
claim a DataNode's report. Each step is one transaction, which is refused if its input has changed; the next step
continues from the new state.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

import msgspec

from nncache.coordination.errors import ZnodeError
from nncache.coordination.zookeeper import CheckOp, CreateOp, DeleteOp, SetDataOp, Znode, ZnodeOp, Znodes
from nncache.namenode.namespace import layout
from nncache.namenode.namespace.inode import (
    Block,
    BlockState,
    Copying,
    Inode,
    Replica,
    Waiting,
    encode,
    parse_copying,
    parse_inode,
    parse_waiting,
)
from nncache.namenode.namespace.inventory import (
    ABSENT,
    Contents,
    change_bucket,
    differences,
    parse_bucket,
    parse_report,
)
from nncache.namenode.namespace.leases import look_again, put_replica
from nncache.namenode.namespace.replication import ReplicationPlan, Situation, plan
from nncache.namenode.namespace.view import BlockReplicas
from nncache.namenode.node.claims import Claims
from nncache.namenode.node.datanodes import DataNodes
from nncache.namenode.node.leading import FencedZnodes, NotLeadingError
from nncache.namenode.node.observer_clocks import Absences
from nncache.namenode.node.resolving import Resolver, names_below

ACKS_S: Final = 5.0
"""Replicas missing after that, on a complete block, are no longer in flight."""

_AT_ONCE: Final = 200
"""Blocks checked in a tick; the next tick continues after them."""

_BUCKETS_AT_ONCE: Final = 64
"""Buckets of a DataNode processed in a tick, to bound its duration."""

_ORDERS_AT_ONCE: Final = 1_000
"""Orders to a dead DataNode withdrawn from a queue in a tick."""

_OF_ONE_STEP: Final = 40
"""Blocks per transaction about a DataNode: three operations each."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """A block with all input of its plan, as it was read."""

    inode: Inode
    inode_version: int
    block: Block
    replicas: BlockReplicas
    waiting: Znode
    copying: Mapping[str, Znode]  # orders, by DataNode
    deleting: frozenset[str]


class Replicating:
    """The periodic work of NameNodes on blocks.

    Attributes:
        dead: DataNodes declared dead, by this observer's clock.
        ordered: number of copies ordered since start.
        deleted: number of deletions of replicas ordered since start.
    """

    def __init__(
        self,
        own: Znodes,
        znodes: Znodes,
        fleet: DataNodes,
        claims: Claims,
        now: Callable[[], float],
        costing_itself: Callable[[str], AbstractContextManager[None]],
        dead_after_s: float,
    ) -> None:
        """Do the leader's work through `own`, which is fenced; `costing_itself` handles corrupt znodes.

        Without a heartbeat, a DataNode is declared dead after `dead_after_s`.
        """
        self.dead: frozenset[str] = frozenset()
        self.ordered = 0
        self.deleted = 0
        self._own = own
        self._znodes = znodes
        self._resolver = Resolver(own)
        self._fleet = fleet
        self._claims = claims
        self._now = now
        self._costing_itself = costing_itself
        self._clock = Absences(dead_after_s)
        # Number of processed buckets of dead DataNodes, by name and version of the record; -1: nothing is left.
        self._buried: dict[tuple[str, int], int] = {}
        self._whole_since: dict[str, float] = {}  # when each item's block was first seen complete
        self._after = ""  # the item that was checked last

    def observe(self) -> None:
        """Measure the absences of DataNodes; every NameNode does, so that the next leader knows them."""
        self.dead = self._clock.look(self._fleet.names, self._fleet.there.keys(), self._now())

    async def tick(self) -> None:
        """Do the leader's work of each second. Raises NotLeadingError."""
        for datanode in sorted(self.dead):
            await self._bury(datanode)
        for name in (await self._own.children(layout.RECOVER))[:_AT_ONCE] if self.dead else ():
            with self._costing_itself(f"{layout.RECOVER}/{name}"), suppress(ZnodeError):
                await self._recover_without_the_dead(int(name))
        items = sorted(await self._own.children(layout.WAIT_FOR_ACKS))
        self._whole_since = {name: self._whole_since[name] for name in self._whole_since.keys() & items}
        behind = [name for name in items if name > self._after]
        for name in (behind + [name for name in items if name <= self._after])[:_AT_ONCE]:
            self._after = name
            with self._costing_itself(f"{layout.WAIT_FOR_ACKS}/{name}"):
                file, dash, version = name.partition("-")
                if dash:
                    await self._spread(int(file), int(version))
                else:
                    await self._look(int(name))

    # ---- blocks --------------------------------------------------------------------------------------------------

    async def _look(self, block: int) -> None:
        """Check the replicas of a block, and commit one step."""
        seen = await self._seen(block)
        if seen is None:
            return
        planned = plan(
            Situation(
                block=seen.block,
                factor=seen.inode.replication,
                replicas=seen.replicas,
                there=self._fleet.load,
                copying={each: parse_copying(order.data).failures for each, order in seen.copying.items()},
                deleting=seen.deleting,
                failed=frozenset(parse_waiting(seen.waiting.data).failed),
            )
        )
        if seen.block.state is BlockState.COMPLETE:
            since = self._whole_since.setdefault(str(block), self._now())
            if self._now() - since < ACKS_S:
                planned = replace(planned, copy_to=())
        operations = steps(seen, planned)
        if operations:
            with suppress(ZnodeError):  # retried at the next tick
                await self._own.commit(operations)
                self.ordered += len(planned.copy_to)
                self.deleted += len(planned.delete)

    async def _seen(self, block: int) -> _Seen | None:
        """Return all input of a queued block's plan; None: it cannot be planned. Dequeue a block that is gone."""
        replicas = await self._resolver.replicas(block)
        (waiting,) = await self._own.get_many([layout.waiting(block)])
        if waiting is None:
            return None
        if replicas is None:
            with suppress(ZnodeError):
                await self._own.commit([DeleteOp(waiting.path, waiting.version)])
            return None
        names = sorted(self._fleet.names)
        file = layout.inode(replicas.location.file)
        paths = [layout.copy(each, block) for each in names] + [
            layout.deletion(each, block) for each in names
        ]
        znode, *orders = await self._own.get_many([file, *paths])
        if znode is None:
            return None
        inode = parse_inode(znode.data)
        found = next((each for each in inode.blocks if each.id == block), None)
        if found is None:
            return None
        copying, deleting = orders[: len(names)], orders[len(names) :]
        return _Seen(
            inode,
            znode.version,
            found,
            replicas,
            waiting,
            {name: order for name, order in zip(names, copying, strict=True) if order is not None},
            frozenset(name for name, order in zip(names, deleting, strict=True) if order is not None),
        )

    async def _spread(self, file: int, version: int) -> None:
        """Queue replica checks of all blocks of a file."""
        path = layout.waiting_file(file, version)
        inode = await self._resolver.inode(file)
        blocks = [] if inode is None else [block.id for block in inode.blocks]
        with suppress(ZnodeError):  # restarted at the next tick
            for at in range(0, len(blocks), _OF_ONE_STEP):
                await self._own.commit(await self._look_again(blocks[at : at + _OF_ONE_STEP]))
            await self._own.commit([DeleteOp(path)])

    async def _look_again(self, blocks: Sequence[int]) -> list[ZnodeOp]:
        """Return the operations that queue replica checks of those of these blocks that exist."""
        locations = await self._znodes.get_many([layout.location(block) for block in blocks])
        waiting = await self._znodes.get_many([layout.waiting(block) for block in blocks])
        return [
            look_again(block, None if queued is None else queued.version)
            for block, location, queued in zip(blocks, locations, waiting, strict=True)
            if location is not None
        ]

    # ---- dead DataNodes ------------------------------------------------------------------------------------------

    async def _bury(self, datanode: str) -> None:
        """Drop a dead DataNode's replicas, and queue checks of their blocks; a changed record shows its return."""
        record, heartbeat = await self._own.get_many([layout.health(datanode), layout.heartbeat(datanode)])
        if record is None or heartbeat is not None:
            return
        death, guard = (datanode, record.version), CheckOp(record.path, record.version)
        begin = self._buried.get(death, 0)
        if begin < 0:
            return  # nothing is left
        try:
            buckets = sorted(await names_below(self._own, layout.inventory(datanode)))
            for name in buckets[begin : begin + _BUCKETS_AT_ONCE]:
                await self._empty(datanode, int(name), guard)
            if begin + _BUCKETS_AT_ONCE < len(buckets):
                self._buried[death] = begin + _BUCKETS_AT_ONCE
                return
            for queue in (layout.copies(datanode), layout.deletions(datanode), layout.report(datanode)):
                names = sorted(await names_below(self._own, queue))
                for at in range(0, min(len(names), _ORDERS_AT_ONCE), _OF_ONE_STEP):
                    orders = [DeleteOp(f"{queue}/{name}") for name in names[at : at + _OF_ONE_STEP]]
                    await self._own.commit([guard, *orders])
                if len(names) > _ORDERS_AT_ONCE:
                    return
        except ZnodeError:
            return  # the DataNode has returned, or the next tick continues
        self._buried[death] = -1

    async def _recover_without_the_dead(self, block: int) -> None:
        """Let the recovery of a never finished block continue without its dead targets, if another target is live.

        The recovery waits for targets until they are dead, as they may have data; but the file must close eventually.
        """
        replicas = await self._resolver.replicas(block)
        inode = None if replicas is None else await self._resolver.inode(replicas.location.file)
        if replicas is None or inode is None:
            return
        left = tuple(name for name in replicas.location.targets if name not in self.dead)
        gone = [name for name in replicas.location.targets if name in self.dead]
        is_new = any(each.id == block and each.length == 0 for each in inode.blocks)
        if not gone or not is_new or self._fleet.there.keys().isdisjoint(left):
            return
        paths = [path for name in gone for path in (layout.health(name), layout.heartbeat(name))]
        read = await self._own.get_many(paths)
        if any(heartbeat is not None for heartbeat in read[1::2]):
            return
        guards = [CheckOp(record.path, record.version) for record in read[::2] if record is not None]
        location = msgspec.structs.replace(replicas.location, targets=left)
        await self._own.commit(
            [*guards, SetDataOp(layout.location(block), encode(location), replicas.version)]
        )

    async def _empty(self, datanode: str, number: int, guard: ZnodeOp) -> None:
        while True:
            znode = await self._own.get(layout.bucket(datanode, number))
            contents = parse_bucket(znode.data)
            if not contents:
                return
            part = list(contents)[:_OF_ONE_STEP]
            left = {block: each for block, each in contents.items() if block not in part}
            await self._own.commit(
                [
                    guard,
                    *await self._dropped(part, datanode),
                    change_bucket(datanode, number, left, znode.version),
                ]
            )

    async def _dropped(self, blocks: Sequence[int], datanode: str) -> list[ZnodeOp]:
        """Return the operations that drop a DataNode's replicas and queue checks of their blocks."""
        held = await self._znodes.get_many([layout.replica(block, datanode) for block in blocks])
        gone = [DeleteOp(znode.path, znode.version) for znode in held if znode is not None]
        return [*gone, *await self._look_again(blocks)]

    # ---- reports -------------------------------------------------------------------------------------------------

    async def reports(self) -> None:
        """Process the DataNodes' reports that no other NameNode has claimed."""
        names = sorted(await self._znodes.children(layout.BLOCK_REPORTS))
        for znode in await self._znodes.get_many([layout.report(name) for name in names]):
            if znode is None or not znode.children:
                continue
            async with self._claims.claimed("block_reports", znode) as claim:
                if claim is not None:
                    await self._take_report(znode.path, FencedZnodes(self._znodes, claim))

    async def _take_report(self, path: str, znodes: Znodes) -> None:
        datanode = path.rpartition("/")[2]
        for name in sorted(await znodes.children(path))[:_BUCKETS_AT_ONCE]:
            with self._costing_itself(f"{path}/{name}"), suppress(ZnodeError, NotLeadingError):
                while await self._take_bucket(datanode, int(name), znodes):
                    pass

    async def _take_bucket(self, datanode: str, number: int, znodes: Znodes) -> bool:
        """Process a part of a bucket's report. Return whether there is more.

        A bucket that has changed since the disk was read is left to the next report, so that a newer replica does not
        count as missing.
        """
        path, bucket = f"{layout.report(datanode)}/{number}", layout.bucket(datanode, number)
        sent, known = await znodes.get_many([path, bucket])
        if sent is None:
            return False
        report = parse_report(sent.data)
        if (ABSENT if known is None else known.version) != report.version:
            await znodes.commit([DeleteOp(path, sent.version)])
            return False
        contents = {} if known is None else parse_bucket(known.data)
        all_missing, all_found = differences(contents, report)
        missing, found = all_missing[:_OF_ONE_STEP], dict(islice(all_found.items(), _OF_ONE_STEP))
        operations = await self._dropped(missing, datanode)
        operations += await self._registered(datanode, found)
        is_more = len(missing) < len(all_missing) or len(found) < len(all_found)
        after: Contents = {block: each for block, each in contents.items() if block not in missing}
        after.update({block: report.contents[block] for block in found})
        operations.append(change_bucket(datanode, number, after, None if known is None else known.version))
        if is_more:
            next_version = report.version + 1
            rest = msgspec.structs.replace(report, version=next_version)
            operations.append(SetDataOp(path, encode(rest), sent.version))
        else:
            operations.append(DeleteOp(path, sent.version))
        await znodes.commit(operations)
        return is_more

    async def _registered(self, datanode: str, found: Mapping[int, Replica]) -> list[ZnodeOp]:
        """Return the operations that record new replicas, or order their deletion if the block is gone."""
        paths = [
            path
            for block in found
            for path in (
                layout.location(block),
                layout.waiting(block),
                layout.replica(block, datanode),
                layout.deletion(datanode, block),
            )
        ]
        read = iter(await self._znodes.get_many(paths))
        operations: list[ZnodeOp] = []
        for (block, replica), location, waiting, held, deletion in zip(
            found.items(), *[read] * 4, strict=False
        ):
            if deletion is not None:
                continue
            if location is None:
                operations.append(CreateOp(layout.deletion(datanode, block), b""))
                continue
            operations.append(put_replica(block, datanode, replica, is_held=held is not None))
            operations.append(look_again(block, None if waiting is None else waiting.version))
        return operations


def steps(seen: _Seen, planned: ReplicationPlan) -> list[ZnodeOp]:
    """Return the transaction of a plan, with guards of its input; empty if nothing changes."""
    block, replicas = seen.block.id, seen.replicas
    changes: list[ZnodeOp] = [
        DeleteOp(seen.copying[name].path, seen.copying[name].version) for name in planned.withdraw
    ]
    changes += [CreateOp(layout.copy(name, block), encode(Copying())) for name in planned.copy_to]
    for name in planned.delete:
        changes.append(DeleteOp(layout.replica(block, name), replicas.versions[name]))
        changes.append(CreateOp(layout.deletion(name, block), b""))
    failed = tuple(sorted(planned.failed))
    waiting = seen.waiting
    if planned.is_done:
        changes.append(DeleteOp(waiting.path, waiting.version))
    elif failed != parse_waiting(waiting.data).failed:
        changes.append(SetDataOp(waiting.path, encode(Waiting(failed=failed)), waiting.version))
    if not changes:
        return []
    guards: list[ZnodeOp] = [CheckOp(layout.inode(seen.inode.id), seen.inode_version)]
    if planned.delete:
        guards += [CheckOp(layout.replica(block, name), replicas.versions[name]) for name in planned.keep]
    if planned.delete or planned.copy_to:
        # DataNodes ordered to copy become targets: a partial copy is then deleted with the block.
        targets = dict.fromkeys((*replicas.location.targets, *planned.copy_to))
        kept = tuple(name for name in targets if name not in planned.delete)
        location = msgspec.structs.replace(replicas.location, targets=kept)
        guards.append(SetDataOp(layout.location(block), encode(location), replicas.version))
    return [*guards, *changes]
