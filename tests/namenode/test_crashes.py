"""A NameNode and DataNode killed before or after each transaction of each operation, and their successors."""

import asyncio
import contextlib
import itertools
import multiprocessing
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from nncache.namenode.namespace import attributes, blocks, reads
from tests.namenode import stores
from tests.namenode.fixture import HOST, ROOT_USER, A, B, Fixture, new_file, outcome_of, read
from tests.namenode.killed_znodes import KillingZnodes
from tests.patience import HANG_S

HARD_S = 1201.0
SMALL_BLOCK = 512
PROCESSES = multiprocessing.get_context(
    "forkserver"
)  # the killed processes are forked from one that has imported everything
PROCESSES.set_forkserver_preload([__name__])
DATA = bytes(range(256)) * 5  # two blocks and a half


async def upload(fixture: Fixture, path: str, data: bytes) -> None:
    """Write a file."""
    writer = await fixture.datanode.create(
        fixture.root, path, new_file(overwrite=True, block_size=SMALL_BLOCK), HOST
    )
    await writer.write(data)
    await writer.close()


async def append(fixture: Fixture, path: str, data: bytes) -> None:
    """Append to a file."""
    writer = await fixture.datanode.append(fixture.root, path, HOST)
    await writer.write(data)
    await writer.close()


async def go_on(fixture: Fixture, path: str, data: bytes) -> None:
    """Write the rest of a file as a client whose DataNode died: recover the lease, read the length, append the rest."""
    if await fixture.namenode.read(path, reads.found, fixture.root) is None:
        await upload(fixture, path, data)
        return
    while not await fixture.namenode.recover_lease(fixture.root, path, B):
        await fixture.datanode.work()
    await append(fixture, path, data[(await fixture.namenode.blocks_of(fixture.root, path)).length :])


async def recover(fixture: Fixture) -> None:
    """Make the DataNode recover an abandoned block, and truncate another one."""
    await fixture.namenode.recover_lease(fixture.root, "/left", B)
    await fixture.namenode.truncate(fixture.root, "/d/f", 100, B, HOST)
    await fixture.datanode.work()


async def settle(fixture: Fixture) -> None:
    """Let all limits expire, and do all work that follows."""
    await fixture.namenode.check_leases()
    for _ in range(3):
        fixture.clock.advance(HARD_S)
        await fixture.namenode.check_leases()
        await fixture.datanode.work()
        await fixture.namenode.reclaim()
        await fixture.datanode.work()


async def set_up(fixture: Fixture) -> None:
    """Create the files that the operations use."""
    nn, root = fixture.namenode, fixture.root
    for path in ("/kept", "/d/f", "/d/e/g", "/c/x", "/c/y"):
        await upload(fixture, path, DATA)
    await upload(fixture, "/c/whole", DATA[: 2 * SMALL_BLOCK])
    await nn.change("/d", attributes.set_quota, root, 100, 100_000)
    await fixture.create("/d/open", A)
    await fixture.create("/open", A)
    await fixture.abandoned("/left", 700)
    await upload(fixture, "/gone/one/two", DATA)
    await nn.delete(root, "/gone", recursive=True)


Step = Callable[[Fixture], Awaitable[object]]

OPERATIONS: dict[str, Step] = {
    "mkdirs": lambda fixture: fixture.namenode.mkdirs(fixture.root, "/m/n/o", new_file().modes),
    "create": lambda fixture: fixture.create("/new", B),
    "create below missing directories": lambda fixture: fixture.create("/m/n/new", B),
    "overwrite": lambda fixture: fixture.create("/d/f", B, overwrite=True),
    "overwrite what is open": lambda fixture: fixture.create("/d/open", B, overwrite=True),
    "upload": lambda fixture: upload(fixture, "/up", DATA),
    "upload over a file": lambda fixture: upload(fixture, "/d/f", DATA[::-1]),
    "append": lambda fixture: append(fixture, "/d/f", DATA),
    "rename": lambda fixture: fixture.namenode.rename(fixture.root, "/d/f", "/c"),
    "rename a tree": lambda fixture: fixture.namenode.rename(fixture.root, "/d", "/c"),
    "rename over a file": lambda fixture: fixture.namenode.rename_with_options(
        fixture.root, "/d/f", "/c/x", frozenset({"OVERWRITE"})
    ),
    "delete a file": lambda fixture: fixture.namenode.delete(fixture.root, "/d/f", recursive=False),
    "delete what is open": lambda fixture: fixture.namenode.delete(fixture.root, "/d/open", recursive=False),
    "delete a tree": lambda fixture: fixture.namenode.delete(fixture.root, "/d", recursive=True),
    "concat": lambda fixture: fixture.namenode.concat(fixture.root, "/c/whole", ["/c/x", "/c/y"]),
    "truncate at a block's end": lambda fixture: fixture.namenode.truncate(
        fixture.root, "/d/f", SMALL_BLOCK, B, HOST
    ),
    "truncate inside a block": lambda fixture: fixture.namenode.truncate(fixture.root, "/d/f", 100, B, HOST),
    "recover a lease": lambda fixture: fixture.namenode.recover_lease(fixture.root, "/left", B),
    "set a quota": lambda fixture: fixture.namenode.change("/c", attributes.set_quota, fixture.root, 50, -1),
    "recover blocks": recover,
    "expire, recover and reclaim": settle,
    "reclaim": lambda fixture: fixture.namenode.reclaim(),
    "add a block": lambda fixture: fixture.add_block("/open", A, None, 0),
    "complete": lambda fixture: fixture.namenode.complete("/open", A, None, 0),
    "renew a lease": lambda fixture: fixture.namenode.renew_lease(A),
    "begin a segment of the feed": lambda fixture: fixture.namenode.keep_edits(),
}

ASKED_AGAIN = ("mkdirs", "add a block", "complete", "truncate at a block's end", "renew a lease")
"""Calls that clients retry when no answer arrives."""

FOLLOWED: dict[str, tuple[str, Step]] = {
    "an upload that is repeated": ("upload", OPERATIONS["upload"]),
    "an upload that goes on": ("upload", lambda fixture: go_on(fixture, "/up", DATA)),
    "an upload over a file that is repeated": ("upload over a file", OPERATIONS["upload over a file"]),
    "an append that goes on": ("append", lambda fixture: go_on(fixture, "/d/f", DATA + DATA)),
}
"""Operations, and how their client continues at another DataNode."""


async def contents(fixture: Fixture, path: str = "/") -> dict[str, object]:
    """Return the whole tree, with the data of files."""
    found: dict[str, object] = {}
    statuses, _ = await fixture.namenode.listing(fixture.root, path)
    for status in statuses:
        below = f"{path.rstrip('/')}/{status.path_suffix}"
        if status.type.value == "DIRECTORY":
            summary = await fixture.namenode.read(below, reads.content_summary, fixture.root)
            found[below] = (status.children_num, summary)
            found |= await contents(fixture, below)
        else:
            file = await fixture.namenode.blocks_of(fixture.root, below)
            assert not file.is_open
            data = read(fixture.datanode, file, 0, file.length)
            assert len(data) == file.length, f"{below} has lost a part"
            found[below] = data
    return found


async def quotas_are_right(fixture: Fixture) -> None:
    """Check that the counted quota usage equals the content summary."""
    for path in ("/d", "/c", "/c/d"):
        node = await fixture.namenode.read(path, reads.found, fixture.root)
        if node is not None and node.inode.quota is not None:
            summary = await fixture.namenode.read(path, reads.content_summary, fixture.root)
            counted = (node.inode.quota.used_names, node.inode.quota.used_space)
            assert counted == (summary.files + summary.directories, summary.space), path


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory with a prepared, stopped cluster."""
    directory = tmp_path_factory.mktemp("base")
    make_base(directory)
    return directory


def make_base(directory: Path) -> None:
    """Create the files that the operations use, in a cluster in `directory`."""

    async def make() -> None:
        async with prepared(directory) as (fixture, _):
            await set_up(fixture)

    asyncio.run(make())


@contextlib.asynccontextmanager
async def prepared(directory: Path, base: Path | None = None) -> AsyncIterator[tuple[Fixture, KillingZnodes]]:
    """Yield a fixture on znodes that can kill the process."""
    if base is not None:
        await stores.copy(base, directory)
    async with stores.znodes_in(directory) as znodes:
        killing = KillingZnodes(znodes)
        fixture = await Fixture.make(directory / "blocks", killing)
        await fixture.file_system.ids.prepare()
        killing.commits = 0
        yield fixture, killing
        for replica in fixture.datanode._writing.values():  # noqa: SLF001 - as the end of the process closes them
            replica.stop()


def kill(directory: Path, base: Path, name: str, commit: int, *, kill_after: bool) -> None:
    """Run an operation in a process of its own, which is killed (SIGKILL) at that transaction."""
    process = PROCESSES.Process(target=_be_killed, args=(directory, base, name, commit, kill_after))
    process.start()
    process.join(HANG_S)
    assert process.exitcode == -signal.SIGKILL


def _be_killed(directory: Path, base: Path, name: str, commit: int, kill_after: bool) -> None:
    async def run() -> None:
        async with prepared(directory, base) as (fixture, killing):
            killing.kill_at, killing.kill_after = commit, kill_after
            await OPERATIONS[name](fixture)

    asyncio.run(run())


@contextlib.asynccontextmanager
async def restarted(directory: Path) -> AsyncIterator[Fixture]:
    """Yield another NameNode and DataNode on the killed process's store."""
    async with stores.znodes_in(directory) as znodes:
        yield await Fixture.make(directory / "blocks", znodes)


async def outcome(directory: Path, base: Path, step: Step | None) -> tuple[dict[str, object], int]:
    """Return the tree after an undisturbed operation, and the operation's number of transactions."""
    async with prepared(directory, base) as (fixture, killing):
        if step is not None:
            await step(fixture)
        number = killing.commits
    async with restarted(directory) as fixture:
        await settle(fixture)
        return await contents(fixture), number


@pytest.mark.parametrize("name", OPERATIONS)
async def test_an_operation_is_done_or_not(name: str, base: Path, tmp_path: Path) -> None:
    """After a crash at any transaction, the tree is as before or after it; nothing is orphaned, no data is lost."""
    await kill_at_each_transaction(name, base=base, tmp_path=tmp_path)


@pytest.mark.parametrize("name", FOLLOWED)
async def test_what_a_client_follows_up_is_done(name: str, base: Path, tmp_path: Path) -> None:
    """After a crash at any transaction, an upload's data is there once; nothing is orphaned, nothing else is lost."""
    await kill_at_each_transaction(*FOLLOWED[name], base=base, tmp_path=tmp_path)


async def kill_at_each_transaction(
    name: str, client: Step | None = None, *, base: Path, tmp_path: Path
) -> None:
    """Kill a process before and after each transaction of an operation, and check the state that a restart finds.

    Of an upload, whole blocks or all received data may remain. If its client follows it up, the file is complete.
    """
    before, _ = await outcome(tmp_path / "before", base, None)
    after, number = await outcome(tmp_path / "after", base, OPERATIONS[name])
    assert number > 0
    for commit, kill_after in itertools.product(range(number), (False, True)):
        directory = tmp_path / f"{commit}-{kill_after}"
        kill(directory, base, name, commit, kill_after=kill_after)
        async with restarted(directory) as fixture:
            if client is not None:
                await client(fixture)
            await settle(fixture)
            assert await fixture.orphans() == [], (commit, kill_after)
            await quotas_are_right(fixture)
            found = await contents(fixture)
        if client is not None:
            assert found == after, (commit, kill_after)
        elif number == 1:
            assert found == (after if kill_after else before), kill_after
        else:
            assert_is_between(found, before, after)


def assert_is_between(found: dict[str, object], before: dict[str, object], after: dict[str, object]) -> None:
    """Check that each path is as before or as after, or holds a prefix of the data in flight."""
    for path, value in found.items():
        if value in (before.get(path), after.get(path)) or not isinstance(value, bytes):
            continue
        wanted = after.get(path)
        assert isinstance(wanted, bytes), path
        assert wanted.startswith(value), path
        held = before.get(path)
        if isinstance(held, bytes) and wanted.startswith(held):
            assert value.startswith(held), f"{path} has lost what it had"
    kept = before.keys() & after.keys()
    assert kept <= found.keys()


async def asked_again(name: str, base: Path, directory: Path, *, is_killed: bool) -> tuple[str, list[str]]:
    """Return an operation's answer, and the files' state after it; with `is_killed`, of a retry after a crash."""
    if is_killed:
        kill(directory, base, name, 0, kill_after=True)
    else:
        await stores.copy(base, directory)
    async with restarted(directory) as fixture:
        answer = await outcome_of(OPERATIONS[name](fixture))
        return answer, [await fixture.state(path) for path in ("/open", "/d/f")]


@pytest.mark.parametrize("name", ASKED_AGAIN)
async def test_a_call_that_is_asked_again_is_done_once(name: str, base: Path, tmp_path: Path) -> None:
    """After a crash lost the answer, a retry returns the same answer and leaves the same state."""
    whole = await asked_again(name, base, tmp_path / "whole", is_killed=False)
    assert await asked_again(name, base, tmp_path / "again", is_killed=True) == whole


@pytest.mark.parametrize(("name", "is_same"), [("add a block", True), ("complete", False)])
async def test_asking_again_without_a_mark_is_caught(
    name: str, is_same: bool, base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broken variant that does not compare the last block to detect a retry."""
    whole = await asked_again(name, base, tmp_path / "whole", is_killed=False)
    monkeypatch.setattr(blocks, "_is_same", lambda *_: is_same)
    assert await asked_again(name, base, tmp_path / "again", is_killed=True) != whole


async def test_replicas_without_a_block_go(base: Path, tmp_path: Path) -> None:
    """After a crash and the janitor's tick, the DataNode's directory holds exactly the namespace's blocks."""
    kill(tmp_path / "cluster", base, "upload", 3, kill_after=False)
    async with restarted(tmp_path / "cluster") as fixture:
        await settle(fixture)
        await fixture.namenode.delete(fixture.root, "/d", recursive=True)
        await settle(fixture)
        _, blocks, _ = await fixture._reached(16385)  # noqa: SLF001 - the fixture's own walk
        assert set(fixture.datanode._replicas.blocks()) == blocks  # noqa: SLF001 - the replicas on the disk
        assert fixture.root.user == ROOT_USER
