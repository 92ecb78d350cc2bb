"""A NameNode and DataNode that end before or after each transaction of each operation, and others that go on."""

import asyncio
import contextlib
import itertools
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from nncache.coordination.embedded import EmbeddedZnodes
from tests.namenode.killed_znodes import KilledError, KillingZnodes
from tests.namenode.scene import HOST, ROOT_USER, A, B, Scene, new_file

HARD_S = 1201.0
SMALL_BLOCK = 512
DATA = bytes(range(256)) * 5  # two blocks and a half


async def upload(scene: Scene, path: str, data: bytes) -> None:
    """Write a file."""
    writer = await scene.datanode.create(
        scene.root, path, new_file(overwrite=True, block_size=SMALL_BLOCK), HOST
    )
    await writer.write(data)
    await writer.close()


async def append(scene: Scene, path: str, data: bytes) -> None:
    """Write more."""
    writer = await scene.datanode.append(scene.root, path, HOST)
    await writer.write(data)
    await writer.close()


async def recover(scene: Scene) -> None:
    """Have the DataNode recover a block that was left, and cut another one."""
    await scene.namenode.recover_lease(scene.root, "/left", B)
    await scene.namenode.truncate(scene.root, "/d/f", 100, B, HOST)
    await scene.datanode.work()


async def settle(scene: Scene) -> None:
    """Let all limits pass, and do all that is to be done then."""
    await scene.namenode.check_leases()
    for _ in range(3):
        scene.clock.advance(HARD_S)
        await scene.namenode.check_leases()
        await scene.datanode.work()
        await scene.namenode.reclaim()
        await scene.datanode.work()


async def set_scene(scene: Scene) -> None:
    """Make what the operations are about."""
    nn, root = scene.namenode, scene.root
    for path in ("/kept", "/d/f", "/d/e/g", "/c/x", "/c/y"):
        await upload(scene, path, DATA)
    await upload(scene, "/c/whole", DATA[: 2 * SMALL_BLOCK])
    await nn.set_quota(root, "/d", 100, 100_000)
    await scene.create("/d/open", A)
    await scene.abandoned("/left", 700)
    await upload(scene, "/gone/one/two", DATA)
    await nn.delete(root, "/gone", recursive=True)


Step = Callable[[Scene], Awaitable[object]]

OPERATIONS: dict[str, Step] = {
    "mkdirs": lambda scene: scene.namenode.mkdirs(scene.root, "/m/n/o", new_file().modes),
    "create": lambda scene: scene.create("/new", B),
    "create below missing directories": lambda scene: scene.create("/m/n/new", B),
    "overwrite": lambda scene: scene.create("/d/f", B, overwrite=True),
    "overwrite what is open": lambda scene: scene.create("/d/open", B, overwrite=True),
    "upload": lambda scene: upload(scene, "/up", DATA),
    "upload over a file": lambda scene: upload(scene, "/d/f", DATA[::-1]),
    "append": lambda scene: append(scene, "/d/f", DATA),
    "rename": lambda scene: scene.namenode.rename(scene.root, "/d/f", "/c"),
    "rename a tree": lambda scene: scene.namenode.rename(scene.root, "/d", "/c"),
    "rename over a file": lambda scene: scene.namenode.rename_with_options(
        scene.root, "/d/f", "/c/x", frozenset({"OVERWRITE"})
    ),
    "delete a file": lambda scene: scene.namenode.delete(scene.root, "/d/f", recursive=False),
    "delete what is open": lambda scene: scene.namenode.delete(scene.root, "/d/open", recursive=False),
    "delete a tree": lambda scene: scene.namenode.delete(scene.root, "/d", recursive=True),
    "concat": lambda scene: scene.namenode.concat(scene.root, "/c/whole", ["/c/x", "/c/y"]),
    "truncate at a block's end": lambda scene: scene.namenode.truncate(
        scene.root, "/d/f", SMALL_BLOCK, B, HOST
    ),
    "truncate inside a block": lambda scene: scene.namenode.truncate(scene.root, "/d/f", 100, B, HOST),
    "recover a lease": lambda scene: scene.namenode.recover_lease(scene.root, "/left", B),
    "set a quota": lambda scene: scene.namenode.set_quota(scene.root, "/c", 50, -1),
    "recover blocks": recover,
    "expire, recover and reclaim": settle,
    "reclaim": lambda scene: scene.namenode.reclaim(),
}


async def contents(scene: Scene, path: str = "/") -> dict[str, object]:
    """Return all that is there, with the data of files."""
    found: dict[str, object] = {}
    statuses, _ = await scene.namenode.listing(scene.root, path)
    for status in statuses:
        below = f"{path.rstrip('/')}/{status.path_suffix}"
        if status.type.value == "DIRECTORY":
            summary = await scene.namenode.content_summary(scene.root, below)
            found[below] = (status.children_num, summary)
            found |= await contents(scene, below)
        else:
            file = await scene.namenode.blocks_of(scene.root, below)
            assert not file.is_open
            data = b"".join(scene.datanode.read(file, 0, file.length))
            assert len(data) == file.length, f"{below} has lost a part"
            found[below] = data
    return found


async def quotas_are_right(scene: Scene) -> None:
    """See that what is counted is what is there."""
    for path in ("/d", "/c", "/c/d"):
        node = await scene.namenode.traverse(scene.root, path)
        if node is not None and node.inode.quota is not None:
            summary = await scene.namenode.content_summary(scene.root, path)
            counted = (node.inode.quota.used_names, node.inode.quota.used_space)
            assert counted == (summary.files + summary.directories, summary.space), path


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory with a cluster that is set, and stopped."""
    directory = tmp_path_factory.mktemp("base")

    async def make() -> None:
        async with prepared(directory) as (scene, _):
            await set_scene(scene)

    asyncio.run(make())
    return directory


@contextlib.asynccontextmanager
async def prepared(directory: Path, base: Path | None = None) -> AsyncIterator[tuple[Scene, KillingZnodes]]:
    """Yield a scene, on znodes that can end it."""
    if base is not None:
        shutil.copytree(base, directory)
    znodes = EmbeddedZnodes(directory / "znodes")
    killing = KillingZnodes(znodes)
    scene = await Scene.make(directory / "blocks", killing)
    await scene.file_system.ids.prepare()
    killing.commits = 0
    try:
        yield scene, killing
    finally:
        for replica in scene.datanode._writing.values():  # noqa: SLF001 - as the end of the process closes them
            replica._data.close()  # noqa: SLF001 - as above
            replica._crcs.close()  # noqa: SLF001 - as above
        znodes.close()


@contextlib.asynccontextmanager
async def restarted(directory: Path) -> AsyncIterator[Scene]:
    """Yield another NameNode and DataNode on what is left."""
    znodes = EmbeddedZnodes(directory / "znodes")
    try:
        yield await Scene.make(directory / "blocks", znodes)
    finally:
        znodes.close()


async def outcome(directory: Path, base: Path, step: Step | None) -> tuple[dict[str, object], int]:
    """Return what there is after an operation that nothing disturbs, and its number of transactions."""
    async with prepared(directory, base) as (scene, killing):
        if step is not None:
            await step(scene)
        number = killing.commits
    async with restarted(directory) as scene:
        await settle(scene)
        return await contents(scene), number


@pytest.mark.parametrize("name", OPERATIONS)
async def test_an_operation_is_done_or_not(name: str, base: Path, tmp_path: Path) -> None:
    """After a crash at any transaction: the tree before it or after it, nothing orphaned, no data lost.

    Of an upload there may be a part: whole blocks, or what had arrived.
    """
    before, _ = await outcome(tmp_path / "before", base, None)
    after, number = await outcome(tmp_path / "after", base, OPERATIONS[name])
    assert number > 0
    for commit, kill_after in itertools.product(range(number), (False, True)):
        directory = tmp_path / f"{commit}-{kill_after}"
        async with prepared(directory, base) as (scene, killing):
            killing.kill_at, killing.kill_after = commit, kill_after
            with pytest.raises(KilledError):
                await OPERATIONS[name](scene)
        async with restarted(directory) as scene:
            await settle(scene)
            assert await scene.orphans() == [], (commit, kill_after)
            await quotas_are_right(scene)
            found = await contents(scene)
        if number == 1:
            assert found == (after if kill_after else before), kill_after
        else:
            assert_is_between(found, before, after)


def assert_is_between(found: dict[str, object], before: dict[str, object], after: dict[str, object]) -> None:
    """See that each path is as before or as after, or holds a part of the data that were on their way."""
    for path, value in found.items():
        if value in (before.get(path), after.get(path)) or not isinstance(value, bytes):
            continue
        wanted = after.get(path)
        assert isinstance(wanted, bytes), path
        assert wanted.startswith(value), path
    kept = before.keys() & after.keys()
    assert kept <= found.keys()


async def test_replicas_without_a_block_go(base: Path, tmp_path: Path) -> None:
    """After a crash and the janitor's turn the DataNode's directory has the blocks of the namespace and no more."""
    async with prepared(tmp_path / "cluster", base) as (scene, killing):
        killing.kill_at, killing.kill_after = 3, False
        with pytest.raises(KilledError):
            await upload(scene, "/up", DATA)
    async with restarted(tmp_path / "cluster") as scene:
        await settle(scene)
        await scene.namenode.delete(scene.root, "/d", recursive=True)
        await settle(scene)
        _, blocks, _ = await scene._reached(16385)  # noqa: SLF001 - the scene's own walk
        assert set(scene.datanode._replicas.blocks()) == blocks  # noqa: SLF001 - what is on the disk
        assert scene.root.user == ROOT_USER
