"""Two NameNodes on one store, whose operations interleave with each other's reads and transactions.

The audit checks: each inode is reached by exactly one entry, or is reclaimed; nothing is lost, no directory is below
itself, no entry is dangling; and the feed, whose segments roll meanwhile, describes the same tree. The same audit
detects broken variants of the store that leave guards out.
"""

import asyncio
import contextlib
import random
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path

import pytest

from nncache.coordination.embedded import EmbeddedZnodes
from nncache.coordination.zookeeper import ANY_VERSION, CheckOp, CreateOp, SetDataOp, Znode, ZnodeOp, Znodes
from nncache.namenode.namespace import layout
from nncache.namenode.namespace.inode import ROOT_ID, Block, parse_inode
from nncache.namenode.namespace.refusal import Refusal
from nncache.namenode.namespace.transaction import Transaction
from nncache.namenode.namespace.view import Chain, Node
from nncache.namenode.node.filesystem import FileSystem
from nncache.namenode.node.resolving import Resolver
from tests.namenode.fixture import HOST, Fixture, new_file, read
from tests.namenode.killed_znodes import RacingZnodes

NAMES = ("a", "b", "c")
CLIENTS = 6
OPERATIONS = 40
SEEDS = range(12)


class Unchecked(RacingZnodes):
    """A store whose transactions check no ancestor."""

    async def commit(self, operations: Sequence[ZnodeOp]) -> None:
        """Commit without the checks."""
        await super().commit([each for each in operations if not isinstance(each, CheckOp)])


class EditsApart(RacingZnodes):
    """A store that writes the edits in a transaction of their own."""

    async def commit(self, operations: Sequence[ZnodeOp]) -> None:
        """Commit the changes first, then their edits."""
        edits = [each for each in operations if isinstance(each, CreateOp) and each.sequential]
        await super().commit([each for each in operations if each not in edits])
        if edits:
            await super().commit(edits)


class SegmentUnchecked(RacingZnodes):
    """A store whose transactions do not check that the feed has begun another segment."""

    async def commit(self, operations: Sequence[ZnodeOp]) -> None:
        """Commit without the check of the root. No other rule needs it: the root cannot be moved."""
        root = layout.inode(ROOT_ID)
        await super().commit(
            [each for each in operations if not (isinstance(each, CheckOp) and each.path == root)]
        )


class AnyVersion(RacingZnodes):
    """A store that checks only that each inode exists, in any version."""

    async def commit(self, operations: Sequence[ZnodeOp]) -> None:
        """Check and set any version."""
        await super().commit([_of_any_version(each) for each in operations])


def _of_any_version(operation: ZnodeOp) -> ZnodeOp:
    match operation:
        case CheckOp(path, _):
            return CheckOp(path, ANY_VERSION)
        case SetDataOp(path, data, _):
            return SetDataOp(path, data, ANY_VERSION)
        case _:
            return operation


def path(rng: random.Random) -> str:
    """Draw a random path."""
    return "/" + "/".join(rng.choice(NAMES) for _ in range(rng.randrange(1, 5)))


async def work(fixture: Fixture, rng: random.Random) -> int:
    """Act as a client; return how many operations succeeded."""
    done = 0
    namenode, root = fixture.namenode, fixture.root
    for _ in range(OPERATIONS):
        if rng.random() < 0.2:
            await namenode.keep_edits()
        try:
            match rng.randrange(10):
                case 0 | 1 | 2:
                    done += await namenode.mkdirs(root, path(rng), new_file().modes)
                case 3 | 4:
                    file = await namenode.create(
                        root, path(rng), new_file(overwrite=True), f"h{rng.randrange(3)}", HOST
                    )
                    done += 1
                    if rng.random() < 0.5:
                        await namenode.complete("/", file.holder, None, file.id)
                case 5 | 6 | 7:
                    done += await namenode.rename(root, path(rng), path(rng))
                case 8:
                    options = frozenset({"OVERWRITE"})
                    await namenode.rename_with_options(root, path(rng), path(rng), options)
                case _:
                    done += await namenode.delete(root, path(rng), recursive=rng.random() < 0.7)
        except Refusal:
            continue
    return done


async def move_about(fixture: Fixture, rng: random.Random) -> int:
    """Act as a client that creates and moves a few directories: missing guards show early."""
    done = 0
    for _ in range(OPERATIONS):
        if rng.random() < 0.3:
            await fixture.namenode.keep_edits()
        one, other = ("/" + "/".join(rng.choices(NAMES[:2], k=rng.randrange(1, 4))) for _ in range(2))
        try:
            if rng.randrange(10) < 4:
                done += await fixture.namenode.mkdirs(fixture.root, one, new_file().modes)
            else:
                done += await fixture.namenode.rename(fixture.root, one, other)
        except Refusal:
            continue
    return done


async def raced(
    seed: int,
    store: type[RacingZnodes],
    directory: Path,
    client: Callable[[Fixture, random.Random], Coroutine[None, None, int]] = work,
) -> tuple[int, list[str]]:
    """Race clients of two NameNodes; return the number of successful operations, and the audit's findings."""
    rng = random.Random(seed)
    znodes = store(EmbeddedZnodes(), rng)
    fixtures = [await Fixture.make(directory / f"{seed}-{number}", znodes) for number in range(2)]
    async with asyncio.TaskGroup() as group:
        clients = [
            group.create_task(client(fixtures[number % 2], random.Random(f"{seed}-{number}")))
            for number in range(CLIENTS)
        ]
    for fixture in fixtures:
        await fixture.namenode.reclaim()
        await fixture.namenode.check_leases()
    try:
        found = await fixtures[0].orphans()
    except (AssertionError, RecursionError) as wrong:
        found = [repr(wrong)]
    return sum(client.result() for client in clients), found


@pytest.mark.parametrize("seed", SEEDS)
async def test_no_inode_is_lost(seed: int, tmp_path: Path) -> None:
    """Whatever interleaves: each inode is reached once, and each entry and lease refers to one."""
    done, found = await raced(seed, RacingZnodes, tmp_path)
    assert done > CLIENTS * OPERATIONS / 4
    assert found == []


@pytest.mark.parametrize("variant", [Unchecked, AnyVersion, EditsApart, SegmentUnchecked])
async def test_a_broken_variant_is_caught(variant: type[RacingZnodes], tmp_path: Path) -> None:
    """Without the guards, the audit finds a fault within a few runs."""
    for seed in range(60):
        try:
            async with asyncio.timeout(20):
                _, found = await raced(seed, variant, tmp_path, move_about)
        except (ExceptionGroup, TimeoutError):
            return  # a client met an impossible state
        if found:
            return
    pytest.fail(f"{variant.__name__} is not caught")


def of_the_entry(self: Transaction) -> tuple[ZnodeOp, ...]:
    """Check the entries' versions in place of the inodes': a recreated entry has version 0 again."""
    operations: list[ZnodeOp] = []
    for operation in operations_of(self):
        number = (
            int(operation.path.rpartition("/")[2])
            if operation.path.startswith(f"{layout.INODES}/")
            else ROOT_ID
        )
        node = self._guards.get(number)
        if number == ROOT_ID or node is None or isinstance(operation, CreateOp):
            operations.append(operation)
            continue
        operations.insert(0, CheckOp(layout.entry(node.inode.parent, node.inode.name), 0))
        if not isinstance(operation, CheckOp):
            operations.append(_of_any_version(operation))
    return tuple(operations)


operations_of = Transaction.operations


async def test_the_version_of_the_entry_is_not_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The audit detects a variant that checks the entry's version in place of the inode's."""
    monkeypatch.setattr(Transaction, "operations", of_the_entry)
    await test_a_broken_variant_is_caught(RacingZnodes, tmp_path)


async def blocks_after_deletion(directory: Path) -> list[str]:
    """Delete the directory of a file while it is written; return the blocks allocated later, and the orphans."""
    znodes = RacingZnodes(EmbeddedZnodes(), random.Random(1))
    one, other = [await Fixture.make(directory / f"{number}", znodes) for number in range(2)]
    file = await one.create("/d/e/f", "h")
    deleted, late = asyncio.Event(), list[str]()

    async def write() -> None:
        last: Block | None = None
        with contextlib.suppress(Refusal):
            for _ in range(100):
                was_deleted = deleted.is_set()
                last = await one.add_block("/d/e/f", "h", last, file.id)
                if was_deleted:
                    late.append(str(last))
                last = Block(last.id, last.stamp, 1)
                await one.namenode.received(last, "dn1")

    async def delete() -> None:
        for _ in range(20):
            await asyncio.sleep(0)
        await other.namenode.delete(other.root, "/d", recursive=True)
        deleted.set()

    async with asyncio.TaskGroup() as group:
        group.create_task(write())
        group.create_task(delete())
    for fixture in (one, other):
        await fixture.namenode.reclaim()
    return late + await one.orphans()


async def test_no_block_for_what_was_deleted(tmp_path: Path) -> None:
    """After another client deletes the directory, the next block is refused; the file's blocks are reclaimed."""
    assert await blocks_after_deletion(tmp_path) == []


class Moving(RacingZnodes):
    """A store that runs a callback once, after the first read whose first path is `path`."""

    def __init__(
        self, znodes: Znodes, path: str, happen: Callable[[], Coroutine[None, None, object]]
    ) -> None:
        super().__init__(znodes, random.Random(1))
        self._path = path
        self._happen: Callable[[], Coroutine[None, None, object]] | None = happen

    async def get_many(self, paths: Sequence[str]) -> tuple[Znode | None, ...]:
        """Read, then run the callback."""
        found = await super().get_many(paths)
        if list(paths[:1]) == [self._path] and self._happen is not None:
            happen, self._happen = self._happen, None
            await happen()
        return found


async def test_what_moves_while_it_is_looked_for_is_found(tmp_path: Path) -> None:
    """A file that is moved out of its directory before the directory is deleted is not taken for deleted."""
    fixture = await Fixture.make(tmp_path)
    file = await fixture.create("/d/e/f", "h")

    async def move() -> None:
        await fixture.namenode.rename(fixture.root, "/d/e/f", "/g")
        await fixture.namenode.delete(fixture.root, "/d", recursive=True)

    chain = await Resolver(Moving(fixture.znodes, layout.inode(file.id), move)).chain_of(file.id, "asked")
    assert chain.path == "/g"
    assert chain.last is not None
    await fixture.namenode.delete(fixture.root, "/g", recursive=False)
    assert (await Resolver(fixture.znodes).chain_of(file.id, "asked")).last is None


async def test_a_block_that_moves_while_it_is_reported_is_kept(tmp_path: Path) -> None:
    """A starting DataNode reports all blocks; a block that a concurrent CONCAT moves to another file is not deleted."""
    fixture = await Fixture.make(tmp_path / "one")
    for path in ("/f", "/g"):
        upload = await fixture.datanode.create(fixture.root, path, new_file(), HOST)
        await upload.write(b"data")
        await upload.close()
    (block,) = (await fixture.namenode.blocks_of(fixture.root, "/g")).blocks

    async def join() -> None:
        await fixture.namenode.concat(fixture.root, "/f", ["/g"])

    other = Fixture(Moving(fixture.znodes, layout.location(block.id), join), tmp_path / "other")
    assert await other.namenode.received(block, "dn1")
    await fixture.namenode.delete(fixture.root, "/f", recursive=False)
    await fixture.namenode.reclaim()
    assert not await other.namenode.received(block, "dn1")


async def test_a_replica_recovered_while_it_is_reported_is_kept(tmp_path: Path) -> None:
    """A report that comes late, of the stamp before, costs a DataNode nothing of what it has by then."""
    fixture = await Fixture.make(tmp_path)
    upload = await fixture.abandoned("/f", 100)
    (block,) = (await fixture.namenode.blocks_of(fixture.root, "/f")).blocks

    async def recover() -> None:
        await fixture.namenode.recover_lease(fixture.root, "/f", "h")
        await fixture.datanode.work()

    moving = Moving(fixture.znodes, layout.location(block.id), recover)
    fixture.namenode._fs = FileSystem(moving, fixture.clock.wall_ms)  # noqa: SLF001 - what the DataNode asks is slow
    with contextlib.suppress(Refusal):  # the writer is told that it has lost the file
        await upload.close()
    file = await fixture.namenode.blocks_of(fixture.root, "/f")
    assert read(fixture.datanode, file, 0, file.length) == bytes(100)


async def test_a_writer_that_does_not_look_for_limbo_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broken variant finds a file by its id, without a check that it is still below the root."""

    async def alone(self: Resolver, number: int, asked: str) -> Chain:
        (root,) = (await self.chains(["/"]))[0].nodes
        (znode,) = await self._znodes.get_many([layout.inode(number)])
        nodes = (root,) if znode is None else (root, Node(parse_inode(znode.data), znode.version, 0))
        return Chain(asked, asked, ("f",), nodes)

    monkeypatch.setattr(Resolver, "chain_of", alone)
    assert await blocks_after_deletion(tmp_path) != []
