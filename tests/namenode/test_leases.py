"""Leases, row by row as a real NameNode of 3.4.1 and 3.5.0 has them.

The texts and states were printed by a main of Java on Hadoop's mini cluster, which called ClientProtocol with holders
of its own; both releases said the same. A `row` below is one situation of it.
"""

import re
from pathlib import Path

import pytest

from nncache.namenode.namespace.inode import Block
from tests.namenode.fixture import HOST, A, B, Fixture, said

BEING_CREATED = "org.apache.hadoop.hdfs.protocol.AlreadyBeingCreatedException"
IN_RECOVERY = "org.apache.hadoop.hdfs.protocol.RecoveryInProgressException"
EXPIRED = "org.apache.hadoop.hdfs.server.namenode.LeaseExpiredException"
NOT_FOUND = "java.io.FileNotFoundException"
SAFE_MODE = "org.apache.hadoop.hdfs.server.namenode.SafeModeException"
SOFT_S, HARD_S = 61.0, 1201.0


@pytest.fixture
async def fixture(tmp_path: Path) -> Fixture:
    """Return an empty cluster."""
    return await Fixture.make(tmp_path)


async def test_row_1_a_file_without_a_block(fixture: Fixture) -> None:
    """Another client is refused, its own holder too; recoverLease closes it at once."""
    nn = fixture.namenode
    await fixture.create("/f", A)
    owned = f"for {B} on {HOST} because this file lease is currently owned by {A} on {HOST}"
    assert await said(fixture.create("/f", B)) == f"{BEING_CREATED}: Failed to CREATE_FILE /f {owned}"
    assert (
        await said(nn.append(fixture.root, "/f", B, HOST))
        == f"{BEING_CREATED}: Failed to APPEND_FILE /f {owned}"
    )
    assert await said(nn.truncate(fixture.root, "/f", 0, B, HOST)) == (
        f"{BEING_CREATED}: Failed to TRUNCATE_FILE /f {owned}"
    )
    holds = f"for {A} on {HOST} because {A} is already the current lease holder."
    assert await said(fixture.create("/f", A)) == f"{BEING_CREATED}: Failed to CREATE_FILE /f {holds}"
    assert (
        await said(nn.append(fixture.root, "/f", A, HOST))
        == f"{BEING_CREATED}: Failed to APPEND_FILE /f {holds}"
    )
    assert await said(nn.is_file_closed(fixture.root, "/f")) == "False"
    assert await said(nn.recover_lease(fixture.root, "/f", B)) == "True"
    assert await fixture.state("/f") == "closed len 0"
    assert await said(nn.recover_lease(fixture.root, "/f", B)) == "True"
    assert await said(nn.complete("/f", A, None, 0)) == "True"


async def test_row_1_what_is_no_file(fixture: Fixture) -> None:
    """What recoverLease and isFileClosed say of a directory and of nothing."""
    nn, root = fixture.namenode, fixture.root
    for path, refusal in (("/", "Path is not a file: /"), ("/none", "File does not exist: /none")):
        assert await said(nn.is_file_closed(root, path)) == f"{NOT_FOUND}: {refusal}"
        assert await said(nn.recover_lease(root, path, B)) == f"{NOT_FOUND}: {refusal}"
    await fixture.namenode.renew_lease("holder without files")


async def test_row_2_another_client_after_the_soft_limit(fixture: Fixture) -> None:
    """It begins the recovery and is refused; the holder stays; then the file is closed without the block."""
    file = await fixture.create("/f", A)
    block = await fixture.add_block("/f", A, None, file.id)
    assert await fixture.state("/f") == f"open by {A} len 0 [UNDER_CONSTRUCTION gs 1001 bytes 0]"
    fixture.clock.advance(SOFT_S - 2)
    assert "is currently owned by" in await said(fixture.create("/f", B))
    fixture.clock.advance(2)
    assert await said(fixture.create("/f", B)) == (
        f"{IN_RECOVERY}: Failed to CREATE_FILE /f for {B} on {HOST} because lease recovery is in progress. "
        "Try again later."
    )
    assert await fixture.state("/f") == f"open by {A} len 0 [UNDER_RECOVERY gs 1001 bytes 0]"
    assert await said(fixture.create("/f", B)) == (
        f"{IN_RECOVERY}: Failed to CREATE_FILE /f for {B} on {HOST} because another recovery is in progress by "
        f"{A} on {HOST}"
    )
    await fixture.turn()
    assert await fixture.state("/f") == "closed len 0"
    assert await said(fixture.create("/f", B)) == (
        f"org.apache.hadoop.fs.FileAlreadyExistsException: /f for client {HOST} already exists"
    )
    assert await said(fixture.add_block("/f", A, block, file.id)) == (
        f"{EXPIRED}: File is not open for writing: /f (inode {file.id}) Holder {A} does not have any open files."
    )


async def test_row_3_recover_lease_of_flushed_data(fixture: Fixture) -> None:
    """The caller is the holder until the file is closed, with what was written, under the next stamp."""
    await fixture.abandoned("/f", 1000)
    assert await said(fixture.namenode.recover_lease(fixture.root, "/f", B)) == "False"
    assert (await fixture.state("/f")).startswith(f"open by {B} len 0 [UNDER_RECOVERY gs 1001")
    assert await said(fixture.namenode.recover_lease(fixture.root, "/f", B)) == "False"
    await fixture.turn()
    assert await fixture.state("/f") == "closed len 1000 [COMPLETE gs 1002 bytes 1000]"
    assert await said(fixture.namenode.recover_lease(fixture.root, "/f", B)) == "True"


async def test_row_4_the_hard_limit(fixture: Fixture) -> None:
    """The monitor closes a file without blocks; of others it takes the lease, until the DataNode has done its part."""
    await fixture.create("/empty", "holder-D")
    file = await fixture.create("/block", "holder-E")
    await fixture.add_block("/block", "holder-E", None, file.id)
    await fixture.abandoned("/data", 700)
    await fixture.namenode.check_leases()
    fixture.clock.advance(HARD_S - 2)
    await fixture.namenode.check_leases()
    assert (await fixture.state("/empty")).startswith("open")
    fixture.clock.advance(2)
    await fixture.namenode.check_leases()
    assert await fixture.state("/empty") == "closed len 0"
    for path in ("/data", "/block"):
        assert re.match(
            r"open by HDFS_NameNode-\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\+0000 len 0 \[UNDER_RECOVERY",
            await fixture.state(path),
        )
    await fixture.turn()
    assert await fixture.state("/data") == "closed len 700 [COMPLETE gs 1002 bytes 700]"
    assert await fixture.state("/block") == "closed len 0"
    assert await fixture.orphans() == []


async def test_row_5_what_no_datanode_has(fixture: Fixture) -> None:
    """The call complete is answered false, and recovery drops the bytes that the client claimed."""
    file = await fixture.create("/f", A)
    block = await fixture.add_block("/f", A, None, file.id)
    claimed = Block(block.id, block.stamp, 10)
    assert await said(fixture.namenode.complete("/f", A, claimed, file.id)) == "False"
    assert await fixture.state("/f") == f"open by {A} len 10 [COMMITTED gs 1001 bytes 10]"
    assert await said(fixture.namenode.recover_lease(fixture.root, "/f", B)) == "False"
    assert await fixture.state("/f") == f"open by {B} len 10 [UNDER_RECOVERY gs 1001 bytes 10]"
    await fixture.turn()
    assert await fixture.state("/f") == "closed len 0"
    assert await said(fixture.namenode.complete("/f", A, claimed, file.id)) == (
        f"{EXPIRED}: File is not open for writing: /f (inode {file.id}) Holder {A} does not have any open files."
    )


async def test_row_6_complete_by_whom_and_twice(fixture: Fixture) -> None:
    """Another holder is refused; the holder may ask again after a lost answer; fsync may not."""
    file = await fixture.create("/f", A)
    assert await said(fixture.namenode.complete("/f", B, None, file.id)) == (
        f"{EXPIRED}: Client (={B}) is not the lease owner (={A}: /f (inode {file.id}) "
        f"Holder {B} does not have any open files."
    )
    assert await said(fixture.namenode.complete("/f", A, None, file.id)) == "True"
    assert await said(fixture.namenode.complete("/f", A, None, file.id)) == "True"
    assert await said(fixture.namenode.fsync("/f", A, file.id, -1)) == (
        f"{EXPIRED}: File is not open for writing: /f (inode {file.id}) Holder {A} does not have any open files."
    )


async def test_row_7_blocks_asked_for_again(fixture: Fixture) -> None:
    """The same question has the same block; a third without replicas, a wrong `previous` and B are refused."""
    file = await fixture.create("/f", A)
    one = await fixture.add_block("/f", A, None, file.id)
    assert (await fixture.add_block("/f", A, None, file.id)).id == one.id
    two = await fixture.add_block("/f", A, one, file.id)
    assert two.id != one.id
    assert await fixture.state("/f") == (
        f"open by {A} len 0 [COMMITTED gs 1001 bytes 0] [UNDER_CONSTRUCTION gs 1001 bytes 0]"
    )
    assert (await said(fixture.add_block("/f", A, two, file.id))).endswith(
        "NotReplicatedYetException: Not replicated yet: /f"
    )
    assert await said(fixture.add_block("/f", A, Block(7, 7), file.id)) == (
        "java.io.IOException: Cannot allocate block in /f: passed 'previous' block blk_7_7 does not match actual "
        f"last block in file {two}"
    )
    assert await said(fixture.namenode.abandon_block("/f", B, one, file.id)) == (
        f"{EXPIRED}: Client (={B}) is not the lease owner (={A}: /f (inode {file.id}) "
        f"Holder {B} does not have any open files."
    )
    before = await fixture.state("/f")
    await fixture.namenode.abandon_block("/f", A, one, file.id)
    assert await fixture.state("/f") == before, "of another block than the last nothing is dropped"
    await fixture.namenode.abandon_block("/f", A, two, file.id)
    assert await fixture.state("/f") == f"open by {A} len 0 [COMMITTED gs 1001 bytes 0]"


async def test_row_8_an_open_file_is_moved(fixture: Fixture) -> None:
    """With its id it is found by its old path; without it is not; the lease goes with the file."""
    file = await fixture.create("/d/f", A)
    await fixture.namenode.rename(fixture.root, "/d/f", "/d/g")
    assert await fixture.state("/d/g") == f"open by {A} len 0"
    await fixture.namenode.rename(fixture.root, "/d", "/e")
    await fixture.add_block("/d/f", A, None, file.id)
    assert await said(fixture.add_block("/d/f", A, None, 0)) == (
        f"{NOT_FOUND}: File does not exist: /d/f (inode 0) [Lease.  Holder: {A}, pending creates: 1]"
    )
    assert await said(fixture.namenode.recover_lease(fixture.root, "/e/g", B)) == "False"
    await fixture.turn()
    assert await fixture.state("/e/g") == "closed len 0"


async def test_row_9_an_open_file_is_deleted(fixture: Fixture) -> None:
    """The writer is refused at once, also when another file has the name now, or the directory is gone."""
    await fixture.create("/other", A)
    file = await fixture.create("/d/f", A)
    assert await fixture.namenode.delete(fixture.root, "/d/f", recursive=False)
    gone = (
        f"{NOT_FOUND}: File does not exist: /d/f (inode {file.id}) [Lease.  Holder: {A}, pending creates: 1]"
    )
    assert await said(fixture.add_block("/d/f", A, None, file.id)) == gone
    other = await fixture.create("/d/f", B)
    assert await said(fixture.add_block("/d/f", A, None, file.id)) == gone
    assert await said(fixture.add_block("/d/f", A, None, 0)) == (
        f"{EXPIRED}: Client (={A}) is not the lease owner (={B}: /d/f (inode 0) "
        f"[Lease.  Holder: {A}, pending creates: 1]"
    )
    assert await fixture.namenode.delete(fixture.root, "/d", recursive=True)
    await fixture.namenode.reclaim()
    assert await said(fixture.namenode.complete("/d/f", B, None, other.id)) == (
        f"{NOT_FOUND}: File does not exist: /d/f (inode {other.id}) Holder {B} does not have any open files."
    )
    assert await fixture.orphans() == []


async def test_row_9_a_block_for_what_is_in_limbo(fixture: Fixture) -> None:
    """Between the deletion of its directory and the reclaiming a writer gets no block any more."""
    file = await fixture.create("/d/f", A)
    await fixture.namenode.delete(fixture.root, "/d", recursive=True)
    assert (await said(fixture.add_block("/d/f", A, None, file.id))).startswith(
        f"{NOT_FOUND}: File does not exist"
    )


async def test_row_10_overwriting_an_open_file(fixture: Fixture) -> None:
    """It is allowed at once, and the first writer's next call is refused."""
    await fixture.create("/other", A)
    file = await fixture.create("/f", A)
    assert (await fixture.create("/f", B, overwrite=True)).id != file.id
    assert await fixture.state("/f") == f"open by {B} len 0"
    assert await said(fixture.namenode.complete("/f", A, None, file.id)) == (
        f"{NOT_FOUND}: File does not exist: /f (inode {file.id}) [Lease.  Holder: {A}, pending creates: 1]"
    )


async def test_row_11_what_readers_see_of_a_file_that_grows(fixture: Fixture) -> None:
    """The length that the NameNode knows; attributes may be set; it may not be cut off or put behind another."""
    file = await fixture.create("/f", A)
    await fixture.add_block("/f", A, None, file.id)
    await fixture.namenode.fsync("/f", A, file.id, 500)
    assert (await fixture.namenode.status(fixture.root, "/f")).length == 500
    assert (await fixture.namenode.blocks_of(fixture.root, "/f")).is_open
    assert await fixture.namenode.set_replication(fixture.root, "/f", 2)
    await fixture.namenode.set_permission(fixture.root, "/f", 0o600)
    await fixture.namenode.set_times(fixture.root, "/f", 1, 1)
    assert f"because this file lease is currently owned by {A}" in await said(
        fixture.namenode.truncate(fixture.root, "/f", 10, B, HOST)
    )
    await fixture.create("/t", B)
    await fixture.namenode.complete("/t", B, None, 0)
    assert await said(fixture.namenode.concat(fixture.root, "/t", ["/f"])) == (
        "org.apache.hadoop.HadoopIllegalArgumentException: concat: source file /f is invalid or empty or "
        "underConstruction"
    )


async def test_row_12_append(fixture: Fixture) -> None:
    """The last block is under construction again, under the same stamp; its own holder may have it recovered."""
    upload = await fixture.abandoned("/f", 600)
    await upload.close()
    await fixture.namenode.append(fixture.root, "/f", A, HOST)
    assert await fixture.state("/f") == f"open by {A} len 600 [UNDER_CONSTRUCTION gs 1001 bytes 600]"
    assert await said(fixture.namenode.append(fixture.root, "/f", A, HOST)) == (
        f"{BEING_CREATED}: Failed to APPEND_FILE /f for {A} on {HOST} because {A} is already the current lease holder."
    )
    assert await said(fixture.namenode.append(fixture.root, "/f", B, HOST)) == (
        f"{BEING_CREATED}: Failed to APPEND_FILE /f for {B} on {HOST} because this file lease is currently owned by "
        f"{A} on {HOST}"
    )
    assert await said(fixture.namenode.recover_lease(fixture.root, "/f", A)) == "False"
    await fixture.turn()
    assert await fixture.state("/f") == "closed len 600 [COMPLETE gs 1002 bytes 600]"


async def test_row_13_truncate_inside_a_block(fixture: Fixture) -> None:
    """False; appending is refused; the length is the old one until the DataNode has cut the block."""
    upload = await fixture.abandoned("/f", 600)
    await upload.close()
    assert await said(fixture.namenode.truncate(fixture.root, "/f", 10, B, HOST)) == "False"
    assert (await fixture.namenode.status(fixture.root, "/f")).length == 600
    assert await said(fixture.namenode.truncate(fixture.root, "/f", 10, B, HOST)) == "False"
    assert await said(fixture.namenode.append(fixture.root, "/f", A, HOST)) == (
        f"{IN_RECOVERY}: Failed to APPEND_FILE /f for {A} on {HOST} because another recovery is in progress by "
        f"{B} on {HOST}"
    )
    await fixture.turn()
    assert await fixture.state("/f") == "closed len 10 [COMPLETE gs 1002 bytes 10]"


async def test_row_14_safe_mode(fixture: Fixture) -> None:
    """Nothing is renewed, recovered or closed, and nothing expires; after it all is as late as it is."""
    await fixture.create("/f", A)
    await fixture.namenode.check_leases()
    fixture.namenode.safe_mode = True
    for call, words in (
        (fixture.namenode.renew_lease(A), f"Cannot renew lease for {A}"),
        (fixture.namenode.recover_lease(fixture.root, "/f", B), "Cannot recover the lease of /f"),
        (fixture.namenode.complete("/f", A, None, 0), "Cannot complete file /f"),
    ):
        assert (await said(call)).partition("\n")[0] == f"{SAFE_MODE}: {words}. Name node is in safe mode."
    fixture.clock.advance(HARD_S)
    await fixture.namenode.check_leases()
    assert await fixture.state("/f") == f"open by {A} len 0"
    fixture.namenode.safe_mode = False
    await fixture.namenode.check_leases()
    assert await fixture.state("/f") == "closed len 0"


async def test_one_renewal_is_for_all_files_of_a_holder(fixture: Fixture) -> None:
    """Neither soft nor hard limit passes while the holder renews, whichever of its files is meant."""
    for path in ("/f", "/g"):
        await fixture.create(path, A)
    for _ in range(30):
        fixture.clock.advance(50)
        await fixture.namenode.renew_lease(A)
        await fixture.namenode.check_leases()
    assert "is currently owned by" in await said(fixture.create("/f", B))
    assert "is currently owned by" in await said(fixture.create("/g", B))


async def test_a_new_observer_begins_at_zero(fixture: Fixture, tmp_path: Path) -> None:
    """Another NameNode on the same store counts from when it saw the lease first, whatever its clock shows."""
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
    """Of a tree when it is reclaimed, of a file at once."""
    await fixture.create("/d/e/f", A)
    await fixture.create("/g", B)
    await fixture.namenode.delete(fixture.root, "/d", recursive=True)
    await fixture.namenode.delete(fixture.root, "/g", recursive=False)
    assert await fixture.file_system.resolver.lease(B) is None
    await fixture.namenode.reclaim()
    assert await fixture.file_system.resolver.lease(A) is None
    assert await fixture.orphans() == []
