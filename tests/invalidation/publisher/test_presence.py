"""One publisher at a time, as far as all can see; the next one does not wait for nothing."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from nncache.coordination.errors import ConnectionLostError
from nncache.coordination.zookeeper import Create, Delete, Znode
from nncache.invalidation.errors import ChannelUnavailableError
from nncache.invalidation.publisher.identity import PublisherIdentity, encode_identity
from nncache.invalidation.publisher.presence import Free, LeftBehind, Ours, Presence, Taken, standing
from nncache.invalidation.publisher.stats import OutputStats
from tests.coordination.fake_zookeeper import FakeSession, FakeZooKeeper
from tests.invalidation import virtual_time
from tests.invalidation.virtual_time import clock, until

PATH = "/ns/.publisher"


def identity(host: str, pid: int = 1) -> PublisherIdentity:
    """Return a process."""
    return PublisherIdentity(host=host, pid=pid, admin="127.0.0.1:9873")


def znode(data: bytes, owner_session: int) -> Znode:
    """Return what was found."""
    return Znode(path=PATH, data=data, version=0, created_zxid=1, children=0, owner_session=owner_session)


A, B = identity("a"), identity("b")


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param(None, Free(), id="nobody"),
        pytest.param(znode(encode_identity(A), 7), Ours(), id="this session"),
        pytest.param(znode(encode_identity(B), 7), LeftBehind(), id="this session, another name"),
        pytest.param(
            znode(encode_identity(identity("a", 2)), 8), LeftBehind(), id="a process that was here before"
        ),
        pytest.param(znode(encode_identity(B), 8), Taken(str(B)), id="another host"),
        pytest.param(znode(b"x", 8), Taken("an unknown process (session 0x8)"), id="nobody we know"),
        pytest.param(znode(encode_identity(B), 0), LeftBehind(), id="not ephemeral"),
    ],
)
def test_what_a_presence_means(found: Znode | None, expected: object) -> None:
    """Whoever may be alive is waited for; whoever can't be is not."""
    assert standing(found, 7, A) == expected


class Scene:
    """A ZooKeeper with the nameservice's znode."""

    def __init__(self) -> None:
        self.zookeeper = FakeZooKeeper(clock)
        self.outsider = self.zookeeper.session()
        self.counts = OutputStats()

    def presence(self, who: PublisherIdentity) -> tuple[FakeSession, Presence]:
        """Return a process's session and its presence."""
        session = self.zookeeper.session()
        return session, Presence(session, PATH, who, self.counts)


def play(story: Callable[[Scene], Awaitable[None]]) -> None:
    """Play a story in virtual time."""

    async def on_scene() -> None:
        scene = Scene()
        await scene.outsider.ensure("/ns")
        await story(scene)

    virtual_time.run(on_scene())


def test_the_first_one_takes_it_and_the_second_waits() -> None:
    """Until the first gives up; then at once."""

    async def story(on: Scene) -> None:
        session, first = on.presence(A)
        await first.take()
        assert (await session.get(PATH)).owner_session == session.session_id
        await first.take()
        other, second = on.presence(B)
        async with asyncio.TaskGroup() as tasks:
            taking = tasks.create_task(second.take())
            await asyncio.sleep(60)
            assert second.waiting_for == str(A)
            assert on.counts.presence_waits == 1
            await first.give_up()
            began_at = clock()
            await taking
            assert clock() - began_at < 0.05
        assert second.waiting_for == ""
        assert (await session.get(PATH)).owner_session == other.session_id
        await first.give_up()
        assert (await session.get(PATH)).owner_session == other.session_id, "not ours to give up"

    play(story)


def test_whoever_dies_is_followed_when_its_session_ends() -> None:
    """SIGKILL: the other host waits for ZooKeeper's word, and no longer."""

    async def story(on: Scene) -> None:
        session, first = on.presence(A)
        await first.take()
        on.zookeeper.disconnect(session)
        began_at = clock()
        _, second = on.presence(B)
        await second.take()
        assert on.zookeeper.session_timeout_s <= clock() - began_at < on.zookeeper.session_timeout_s + 0.1

    play(story)


def test_a_successor_does_not_wait_for_its_predecessor() -> None:
    """Who listens on the same port of the same host knows that the other is dead."""

    async def story(on: Scene) -> None:
        session, first = on.presence(A)
        await first.take()
        on.zookeeper.disconnect(session)
        began_at = clock()
        _, second = on.presence(identity("a", 2))
        await second.take()
        assert clock() - began_at < 0.05

    play(story)


def test_a_znode_that_is_no_presence_is_removed() -> None:
    """Whatever is below it."""

    async def story(on: Scene) -> None:
        await on.outsider.ensure(f"{PATH}/a/b")
        _, ours = on.presence(A)
        await ours.take()

    play(story)


def test_two_that_come_at_the_same_time() -> None:
    """One gets it, the other waits."""

    async def story(on: Scene) -> None:
        _, first = on.presence(A)
        _, second = on.presence(B)
        async with asyncio.TaskGroup() as tasks:
            taking = [tasks.create_task(each.take()) for each in (first, second)]
            await until(lambda: any(task.done() for task in taking))
            await asyncio.sleep(1)
            assert sum(task.done() for task in taking) == 1
            await first.give_up()
            await second.give_up()

    play(story)


@pytest.mark.parametrize("fault", ["expired", "deleted", "taken"])
def test_a_lost_presence_is_noticed(fault: str) -> None:
    """At once: its watch tells."""

    async def story(on: Scene) -> None:
        session, ours = on.presence(A)
        await ours.take()
        async with asyncio.TaskGroup() as tasks:
            keeping = tasks.create_task(expect_loss(ours))
            await asyncio.sleep(60)
            assert not keeping.done()
            if fault == "expired":
                on.zookeeper.expire(session)
            else:
                await on.outsider.commit([Delete(PATH)])
                if fault == "taken":
                    await on.outsider.commit([Create(PATH, encode_identity(B), ephemeral=True)])
            began_at = clock()
            await keeping
            assert clock() - began_at < 0.1

    play(story)


def test_without_a_connection_it_is_not_kept() -> None:
    """Nobody knows who publishes then."""

    async def story(on: Scene) -> None:
        session, ours = on.presence(A)
        await ours.take()
        on.zookeeper.disconnect(session)
        with pytest.raises(ConnectionLostError):
            await ours.keep()
        await ours.give_up()

    play(story)


async def expect_loss(presence: Presence) -> None:
    """Keep a presence until it is lost."""
    with pytest.raises(ChannelUnavailableError, match="no longer ours"):
        await presence.keep()
