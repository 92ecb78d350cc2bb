"""What does not fit together is found, also while others change it; what is repaired leaves nothing to find."""

import asyncio
import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from nncache.coordination.embedded import EmbeddedZnodes
from nncache.coordination.zookeeper import Create, Delete, Operation, SetData
from nncache.namenode.namespace import layout
from nncache.namenode.namespace.audit import Kind
from nncache.namenode.namespace.inode import Inode, Location, Recovery, encode
from nncache.namenode.node.fsck import fsck
from tests.namenode.fixture import Fixture, new_file
from tests.namenode.killed_znodes import RacingZnodes
from tests.namenode.test_races import work

BLOCK = 1_999_999_999
"""The id of a block that no file has."""


@pytest.fixture
async def fixture(tmp_path: Path) -> Fixture:
    """Return a namespace: /d/f with a block, /d/g, and /o, which is open with a block under recovery."""
    made = await Fixture.make(tmp_path)
    await made.znodes.commit([Create(layout.health("dn1"), b""), Create(layout.heartbeat("dn1"), b"")])
    for path in ("/d/f", "/d/g"):
        upload = await made.datanode.create(made.root, path, new_file(), "host")
        await upload.write(b"data")
        await upload.close()
    (await made.abandoned("/o", 10)).leave()
    await made.namenode.recover_lease(made.root, "/o", "other")
    return made


async def inode(fixture: Fixture, path: str) -> Inode:
    """Return what is there."""
    (chain,) = await fixture.file_system.resolver.chains([path])
    assert chain.last is not None
    return chain.last.inode


async def broken(fixture: Fixture, kind: Kind) -> Sequence[Operation]:
    """Return what makes something wrong, one of a kind."""
    directory, file, other, opened = [await inode(fixture, path) for path in ("/d", "/d/f", "/d/g", "/o")]
    block = file.blocks[0].id
    gone = Inode(id=99999, parent=0, name="x", is_directory=False, owner="", group="", mode=0o644)
    order = Recovery(file=file.id, block=block, recovery_id=7)
    steps: dict[Kind, Sequence[Operation]] = {
        Kind.LOST: [Delete(layout.entry(directory.id, "f"))],
        Kind.DANGLING: [Create(layout.entry(directory.id, "x"), b"99999")],
        Kind.UNQUEUED: [Create(layout.inode(99999), encode(gone))],
        Kind.STRAY_DIRECTORY: [Create(layout.directory(99999), b"0")],
        Kind.STRAY_BLOCK: [
            Create(layout.location(BLOCK), encode(Location(file=other.id, targets=("dn1",)))),
            Create(layout.replica(BLOCK, "dn1"), b"{}"),
        ],
        Kind.UNLOCATED: [Delete(layout.replica(block, "dn1")), Delete(layout.location(block))],
        Kind.MISSING: [Delete(layout.replica(block, "dn1"))],
        Kind.UNAVAILABLE: [Delete(layout.heartbeat("dn1"))],
        Kind.STRAY_LEASE: [Create(layout.leased(opened.holder, file.id), b"")],
        Kind.UNLEASED: [
            Delete(layout.leased(opened.holder, opened.id)),
            Delete(layout.lease(opened.holder)),
        ],
        Kind.STRAY_ORDER: [Create(f"{layout.RECOVER}/{block}", encode(order))],
        Kind.DOOMED: [Create(f"{layout.deletions('dn1')}/{block}", b"")],
    }
    return steps[kind]


REPAIRED = {
    Kind.LOST, Kind.UNQUEUED, Kind.STRAY_DIRECTORY, Kind.STRAY_BLOCK, Kind.STRAY_LEASE, Kind.UNLEASED, Kind.STRAY_ORDER,
}  # fmt: skip


async def test_what_is_in_order_has_no_findings(fixture: Fixture) -> None:
    """Files, directories, leases, an order to recover."""
    found = await fsck(fixture.znodes, repair=True)
    assert found.findings == ()
    assert (found.inodes, found.blocks) == (5, 3)


@pytest.mark.parametrize("kind", Kind, ids=lambda kind: kind.name)
async def test_what_is_wrong_is_found_and_repaired(kind: Kind, fixture: Fixture) -> None:
    """Once, under its kind; what is not repaired is left as it was."""
    await fixture.znodes.commit(await broken(fixture, kind))
    found = await fsck(fixture.znodes, repair=False)
    assert {finding.kind for finding in found.findings} == {kind}
    assert found.repaired == ()
    found = await fsck(fixture.znodes, repair=True)
    assert bool(found.repaired) is (kind in REPAIRED)
    left = (await fsck(fixture.znodes, repair=True)).findings
    assert {finding.kind for finding in left} == (set() if kind in REPAIRED else {kind})
    await fixture.turn()
    await fixture.namenode.reclaim()
    if kind in REPAIRED:
        assert await fixture.orphans() == []


async def test_directories_below_each_other_are_lost(fixture: Fixture) -> None:
    """A circle that nothing leads to."""
    circle = [
        Inode(id=number, parent=above, name="x", is_directory=True, owner="", group="", mode=0o755)
        for number, above in ((99_998, 99_999), (99_999, 99_998))
    ]
    await fixture.znodes.commit(
        [
            *(Create(layout.inode(each.id), encode(each)) for each in circle),
            *(Create(layout.directory(each.id), b"0") for each in circle),
            *(Create(layout.entry(each.parent, "x"), str(each.id).encode()) for each in circle),
        ]
    )
    found = await fsck(fixture.znodes, repair=True)
    assert [finding.kind for finding in found.findings] == [Kind.LOST, Kind.LOST]
    assert found.repaired == ()


@pytest.mark.parametrize("seed", range(3))
async def test_what_is_on_its_way_is_no_finding(seed: int, tmp_path: Path) -> None:
    """While clients race, an audit finds nothing, and what it would repair is refused or right."""
    rng = random.Random(seed)
    znodes = RacingZnodes(EmbeddedZnodes(), rng)
    fixtures = [await Fixture.make(tmp_path / f"{number}", znodes) for number in range(2)]
    async with asyncio.TaskGroup() as group:
        for number in range(4):
            group.create_task(work(fixtures[number % 2], random.Random(f"{seed}-{number}")))
        for _ in range(5):
            await fsck(znodes, repair=True)
    for fixture in fixtures:
        await fixture.namenode.reclaim()
        await fixture.namenode.check_leases()
    assert await fixtures[0].orphans() == []
    assert (await fsck(znodes, repair=False)).findings == ()


async def test_a_repair_that_comes_too_late_is_refused(fixture: Fixture) -> None:
    """What has changed since it was found is left alone."""
    await fixture.znodes.commit(await broken(fixture, Kind.UNLEASED))

    class Late(RacingZnodes):
        """Znodes in which the file is changed just before it is repaired."""

        async def commit(self, operations: Sequence[Operation]) -> None:
            """Change it first."""
            opened = await inode(fixture, "/o")
            await fixture.znodes.commit([SetData(layout.inode(opened.id), encode(opened))])
            await super().commit(operations)

    found = await fsck(Late(fixture.znodes, random.Random(1)), repair=True)
    assert [finding.kind for finding in found.findings] == [Kind.UNLEASED]
    assert found.repaired == ()
