"""The output in ZooKeeper: a crash during a restart is detected, and another namespace's tree is never used."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import pytest

from nncache.coordination.errors import BadVersionError, ConnectionLostError
from nncache.coordination.settings import ZooKeeperSettings
from nncache.coordination.zookeeper import CreateOp, DeleteOp, SetDataOp, ZnodeOp
from nncache.hadoop.change import Vanished
from nncache.invalidation.channel.records import MatchedEvents, StaleChanges
from nncache.invalidation.errors import ChannelUnavailableError, WrongNamespaceError
from nncache.invalidation.publisher.identity import PublisherIdentity
from nncache.invalidation.publisher.output_stream import (
    FilterChange,
    FilterPosition,
    OutputSetup,
    Publication,
    PublishedState,
)
from nncache.invalidation.publisher.settings import PublisherSettings
from nncache.invalidation.publisher.write_plan import MAX_OPERATIONS
from nncache.invalidation.publisher.zookeeper_output import LOOK_S, ZooKeeperInotifyEventOutputStream
from tests.coordination.fake_zookeeper import FakeSession, FakeZooKeeper
from tests.invalidation.publisher.fake_cluster import ZNODES
from tests.invalidation.publisher.fakes import batch, published
from tests.invalidation.virtual_time import clock

US = PublisherIdentity(id="1", host="a", pid=1, admin="127.0.0.1:9873")
POOL = "BP-1"


class Fixture:
    """A ZooKeeper, and outputs on it."""

    def __init__(self) -> None:
        self.zookeeper = FakeZooKeeper(clock)
        self.outsider = self.zookeeper.session()

    def output(
        self, session: FakeSession | None = None, nameservice: str = "ns1"
    ) -> ZooKeeperInotifyEventOutputStream:
        """Return an output of a new process."""
        setup = OutputSetup(
            nameservice=nameservice,
            publisher=PublisherSettings(max_records_per_filter=4),
            zookeeper=ZooKeeperSettings(),
            clock=clock,
        )
        return ZooKeeperInotifyEventOutputStream(setup, session or self.zookeeper.session())

    async def begun(self, txid: int = 10, *names: str) -> ZooKeeperInotifyEventOutputStream:
        """Return an output that has begun after this transaction, with these filters."""
        output = self.output()
        await output.open(US, POOL)
        await output.begin(txid)
        if names:
            await output.change_filters(
                FilterChange(added=tuple(published(name, since_txid=txid) for name in names))
            )
        return output

    async def reopened(self) -> PublishedState:
        """Return the state that a successor finds."""
        return await self.output().open(US, POOL)


@pytest.fixture
async def on() -> Fixture:
    """A fixture with an empty ZooKeeper."""
    return Fixture()


def events(txid: int, *names: str) -> Publication:
    """Return the publication of one transaction, for these filters."""
    content = StaleChanges(((txid, Vanished("/f")),))
    return Publication(
        txid=txid, content=content, filters=dict.fromkeys(names, MatchedEvents((batch(txid, "/f"),)))
    )


async def test_a_beginning_can_be_read_at_once(on: Fixture) -> None:
    """This also holds on an idle cluster: the first record names the chain."""
    output = await on.begun(10)
    assert on.zookeeper.tree.read(ZNODES.namespace).data == POOL.encode()
    assert on.zookeeper.tree.read(ZNODES.cache).data == b"10"
    assert on.zookeeper.tree.children(ZNODES.cache) == ("10",)
    assert on.zookeeper.tree.read(ZNODES.filters).data == b"1"
    assert await on.reopened() == PublishedState(txid=10)
    assert output.stats().cache_records == 1
    with pytest.raises(ChannelUnavailableError, match="no transaction yet"):
        await output.begin(0)


async def test_a_successor_finds_what_was_published(on: Fixture) -> None:
    """It reads positions and filters from ZooKeeper alone, and continues the chains."""
    output = await on.begun(10, "f", "g")
    assert await output.publish(events(12, "f")) == 1
    f, g = published("f", since_txid=10), published("g", since_txid=10)
    expected = {"f": FilterPosition(f, 12), "g": FilterPosition(g, 10)}
    successor = on.output()
    assert await successor.open(US, POOL) == PublishedState(txid=12, filters=expected)
    for txid in range(13, 20):
        await successor.publish(events(txid, "f", "g"))
    assert sorted(on.zookeeper.tree.children(ZNODES.stream("f"))) == ["16", "17", "18", "19"]
    stats = successor.stats()
    assert (stats.writes, stats.filter_records, stats.cache_records) == (7, 14, 7)
    assert stats.write_s == pytest.approx(7 * on.zookeeper.latency_s)


async def test_two_that_both_believe_to_publish_do_not_mix(on: Fixture) -> None:
    """O2: every write of the one elected earlier fails, whether or not the other one has written."""
    first, second = await on.begun(10, "f"), on.output()
    await second.open(US, POOL)
    writes: tuple[Callable[[ZooKeeperInotifyEventOutputStream, int], Awaitable[int]], ...] = (
        lambda output, txid: output.publish(events(txid, "f")),
        lambda output, txid: output.publish(events(txid)),
        lambda output, _: output.change_filters(FilterChange(removed=("f",))),
    )
    for txid, write in enumerate(writes, start=11):
        with pytest.raises(ChannelUnavailableError, match="another publisher has been elected"):
            await write(first, txid)
        await second.publish(events(txid, "f"))
        with pytest.raises(ChannelUnavailableError):
            await write(first, txid + 1)
        first, second = second, first
        await second.open(US, POOL)
    for figures in (first.stats(), second.stats()):
        assert figures.writes_failed == figures.writes_fenced > 0


async def test_a_part_of_a_publication_that_comes_too_late_is_refused(on: Fixture) -> None:
    """T1: a multi with only filters' records is guarded too, even within one epoch."""
    first, second = await on.begun(10, "f", "g", "h"), on.output()
    await on.outsider.commit([SetDataOp(ZNODES.cache, b"10")])
    much = MatchedEvents((batch(11, "/" + "x" * 400_000),))
    publication = Publication(txid=11, content=StaleChanges(()), filters=dict.fromkeys(("f", "g", "h"), much))
    with pytest.raises(BadVersionError):
        await first.publish(publication)
    assert on.zookeeper.tree.children(ZNODES.stream("f")) == ()
    await second.open(US, POOL)
    assert await second.publish(publication) == 2


async def test_a_removed_filter_leaves_nothing(on: Fixture) -> None:
    """Its records, strangers' znodes, and an old stream of that name which is in the way are deleted."""
    output = await on.begun(10, "f")
    await output.publish(events(11, "f"))
    await on.outsider.ensure(f"{ZNODES.stream('f')}/foreign/deep")
    await on.outsider.ensure(f"{ZNODES.stream('g')}/7")
    again = published("g", since_txid=11)
    output = on.output()
    await output.open(US, POOL)
    await output.change_filters(FilterChange(removed=("f",), added=(again,)))
    assert not on.zookeeper.tree.exists(ZNODES.stream("f"))
    state = await on.reopened()
    assert (state.filters, state.damaged) == ({"g": FilterPosition(again, 11)}, {})


async def test_all_begins_anew(on: Fixture) -> None:
    """Nothing of the old chains is left; foreign znodes elsewhere stay."""
    output = await on.begun(10, "f")
    await output.publish(events(12, "f"))
    await on.outsider.ensure(f"{ZNODES.cache}/foreign/deep")
    await on.outsider.ensure(f"{ZNODES.filters}/not a name")
    generation = int(on.zookeeper.tree.read(ZNODES.filters).data)
    await output.begin(7)
    assert await on.reopened() == PublishedState(txid=7)
    assert on.zookeeper.tree.children(ZNODES.cache) == ("7",)
    assert on.zookeeper.tree.exists(f"{ZNODES.filters}/not a name")
    assert int(on.zookeeper.tree.read(ZNODES.filters).data) > generation
    await output.open(US, POOL)
    await output.publish(events(8))


async def test_a_crash_while_all_begins_anew_is_found(on: Fixture) -> None:
    """After a crash before any of its writes, the next run restarts too, unless nothing was written yet."""

    async def count_writes(on: Fixture) -> int:
        output, before = await on.begun(10, "f", "g"), on.zookeeper.writes
        await output.begin(7)
        return on.zookeeper.writes - before

    writes = await count_writes(on)
    assert writes >= 3
    for last in range(writes):
        fixture = Fixture()
        session = CrashingSession(fixture.zookeeper)
        await fixture.begun(10, "f", "g")
        output = fixture.output(session)
        await output.open(US, POOL)
        session.commits_left = last
        with pytest.raises(ConnectionLostError):
            await output.begin(7)
        state = await fixture.reopened()
        assert state.txid == (10 if last == 0 else None), last


class Connected(FakeSession):
    """A session that is connected from the start."""

    def __init__(self, server: FakeZooKeeper) -> None:
        super().__init__(server)
        self.connect(1)


class CrashingSession(Connected):
    """A session whose process dies before one of its commits."""

    commits_left = 1000

    async def commit(self, operations: Sequence[ZnodeOp]) -> None:
        """Carry out a transaction, unless the process is dead."""
        if self.commits_left == 0:
            raise ConnectionLostError("dead")
        self.commits_left -= 1
        await super().commit(operations)


async def test_another_namespace_is_refused(on: Fixture) -> None:
    """Its records would make caches answer for other files; the message says what to do."""
    await on.begun(10)
    before = on.zookeeper.tree.paths
    with pytest.raises(
        WrongNamespaceError, match=r"/HDFSInotifyRoot/ns1 .* 'BP-1', .* 'BP-2': choose another"
    ):
        await on.output().open(US, "BP-2")
    assert on.zookeeper.tree.paths == before


async def test_a_place_without_a_namespace_is_taken(on: Fixture) -> None:
    """A client that waits for a publisher may have created the znode."""
    await on.outsider.ensure(ZNODES.namespace)
    await on.begun(10)
    assert on.zookeeper.tree.read(ZNODES.namespace).data == POOL.encode()


async def test_without_a_connection_nothing_is_opened(on: Fixture) -> None:
    """An output that is not open publishes nothing."""
    output = on.output()
    with pytest.raises(ChannelUnavailableError):
        await output.publish(events(11))
    assert output.waiting_for == ""
    await output.close(give_up=True)
    await output.shut_down()
    on.zookeeper.disconnect()
    with pytest.raises(ConnectionLostError):
        await output.open(US, POOL)
    assert not output.session_stats().is_connected


async def test_giving_up_lets_another_publish(on: Fixture) -> None:
    """The end of the process does so too; otherwise the znode of the publisher stays."""
    output = await on.begun(10)
    await output.close(give_up=False)
    assert on.zookeeper.tree.exists(ZNODES.publisher)
    await output.open(US, POOL)
    await output.close(give_up=True)
    assert not on.zookeeper.tree.exists(ZNODES.publisher)
    await output.open(US, POOL)
    await output.shut_down()
    await output.shut_down()
    await asyncio.sleep(0.1)
    assert not on.zookeeper.tree.exists(ZNODES.publisher)


@pytest.mark.parametrize(
    "damage",
    [
        SetDataOp(ZNODES.filters, b"x"),
        SetDataOp(ZNODES.stream("f"), b"x"),
        SetDataOp(ZNODES.definition("f"), b"x"),
        DeleteOp(ZNODES.definition("f")),
        CreateOp(ZNODES.definition("planted"), b"x"),
        DeleteOp(ZNODES.publisher),
    ],
)
async def test_the_writing_of_others_is_noticed(on: Fixture, damage: ZnodeOp) -> None:
    """They are noticed even while nothing is published: readers cannot wait for the next run."""
    output = await on.begun(10, "f")
    async with asyncio.TaskGroup() as tasks:
        keeping = tasks.create_task(expect_end(output))
        for txid in range(11, 400):
            await output.publish(events(txid, "f"))
            await asyncio.sleep(0.3)
        assert not keeping.done(), "our own writing is none"
        await on.outsider.commit([damage])
        damaged_at = clock()
        await keeping
        assert clock() - damaged_at < LOOK_S + 0.1


class SlowSession(Connected):
    """A session whose later commits take so long that a check happens between them."""

    quick = 1000

    async def commit(self, operations: Sequence[ZnodeOp]) -> None:
        """Carry out a transaction."""
        self.quick -= 1
        if self.quick < 0:
            await asyncio.sleep(2 * LOOK_S)
        await super().commit(operations)


async def test_our_own_definitions_on_their_way_out_are_not_planted(on: Fixture) -> None:
    """A change of several multis leaves them in place until the last one."""
    session = SlowSession(on.zookeeper)
    output = on.output(session)
    await output.open(US, POOL)
    await output.begin(10)
    names = tuple(f"f{number}" for number in range(1 + MAX_OPERATIONS // 2))
    added = tuple(published(name, since_txid=10) for name in names)
    assert await output.change_filters(FilterChange(added=added)) == 2
    async with asyncio.TaskGroup() as tasks:
        keeping = tasks.create_task(output.keep())
        session.quick = 1
        assert await output.change_filters(FilterChange(removed=names)) == 2
        await asyncio.sleep(2 * LOOK_S)
        assert not keeping.done()
        keeping.cancel()


async def expect_end(output: ZooKeeperInotifyEventOutputStream) -> None:
    """Keep the right to publish until it is lost."""
    with pytest.raises(ChannelUnavailableError, match=r"another client|no longer ours"):
        await output.keep()


async def test_nothing_to_watch_is_no_tampering(on: Fixture) -> None:
    """Before the first write there are no znodes of ours."""
    output = on.output()
    await output.open(US, POOL)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(output.keep(), 3 * LOOK_S)
    await on.outsider.commit([CreateOp(f"{ZNODES.namespace}/else", b"")])
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(output.keep(), 3 * LOOK_S)


async def test_what_others_put_below_an_old_record_goes_with_it(on: Fixture) -> None:
    """Our records have no children; trimming continues, without additional writes."""
    output = await on.begun(10, "f")
    await output.publish(events(11, "f"))
    for path in (f"{ZNODES.record(ZNODES.cache, 11)}/x", f"{ZNODES.record(ZNODES.stream('f'), 11)}/x"):
        await on.outsider.commit([CreateOp(path, b"")])
    for txid in range(12, 20):
        await output.publish(events(txid, "f"))
    for stream in (ZNODES.cache, ZNODES.stream("f")):
        assert sorted(on.zookeeper.tree.children(stream)) == ["16", "17", "18", "19"]
    assert (await on.reopened()).txid == 19


async def test_a_record_with_hidden_children_stays(
    on: Fixture,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Publishing continues, in this run and the next; each process logs it once."""
    output = await on.begun(10, "f")
    await output.publish(events(11, "f"))
    record = ZNODES.record(ZNODES.cache, 11)
    await on.outsider.commit([CreateOp(f"{record}/x", b"")])
    on.zookeeper.tree.forbidden.add(record)
    for txid in range(12, 20):
        await output.publish(events(txid, "f"))
    assert sorted(on.zookeeper.tree.children(ZNODES.cache)) == ["11", "16", "17", "18", "19"]
    successor = on.output()
    assert (await successor.open(US, POOL)).txid == 19
    for txid in range(20, 24):
        await successor.publish(events(txid, "f"))
    assert sorted(on.zookeeper.tree.children(ZNODES.cache)) == ["11", "20", "21", "22", "23"]
    logged = [each.getMessage() for each in caplog.records if "/11" in each.getMessage()]
    assert len(logged) == 2, "once for each process"


async def test_a_new_nameservice_beside_others_is_logged_once(
    on: Fixture, caplog: pytest.LogCaptureFixture
) -> None:
    """It is used nevertheless, since that may be intended. The log lists the existing ones."""
    await on.output().open(US, POOL)
    assert caplog.messages == []
    await on.outsider.commit(
        [CreateOp("/HDFSInotifyRoot/.x", b""), CreateOp("/HDFSInotifyRoot/prod", b"BP-2")]
    )
    await on.outsider.ensure("/HDFSInotifyRoot/quota")
    for _ in range(2):
        await on.output(nameservice="nsl").open(US, POOL)
    (line,) = caplog.messages
    assert line.startswith(
        "/HDFSInotifyRoot/nsl is new; published in /HDFSInotifyRoot before: ns1, prod. If one of these was meant"
    )
