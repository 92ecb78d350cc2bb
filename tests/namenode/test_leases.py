"""Leases behave as at a real NameNode: the steps of `leases.txt`, and rules that those steps cannot express.

The tests and rows for each point of HDFS's own description of its leases:
L1 a holder has many files, by inode id: rows 8 and 9, `test_one_renewal_is_for_all_files_of_a_holder`;
L2 the soft limit: row 2; L3 the hard limit, 1,200 s: row 4, `test_the_hard_limit_is_not_over_earlier`;
L4 oldest first: there is no order here, as each tick checks all leases; a file that cannot be released blocks
no other: `test_a_file_that_cannot_be_released_stops_no_other`;
L5 create and append again by the holder: rows 1 and 12; leases after a restart: `test_what_was_kept_is_there_again`;
L6 checkLease: rows 2, 6, 8, 9, `test_a_lease_of_a_directory`; L7 renewal: rows 1 and 14, the same test as L1;
L8 an end by deletion: row 9, `test_a_deletion_ends_the_leases_below`; L9 the monitor, not in safe mode: row 14;
L10 ways to close a file: rows 1, 4, 5 and `test_a_committed_block_that_arrives_is_enough`;
L11 retries of a failed release: the same test as L4; L12 lengths and stamps of a recovery: rows 3, 12, 13,
tests/namenode/test_replicas.py; L13 a recovery that leaves the holder renews the lease: row 2 and
`test_a_takeover_renews_the_holders_lease`.
"""

import asyncio
import contextlib
import errno
import itertools
import tempfile
from pathlib import Path

import msgspec
import pytest

from nncache.coordination.errors import ConnectionLostError
from nncache.coordination.zookeeper import SetDataOp
from nncache.namenode.namespace import layout, reads
from nncache.namenode.namespace.inode import Block, encode
from tests.namenode.ensemble import STORES, made
from tests.namenode.fixture import HOST, A, B, Fixture, new_file, outcome_of
from tests.namenode.leases import HARD_S, SOFT_S, answers_of_light, differences, script

EXPIRED = "org.apache.hadoop.hdfs.server.namenode.LeaseExpiredException"
NOT_FOUND = "java.io.FileNotFoundException"
ROWS = [row for row, _ in itertools.groupby(step.row for step in script())]


@pytest.fixture(params=STORES)
async def fixture(request: pytest.FixtureRequest, tmp_path: Path) -> Fixture:
    """Return an empty cluster, on each store."""
    return await Fixture.make(tmp_path, await made(request.param))


@pytest.fixture(scope="module", params=STORES)
def found(request: pytest.FixtureRequest) -> list[str]:
    """Return the steps whose answers differ from a real NameNode's."""
    steps = script()
    with tempfile.TemporaryDirectory() as directory:
        answers = asyncio.run(answers_of_light(steps, Path(directory), request.param))
        return differences(steps, answers, "light")


@pytest.mark.parametrize("row", ROWS)
def test_a_row_of_a_real_namenode(row: str, found: list[str]) -> None:
    """Each step has the same exception, message, state and length."""
    assert [each for each in found if each.startswith(f"{row}: ")] == []


async def test_a_block_for_what_is_in_limbo(fixture: Fixture) -> None:
    """After its directory is deleted, and before it is reclaimed, a writer gets no more blocks."""
    file = await fixture.create("/d/f", A)
    await fixture.namenode.delete(fixture.root, "/d", recursive=True)
    assert (await outcome_of(fixture.add_block("/d/f", A, None, file.id))).startswith(
        f"{NOT_FOUND}: File does not exist"
    )


async def test_one_renewal_is_for_all_files_of_a_holder(fixture: Fixture) -> None:
    """While the holder renews, neither the soft nor the hard limit passes for any of its files."""
    for path in ("/f", "/g"):
        await fixture.create(path, A)
    for _ in range(30):
        fixture.clock.advance(50)
        await fixture.namenode.renew_lease(A)
        await fixture.namenode.check_leases()
    assert "is currently owned by" in await outcome_of(fixture.create("/f", B))
    assert "is currently owned by" in await outcome_of(fixture.create("/g", B))


async def test_a_new_observer_begins_at_zero(fixture: Fixture, tmp_path: Path) -> None:
    """Another NameNode on the same store counts from when it first saw the lease, whatever its clock shows."""
    await fixture.create("/f", A)
    fixture.clock.advance(HARD_S)
    other = await Fixture.make(tmp_path / "other", fixture.znodes)
    other.clock.advance(-10_000)
    await other.namenode.check_leases()
    assert (await other.state("/f")).startswith("open")
    other.clock.advance(HARD_S)
    await other.namenode.check_leases()
    assert await other.state("/f") == "closed len 0"
    await fixture.namenode.check_leases()


async def test_a_deletion_ends_the_leases_below(fixture: Fixture) -> None:
    """The leases of a tree end when it is reclaimed, that of a single file immediately."""
    file = await fixture.create("/d/e/f", A)
    await fixture.create("/g", B)
    await fixture.namenode.delete(fixture.root, "/d", recursive=True)
    await fixture.namenode.delete(fixture.root, "/g", recursive=False)
    assert await fixture.file_system.resolver.lease(B) is None
    assert "pending creates: 1]" in await outcome_of(
        fixture.namenode.complete("/d/e/f", A, None, file.id)
    )  # HDFS prints no pending creates
    await fixture.namenode.reclaim()
    assert await fixture.file_system.resolver.lease(A) is None
    assert await fixture.orphans() == []


async def test_the_hard_limit_is_not_over_earlier(fixture: Fixture) -> None:
    """After 1,199 seconds the file is as it was."""
    await fixture.create("/f", A)
    await fixture.namenode.check_leases()
    fixture.clock.advance(HARD_S - 2)
    await fixture.namenode.check_leases()
    assert (await fixture.state("/f")).startswith("open")


async def test_a_file_that_cannot_be_released_stops_no_other(fixture: Fixture) -> None:
    """Each tick tries it again; the holder's other files, and those of other holders, are closed."""
    stuck = await fixture.create("/stuck", A)
    for path, holder in (("/also", A), ("/other", B)):
        await fixture.create(path, holder)
    await fixture.namenode.check_leases()
    block = Block(1, 1001)
    await set_blocks(fixture, stuck.id, (block, block))  # both are being written: it cannot be closed
    fixture.clock.advance(HARD_S)
    await fixture.namenode.check_leases()
    for path in ("/also", "/other"):
        assert await fixture.state(path) == "closed len 0"
    assert (await fixture.state("/stuck")).startswith(f"open by {A}")
    await set_blocks(fixture, stuck.id, ())
    await fixture.namenode.check_leases()
    assert (await fixture.state("/stuck")).startswith("closed")


async def set_blocks(fixture: Fixture, file: int, blocks: tuple[Block, ...]) -> None:
    """Set a file's blocks, even if that makes it inconsistent."""
    inode = await fixture.file_system.resolver.inode(file)
    assert inode is not None
    data = encode(msgspec.structs.replace(inode, blocks=blocks))
    await fixture.znodes.commit([SetDataOp(layout.inode(file), data)])


async def test_a_lease_of_a_directory(fixture: Fixture) -> None:
    """HDFS's checkLease has a message of its own for the id, or the path, of a directory."""
    await fixture.create("/d/f", A)
    listed = await fixture.namenode.read("/d", reads.status, fixture.root)
    assert await outcome_of(fixture.namenode.fsync("/d", A, listed.file_id, -1)) == (
        f"{EXPIRED}: INode is not a regular file: /d (inode {listed.file_id}) [Lease.  Holder: {A}, pending creates: 1]"
    )


async def test_a_committed_block_that_arrives_is_enough(fixture: Fixture) -> None:
    """A committed block that a DataNode then reports is closed without a recovery."""
    file = await fixture.create("/f", A)
    block = await fixture.add_block("/f", A, None, file.id)
    whole = Block(block.id, block.stamp, 10)
    assert not await fixture.namenode.complete("/f", A, whole, file.id)
    await fixture.namenode.received(whole, "dn1")
    assert await fixture.namenode.recover_lease(fixture.root, "/f", B)
    assert await fixture.state("/f") == f"closed len 10 [COMPLETE {block} 10]"


async def test_a_takeover_renews_the_holders_lease(fixture: Fixture) -> None:
    """After another client's takeover has begun a recovery, the holder's other files are not taken over."""
    file = await fixture.create("/f", A)
    await fixture.add_block("/f", A, None, file.id)
    await fixture.create("/g", A)
    fixture.clock.advance(SOFT_S)
    assert "lease recovery is in progress" in await outcome_of(fixture.create("/f", B))
    assert "is currently owned by" in await outcome_of(fixture.create("/g", B))
    assert "is currently owned by" in await outcome_of(fixture.namenode.append(fixture.root, "/g", B, HOST))


async def test_an_append_that_fails_keeps_no_lease_renewed(fixture: Fixture) -> None:
    """If the replica is missing, the append fails and renews no lease: the file is closed when its limits pass."""
    upload = await fixture.datanode.create(fixture.root, "/f", new_file(), HOST)
    await upload.write(b"data")
    await upload.close()
    (block,) = (await fixture.namenode.blocks_of(fixture.root, "/f")).blocks
    fixture.datanode.replicas.delete(block.id)
    assert "non-existent replica" in await outcome_of(fixture.datanode.append(fixture.root, "/f", HOST))
    (holder,) = await fixture.znodes.children(layout.LEASES)
    before = (await fixture.znodes.get(f"{layout.LEASES}/{holder}")).version
    await fixture.datanode.renew_when_due(10**9)
    assert (await fixture.znodes.get(f"{layout.LEASES}/{holder}")).version == before


async def test_a_renewal_that_fails_is_tried_again_soon(
    fixture: Fixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As HDFS's LeaseRenewer does: half a minute later the soft limit would be over."""
    upload = await fixture.abandoned("/f", 10)
    asked: list[str] = []

    async def fail_once(holder: str) -> None:
        asked.append(holder)
        if len(asked) == 1:
            raise ConnectionLostError("in this test")

    monkeypatch.setattr(fixture.namenode, "renew_lease", fail_once)
    for now in (100.0, 101.0, 102.0):
        with contextlib.suppress(ConnectionLostError):
            await fixture.datanode.renew_when_due(now)
    upload.leave()
    assert len(asked) == 2


async def test_a_block_that_a_disk_refuses_keeps_no_other_up(
    fixture: Fixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other recoveries, and deletions, go on; it is recovered when the disk takes it again."""
    for path in ("/a", "/b", "/gone"):
        (await fixture.abandoned(path, 10)).leave()
    broken, good, gone = [
        (await fixture.namenode.blocks_of(fixture.root, path)).blocks[0].id for path in ("/a", "/b", "/gone")
    ]
    await fixture.namenode.delete(fixture.root, "/gone", recursive=False)
    await fixture.namenode.reclaim()
    for path in ("/a", "/b"):
        assert not await fixture.namenode.recover_lease(fixture.root, path, B)
    replicas = fixture.datanode.replicas
    recover = replicas.recover

    def refuse(block: int, stamp: int, length: int) -> None:
        if block == broken:
            raise OSError(errno.EIO, "in this test")
        recover(block, stamp, length)

    with monkeypatch.context() as context:
        context.setattr(replicas, "recover", refuse)
        await fixture.datanode.work()
        assert await fixture.state("/b") == f"closed len 10 [COMPLETE blk_{good}_1002 10]"
        assert replicas.find(gone) is None
        assert (await fixture.state("/a")).startswith("open")
    await fixture.datanode.work()
    assert (await fixture.state("/a")).startswith("closed len 10")
