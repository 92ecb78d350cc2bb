"""Inconsistencies of a stored namespace, and their safe repairs.

Pure. The namespace changes while it is read: a finding counts only if two audits find it, and the transaction of a
repair checks that the finding still holds.
"""

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from enum import Enum

from nncache.coordination.zookeeper import CheckOp, CreateOp, DeleteOp, ZnodeOp
from nncache.namenode.namespace import layout
from nncache.namenode.namespace.inode import (
    LIMBO,
    ROOT_ID,
    Block,
    BlockState,
    Inode,
    Location,
    Recovery,
    Replica,
)
from nncache.namenode.namespace.inventory import Contents, bucket_of, change_bucket
from nncache.namenode.namespace.view import good_replicas


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """The whole stored namespace except the edits."""

    inodes: Mapping[int, tuple[Inode, int]]  # each with the version of its znode
    entries: Mapping[tuple[int, str], int]  # by directory and name
    directories: AbstractSet[int]  # with a znode for their entries
    locations: Mapping[int, Location]
    held: Mapping[int, Mapping[str, Replica]]  # the replicas of each block, by DataNode
    leases: Mapping[str, AbstractSet[int]]
    trees: AbstractSet[int]
    recoveries: Mapping[int, Recovery]
    deletions: Mapping[str, AbstractSet[int]]  # blocks that each DataNode may delete
    datanodes: AbstractSet[str]  # those with a heartbeat
    waiting: AbstractSet[int] = frozenset()  # blocks and files that await a replica check
    copies: Mapping[str, AbstractSet[int]] = field(
        default_factory=dict
    )  # blocks that each DataNode must copy
    buckets: Mapping[str, Mapping[int, tuple[Contents, int]]] = field(default_factory=dict)
    """The buckets, with their versions, of the DataNodes that keep an inventory."""
    unreadable: AbstractSet[str]  # znodes that cannot be parsed


class Kind(Enum):
    """A kind of inconsistency."""

    LOST = "an inode that no entry leads to"
    DANGLING = "an entry that leads nowhere, or elsewhere"
    UNQUEUED = "a deleted tree that no queue has"
    STRAY_DIRECTORY = "entries of no directory"
    STRAY_BLOCK = "a location of a block that no file has"
    UNLOCATED = "a block without a location"
    MISSING = "a block that no DataNode holds"
    UNAVAILABLE = "a block whose DataNodes are not there"
    CORRUPT = "a block of which no replica is good"
    REPLICAS = "a block with other replicas than its file wants, that no queue has"
    UNLISTED = "a replica that its DataNode does not list"
    UNCOUNTED = "a replica that its DataNode lists, and that is neither counted nor to be deleted"
    STRAY_LEASE = "a lease of a file that is not open"
    UNLEASED = "an open file without its lease"
    STRAY_ORDER = (
        "an order to recover a block that is whole, or gone, or to copy one that does not wait for it"
    )
    DOOMED = "a replica that is counted, and may be deleted"
    UNREADABLE = "a znode that cannot be read"


@dataclass(frozen=True, slots=True)
class Inconsistency:
    """One inconsistency; two findings of one kind about the same object are equal."""

    kind: Kind
    about: str
    repair: tuple[ZnodeOp, ...] = field(default=(), compare=False)  # empty: only an operator can decide


def audit(stored: Stored) -> Iterator[Inconsistency]:
    """Yield each inconsistency of the namespace."""
    yield from _tree(stored)
    yield from _blocks(stored)
    yield from _inventories(stored)
    yield from _leases(stored)
    yield from _orders(stored)
    for path in stored.unreadable:
        yield Inconsistency(Kind.UNREADABLE, path)


def _tree(stored: Stored) -> Iterator[Inconsistency]:
    for (directory, name), number in stored.entries.items():
        found = stored.inodes.get(number)
        if found is None or (found[0].parent, found[0].name) != (directory, name):
            # No repair: a new entry may have its place when the repair deletes it.
            yield Inconsistency(Kind.DANGLING, layout.entry(directory, name))
    for number, (inode, version) in stored.inodes.items():
        about = f"{layout.inode(number)} ({inode.name})"
        if number == ROOT_ID:
            continue
        if inode.parent == LIMBO:
            if number not in stored.trees:
                queue = CreateOp(f"{layout.TREES}/{number}", b"")
                yield Inconsistency(Kind.UNQUEUED, about, (_unchanged(number, version), queue))
        elif stored.entries.get((inode.parent, inode.name)) != number:
            link = CreateOp(layout.entry(inode.parent, inode.name), str(number).encode())
            can_be_linked = (inode.parent, inode.name) not in stored.entries and inode.parent in stored.inodes
            yield Inconsistency(
                Kind.LOST, about, (_unchanged(number, version), link) if can_be_linked else ()
            )
    for number in _circling(stored):
        yield Inconsistency(Kind.LOST, f"{layout.inode(number)} (below itself)")
    for number in stored.directories - stored.inodes.keys() - {directory for directory, _ in stored.entries}:
        path = layout.directory(number)
        yield Inconsistency(Kind.STRAY_DIRECTORY, path, (*_absent(number), DeleteOp(path)))


def _circling(stored: Stored) -> Iterator[int]:
    """Yield the inodes that are their own ancestors."""
    good: set[int] = {ROOT_ID, LIMBO}
    for number in stored.inodes:
        way: set[int] = set()
        at = number
        while at not in good and at in stored.inodes and at not in way:
            way.add(at)
            at = stored.inodes[at][0].parent
        if at in way:
            yield number
        else:
            good.update(way)


def _blocks(stored: Stored) -> Iterator[Inconsistency]:
    owned = {(block.id, inode.id) for inode, _ in stored.inodes.values() for block in inode.blocks}
    for number, location in stored.locations.items():
        if (number, location.file) in owned:
            continue
        held = stored.held.get(number, {})
        found = stored.inodes.get(location.file)
        guard = _absent(location.file) if found is None else (_unchanged(location.file, found[1]),)
        yield Inconsistency(
            Kind.STRAY_BLOCK,
            layout.location(number),
            (
                *guard,
                *(
                    CreateOp(layout.deletion(name, number), b"")
                    for name in {*held, *location.targets}
                    if name in stored.deletions and number not in stored.deletions[name]
                ),
                *(DeleteOp(layout.replica(number, name)) for name in held),
                DeleteOp(layout.location(number)),
            ),
        )
    for inode, _ in stored.inodes.values():
        for block in inode.blocks:
            about = f"{block} of {layout.inode(inode.id)} ({inode.name})"
            held = stored.held.get(block.id, {})
            if block.id not in stored.locations:
                yield Inconsistency(Kind.UNLOCATED, about)
            elif block.state is BlockState.COMPLETE and not held:
                yield Inconsistency(Kind.MISSING, about)
            elif held and not held.keys() & stored.datanodes:
                yield Inconsistency(Kind.UNAVAILABLE, f"{about}: {', '.join(sorted(held))}")
            for name in held:
                if block.id in stored.deletions.get(name, ()):
                    yield Inconsistency(Kind.DOOMED, f"{about} at {name}")
            if stored.buckets and held and block.state is BlockState.COMPLETE:
                yield from _replicas(stored, inode, block)


def _replicas(stored: Stored, inode: Inode, block: Block) -> Iterator[Inconsistency]:
    about = f"{block} of {layout.inode(inode.id)} ({inode.name})"
    held = stored.held[block.id]
    good = good_replicas(held, block)
    if not good:
        yield Inconsistency(Kind.CORRUPT, about)
    if len(good) == len(held) == inode.replication or {block.id, inode.id} & stored.waiting:
        return
    queue = CreateOp(layout.waiting(block.id), b"")
    repair = (_unchanged(inode.id, stored.inodes[inode.id][1]), queue)
    yield Inconsistency(
        Kind.REPLICAS, f"{about}: {len(good)} good of {len(held)}, {inode.replication} wanted", repair
    )


def _inventories(stored: Stored) -> Iterator[Inconsistency]:
    """Compare inventories with counted replicas. A repair edits the inventory; the next report fixes the counts."""
    counted: dict[str, dict[int, Replica]] = {name: {} for name in stored.buckets}
    for block, held in stored.held.items():
        for name, replica in held.items():
            counted.setdefault(name, {})[block] = replica
    for name, buckets in stored.buckets.items():
        listed = {block for contents, _ in buckets.values() for block in contents}
        for block in counted[name].keys() - listed:
            contents, version = buckets.get(bucket_of(block), ({}, None))
            replica = counted[name][block]
            yield Inconsistency(
                Kind.UNLISTED,
                f"{block} at {name}",
                (
                    change_bucket(
                        name, bucket_of(block), {**contents, block: (replica.stamp, replica.length)}, version
                    ),
                ),
            )
        for block in listed - counted[name].keys() - stored.deletions.get(name, frozenset()):
            if stored.unreadable & {layout.location(block), layout.replica(block, name)}:
                continue
            contents, version = buckets[bucket_of(block)]
            left = {each: what for each, what in contents.items() if each != block}
            yield Inconsistency(
                Kind.UNCOUNTED, f"{block} at {name}", (change_bucket(name, bucket_of(block), left, version),)
            )


def _leases(stored: Stored) -> Iterator[Inconsistency]:
    for holder, files in stored.leases.items():
        for number in files:
            found = stored.inodes.get(number)
            if found is None or found[0].holder != holder:
                guard = _absent(number) if found is None else (_unchanged(number, found[1]),)
                path = layout.leased(holder, number)
                yield Inconsistency(Kind.STRAY_LEASE, path, (*guard, DeleteOp(path)))
    for number, (inode, version) in stored.inodes.items():
        if inode.is_open and number not in stored.leases.get(inode.holder, ()):
            lease = [] if inode.holder in stored.leases else [CreateOp(layout.lease(inode.holder), b"")]
            yield Inconsistency(
                Kind.UNLEASED,
                f"{layout.inode(number)} ({inode.name}) of {inode.holder}",
                (_unchanged(number, version), *lease, CreateOp(layout.leased(inode.holder, number), b"")),
            )


def _orders(stored: Stored) -> Iterator[Inconsistency]:
    for block, order in stored.recoveries.items():
        found = stored.inodes.get(order.file)
        last = None if found is None or not found[0].blocks else found[0].blocks[-1]
        if last is None or last.id != block or last.recovery_id != order.recovery_id:
            guard = _absent(order.file) if found is None else (_unchanged(order.file, found[1]),)
            path = f"{layout.RECOVER}/{block}"
            yield Inconsistency(Kind.STRAY_ORDER, path, (*guard, DeleteOp(path)))
    for name, blocks in stored.copies.items():
        for block in blocks - stored.waiting:
            path = layout.copy(name, block)
            absent = layout.waiting(block)
            yield Inconsistency(
                Kind.STRAY_ORDER, path, (CreateOp(absent, b""), DeleteOp(absent), DeleteOp(path))
            )


def _unchanged(number: int, version: int) -> ZnodeOp:
    return CheckOp(layout.inode(number), version)


def _absent(number: int) -> tuple[ZnodeOp, ...]:
    """Return operations that fail if the inode exists, and change nothing otherwise."""
    return CreateOp(layout.inode(number), b""), DeleteOp(layout.inode(number))
