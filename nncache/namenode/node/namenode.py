"""A NameNode: the calls of clients and DataNodes, by the names of ClientProtocol."""

import asyncio
import contextlib
import logging
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Concatenate, Final, ParamSpec, TypeVar

from nncache.coordination.errors import (
    ConnectionLostError,
    CoordinationError,
    NodeExistsError,
    TooLargeError,
    ZnodeError,
)
from nncache.coordination.zookeeper import CreateOp, DeleteOp, SetDataOp, Znode, ZnodeOp
from nncache.hadoop.events import EditsPage
from nncache.hadoop.filestatus import FileStatus
from nncache.hadoop.paths import InvalidPathError
from nncache.namenode.namespace import acls, attributes, blocks, layout, leases, reads, snapshots
from nncache.namenode.namespace.concat import concat
from nncache.namenode.namespace.create import NewFile, create
from nncache.namenode.namespace.delete import delete
from nncache.namenode.namespace.inode import (
    Block,
    BlockState,
    Copying,
    Inode,
    Recovery,
    Replica,
    encode,
    parse_copying,
    parse_location,
    parse_recovery,
)
from nncache.namenode.namespace.inventory import Contents, bucket_of, change_bucket, parse_bucket
from nncache.namenode.namespace.leases import Recovered, WritingClient
from nncache.namenode.namespace.making import Modes, mkdirs
from nncache.namenode.namespace.permissions import Caller, check_superuser
from nncache.namenode.namespace.refusal import Java, Refusal, io_error
from nncache.namenode.namespace.rename import rename, rename_with_options
from nncache.namenode.namespace.reopening import append, truncate
from nncache.namenode.namespace.transaction import Transaction
from nncache.namenode.namespace.view import (
    Lease,
    LeaseNeededError,
    NeededError,
    ReplicasNeededError,
    View,
)
from nncache.namenode.node.claims import Claim
from nncache.namenode.node.clock import Clock
from nncache.namenode.node.datanodes import DataNodes
from nncache.namenode.node.feed import MAX_EVENTS, EditsLimits, Feed
from nncache.namenode.node.filesystem import MAX_ATTEMPTS, Decide, FileSystem
from nncache.namenode.node.leading import Leader, Standing
from nncache.namenode.node.observer_clocks import HARD_LIMIT_S, LeaseClock
from nncache.namenode.node.reclaiming import Reclaimer
from nncache.namenode.node.resolving import WITHIN, names_after, order

_log = logging.getLogger(__name__)
_T = TypeVar("_T")
_P = ParamSpec("_P")

SUPERGROUP: Final = "supergroup"
SAFE_MODE: Final = 'It was turned on manually. Use "hdfs dfsadmin -safemode leave" to turn safe mode off.'
LIST_LIMIT: Final = 1_000
"""Entries per page (dfs.ls.limit)."""

PER_TICK: Final = 1_000
"""Maximum per tick: files released, and replicas that a DataNode deletes or copies (dfs.block.invalidate.limit)."""

LIST_ATTEMPTS: Final = 10
"""Number of attempts after which the entries of a page may be as of different moments of the call."""


_REFUSED: Final[Mapping[Callable[..., object], str]] = {
    acls.change_acl: "Cannot modify ACL entries on",
    attributes.remove_xattr: "Cannot remove XAttr entry on",
    attributes.set_owner: "Cannot set owner for",
    attributes.set_permission: "Cannot set permission for",
    attributes.set_quota: "Cannot set quota on",
    attributes.set_replication: "Cannot set replication for",
    attributes.set_storage_policy: "Cannot set storage policy for",
    attributes.set_times: "Cannot set times",
    attributes.set_xattr: "Cannot set XAttr on",
    attributes.unset_storage_policy: "Cannot unset storage policy for",
    delete: "Cannot delete",
    mkdirs: "Cannot create directory",
    snapshots.allow: "Cannot allow snapshot for",
    snapshots.create_snapshot: "Cannot create snapshot for",
    snapshots.disallow: "Cannot disallow snapshot for",
    snapshots.refuse_snapshot: "Cannot change snapshots of",
}
"""What safe mode refuses to do to a path, by rule."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NameNodeConfig:
    """The superuser, the groups of users, and the limits of the edits."""

    superuser: str
    groups: Mapping[str, Sequence[str]] = field(default_factory=dict)  # by user
    edits: EditsLimits = field(default_factory=EditsLimits)


@dataclass(frozen=True, slots=True)
class RecoveryOrder:
    """An order to recover a block, and the DataNodes that may have a part of it."""

    recovery: Recovery
    znode: Znode
    datanodes: tuple[str, ...]


class NameNodeService:
    """Serves clients and DataNodes from the namespace in a store.

    Attributes:
        safe_mode: whether changes are refused.
        is_standby: whether every call is refused.
        started_ms: time of its start, by the wall clock.
        transition_ms: when it last became active or standby; 0: not since start.
        datanodes: names of the DataNodes that get new blocks, if there is no fleet.
    """

    def __init__(
        self,
        file_system: FileSystem,
        settings: NameNodeConfig,
        clock: Clock,
        *,
        leader: Leader | None = None,
        fleet: DataNodes | None = None,
    ) -> None:
        """Serve from a store. Without `leader` it is the only NameNode; without `fleet` it has one DataNode."""
        self.safe_mode = False
        self.is_standby = False
        self.started_ms = clock.wall_ms()
        self.transition_ms = 0
        self.datanodes: tuple[str, ...] = ()
        self._fs = file_system
        self._settings = settings
        self._clock = clock
        self._leases = LeaseClock()
        self._feed = Feed(file_system.znodes, settings.edits)
        self._leader = leader
        self._fleet = fleet
        # For the periodic work of one NameNode; fenced if there are several.
        file_system.is_watched = fleet is not None
        self._own = file_system if leader is None else file_system.fenced(leader.fence)
        self._own_feed = Feed(self._own.znodes, settings.edits)
        self._reclaimer = Reclaimer(self._own, self.costing_itself)
        self._corrupt: set[str] = set()  # corrupt znodes that were logged

    def caller(self, user: str) -> Caller:
        """Return a user with their groups."""
        groups = frozenset(self.groups_of(user))
        return Caller(user, groups, user == self._settings.superuser or SUPERGROUP in groups)

    @property
    def configuration(self) -> Mapping[str, str]:
        """The configuration that `/conf` shows, by HDFS's names."""
        return {
            "dfs.namenode.num.extra.edits.retained": str(self._settings.edits.kept),
            "dfs.namenode.inotify.max.events.per.rpc": str(MAX_EVENTS),
            "dfs.namenode.lease-hard-limit-sec": f"{HARD_LIMIT_S:g}",
            "dfs.permissions.superusergroup": SUPERGROUP,
        }

    def groups_of(self, user: str) -> Sequence[str]:
        """Return the groups of a user; without configured groups, the superuser is in the supergroup."""
        others: Sequence[str] = (SUPERGROUP,) if user == self._settings.superuser else ()
        return self._settings.groups.get(user, others)

    def become(self, *, standby: bool) -> None:
        """Become standby or active."""
        self.is_standby = standby
        self.transition_ms = max(self._clock.wall_ms(), self.transition_ms + 1)

    async def standing(self) -> Standing:
        """Return whether this NameNode is active, for JMX and RPC. All NameNodes serve WebHDFS."""
        if self._leader is None or self.is_standby:
            return Standing(not self.is_standby, self.transition_ms)
        return await self._leader.standing()

    async def check_active(self) -> None:
        """Refuse, as a standby does, unless this NameNode is active."""
        if not (await self.standing()).is_active:
            raise _standby("READ")

    # ---- the namespace -------------------------------------------------------------------------------------------

    async def mkdirs(self, caller: Caller, path: str, modes: Modes, *, create_parent: bool = True) -> bool:
        """Create a directory; with `create_parent`, also its missing ancestors."""
        take = self._fs.ids.take
        return await self.change(path, mkdirs, caller, modes, take, create_parent=create_parent)

    async def delete(self, caller: Caller, path: str, *, recursive: bool) -> bool:
        """Delete a file or directory."""
        return await self.change(path, delete, caller, recursive=recursive)

    async def rename(self, caller: Caller, source: str, destination: str) -> bool:
        """Rename a file or directory, as the older of the two calls does."""
        self._may_write(f"Cannot rename {source}")
        return await self._fs.run([source, destination, WITHIN], lambda view, tx: rename(view, tx, caller))

    async def rename_with_options(
        self, caller: Caller, source: str, destination: str, options: frozenset[str]
    ) -> None:
        """Rename a file or directory, as the newer of the two calls does."""
        self._may_write(f"Cannot rename {source}")
        await self._fs.run(
            [source, destination], lambda view, tx: rename_with_options(view, tx, caller, options)
        )

    async def concat(self, caller: Caller, target: str, sources: Sequence[str]) -> None:
        """Append the blocks of files to another file."""
        self._may_write(f"Cannot concat {target}")
        absolute = list(takewhile(lambda path: path.startswith("/"), sources))

        def decide(view: View, tx: Transaction) -> None:
            concat(view, tx, caller)
            if len(absolute) < len(sources):  # as HDFS, which looks at one source after the other
                raise InvalidPathError(f"Absolute path required, but got '{sources[len(absolute)]}'")

        await self._fs.run([target, *absolute], decide)

    async def change(
        self,
        path: str,
        rule: Callable[Concatenate[View, Transaction, _P], _T | Refusal],
        *arguments: _P.args,
        **options: _P.kwargs,
    ) -> _T:
        """Carry out a rule of `namespace/` that changes what a path names; one of `_REFUSED`."""
        self._may_write(f"{_REFUSED[rule]} {path}")
        return await self._fs.run([path], lambda view, tx: rule(view, tx, *arguments, **options))

    # ---- reads ---------------------------------------------------------------------------------------------------

    async def listing(self, caller: Caller, path: str, start_after: str = "") -> tuple[list[FileStatus], int]:
        """Return a page of a directory's statuses, and the number of those after it; for a file, its own status."""
        self._may_read()
        attempt = 0
        while True:
            chain, (node, policy) = await self._fs.run(
                [path], lambda view, _: (view.chains[0], reads.listed(view, caller))
            )
            if not node.inode.is_directory:
                return [reads.status_of(node, policy)], 0
            every = await self._fs.resolver.names_in(node)
            names = names_after(every, start_after) if start_after else every
            page, is_of_one_moment = await self._fs.resolver.page(chain, names[:LIST_LIMIT])
            attempt += 1
            if is_of_one_moment and len(names) > LIST_LIMIT:
                self._fs.resolver.keep_names(node, every)
            if is_of_one_moment or attempt == LIST_ATTEMPTS:
                break
        statuses = [reads.status_of(each, each.inode.policy or policy, each.inode.name) for each in page]
        return statuses, max(0, len(names) - LIST_LIMIT)

    async def snapshottable(self, caller: Caller) -> list[tuple[str, FileStatus]] | None:
        """Return the caller's snapshottable directories, each with its parent path; None if no user has any."""
        self._may_read()
        chains = await self._fs.resolver.snapshottable()
        found: list[tuple[str, FileStatus]] = []
        for chain in chains:
            node = chain.nodes[-1]
            if caller.is_superuser or node.inode.owner == caller.user:
                policy = attributes.policy_of([each.inode for each in chain.nodes])
                above = chain.path_of(len(chain.names) - 1) if chain.names else ""
                found.append((above, reads.status_of(node, policy, node.inode.name)))
        found.sort(key=lambda each: (order(each[0]), order(each[1].path_suffix)))
        return found if chains else None

    async def blocks_of(self, caller: Caller, path: str) -> Inode:
        """Return a file that the caller may read, and update its access time if that is old (getBlockLocations)."""
        self._may_read()

        def decide(view: View, tx: Transaction) -> Inode | Refusal:
            return reads.readable(view, tx if not self.safe_mode else Transaction(view, 0), caller)

        return await self._fs.run([path], decide)

    async def read(
        self,
        path: str,
        rule: Callable[Concatenate[View, _P], _T],
        *arguments: _P.args,
        **options: _P.kwargs,
    ) -> _T:
        """Return what a rule of `namespace/` says of a path."""
        self._may_read()
        return await self._fs.run([path], lambda view, _: rule(view, *arguments, **options))

    # ---- the edits -----------------------------------------------------------------------------------------------

    async def edits(self, caller: Caller, from_txid: int) -> EditsPage:
        """Return a page of the edits (getEditsFromTxid)."""
        self._may_read()
        check_superuser(caller, "getEditsFromTxid")
        return await self._feed.page(from_txid)

    async def current_txid(self, caller: Caller) -> int:
        """Return the id of the last transaction (getCurrentEditLogTxid)."""
        self._may_read()
        check_superuser(caller, "getCurrentEditLogTxid")
        return await self._feed.last_txid()

    async def last_txid(self) -> int:
        """Return the id of the last transaction, for JMX, which shows it to all callers."""
        return await self._feed.last_txid()

    async def roll_edits(self, caller: Caller) -> int:
        """Return the id of the next transaction. Nothing is rolled: a long segment is as quick to read."""
        if self.is_standby:
            raise _standby("JOURNAL")
        check_superuser(caller, "rollEditLog")
        self._may_write("Log not rolled")
        return await self._feed.last_txid() + 1

    async def keep_edits(self) -> None:
        """Begin a new segment of the edits if the last one is full, and drop the oldest ones."""
        await self._own_feed.keep()

    # ---- writing files -------------------------------------------------------------------------------------------

    async def create(self, caller: Caller, path: str, file: NewFile, holder: str, host: str) -> Inode:
        """Create a file, and lease it to the holder."""
        self._may_write(f"Cannot create file{path}")
        writer, take = self._writer(holder, host), self._fs.ids.take
        lease: Lease | None = None

        def decide(view: View, tx: Transaction) -> Inode | Refusal:
            nonlocal lease
            lease = view.lease_of(holder)
            return create(view, tx, caller, file, writer, take)

        made = await self._fs.run([path], decide, [LeaseNeededError(holder)])
        self._fs.resolver.learn(made)
        version = 0 if lease is None else lease.version + 1  # the lease was renewed, or created
        self._leases.see(holder, version, self._clock.now())
        return made

    async def append(self, caller: Caller, path: str, holder: str, host: str) -> Inode:
        """Reopen a file for append, and lease it to the holder."""
        self._may_write(f"Cannot append to file{path}")
        writer = self._writer(holder, host)
        opened = await self._fs.run([path], lambda view, tx: append(view, tx, caller, writer))
        await self._see(holder)
        return opened

    async def truncate(self, caller: Caller, path: str, length: int, holder: str, host: str) -> bool:
        """Truncate a file. Return True if it has the length now, False if DataNodes must cut a block first."""
        self._may_write(f"Cannot truncate for {path}")
        writer = self._writer(holder, host)
        done = await self._fs.run([path], lambda view, tx: truncate(view, tx, caller, length, writer))
        await self._see(holder)
        return done

    async def add_block(
        self,
        path: str,
        holder: str,
        previous: Block | None,
        file_id: int,
        *,
        first: str = "",
        excluded: AbstractSet[str] = frozenset(),
    ) -> tuple[Block, tuple[str, ...]]:
        """Allocate the next block of a file; with `file_id` 0 the file is found by its path.

        Returns the block and its target DataNodes, `first` before all others.
        """
        self._may_write(f"Cannot add block to {path}")
        take, fleet = self._fs.ids.take_block, self._fleet

        def decide(view: View, tx: Transaction) -> tuple[Block, tuple[str, ...] | None] | Refusal:
            chosen: tuple[str, ...] | None = None

            def choose(replication: int) -> tuple[str, ...]:
                nonlocal chosen
                chosen = self.datanodes
                if fleet is not None:
                    size = view.chains[0].nodes[-1].inode.block_size
                    chosen = fleet.for_block(view.chains[0].path, replication, size, first, excluded)
                return chosen

            block = blocks.add_block(view, tx, holder, previous, file_id, choose, take)
            return block if isinstance(block, Refusal) else (block, chosen)

        block, chosen = await self._run_open(path, file_id, decide, [LeaseNeededError(holder)])
        return block, await self._targets(block.id) if chosen is None else chosen

    async def _targets(self, block: int) -> tuple[str, ...]:
        replicas = await self._fs.resolver.replicas(block)
        return () if replicas is None else replicas.location.targets

    async def begin_pipeline(
        self, path: str, holder: str, block: Block, file_id: int
    ) -> tuple[Block, tuple[str, ...]]:
        """Set the next stamp of the last block of a file open for append.

        Returns the block and its targets: in a fleet, the DataNodes with a good replica.
        """
        self._may_write("Cannot get a new generation stamp and an access token for block")
        begun = await self._run_open(
            path, file_id, lambda view, tx: blocks.begin_pipeline(view, tx, holder, block, file_id)
        )
        return begun, await self._targets(begun.id)

    async def update_pipeline(
        self, path: str, holder: str, block: Block, targets: tuple[str, ...], file_id: int
    ) -> None:
        """Set the stamp of a last block whose writer continues without the failed DataNodes."""
        self._may_write("Cannot update pipeline")
        await self._run_open(
            path, file_id, lambda view, tx: blocks.update_pipeline(view, tx, holder, block, targets, file_id)
        )

    async def abandon_block(self, path: str, holder: str, block: Block, file_id: int) -> None:
        """Drop the last block of a file."""
        self._may_write(f"Cannot abandon block {block} for file{path}")
        await self._run_open(
            path, file_id, lambda view, tx: blocks.abandon_block(view, tx, holder, block, file_id)
        )

    async def fsync(self, path: str, holder: str, file_id: int, last_length: int) -> None:
        """Store the length of the last block while it is being written; -1: the writer does not report it."""
        self._may_write(f"Cannot fsync file {path}")
        await self._run_open(
            path, file_id, lambda view, tx: blocks.fsync(view, tx, holder, file_id, last_length)
        )

    async def complete(self, path: str, holder: str, last: Block | None, file_id: int) -> bool:
        """Close a file. Return False if the writer must retry."""
        self._may_write(f"Cannot complete file {path}")
        needs: list[NeededError] = [LeaseNeededError(holder)]
        if last is not None:
            needs.append(ReplicasNeededError((last.id,)))
        return await self._run_open(
            path, file_id, lambda view, tx: blocks.complete(view, tx, holder, last, file_id), needs
        )

    async def recover_lease(self, caller: Caller, path: str, holder: str) -> bool:
        """Close a file, whichever client writes it, or begin its recovery. Return whether it is closed."""
        self._may_write(f"Cannot recover the lease of {path}")
        closed = await self._fs.run([path], lambda view, tx: leases.recover_lease(view, tx, caller, holder))
        await self._see(holder)
        return closed

    async def renew_lease(self, holder: str) -> None:
        """Renew a holder's lease; no error if it does not exist."""
        self._may_write(f"Cannot renew lease for {holder}")
        await self._fs.run(["/"], lambda _, tx: tx.renew(holder))
        await self._see(holder)

    async def _run_open(
        self, path: str, file_id: int, decide: Decide[_T], needs: Sequence[NeededError] = ()
    ) -> _T:
        if file_id == 0:
            return await self._fs.run([path], decide, needs)
        return await self._fs.run_on(file_id, path, decide, needs)

    def _writer(self, holder: str, host: str) -> WritingClient:
        return WritingClient(
            holder,
            host,
            lambda other, version: self._leases.is_soft_limit_over(other, version, self._clock.now()),
        )

    async def _see(self, holder: str) -> None:
        """Record a lease that has just been renewed."""
        lease = await self._fs.resolver.lease(holder)
        if lease is not None:
            self._leases.see(holder, lease.version, self._clock.now())

    # ---- DataNodes -----------------------------------------------------------------------------------------------

    async def register(self, datanode: str) -> None:
        """Register a DataNode, which then gets new blocks, and create its queues."""
        queues = [layout.deletions(datanode)]
        if self._fleet is not None:
            queues += [layout.copies(datanode), layout.report(datanode), layout.inventory(datanode)]
        for queue in queues:
            with contextlib.suppress(NodeExistsError):
                await self._fs.znodes.commit([CreateOp(queue, b"")])
        self.datanodes = tuple(dict.fromkeys((*self.datanodes, datanode)))

    async def received(self, block: Block, datanode: str, order: str | None = None) -> bool:
        """Record a DataNode's replica, in one transaction with its inventory. Return False if it may be deleted.

        It may be deleted if no file has the block any more, or has finished it under a later stamp; a copy, which ends
        its `order`, also if the order was withdrawn.
        """
        asked = 0
        for _ in range(MAX_ATTEMPTS):
            path = layout.replica(block.id, datanode)
            location, held = await self._fs.znodes.get_many([layout.location(block.id), path])
            if location is None:
                return False
            number = parse_location(location.data).file
            file = await self._fs.resolver.inode(number)
            judged = blocks.ReplicaVerdict.UNWANTED if file is None else blocks.judge_received(block, file)
            if judged is blocks.ReplicaVerdict.UNWANTED:
                if number == asked:
                    return False  # the file lacks the block, and no CONCAT has moved it to another file
                asked = number
                continue
            if judged is blocks.ReplicaVerdict.KEPT:
                return True
            replica = Replica(stamp=block.stamp, length=block.length)
            operations = [leases.put_replica(block.id, datanode, replica, is_held=held is not None)]
            operations += await self._listed(datanode, block.id, (block.stamp, block.length))
            operations += [] if order is None else [DeleteOp(order)]
            try:
                await self._fs.znodes.commit(operations)
            except ZnodeError as refused:
                if refused.path == order:
                    return False
                continue
            return True
        raise _changed_again(block.id)

    async def _listed(self, datanode: str, block: int, replica: tuple[int, int] | None) -> list[ZnodeOp]:
        """Return the operations that list a replica, by stamp and length, in its DataNode's inventory; None: no more.

        They carry the version of the bucket that was read: NameNodes that take reports change buckets, too.
        """
        if self._fleet is None:
            return []
        number = bucket_of(block)
        (znode,) = await self._fs.znodes.get_many([layout.bucket(datanode, number)])
        contents: Contents = {} if znode is None else parse_bucket(znode.data)
        if replica is not None:
            contents[block] = replica
        elif contents.pop(block, None) is None:
            return []
        return [change_bucket(datanode, number, contents, None if znode is None else znode.version)]

    async def mark_corrupt(self, block: int, datanode: str) -> None:
        """Mark a DataNode's replica as corrupt: it no longer counts (Z11)."""
        for _ in range(MAX_ATTEMPTS if self._fleet is not None else 0):
            replicas = await self._fs.resolver.replicas(block)
            replica = None if replicas is None else replicas.held.get(datanode)
            if replicas is None or replica is None or replica.is_corrupt:
                return
            marked = Replica(stamp=replica.stamp, length=replica.length, is_corrupt=True)
            path = layout.replica(block, datanode)
            with contextlib.suppress(ZnodeError):
                await self._fs.znodes.commit(
                    [
                        SetDataOp(path, encode(marked), replicas.versions[datanode]),
                        leases.look_again(block, replicas.waiting),
                    ]
                )

    async def orders(self, datanode: str) -> list[RecoveryOrder]:
        """Return the blocks that a DataNode may recover: it is a target, or holds a replica with the current stamp.

        The targets of an appended block are the DataNodes that the append goes to: an older replica is stale, but would
        win while they are unavailable.
        """
        names = _part(await self._fs.znodes.children(layout.RECOVER))
        queued = await self._fs.znodes.get_many([f"{layout.RECOVER}/{name}" for name in names])
        orders: list[RecoveryOrder] = []
        for znode in queued:
            if znode is None:
                continue
            with self.costing_itself(znode.path):
                recovery = parse_recovery(znode.data)
                replicas = await self._fs.resolver.replicas(recovery.block)
                held = {} if replicas is None else replicas.held
                targets = () if replicas is None else replicas.location.targets
                current = (name for name, each in held.items() if each.stamp >= recovery.recovery_id - 1)
                datanodes = (*targets, *current) or tuple(held)
                if replicas is None or datanode in datanodes:
                    orders.append(RecoveryOrder(recovery, znode, tuple(dict.fromkeys(datanodes))))
        return orders

    @contextlib.contextmanager
    def costing_itself(self, path: str) -> Iterator[None]:
        """Limit the damage of a corrupt znode to the work on it; log it once."""
        try:
            yield
        except ValueError as error:  # includes msgspec's errors
            if path not in self._corrupt:
                _log.warning("corrupt znode, left alone: %s: %s (`nncache fsck` says more)", path, error)
            self._corrupt.add(path)

    async def commit_synchronization(self, recovered: Recovered, claim: Claim | None = None) -> None:
        """Store the result of a block's recovery, from a DataNode that has claimed it."""
        self._may_write("Cannot commitBlockSynchronization while in safe mode")
        file_system = self._fs if claim is None else self._fs.fenced(claim)
        await file_system.run_on(
            recovered.order.file, "", lambda view, tx: leases.commit_synchronization(view, tx, recovered)
        )

    async def deletions(self, datanode: str) -> list[int]:
        """Return the blocks whose replicas a DataNode may delete, at most PER_TICK."""
        names = _part(await self._fs.znodes.children(layout.deletions(datanode)))
        return [int(name) for name in names if name.isdecimal()]

    async def deleted(self, datanode: str, block: int) -> None:
        """Record that a DataNode has deleted a replica."""
        await asyncio.sleep(0)  # an embedded store never yields to the event loop, and a queue may be long
        order = layout.deletion(datanode, block)
        for _ in range(MAX_ATTEMPTS):
            try:
                await self._fs.znodes.commit([DeleteOp(order), *await self._listed(datanode, block, None)])
            except ZnodeError as refused:
                if refused.path == order:
                    return  # the order was withdrawn, but the replica is deleted all the same
                continue
            return
        raise _changed_again(block)

    async def holders(self, block: Block) -> tuple[str, ...]:
        """Return the DataNodes that hold a good replica of a block; else those with any replica; else its targets."""
        return (await self.holders_of([block]))[block.id]

    async def holders_of(self, some: Sequence[Block]) -> dict[int, tuple[str, ...]]:
        """Return the same for several blocks, by block id."""
        found = await self._fs.resolver.replicas_of([block.id for block in some])

        def holders(block: Block) -> tuple[str, ...]:
            replicas = found[block.id]
            if replicas is None:
                return ()
            return tuple(replicas.good(block)) or tuple(replicas.held) or replicas.location.targets

        return {block.id: holders(block) for block in some}

    async def copies(self, datanode: str) -> list[tuple[int, Znode]]:
        """Return blocks that a DataNode must copy to itself, each with its order; at most PER_TICK."""
        queued = _part(await self._fs.znodes.children(layout.copies(datanode)))
        names = [name for name in queued if name.isdecimal()]
        orders = await self._fs.znodes.get_many([layout.copy(datanode, int(name)) for name in names])
        return [(int(name), order) for name, order in zip(names, orders, strict=True) if order is not None]

    async def block(self, number: int) -> Block | None:
        """Return a block as its file has it; None: no file has it."""
        (znode,) = await self._fs.znodes.get_many([layout.location(number)])
        file = None if znode is None else await self._fs.resolver.inode(parse_location(znode.data).file)
        return None if file is None else next((each for each in file.blocks if each.id == number), None)

    async def may_go(self, block: int, datanode: str) -> bool:
        """Tell whether a DataNode may delete its partial replica: the block is gone, or complete on others."""
        stored, replicas = await self.block(block), await self._fs.resolver.replicas(block)
        if stored is None or replicas is None:
            return replicas is None
        return stored.state is BlockState.COMPLETE and bool(replicas.good(stored) - {datanode})

    async def end_copy(self, order: Znode, *, has_failed: bool) -> None:
        """Count a failed copy in its order, or delete the order of a block that no file has."""
        failures = parse_copying(order.data).failures + 1
        data = encode(Copying(failures=failures))
        change = SetDataOp(order.path, data, order.version) if has_failed else DeleteOp(order.path)
        with contextlib.suppress(ZnodeError):  # the order was withdrawn
            await self._fs.znodes.commit([change])

    # ---- periodic work -------------------------------------------------------------------------------------------

    async def work(self) -> None:
        """Do the work of each second: the leader's, if this NameNode leads; all NameNodes observe the leases.

        Raises:
            NotLeadingError: another NameNode has been elected.
        """
        is_leading = self._leader is None or await self._leader.try_to_lead()
        await self.check_leases(is_leading=is_leading)
        if is_leading:
            await self.reclaim()
            await self.keep_edits()

    async def check_leases(self, *, is_leading: bool = True) -> None:
        """Close the files of holders whose hard limit has expired, or begin to (LeaseManager.Monitor).

        A NameNode that does not lead only observes the leases, so that it knows whose soft limit has expired.
        """
        if self.safe_mode:
            return
        holders = await self._own.znodes.children(layout.LEASES)
        found = await self._own.znodes.get_many([f"{layout.LEASES}/{name}" for name in holders])
        for znode in found if is_leading else ():
            if znode is not None and not znode.children:  # its last two files were closed concurrently
                with contextlib.suppress(ZnodeError):
                    await self._own.znodes.commit([DeleteOp(znode.path)])
        versions = {
            layout.unescape(name): znode.version
            for name, znode in zip(holders, found, strict=True)
            if znode is not None
        }
        expired = self._leases.look(versions, self._clock.now())
        if not is_leading:
            return
        left = [
            (each, file) for each in expired for file in await self._own.znodes.children(layout.lease(each))
        ]
        new_holder = f"HDFS_NameNode-{self._clock.stamp()}"
        for holder, file in _part(left):
            await asyncio.sleep(0)  # an embedded store never yields to the event loop
            with self.costing_itself(f"{layout.lease(holder)}/{file}"):
                await self._release(int(file), holder, new_holder)

    async def _release(self, file: int, holder: str, new_holder: str) -> None:
        def decide(view: View, tx: Transaction) -> None:
            (chain,) = view.chains
            node = chain.last
            if node is not None and node.inode.holder == holder:
                leases.release(view, tx, chain, node, new_holder)

        try:
            await self._own.run_on(file, "", decide)
        except Refusal:
            return  # retried at the next tick, as in HDFS
        await self._see(new_holder)

    async def reclaim(self) -> None:
        """Remove a part of the detached trees from the store."""
        await self._reclaimer.tick()

    # ---- refusals by the NameNode's state ------------------------------------------------------------------------

    def _may_read(self) -> None:
        if self.is_standby:
            raise _standby("READ")

    def _may_write(self, words: str) -> None:
        if self.is_standby:
            raise _standby("WRITE")
        if self.safe_mode:
            raise Refusal(
                Java.SAFE_MODE,
                f"{words}. Name node is in safe mode.\n{SAFE_MODE} NamenodeHostName:localhost",
            )


def _part(items: Sequence[_T]) -> Sequence[_T]:
    """Return at most PER_TICK items, chosen at random so that items that fail do not block the others."""
    return items if len(items) <= PER_TICK else random.sample(items, PER_TICK)


def _changed_again(block: int) -> Refusal:
    return Refusal(
        Java.RETRIABLE, f"What is known of block {block} has changed again and again. Try again later."
    )


def _standby(category: str) -> Refusal:
    return Refusal(
        Java.STANDBY,
        f"Operation category {category} is not supported in state standby. Visit https://s.apache.org/sbnn-error",
    )


def refusal_of(error: Refusal | CoordinationError | InvalidPathError) -> Refusal:
    """Return the answer to a client when it is refused, a parameter is no path, or the store has failed.

    A lost connection means that nothing was changed: the client may retry at another NameNode, as after a standby's.
    """
    match error:
        case Refusal():
            return error
        case InvalidPathError():
            return io_error(f"java.lang.AssertionError: {error}")
        case TooLargeError():
            return io_error(f"It is more than ZooKeeper takes at once: {error}")
        case ConnectionLostError():
            return _standby("READ")
        case _:
            return io_error(str(error))
