"""A read follows a sync that began after the read. A transaction whose reply is lost is settled: carried out once."""

import asyncio
import contextlib
import random
import time
from collections.abc import Callable, Sequence

import pytest

from nncache.coordination.errors import (
    BadVersionError,
    ConnectionLostError,
    NodeExistsError,
    NoNodeError,
    OutcomeUnknownError,
    TooLargeError,
)
from nncache.coordination.linearizable import MARKS, MOST_BYTES, LinearizableZnodes, check_snapshots
from nncache.coordination.zookeeper import CheckOp, CreateOp, DeleteOp, SetDataOp, Znode
from tests.coordination.fake_zookeeper import FakeSession, FakeZooKeeper

ROOT = "/nn"
PATIENCE_S = 5.0


class Recorded(FakeSession):
    """A session that records its calls, and may lose its connection before a read."""

    def __init__(self, server: FakeZooKeeper) -> None:
        super().__init__(server)
        self.calls: list[str] = []
        self.before_read: Callable[[], None] | None = None
        server._sessions.append(self)  # noqa: SLF001 - as its own `session` does
        self.connect(server._new_session_id())  # noqa: SLF001 - the same

    async def sync(self, path: str) -> None:
        """Record the beginning and the end."""
        self.calls.append("sync")
        await super().sync(path)
        self.calls.append("synced")

    async def snapshot(self, paths: Sequence[str]) -> tuple[Znode | None, ...]:
        """Record the read. First lose the connection if the test wants it."""
        if self.before_read is not None:
            lose, self.before_read = self.before_read, None
            lose()
        self.calls.append("read")
        return await super().snapshot(paths)


@pytest.fixture
def server() -> FakeZooKeeper:
    """Return a server."""
    return FakeZooKeeper(time.monotonic)


async def znodes_of(session: FakeSession, name: str = "me") -> LinearizableZnodes:
    """Return znodes below ROOT that have begun."""
    znodes = LinearizableZnodes(session, ROOT, name, PATIENCE_S)
    await znodes.begin()
    return znodes


async def test_a_read_waits_for_a_sync_that_began_after_it(server: FakeZooKeeper) -> None:
    """A read that begins during a sync waits for the next one, which all reads share that have begun by then."""
    session = Recorded(server)
    znodes = await znodes_of(session)
    async with asyncio.TaskGroup() as group:
        group.create_task(znodes.get_many([MARKS]))
        await asyncio.sleep(0)
        for _ in range(5):
            group.create_task(znodes.get_many([MARKS]))
    assert session.calls == ["sync", "read", "synced", "sync", "read", "synced"]


async def test_a_read_over_another_connection_is_begun_again(server: FakeZooKeeper) -> None:
    """The new connection's server may be behind that of the sync."""
    session = Recorded(server)
    znodes = await znodes_of(session)

    def lose() -> None:
        session.disconnect()
        session.connect(session.session_id)

    session.before_read = lose
    await znodes.get_many([MARKS])
    assert session.calls == ["sync", "read", "sync", "read", "synced"]


class Behind(Recorded):
    """A session whose connection changes once, under a sync, to a server that has not heard of any children."""

    is_behind = False

    async def sync(self, path: str) -> None:
        """Begin, and lose the connection."""
        if not self.calls:
            self.calls.append("sync")
            self.is_behind = True
            self.disconnect()
            self.connect(self.session_id)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            raise ConnectionLostError("lost")
        self.is_behind = False
        await super().sync(path)

    async def children(self, path: str) -> tuple[str, ...]:
        """Look."""
        if self.is_behind:
            raise NoNodeError(path)
        return await super().children(path)


@pytest.mark.parametrize("is_joined", [False, True])
async def test_what_another_connection_misses_may_be_there(server: FakeZooKeeper, is_joined: bool) -> None:
    """X1: nor is that its server has no such znode said without a sync, whoever has begun it."""
    session = Behind(server)
    znodes = await znodes_of(session)
    async with asyncio.TaskGroup() as group:
        if is_joined:
            group.create_task(znodes.get_many([MARKS]))
        children = group.create_task(znodes.children(MARKS))
    assert children.result() == ("me",)
    with pytest.raises(NoNodeError):
        await znodes.children("/no")


async def test_who_led_a_sync_may_be_cancelled(server: FakeZooKeeper) -> None:
    """The reads that shared its sync begin another."""
    znodes = await znodes_of(Recorded(server))
    async with asyncio.TaskGroup() as group:
        leader = group.create_task(znodes.get_many([MARKS]))
        await asyncio.sleep(0)
        others = [group.create_task(znodes.get_many([MARKS])) for _ in range(3)]
        await asyncio.sleep(0)
        others[0].cancel()
        leader.cancel()
    assert all(znode is not None for other in others[1:] for znode in other.result())


@pytest.mark.parametrize("after", [False, True])
async def test_a_lost_reply_is_settled(server: FakeZooKeeper, after: bool) -> None:
    """It may be lost before or after it takes effect: it is carried out once, and the caller notices nothing."""
    znodes = await znodes_of(server.session())
    await znodes.commit([CreateOp("/q", b"")])
    server.lose_next_commit(after=after)
    await znodes.commit([CreateOp("/q/e-", b"x", sequential=True)])
    assert await znodes.children("/q") == ("e-0000000000",)


@pytest.mark.parametrize("after", [False, True])
async def test_a_lost_refusal_is_a_refusal(server: FakeZooKeeper, after: bool) -> None:
    """It changes nothing, and its error names a path below the root."""
    znodes = await znodes_of(server.session())
    await znodes.commit([CreateOp("/a", b"")])
    server.lose_next_commit(after=after)
    with pytest.raises(NodeExistsError) as raised:
        await znodes.commit([CreateOp("/b", b""), CreateOp("/a", b"")])
    assert raised.value.path == "/a"
    assert await znodes.get_many(["/b"]) == (None,)


async def raced(
    server: FakeZooKeeper, make: Callable[[FakeSession], LinearizableZnodes], seed: int
) -> tuple[int, int]:
    """Append from many tasks while the connection is lost repeatedly; return the numbers answered and carried out."""
    rng = random.Random(seed)
    session = server.session()
    znodes = make(session)
    await znodes.begin()
    await znodes.commit([CreateOp("/q", b"")])
    answered = 0

    async def append() -> None:
        nonlocal answered
        for _ in range(4):
            if rng.random() < 0.5:
                server.lose_next_commit(after=rng.random() < 0.5)
            try:
                await znodes.commit([CreateOp("/q/e-", b"", sequential=True)])
            except ConnectionLostError:
                continue
            answered += 1

    await asyncio.gather(*(append() for _ in range(6)))
    return answered, len(await znodes.children("/q"))


@pytest.mark.parametrize("seed", range(4))
async def test_what_is_answered_was_carried_out_once(server: FakeZooKeeper, seed: int) -> None:
    """This also holds with many transactions in flight at each loss."""
    answered, carried_out = await raced(
        server, lambda session: LinearizableZnodes(session, ROOT, "me", PATIENCE_S), seed
    )
    assert answered == carried_out > 0


class Unmarked(LinearizableZnodes):
    """A broken variant: it sends each transaction without a reply again."""

    async def _was_done(self, *_: object) -> bool:
        return False


class Hopeful(LinearizableZnodes):
    """A broken variant: it assumes that each transaction without a reply was carried out."""

    async def _was_done(self, *_: object) -> bool:
        return True


@pytest.mark.parametrize("variant", [Unmarked, Hopeful])
async def test_without_marks_it_is_not(variant: type[LinearizableZnodes], server: FakeZooKeeper) -> None:
    """The same race catches both variants."""
    server.lose_next_commit(after=False)
    for seed in range(20):
        answered, carried_out = await raced(
            FakeZooKeeper(time.monotonic), lambda session: variant(session, ROOT, "me", PATIENCE_S), seed
        )
        if answered != carried_out:
            return
    pytest.fail(f"{variant.__name__} is not caught")


async def test_without_zookeeper_the_outcome_is_unknown(server: FakeZooKeeper) -> None:
    """A transaction whose reply is lost for good is reported as unknown; one never sent did not take effect."""
    session = server.session()
    znodes = LinearizableZnodes(session, ROOT, "me", 0.2)
    await znodes.begin()
    await znodes.commit([CreateOp("/a", b"")])
    loop = asyncio.get_running_loop()
    loop.call_soon(lambda: loop.call_soon(server.disconnect))
    with pytest.raises(OutcomeUnknownError):
        await znodes.commit([SetDataOp("/a", b"1")])
    for call in (znodes.commit([SetDataOp("/a", b"2")]), znodes.get("/a"), znodes.children("/")):
        with pytest.raises(ConnectionLostError):
            await call
    server.connect()
    assert (await znodes.get("/a")).data != b"2"
    await znodes.commit([SetDataOp("/a", b"3")])
    assert (await znodes.get("/a")).data == b"3"


async def test_a_commit_that_is_cancelled_leaves_its_mark_in_order(server: FakeZooKeeper) -> None:
    """The next transaction with the mark is carried out once, whether or not the cancelled one took effect."""
    znodes = await znodes_of(server.session())
    await znodes.commit([CreateOp("/q", b"")])
    for number in range(5):
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0.0005 * number):
                await znodes.commit([CreateOp(f"/q/{number}", b"")])
        await znodes.commit([CreateOp("/q/e-", b"", sequential=True)])
    names = await znodes.children("/q")
    assert sum(name.startswith("e-") for name in names) == 5


async def test_marks_that_were_swept_are_made_again(server: FakeZooKeeper) -> None:
    """A process that others took for dead recreates its marks and continues."""
    znodes = await znodes_of(server.session())
    await znodes.commit([CreateOp("/a", b"")])
    other = await znodes_of(server.session(), "other")
    await other.commit([DeleteOp(f"{MARKS}/me/0"), DeleteOp(f"{MARKS}/me")])
    await znodes.commit([SetDataOp("/a", b"1", 0)])
    assert (await other.get("/a")).data == b"1"


async def test_too_large_a_transaction_is_not_sent(server: FakeZooKeeper) -> None:
    """The server would close the connection."""
    znodes = await znodes_of(server.session())
    with pytest.raises(TooLargeError):
        await znodes.commit([CreateOp("/a", bytes(MOST_BYTES // 2)), CreateOp("/b", bytes(MOST_BYTES // 2))])
    with pytest.raises(BadVersionError):
        await znodes.commit([CheckOp(MARKS, 7)])
    await znodes.commit([])


class Torn(FakeSession):
    """A session whose multiRead is not a snapshot."""

    async def snapshot(self, paths: Sequence[str]) -> tuple[Znode | None, ...]:
        """Read one znode after another."""
        found: list[Znode | None] = []
        for path in paths:
            found += await super().snapshot([path])
        return tuple(found)


@pytest.mark.parametrize("is_torn", [False, True])
async def test_a_torn_snapshot_is_seen_at_the_start(server: FakeZooKeeper, is_torn: bool) -> None:
    """The check writes two znodes together and finds that they are not read together."""
    reader: FakeSession = server.session()
    if is_torn:
        reader.__class__ = Torn
    assert await check_snapshots(server.session(), reader, f"{ROOT}/seen") is not is_torn
