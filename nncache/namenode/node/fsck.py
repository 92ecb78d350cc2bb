"""Audit a namespace while it is served, and repair what can safely be repaired."""

from collections.abc import Sequence
from dataclasses import dataclass

from nncache.coordination.errors import NoNodeError, ZnodeError
from nncache.coordination.zookeeper import Znode, Znodes
from nncache.namenode.namespace import layout
from nncache.namenode.namespace.audit import Finding, Stored, audit
from nncache.namenode.namespace.inode import parse_inode, parse_location, parse_recovery


@dataclass(frozen=True, slots=True)
class Audited:
    """What was found."""

    inodes: int
    blocks: int
    findings: tuple[Finding, ...]
    repaired: tuple[Finding, ...] = ()


async def fsck(znodes: Znodes, *, repair: bool) -> Audited:
    """Audit a namespace. What is found twice, and is the same both times, is a finding; the rest was on its way."""
    first = set(audit(await _stored(znodes)))
    stored = await _stored(znodes) if first else None
    findings = tuple(finding for finding in audit(stored) if finding in first) if stored else ()
    repaired: list[Finding] = []
    for finding in findings if repair else ():
        try:
            await znodes.commit(finding.repair)
        except ZnodeError:
            continue  # it has changed since
        if finding.repair:
            repaired.append(finding)
    last = stored or await _stored(znodes)
    return Audited(len(last.inodes), len(last.locations), findings, tuple(repaired))


async def _stored(znodes: Znodes) -> Stored:
    inodes = await _below(znodes, layout.INODES)
    directories = await _below(znodes, layout.FILE_SYSTEM)
    entries: dict[tuple[int, str], int] = {}
    for znode in directories:
        for entry in await _below(znodes, znode.path) if znode.children else ():
            entries[_number(znode), layout.unescape(_name(entry))] = int(entry.data)
    locations = await _below(znodes, layout.BLOCK_LOCATIONS)
    queues = await _below(znodes, layout.DELETE)
    leases = await _below(znodes, layout.LEASES)
    datanodes = await _below(znodes, layout.HEALTH)
    return Stored(
        inodes={_number(znode): (parse_inode(znode.data), znode.version) for znode in inodes},
        entries=entries,
        directories={_number(znode) for znode in directories},
        locations={_number(znode): parse_location(znode.data) for znode in locations},
        held={_number(znode): set(await _names(znodes, znode.path)) for znode in locations if znode.children},
        leases={
            layout.unescape(_name(znode)): set(map(int, await _names(znodes, znode.path))) for znode in leases
        },
        trees=set(map(int, await _names(znodes, layout.TREES))),
        recoveries={
            _number(znode): parse_recovery(znode.data) for znode in await _below(znodes, layout.RECOVER)
        },
        deletions={_name(znode): set(map(int, await _names(znodes, znode.path))) for znode in queues},
        datanodes={_name(znode) for znode in datanodes if znode.children},
    )


async def _below(znodes: Znodes, path: str) -> list[Znode]:
    names = await _names(znodes, path)
    found = await znodes.get_many([f"{path}/{name}" for name in names])
    return [znode for znode in found if znode is not None]


async def _names(znodes: Znodes, path: str) -> Sequence[str]:
    try:
        return await znodes.children(path)
    except NoNodeError:
        return ()


def _name(znode: Znode) -> str:
    return znode.path.rpartition("/")[2]


def _number(znode: Znode) -> int:
    return int(_name(znode))
