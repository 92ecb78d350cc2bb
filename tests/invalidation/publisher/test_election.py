"""Election: one publisher leads, a standby takes over promptly, and a leader of an earlier epoch cannot write."""

import asyncio

import pytest

from nncache.coordination.errors import BadVersionError, ConnectionLostError
from nncache.coordination.zookeeper import CheckOp, CreateOp, DeleteOp, SetDataOp, Znode
from nncache.invalidation.channel.znodes import ZnodePaths
from nncache.invalidation.errors import ChannelUnavailableError
from nncache.invalidation.publisher.election import (
    Election,
    LockFree,
    LockHeld,
    LockLeftBehind,
    LockTaken,
    standing,
)
from nncache.invalidation.publisher.identity import PublisherIdentity, encode_identity
from nncache.invalidation.publisher.stats import OutputStats
from tests.coordination.fake_zookeeper import FakeSession, FakeZooKeeper
from tests.invalidation.virtual_time import clock, until

ZNODES = ZnodePaths("/root", "ns1")
PATH = ZNODES.publisher


def identity(host: str, life: str = "1") -> PublisherIdentity:
    """Return the identity of a process."""
    return PublisherIdentity(id=life, host=host, pid=1, admin="127.0.0.1:9873")


def znode(data: bytes, owner_session: int) -> Znode:
    """Return a lock as it was found."""
    return Znode(path=PATH, data=data, version=0, created_zxid=1, children=0, owner_session=owner_session)


A, B = identity("a"), identity("b")


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param(None, LockFree(), id="nobody"),
        pytest.param(znode(encode_identity(A), 7), LockHeld(), id="this session"),
        pytest.param(znode(encode_identity(B), 7), LockLeftBehind(), id="this session, another name"),
        pytest.param(
            znode(encode_identity(identity("a", "2")), 8),
            LockTaken(str(A)),
            id="another life of the same process id",
        ),
        pytest.param(
            znode(encode_identity(A), 8), LockLeftBehind(), id="this process, a session that it gave up"
        ),
        pytest.param(znode(encode_identity(B), 8), LockTaken(str(B)), id="another host"),
        pytest.param(znode(b"x", 8), LockTaken("an unknown process (session 0x8)"), id="nobody we know"),
        pytest.param(znode(encode_identity(B), 0), LockLeftBehind(), id="not ephemeral"),
    ],
)
def test_what_a_lock_means(found: Znode | None, expected: object) -> None:
    """A process that may be alive is waited for; one that cannot be is not."""
    assert standing(found, 7, A) == expected


class Fixture:
    """A ZooKeeper with the nameservice's znode."""

    def __init__(self) -> None:
        self.zookeeper = FakeZooKeeper(clock)
        self.outsider = self.zookeeper.session()
        self.counts = OutputStats()

    def candidate(self, who: PublisherIdentity) -> tuple[FakeSession, Election]:
        """Return a process's session and its election."""
        session = self.zookeeper.session()
        return session, Election(session, ZNODES, who, self.counts)


@pytest.fixture
async def on() -> Fixture:
    """A fixture whose nameservice's znode exists."""
    fixture = Fixture()
    await fixture.outsider.ensure(ZNODES.namespace)
    return fixture


async def test_the_first_one_leads_and_the_second_is_standby(on: Fixture) -> None:
    """When the first resigns, the second leads immediately."""
    session, first = on.candidate(A)
    await first.lead()
    assert (await session.get(PATH)).owner_session == session.session_id
    await first.lead()
    other, second = on.candidate(B)
    async with asyncio.TaskGroup() as tasks:
        taking = tasks.create_task(second.lead())
        await asyncio.sleep(60)
        assert second.waiting_for == str(A)
        assert on.counts.standby_waits == 1
        await first.resign()
        began_at = clock()
        await taking
        assert clock() - began_at < 0.05
    assert second.waiting_for == ""
    assert (await session.get(PATH)).owner_session == other.session_id
    await first.resign()
    assert (await session.get(PATH)).owner_session == other.session_id, "not ours to give up"


async def test_whoever_dies_is_followed_when_its_session_ends(on: Fixture) -> None:
    """SIGKILL: the other host waits until the session expires, and no longer."""
    session, first = on.candidate(A)
    await first.lead()
    on.zookeeper.disconnect(session)
    began_at = clock()
    _, second = on.candidate(B)
    await second.lead()
    assert on.zookeeper.session_timeout_s <= clock() - began_at < on.zookeeper.session_timeout_s + 0.1


async def test_a_znode_that_is_no_lock_is_removed(on: Fixture) -> None:
    """A znode without an owner session is removed with its descendants."""
    await on.outsider.ensure(f"{PATH}/a/b")
    _, ours = on.candidate(A)
    await ours.lead()


async def test_two_that_come_at_the_same_time(on: Fixture) -> None:
    """One gets the lock, the other waits."""
    _, first = on.candidate(A)
    _, second = on.candidate(B)
    async with asyncio.TaskGroup() as tasks:
        taking = [tasks.create_task(each.lead()) for each in (first, second)]
        await until(lambda: any(task.done() for task in taking))
        await asyncio.sleep(1)
        assert sum(task.done() for task in taking) == 1
        await first.resign()
        await second.resign()


@pytest.mark.parametrize("fault", ["expired", "deleted", "taken"])
async def test_a_lost_lock_is_noticed(on: Fixture, fault: str) -> None:
    """The leader's watch fires immediately."""
    session, ours = on.candidate(A)
    await ours.lead()
    async with asyncio.TaskGroup() as tasks:
        keeping = tasks.create_task(expect_loss(ours))
        await asyncio.sleep(60)
        assert not keeping.done()
        if fault == "expired":
            on.zookeeper.expire(session)
        else:
            await on.outsider.commit([DeleteOp(PATH)])
            if fault == "taken":
                await on.outsider.commit([CreateOp(PATH, encode_identity(B), ephemeral=True)])
        began_at = clock()
        await keeping
        assert clock() - began_at < 0.1


async def test_without_a_connection_it_is_not_kept(on: Fixture) -> None:
    """The connection's loss hides which process publishes."""
    session, ours = on.candidate(A)
    await ours.lead()
    on.zookeeper.disconnect(session)
    with pytest.raises(ConnectionLostError):
        await ours.keep()
    await ours.resign()


async def expect_loss(election: Election) -> None:
    """Keep the lock until it is lost."""
    with pytest.raises(ChannelUnavailableError, match="no longer ours"):
        await election.keep()


async def test_an_earlier_epoch_writes_nothing(on: Fixture) -> None:
    """E2: a leader that was paused still has its old fence, so its write fails even if its own lock seems intact."""
    session, first = on.candidate(A)
    await first.lead()
    fence = first.fence
    await session.commit([fence, SetDataOp(ZNODES.namespace, b"1")])
    await session.commit([fence, SetDataOp(ZNODES.namespace, b"2")])
    await on.outsider.commit([DeleteOp(PATH)])  # like the expiry of its session
    _, second = on.candidate(B)
    await second.lead()
    with pytest.raises(BadVersionError, match=r"\.epoch"):
        await session.commit([fence, SetDataOp(ZNODES.namespace, b"3")])
    assert first.fence == fence, "it has not noticed"
    assert second.fence != fence
    assert on.zookeeper.tree.read(ZNODES.namespace).data == b"2"
    assert on.zookeeper.tree.read(ZNODES.epoch).data == b"2"


async def test_each_leader_counts_the_epoch_up_once(on: Fixture) -> None:
    """A leader that starts another run keeps its epoch, unless another client has changed it."""
    session, ours = on.candidate(A)
    for _ in range(3):
        await ours.lead()
    assert (on.counts.epoch, on.zookeeper.tree.read(ZNODES.epoch).data) == (1, b"1")
    await on.outsider.commit([SetDataOp(ZNODES.epoch, b"x")])
    with pytest.raises(BadVersionError):
        await session.commit([ours.fence])
    await ours.lead()
    await session.commit([ours.fence])
    assert on.zookeeper.tree.read(ZNODES.epoch).data == b"1", "what cannot be read counts as none"
    await ours.resign()
    await ours.lead()
    assert on.counts.epoch == 2


async def test_an_election_of_unknown_outcome_is_looked_up(on: Fixture) -> None:
    """The lock may be ours although the connection was lost during the call; then a new epoch begins."""
    session, ours = on.candidate(A)
    with pytest.raises(ChannelUnavailableError, match="has not been elected"):
        _ = ours.fence
    on.zookeeper.lose_next_commit(after=True)
    with pytest.raises(ConnectionLostError):
        await ours.lead()
    await ours.lead()
    await session.commit([ours.fence])
    assert ours.fence == CheckOp(ZNODES.epoch, 1)
    assert on.counts.epoch == 2
    on.zookeeper.expire(session)
    with pytest.raises(ChannelUnavailableError, match="present ZooKeeper session"):
        _ = ours.fence
    await ours.lead()
    assert ours.fence == CheckOp(ZNODES.epoch, 2)
