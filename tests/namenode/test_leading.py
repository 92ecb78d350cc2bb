"""Work that one NameNode does for all, leases and reclaiming, is the leader's, whatever the clocks show."""

import time
from collections.abc import Awaitable, Sequence
from pathlib import Path
from typing import TypeVar

import pytest

from nncache.coordination.errors import OutcomeUnknownError
from nncache.coordination.linearizable import LinearizableZnodes
from nncache.coordination.zookeeper import ZnodeOp
from nncache.namenode import on_zookeeper
from nncache.namenode.datanode.datanode import DataNode
from nncache.namenode.namespace import layout, leases, reads
from nncache.namenode.namespace.inode import Block
from nncache.namenode.namespace.making import Modes
from nncache.namenode.namespace.refusal import Refusal
from nncache.namenode.node import namenode as namenode_module
from nncache.namenode.node.clock import Clock
from nncache.namenode.node.filesystem import FileSystem
from nncache.namenode.node.leading import Leader, NotLeadingError
from nncache.namenode.node.namenode import NameNodeConfig, NameNodeService
from nncache.namenode.node.observer_clocks import HARD_LIMIT_S, REMEMBERED, LeaseClock
from nncache.namenode.on_zookeeper import DoubledError
from tests.coordination.fake_zookeeper import FakeSession, FakeZooKeeper
from tests.namenode.fixture import HOST, ROOT_USER, A, B, new_file
from tests.patience import HANG_S

T = TypeVar("T")
HARD_S = 1201.0
SOFT_S = 61.0


class SteppingClock(Clock):
    """A clock whose wall time can be set, as NTP does; its monotonic time is unaffected."""

    def __init__(self) -> None:
        super().__init__()
        self.stepped_s = 0

    def wall_ms(self) -> int:
        """Return milliseconds since 1970."""
        return super().wall_ms() + self.stepped_s * 1000


class One:
    """A NameNode with a session and a clock of its own."""

    def __init__(self, server: FakeZooKeeper, name: str) -> None:
        self.session: FakeSession = server.session()
        self.store = LinearizableZnodes(self.session, "/nn", name, HANG_S)
        self.clock = SteppingClock()
        self.file_system = FileSystem(self.store, self.clock.wall_ms)
        leader = Leader(self.store, name, self.clock.wall_ms)
        self.namenode = NameNodeService(
            self.file_system, NameNodeConfig(superuser=ROOT_USER), self.clock, leader=leader
        )
        self.root = self.namenode.caller(ROOT_USER)

    async def create(self, path: str, holder: str) -> None:
        """Create a file and leave it open."""
        await self.namenode.create(self.root, path, new_file(), holder, HOST)

    async def is_closed(self, path: str) -> bool:
        """Return whether a file is closed."""
        return await self.namenode.read(path, leases.is_file_closed, self.root)


@pytest.fixture
async def pair() -> tuple[One, One]:
    """Return two NameNodes; the first leads, and its clock is ten minutes ahead."""
    server = FakeZooKeeper(time.monotonic)
    first, second = One(server, "first"), One(server, "second")
    for one in (first, second):
        await one.store.begin()
        await one.file_system.format(ROOT_USER, "supergroup")
    first.clock.advance(600)
    await first.namenode.work()
    await second.namenode.work()
    return first, second


async def test_the_leader_ends_a_lease_by_its_own_clock(pair: tuple[One, One]) -> None:
    """The leader ends it only after the limit has passed on its own clock; no other NameNode ends it."""
    first, second = pair
    await second.create("/f", A)
    for one in pair:
        await one.namenode.work()
    second.clock.advance(HARD_S)
    await second.namenode.work()
    assert not await second.is_closed("/f"), "it does not lead"
    await first.namenode.work()
    assert not await first.is_closed("/f"), "its own clock has not moved"
    first.clock.advance(HARD_S)
    await first.namenode.work()
    assert await second.is_closed("/f")


async def test_a_new_leader_begins_to_count_with_what_it_has_observed(pair: tuple[One, One]) -> None:
    """A renewal through any NameNode counts for all; after the first one's session ends, the second one takes over."""
    first, second = pair
    await first.create("/f", A)
    for one in pair:
        await one.namenode.work()
        one.clock.advance(HARD_S - 100)
    await second.namenode.renew_lease(A)
    first.session.close()
    await second.namenode.work()
    second.clock.advance(200)
    await second.namenode.work()
    assert not await second.is_closed("/f"), "it was renewed"
    second.clock.advance(HARD_S)
    await second.namenode.work()
    assert await second.is_closed("/f")


async def test_a_wall_clock_that_steps_back_moves_no_limit(pair: tuple[One, One]) -> None:
    """A lease ends at the monitor's first tick after its limit, none earlier; election times increase."""
    first, second = pair
    await first.create("/f", A)
    since = (await first.namenode.standing()).since_ms

    async def pass_time(seconds: float) -> bool:
        for one in pair:
            one.clock.advance(seconds)
            await one.namenode.work()
        return await second.is_closed("/f")

    first.clock.stepped_s = 1200
    assert not await pass_time(HARD_S - 2)
    first.clock.stepped_s = -1200
    await second.namenode.renew_lease(A)
    assert not await pass_time(1)
    assert not await pass_time(HARD_S - 3)
    second.clock.stepped_s = -4000
    assert await pass_time(3)
    first.session.close()
    await second.namenode.work()
    assert (await second.namenode.standing()).is_active
    assert (await second.namenode.standing()).since_ms > since


def test_leases_that_have_ended_are_forgotten() -> None:
    """A DataNode records each upload's lease, and never checks all of them; a lease that may still matter is kept."""
    clock = LeaseClock()
    clock.see("held", 0, 1.5 * HARD_LIMIT_S)
    for number in range(REMEMBERED - 1):
        clock.see(f"upload {number}", 0, 0.0)
    clock.see("upload", 0, 2.5 * HARD_LIMIT_S)
    assert len(clock._seen) == 2  # noqa: SLF001 - the memory that it uses
    assert clock.see("held", 0, 2.6 * HARD_LIMIT_S) == pytest.approx(1.1 * HARD_LIMIT_S)


async def test_every_namenode_knows_whose_soft_limit_is_over(pair: tuple[One, One]) -> None:
    """Each one observes the leases: another writer takes over through any of them, a minute after the last renewal."""
    first, second = pair
    await first.create("/f", A)
    await second.namenode.work()
    with pytest.raises(Refusal, match="currently owned by holder-A"):
        await second.create("/f", B)
    second.clock.advance(SOFT_S)
    with pytest.raises(Refusal, match="already exists"):
        await second.create("/f", B)
    assert await first.is_closed("/f")


async def test_a_leader_that_was_deposed_does_nothing(pair: tuple[One, One]) -> None:
    """Its tick is refused, and the next leader does the work."""
    first, second = pair
    first.session.close()
    await second.namenode.work()
    await second.create("/d/f", A)
    await second.namenode.delete(second.root, "/d", recursive=True)
    first.session.connect(2**40)
    with pytest.raises(NotLeadingError):
        await first.namenode.reclaim()
    await second.namenode.work()
    assert await second.store.children(layout.TREES) == ()
    assert not (await first.namenode.standing()).is_active
    assert (await second.namenode.standing()).is_active


@pytest.mark.parametrize("has_led", [False, True])
async def test_one_that_was_elected_without_knowing_it_leads(
    pair: tuple[One, One], monkeypatch: pytest.MonkeyPatch, *, has_led: bool
) -> None:
    """The outcome of its election is unknown; this also holds for the leader of an earlier session."""
    first, second = pair
    elected, other = (first, second) if has_led else (second, first)
    server = first.session._server  # noqa: SLF001 - both sessions are with this server
    server.expire(first.session)
    commit = elected.store.commit

    async def unanswered(operations: Sequence[ZnodeOp]) -> None:
        await commit(operations)
        raise OutcomeUnknownError("the election")

    with monkeypatch.context() as context:
        context.setattr(elected.store, "commit", unanswered)
        with pytest.raises(OutcomeUnknownError):
            await elected.namenode.work()
    assert (await elected.namenode.standing()).is_active
    await elected.namenode.mkdirs(elected.root, "/d/d", Modes(0o755))
    await elected.namenode.delete(elected.root, "/d", recursive=True)
    await elected.namenode.work()
    assert await elected.store.children(layout.TREES) == ()
    server.expire(elected.session)
    await other.namenode.work()
    await other.namenode.mkdirs(other.root, "/d/d", Modes(0o755))
    await other.namenode.delete(other.root, "/d", recursive=True)
    with pytest.raises(NotLeadingError):
        await elected.namenode.reclaim()


async def test_names_are_read_again_if_the_directory_has_changed(
    pair: tuple[One, One], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the pages of a listing share one read: a large directory has a thousand names a page."""
    monkeypatch.setattr(namenode_module, "LIST_LIMIT", 5)
    first, second = pair
    for number in range(20):
        await second.namenode.mkdirs(second.root, f"/d/{number:02}", Modes(0o755))
    asked = 0
    children = first.session.children

    async def counted(path: str) -> tuple[str, ...]:
        nonlocal asked
        asked += 1
        return await children(path)

    monkeypatch.setattr(first.session, "children", counted)
    found: list[str] = []
    left = 1
    while left:
        page, left = await first.namenode.listing(first.root, "/d", found[-1] if found else "")
        found += [each.path_suffix for each in page]
        if found[-1] == "09":
            assert asked == 1
            await second.namenode.mkdirs(second.root, "/d/105", Modes(0o755))
            await second.namenode.delete(second.root, "/d/19", recursive=True)
    assert found == [*(f"{number:02}" for number in range(11)), "105", *map(str, range(11, 19))]
    assert asked == 2


async def test_an_order_goes_to_the_datanode_that_holds_the_block(
    pair: tuple[One, One], tmp_path: Path
) -> None:
    """Another DataNode does not take the order: it has no replica, and would drop the block."""
    first, second = pair
    datanodes = [DataNode(name, one.namenode, tmp_path / name) for name, one in zip("ab", pair, strict=True)]
    for datanode in datanodes:
        await datanode.start()
    upload = await datanodes[0].create(first.root, "/f", new_file(), HOST)
    await upload.write(b"x" * 700)
    assert not await second.namenode.recover_lease(second.root, "/f", B)
    await datanodes[1].work()
    assert not await second.is_closed("/f")
    await datanodes[0].work()
    file = await second.namenode.blocks_of(second.root, "/f")
    assert (file.is_open, file.length) == (False, 700)


async def test_what_an_operation_costs() -> None:
    """ZooKeeper calls with cached parent directories, including the sync before each read."""
    one = One(FakeZooKeeper(time.monotonic), "one")
    await one.store.begin()
    await one.file_system.format(ROOT_USER, "supergroup")
    namenode, root = one.namenode, one.root
    for path in ("/a/b/c/d", "/a/b/c/e"):
        await namenode.mkdirs(root, path, new_file().modes)
    await namenode.read("/a/b/c/d", reads.status, root)
    costs: dict[str, int] = {}

    async def count(name: str, call: Awaitable[T]) -> T:
        before = one.session.stats().calls
        answer = await call
        costs[name] = one.session.stats().calls - before
        return answer

    await count("status", namenode.read("/a/b/c/d", reads.status, root))
    await count("mkdirs", namenode.mkdirs(root, "/a/b/c/f", new_file().modes))
    file = await count("create", namenode.create(root, "/a/b/c/d/f", new_file(), A, HOST))
    block, _ = await count("add_block", namenode.add_block("/a/b/c/d/f", A, None, file.id))
    whole = Block(block.id, block.stamp, 5)
    await count("received", namenode.received(whole, "dn1"))
    await count("complete", namenode.complete("/a/b/c/d/f", A, whole, file.id))
    await count("listing", namenode.listing(root, "/a/b/c/d"))
    await count("rename", namenode.rename(root, "/a/b/c/d", "/a/z"))
    assert costs == {
        "status": 2, "mkdirs": 3, "create": 3, "add_block": 3, "received": 5, "complete": 7, "listing": 8, "rename": 5,
    }  # fmt: skip


async def test_an_internal_error_keeps_from_one_second_alone(caplog: pytest.LogCaptureFixture) -> None:
    """It is logged once; a DataNode whose directory another process uses ends all the same."""
    errors: list[Exception] = [ValueError("corrupt"), ValueError("corrupt"), DoubledError("dn1")]

    async def tick() -> None:
        raise errors.pop(0)

    logged = await on_zookeeper._tick_once(tick, "")  # noqa: SLF001 - the work of one second
    assert await on_zookeeper._tick_once(tick, logged) == logged  # noqa: SLF001 - as above
    assert caplog.text.count("internal error") == 1
    with pytest.raises(DoubledError):
        await on_zookeeper._tick_once(tick, logged)  # noqa: SLF001 - as above
