"""Audit a namespace while it is served, and carry out the safe repairs."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from nncache.coordination.errors import ZnodeError
from nncache.coordination.zookeeper import Znode, Znodes
from nncache.namenode.namespace import layout
from nncache.namenode.namespace.audit import Inconsistency, Stored, audit
from nncache.namenode.namespace.inode import parse_inode, parse_location, parse_recovery, parse_replica
from nncache.namenode.namespace.inventory import parse_bucket
from nncache.namenode.node.resolving import names_below

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Audited:
    """The result of an audit."""

    inodes: int
    blocks: int
    findings: tuple[Inconsistency, ...]
    repaired: tuple[Inconsistency, ...] = ()


async def fsck(znodes: Znodes, *, repair: bool) -> Audited:
    """Audit a namespace twice. Only findings of both audits count: the others were changes in progress."""
    first = set(audit(await _stored(znodes)))
    stored = await _stored(znodes) if first else None
    findings = tuple(finding for finding in audit(stored) if finding in first) if stored else ()
    repaired: list[Inconsistency] = []
    for finding in findings if repair else ():
        try:
            await znodes.commit(finding.repair)
        except ZnodeError:
            continue  # the namespace has changed since
        if finding.repair:
            repaired.append(finding)
    last = stored or await _stored(znodes)
    return Audited(len(last.inodes), len(last.locations), findings, tuple(repaired))


async def _stored(znodes: Znodes) -> Stored:
    unreadable: set[str] = set()
    inodes = _read(await _below(znodes, layout.INODES), parse_inode, unreadable)
    directories = _read(await _below(znodes, layout.FILE_SYSTEM), bytes, unreadable)
    entries: dict[tuple[int, str], int] = {}
    for number, (directory, _) in directories.items():
        for entry in await _below(znodes, directory.path) if directory.children else ():
            try:
                entries[number, layout.unescape(_name(entry))] = int(entry.data)
            except ValueError:
                unreadable.add(entry.path)
    locations = _read(await _below(znodes, layout.BLOCK_LOCATIONS), parse_location, unreadable)
    recoveries = _read(await _below(znodes, layout.RECOVER), parse_recovery, unreadable)

    health = await _below(znodes, layout.HEALTH)
    beats = await znodes.get_many([layout.heartbeat(_name(znode)) for znode in health])

    lists = await znodes.get_many([layout.inventory(_name(znode)) for znode in health])
    inventories = {znode.path for znode in lists if znode is not None}

    async def numbers(path: str) -> set[int]:
        found: set[int] = set()
        for name in await names_below(znodes, path):
            if name.isdecimal():
                found.add(int(name))
            else:
                unreadable.add(f"{path}/{name}")
        return found

    return Stored(
        inodes={number: (inode, znode.version) for number, (znode, inode) in inodes.items()},
        entries=entries,
        directories=directories.keys(),
        locations={number: location for number, (_, location) in locations.items()},
        held={
            number: {
                _name(each): replica
                for each in await _below(znodes, znode.path)
                if (replica := _parsed(each, parse_replica, unreadable)) is not None
            }
            for number, (znode, _) in locations.items()
            if znode.children
        },
        leases={
            layout.unescape(_name(znode)): await numbers(znode.path)
            for znode in await _below(znodes, layout.LEASES)
        },
        trees=await numbers(layout.TREES),
        recoveries={number: order for number, (_, order) in recoveries.items()},
        deletions={_name(znode): await numbers(znode.path) for znode in await _below(znodes, layout.DELETE)},
        datanodes={_name(znode) for znode, beat in zip(health, beats, strict=True) if beat is not None},
        waiting={
            int(first)
            for name in await names_below(znodes, layout.WAIT_FOR_ACKS)
            if (first := name.partition("-")[0]).isdecimal()
        },
        copies={_name(znode): await numbers(znode.path) for znode in await _below(znodes, layout.REPLICATE)},
        buckets={
            _name(znode): {
                number: (contents, bucket.version)
                for number, (bucket, contents) in _read(
                    await _below(znodes, layout.inventory(_name(znode))), parse_bucket, unreadable
                ).items()
            }
            for znode in health
            if layout.inventory(_name(znode)) in inventories
        },
        unreadable=unreadable,
    )


def _read(
    found: Iterable[Znode], parse: Callable[[bytes], _T], unreadable: set[str]
) -> dict[int, tuple[Znode, _T]]:
    """Return znodes and their parsed data, by their numeric names; record the others in `unreadable`."""
    read: dict[int, tuple[Znode, _T]] = {}
    for znode in found:
        parsed = _parsed(znode, parse, unreadable)
        if parsed is None:
            continue
        if _name(znode).isdecimal():
            read[int(_name(znode))] = znode, parsed
        else:
            unreadable.add(znode.path)
    return read


def _parsed(znode: Znode, parse: Callable[[bytes], _T], unreadable: set[str]) -> _T | None:
    try:
        return parse(znode.data)
    except ValueError:  # includes msgspec's errors
        unreadable.add(znode.path)
        return None


async def _below(znodes: Znodes, path: str) -> list[Znode]:
    names = await names_below(znodes, path)
    found = await znodes.get_many([f"{path}/{name}" for name in names])
    return [znode for znode in found if znode is not None]


def _name(znode: Znode) -> str:
    return znode.path.rpartition("/")[2]
