"""Large work has a bounded cost: a tick does part of a long queue, and a file's blocks are read together."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from nncache.coordination.embedded import EmbeddedZnodes
from nncache.coordination.zookeeper import Znode
from nncache.namenode.namespace import layout
from nncache.namenode.namespace.inode import Block
from nncache.namenode.node import namenode, reclaiming
from nncache.namenode.node.observer_clocks import HARD_LIMIT_S
from tests.namenode.fixture import HOST, A, B, Fixture

FILES = 30


class Counting(EmbeddedZnodes):
    """A store that counts its reads."""

    reads = 0

    async def get_many(self, paths: Sequence[str]) -> tuple[Znode | None, ...]:
        """Count the read, and forward it."""
        self.reads += 1
        return await super().get_many(paths)


async def tree(directory: Path) -> Fixture:
    """Return a NameNode with a directory of files with one block each."""
    fixture = await Fixture.make(directory)
    for number in range(FILES):
        file = await fixture.create(f"/d/{number}", A)
        await blocks(fixture, f"/d/{number}", file.id, 1)
    return fixture


async def blocks(fixture: Fixture, path: str, file_id: int, number: int) -> None:
    """Write a file of some blocks, and close it."""
    last: Block | None = None
    for _ in range(number):
        block = await fixture.add_block(path, A, last, file_id)
        last = Block(block.id, block.stamp, 1)
        await fixture.namenode.received(last, "dn1")
    assert await fixture.namenode.complete(path, A, last, file_id)


async def inodes(fixture: Fixture) -> int:
    """Return the number of inodes without the root."""
    return len(await fixture.znodes.children(layout.INODES)) - 1


async def test_a_tick_reclaims_a_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A large tree takes several ticks; between them the NameNode does its other work."""
    monkeypatch.setattr(reclaiming, "STEPS_PER_TICK", 10)
    monkeypatch.setattr(reclaiming, "_ENTRIES_AT_ONCE", 4)
    fixture = await tree(tmp_path)
    await fixture.namenode.delete(fixture.root, "/d", recursive=True)
    ticks = 0
    while (left := await inodes(fixture)) > 0:
        await fixture.namenode.reclaim()
        ticks += 1
        assert left - 10 <= await inodes(fixture) < left
    assert ticks > FILES / 10
    assert await fixture.orphans() == []


async def test_others_go_on_while_a_tree_is_reclaimed(tmp_path: Path) -> None:
    """The embedded store never blocks, so reclaiming yields between two inodes; two concurrent ticks do no harm."""
    fixture = await tree(tmp_path)
    await fixture.namenode.delete(fixture.root, "/d", recursive=True)
    seen: list[int] = []

    async def look() -> None:
        while not seen or seen[-1]:
            seen.append(await inodes(fixture))
            await asyncio.sleep(0)

    async with asyncio.TaskGroup() as group:
        group.create_task(look())
        group.create_task(fixture.namenode.reclaim())
        group.create_task(fixture.namenode.reclaim())
    assert set(seen) == set(range(FILES + 2))
    assert await fixture.orphans() == []


async def test_a_large_file_is_reclaimed_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A step deletes some of the blocks; another NameNode continues, and tolerates blocks that are gone."""
    monkeypatch.setattr(reclaiming, "STEPS_PER_TICK", 2)
    monkeypatch.setattr(reclaiming, "_BLOCKS_AT_ONCE", 3)
    fixture = await Fixture.make(tmp_path)
    file = await fixture.create("/f", A)
    await blocks(fixture, "/f", file.id, 20)
    await fixture.namenode.delete(fixture.root, "/f", recursive=False)
    await fixture.namenode.reclaim()
    assert len(await fixture.znodes.children(layout.BLOCK_LOCATIONS)) == 20 - 2 * 3
    monkeypatch.setattr(reclaiming, "STEPS_PER_TICK", 100)
    other = await Fixture.make(tmp_path / "other", fixture.znodes)
    await other.namenode.reclaim()
    await fixture.namenode.reclaim()
    assert await fixture.orphans() == []
    assert len(await fixture.namenode.deletions("dn1")) == 20


async def test_a_tick_deletes_a_part_of_the_replicas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A DataNode deletes a bounded number of replicas a tick, and yields to the event loop between two."""
    fixture = await tree(tmp_path)
    await fixture.namenode.delete(fixture.root, "/d", recursive=True)
    await fixture.namenode.reclaim()
    monkeypatch.setattr(namenode, "PER_TICK", 10)
    seen: set[int] = set()
    is_over = False

    async def look() -> None:
        while not is_over:
            seen.add(len(await fixture.znodes.children(layout.deletions("dn1"))))
            await asyncio.sleep(0)

    async with asyncio.TaskGroup() as group:
        group.create_task(look())
        await fixture.tick()
        is_over = True
    assert set(range(FILES - 9, FILES)) <= seen
    assert len(await fixture.znodes.children(layout.deletions("dn1"))) == FILES - 10


async def test_a_tick_releases_a_part_of_the_leases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bounded number of abandoned files is closed in each tick."""
    monkeypatch.setattr(namenode, "PER_TICK", 2)
    fixture = await Fixture.make(tmp_path)
    files = {(await fixture.create(f"/{number}", A)).id for number in range(5)}
    await fixture.namenode.check_leases()
    fixture.clock.advance(HARD_LIMIT_S + 1)
    left: list[int] = []
    for _ in range(3):
        await fixture.namenode.check_leases()
        found = [await fixture.file_system.resolver.inode(each) for each in files]
        left.append(sum(each is not None and each.is_open for each in found))
    assert left == [3, 1, 0]


async def test_all_blocks_of_a_file_are_read_together(tmp_path: Path) -> None:
    """CONCAT and TRUNCATE of many blocks do not read each block again."""
    znodes = Counting()
    fixture = await Fixture.make(tmp_path, znodes)
    for path in ("/f", "/g"):
        file = await fixture.create(path, A)
        await blocks(fixture, path, file.id, 50)
    znodes.reads = 0
    await fixture.namenode.concat(fixture.root, "/f", ["/g"])
    assert await fixture.namenode.truncate(fixture.root, "/f", 0, B, HOST)
    assert znodes.reads < 20
    assert await fixture.state("/f") == "closed len 0"
    assert len(await fixture.namenode.deletions("dn1")) == 100
