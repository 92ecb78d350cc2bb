"""fsck finds each inconsistency, also under concurrent writes, and finds nothing after a repair."""

import asyncio
import random
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from nncache.coordination.embedded import EmbeddedZnodes
from nncache.coordination.zookeeper import CreateOp, DeleteOp, SetDataOp, ZnodeOp
from nncache.namenode.namespace import layout
from nncache.namenode.namespace.audit import Kind
from nncache.namenode.namespace.inode import Inode, Location, Recovery, Replica, encode
from nncache.namenode.namespace.inventory import bucket_of, change_bucket
from nncache.namenode.node.datanodes import DataNodes
from nncache.namenode.node.fsck import fsck
from tests.namenode.fixture import Fixture, new_file
from tests.namenode.killed_znodes import RacingZnodes
from tests.namenode.test_races import work

BLOCK = 1_999_999_999
"""A block id that belongs to no file."""


@pytest.fixture
async def fixture(tmp_path: Path) -> Fixture:
    """Return a namespace: /d/f with a block, /d/g, and /o, which is open with a block under recovery."""
    made = await Fixture.make(tmp_path)
    await made.znodes.commit([CreateOp(layout.health("dn1"), b""), CreateOp(layout.heartbeat("dn1"), b"")])
    for path in ("/d/f", "/d/g"):
        upload = await made.datanode.create(made.root, path, new_file(), "host")
        await upload.write(b"data")
        await upload.close()
    (await made.abandoned("/o", 10)).leave()
    await made.namenode.recover_lease(made.root, "/o", "other")
    await made.znodes.commit([CreateOp(layout.inventory("dn1"), b"")])
    for path in ("/d/f", "/d/g"):
        (block,) = (await inode(made, path)).blocks
        await made.znodes.commit([change_bucket("dn1", bucket_of(block.id), {block.id: (1001, 4)}, None)])
    return made


async def inode(fixture: Fixture, path: str) -> Inode:
    """Return the inode at a path."""
    (chain,) = await fixture.file_system.resolver.chains([path])
    assert chain.last is not None
    return chain.last.inode


async def broken(fixture: Fixture, kind: Kind) -> Sequence[ZnodeOp]:
    """Return the operations that create one inconsistency of a kind."""
    directory, file, other, opened = [await inode(fixture, path) for path in ("/d", "/d/f", "/d/g", "/o")]
    block = file.blocks[0].id
    gone = Inode(id=99999, parent=0, name="x", is_directory=False, owner="", group="", mode=0o644)
    order = Recovery(file=file.id, block=block, recovery_id=7)
    bucket = layout.bucket("dn1", bucket_of(block))
    stray = change_bucket("dn1", bucket_of(BLOCK), {BLOCK: (1001, 4)}, None)
    wanted = msgspec.structs.replace(file, replication=2)
    corrupt = encode(Replica(stamp=1001, length=4, is_corrupt=True))
    steps: dict[Kind, Sequence[ZnodeOp]] = {
        Kind.LOST: [DeleteOp(layout.entry(directory.id, "f"))],
        Kind.DANGLING: [CreateOp(layout.entry(directory.id, "x"), b"99999")],
        Kind.UNQUEUED: [CreateOp(layout.inode(99999), encode(gone))],
        Kind.STRAY_DIRECTORY: [CreateOp(layout.directory(99999), b"0")],
        Kind.STRAY_BLOCK: [
            CreateOp(layout.location(BLOCK), encode(Location(file=other.id, targets=("dn1",)))),
            CreateOp(layout.replica(BLOCK, "dn1"), encode(Replica(stamp=1001, length=4))),
            stray,
        ],
        Kind.UNLOCATED: [
            DeleteOp(layout.replica(block, "dn1")),
            DeleteOp(layout.location(block)),
            SetDataOp(bucket, b"{}"),
        ],
        Kind.MISSING: [DeleteOp(layout.replica(block, "dn1")), SetDataOp(bucket, b"{}")],
        Kind.CORRUPT: [
            SetDataOp(layout.replica(block, "dn1"), corrupt),
            CreateOp(layout.waiting(block), b""),
        ],
        Kind.REPLICAS: [SetDataOp(layout.inode(file.id), encode(wanted))],
        Kind.UNLISTED: [SetDataOp(bucket, b"{}")],
        Kind.UNCOUNTED: [stray],
        Kind.UNAVAILABLE: [DeleteOp(layout.heartbeat("dn1"))],
        Kind.STRAY_LEASE: [CreateOp(layout.leased(opened.holder, file.id), b"")],
        Kind.UNLEASED: [
            DeleteOp(layout.leased(opened.holder, opened.id)),
            DeleteOp(layout.lease(opened.holder)),
        ],
        Kind.STRAY_ORDER: [CreateOp(f"{layout.RECOVER}/{block}", encode(order))],
        Kind.DOOMED: [CreateOp(f"{layout.deletions('dn1')}/{block}", b"")],
        Kind.UNREADABLE: [CreateOp(f"{layout.RECOVER}/{BLOCK}", b"{")],
    }
    return steps[kind]


REPAIRED = {
    Kind.LOST, Kind.UNQUEUED, Kind.STRAY_DIRECTORY, Kind.STRAY_BLOCK, Kind.STRAY_LEASE, Kind.UNLEASED, Kind.STRAY_ORDER,
    Kind.REPLICAS, Kind.UNLISTED, Kind.UNCOUNTED,
}  # fmt: skip


async def test_what_is_in_order_has_no_findings(fixture: Fixture) -> None:
    """A consistent namespace with files, directories, leases and a recovery order."""
    found = await fsck(fixture.znodes, repair=True)
    assert found.findings == ()
    assert (found.inodes, found.blocks) == (5, 3)


@pytest.mark.parametrize("kind", Kind, ids=lambda kind: kind.name)
async def test_what_is_wrong_is_found_and_repaired(kind: Kind, fixture: Fixture) -> None:
    """Each is found under its kind only; an inconsistency that has no repair stays as it was."""
    await fixture.znodes.commit(await broken(fixture, kind))
    found = await fsck(fixture.znodes, repair=False)
    assert {finding.kind for finding in found.findings} == {kind}
    assert found.repaired == ()
    found = await fsck(fixture.znodes, repair=True)
    assert bool(found.repaired) is (kind in REPAIRED)
    left = (await fsck(fixture.znodes, repair=True)).findings
    assert {finding.kind for finding in left} == (set() if kind in REPAIRED else {kind})
    await fixture.tick()
    await fixture.namenode.reclaim()
    if kind in REPAIRED:
        assert await fixture.orphans() == []


async def test_a_copy_that_nothing_waits_for_is_withdrawn(fixture: Fixture) -> None:
    """That order would create a replica that no transaction reads."""
    block = (await inode(fixture, "/d/f")).blocks[0].id
    await fixture.znodes.commit(
        [
            CreateOp(layout.copies("dn1"), b""),
            CreateOp(layout.copy("dn1", block), b""),
            CreateOp(layout.waiting(block), b""),
        ]
    )
    assert (await fsck(fixture.znodes, repair=True)).findings == ()
    await fixture.znodes.commit([DeleteOp(layout.waiting(block))])
    assert [each.kind for each in (await fsck(fixture.znodes, repair=True)).repaired] == [Kind.STRAY_ORDER]
    assert (await fsck(fixture.znodes, repair=True)).findings == ()


async def test_a_corrupt_znode_costs_no_other(fixture: Fixture) -> None:
    """The audit reports it and keeps it, and all that it may refer to: while it exists, nothing is repaired."""
    directory, file = [await inode(fixture, path) for path in ("/d", "/d/f")]
    await fixture.znodes.commit(await broken(fixture, Kind.STRAY_LEASE))
    corrupt = {
        layout.inode(file.id): b"{",
        layout.entry(directory.id, "g"): b"no number",
        layout.location(file.blocks[0].id): b"[]",
    }
    odd = {f"{layout.INODES}/odd": b"{}", f"{layout.TREES}/odd": b"", f"{layout.FILE_SYSTEM}/odd": b""}
    await fixture.znodes.commit([SetDataOp(path, data) for path, data in corrupt.items()])
    await fixture.znodes.commit([CreateOp(path, data) for path, data in odd.items()])
    found = await fsck(fixture.znodes, repair=True)
    assert {each.about for each in found.findings if each.kind is Kind.UNREADABLE} == {*corrupt, *odd}
    assert found.repaired == ()
    for path, data in {**corrupt, **odd}.items():
        assert (await fixture.znodes.get(path)).data == data
    await fixture.znodes.commit([DeleteOp(path) for path in odd])
    await fixture.znodes.commit([SetDataOp(layout.inode(file.id), encode(file))])
    assert {each.kind for each in (await fsck(fixture.znodes, repair=True)).repaired} == {Kind.STRAY_LEASE}


async def test_the_work_of_each_second_goes_on_beside_a_corrupt_znode(
    fixture: Fixture, caplog: pytest.LogCaptureFixture
) -> None:
    """In NameNode and DataNode; the log names the znode once."""
    odd = [f"{layout.TREES}/0dd", f"{layout.RECOVER}/0dd", f"{layout.deletions('dn1')}/0dd"]
    await fixture.znodes.commit([CreateOp(path, b"{") for path in odd])
    block = (await inode(fixture, "/d/f")).blocks[0]
    assert await fixture.namenode.delete(fixture.root, "/d/f", recursive=False)
    for _ in range(2):
        await fixture.namenode.work()
        await fixture.datanode.work()
    assert await fixture.znodes.children(layout.TREES) == ("0dd",)
    assert await fixture.znodes.children(layout.deletions("dn1")) == ("0dd",)
    assert not fixture.datanode.holds(block)
    assert caplog.text.count(f"{layout.TREES}/0dd") == 1


async def test_a_datanode_with_a_corrupt_record_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    """The other DataNodes are used."""
    znodes = EmbeddedZnodes()
    await znodes.commit([CreateOp(layout.HEALTH, b"")])
    for name, record in (("dn1", b"{"), ("dn2", b'{"http": "host:1"}')):
        await znodes.commit([CreateOp(layout.health(name), record), CreateOp(layout.heartbeat(name), b"")])
    datanodes = DataNodes({}, znodes)
    for _ in range(2):
        await datanodes.look()
    assert datanodes.of(["dn1", "dn2"]) == ["host:1"]
    assert caplog.text.count(layout.health("dn1")) == 1


async def test_directories_below_each_other_are_lost(fixture: Fixture) -> None:
    """A cycle of directories, unreachable from the root, is reported and not repaired."""
    circle = [
        Inode(id=number, parent=above, name="x", is_directory=True, owner="", group="", mode=0o755)
        for number, above in ((99_998, 99_999), (99_999, 99_998))
    ]
    await fixture.znodes.commit(
        [
            *(CreateOp(layout.inode(each.id), encode(each)) for each in circle),
            *(CreateOp(layout.directory(each.id), b"0") for each in circle),
            *(CreateOp(layout.entry(each.parent, "x"), str(each.id).encode()) for each in circle),
        ]
    )
    found = await fsck(fixture.znodes, repair=True)
    assert [finding.kind for finding in found.findings] == [Kind.LOST, Kind.LOST]
    assert found.repaired == ()


@pytest.mark.parametrize("seed", range(3))
async def test_what_is_on_its_way_is_no_finding(seed: int, tmp_path: Path) -> None:
    """While clients race, repairs are refused or correct, and the audit afterwards finds nothing."""
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
    """An inode that changed after the finding is left alone."""
    await fixture.znodes.commit(await broken(fixture, Kind.UNLEASED))

    class Late(RacingZnodes):
        """Znodes in which the file changes just before its repair."""

        async def commit(self, operations: Sequence[ZnodeOp]) -> None:
            """Change the file, then commit the repair."""
            opened = await inode(fixture, "/o")
            await fixture.znodes.commit([SetDataOp(layout.inode(opened.id), encode(opened))])
            await super().commit(operations)

    found = await fsck(Late(fixture.znodes, random.Random(1)), repair=True)
    assert [finding.kind for finding in found.findings] == [Kind.UNLEASED]
    assert found.repaired == ()
