"""The fake NameNodes and pool answer this room's calls like the real ones."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

import pytest

from nncache.clock import boottime
from nncache.hadoop.election_view import Probe
from nncache.hadoop.errors import RemoteCallError
from nncache.hadoop.events import Create, EditsPage, Event, Unlink
from nncache.hadoop.namenode_settings import NameNodeSettings
from nncache.hadoop.namenodes.pool import NameNodePool
from nncache.hadoop.remote_exception import Verdict
from nncache.hadoop.rpc.namenode import NameNodeRpc
from nncache.invalidation.namenodes import EditsRpc, NameNodes
from nncache.testbed import Cluster
from nncache.testbed.relay import Relay
from tests.cluster import webhdfs
from tests.invalidation.fakes import ACCESS_CONTROL, FakeLog, FakeNameNode, FakePool, remote_error
from tests.patience import HANG_S

pytestmark = pytest.mark.timeout(300)  # the first of the session's tests waits for the cluster


@dataclass(frozen=True, slots=True)
class Rig:
    """A NameNode, its clients and its pool."""

    rpc: EditsRpc  # as a superuser
    nobody_rpc: EditsRpc  # as a user without rights
    pool: NameNodes  # which need not be a superuser's
    change: Callable[[str], Awaitable[type[Event]]]  # changes a path of this name; returns the event's type
    cut: Callable[[], None]  # cuts all connections


def fake_rig() -> Rig:
    """Return a rig over the fake."""
    namenode, other = FakeNameNode(), FakeNameNode()
    namenode.unlink("/before")
    other.refusal = other.roll_refusal = remote_error(ACCESS_CONTROL)

    async def change(name: str) -> type[Event]:
        namenode.unlink(f"/{name}")
        return Unlink

    return Rig(_probed(namenode), _probed(other), FakePool(boottime, namenode), change, namenode.cut)


def _probed(namenode: FakeNameNode) -> EditsRpc:
    pool = FakePool(boottime, namenode)
    pool.probe()
    return pool.rpc(namenode.address)


@pytest.fixture(params=["fake", "real"])
async def rig(request: pytest.FixtureRequest) -> AsyncIterator[Rig]:
    """A rig over the fake, and one over the cluster, through a relay. Only the second needs the cluster."""
    if request.param == "fake":
        yield fake_rig()
        return
    cluster: Cluster = request.getfixturevalue("cluster")
    directory: str = request.getfixturevalue("hdfs_directory")
    (member,) = cluster.namenodes

    async def change(name: str) -> type[Event]:
        status, _ = await asyncio.to_thread(webhdfs, cluster, "PUT", f"{directory}/{name}", "MKDIRS")
        assert status == 200
        return Create

    with Relay(member.rpc) as relay:
        rpc, nobody_rpc = NameNodeRpc(relay.address, cluster.superuser), NameNodeRpc(relay.address, "alice")
        pool = NameNodePool(
            NameNodeSettings(namenode_http=(member.http,), namenode_rpc=(relay.address,), user="alice"),
            boottime,
        )
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(pool.run())
            yield Rig(rpc, nobody_rpc, pool, change, relay.reset_connections)
            running.cancel()
        for closing in (pool, rpc, nobody_rpc):
            await closing.close()


async def page_behind(rpc: EditsRpc, ahead: int) -> tuple[int, EditsPage]:
    """Return the end of the log, and the page that begins so far behind it.

    HDFS may log something of its own in between, such as the end of a truncation. Then both are asked for again.
    """
    while True:
        end = await rpc.get_current_edit_log_txid()
        page = await rpc.get_edits(end + ahead)
        if await rpc.get_current_edit_log_txid() == end:
            return end, page


async def test_nothing_new_is_a_page_of_nothing(rig: Rig) -> None:
    """A request for later transactions, near or far, returns only how far the log is synced."""
    for ahead in (1, 1_000_000):
        end, page = await page_behind(rig.rpc, ahead)
        assert (page.first_txid, page.last_txid, page.sync_txid, page.batches) == (-1, -1, end, ())


async def test_an_acknowledged_change_is_in_the_next_page(rig: Rig) -> None:
    """It is there once, in its own transaction; the page begins at the requested and ends at the synced transaction."""
    before = await rig.rpc.get_current_edit_log_txid()
    kinds = [await rig.change(name) for name in ("a", "b")]
    page = await rig.rpc.get_edits(before + 1)
    assert page.first_txid == before + 1
    assert page.last_txid == page.sync_txid <= await rig.rpc.get_current_edit_log_txid()
    events = [event for batch in page.batches for event in batch.events if isinstance(event, Create | Unlink)]
    assert [type(event) for event in events if event.path.endswith(("/a", "/b"))] == kinds
    assert [batch.txid for batch in page.batches] == sorted({batch.txid for batch in page.batches})
    assert all(before < batch.txid <= page.last_txid for batch in page.batches)


async def test_a_roll_is_two_transactions_without_events(rig: Rig) -> None:
    """They end a segment and begin the next; the txid of the second is returned."""
    before = await rig.rpc.get_current_edit_log_txid()
    began = await rig.rpc.roll_edits()
    assert began >= before + 2
    page = await rig.rpc.get_edits(began - 1)
    assert page.first_txid == began - 1
    assert all(batch.txid > began for batch in page.batches)


async def test_a_new_connection_has_a_new_number(rig: Rig) -> None:
    """It is 0 before the first connection and constant on one; a call over a cut connection succeeds over the next."""
    assert rig.rpc.connection_id == 0
    await rig.rpc.get_current_edit_log_txid()
    first = rig.rpc.connection_id
    assert first == 1
    end = await rig.rpc.get_current_edit_log_txid()
    assert rig.rpc.connection_id == first
    rig.cut()
    await rig.rpc.get_edits(end + 1)
    assert rig.rpc.connection_id == first + 1


@pytest.mark.parametrize(
    "call",
    [
        lambda rpc: rpc.get_edits(1),
        lambda rpc: rpc.get_current_edit_log_txid(),
        lambda rpc: rpc.roll_edits(),
    ],
    ids=["getEditsFromTxid", "getCurrentEditLogTxid", "rollEdits"],
)
async def test_only_a_superuser_is_answered(
    rig: Rig, call: Callable[[EditsRpc], "asyncio.Future[object]"]
) -> None:
    """Other users get an AccessControlException."""
    with pytest.raises(RemoteCallError) as raised:
        await call(rig.nobody_rpc)
    assert raised.value.verdict is Verdict.ACCESS_CONTROL


async def probed_after(pool: NameNodes, moment: float) -> Probe:
    """Return the first probe of the active NameNode as of this time or later."""
    active = await pool.wait_active(10)
    async with asyncio.timeout(HANG_S):
        while (probe := pool.last_probe) is None or probe.as_of < moment:
            pool.suspect(active.namenode, "test")
            await pool.wait_probed()
    return probe


async def test_a_probe_covers_what_was_acknowledged_before_it(rig: Rig) -> None:
    """Bounded: a reader up to its transaction has read every change acknowledged before its time."""
    rpc, pool = rig.rpc, rig.pool
    for number in range(5):
        await rig.change(str(number))
        acknowledged_at, written = boottime(), await rpc.get_current_edit_log_txid()
        probe = await probed_after(pool, acknowledged_at)
        assert probe.txid >= written
        assert acknowledged_at <= probe.as_of <= probe.asked_at <= boottime()
        assert pool.confirmed_as_of is not None
        assert probe.as_of <= pool.confirmed_as_of


async def test_a_probe_is_of_the_active_one(rig: Rig) -> None:
    """The probe has the term of the active NameNode, whose namespace is known."""
    probe = await probed_after(rig.pool, boottime())
    active = rig.pool.active
    assert active is not None
    assert probe.term == active.term == 1
    assert active.namespace is not None


def test_a_fake_without_a_log_position_has_no_probe() -> None:
    """The real pool behaves alike, in tests/hadoop/test_pool.py."""
    namenode = FakeNameNode()
    namenode.answers_journal = False
    pool = FakePool(boottime, namenode)
    pool.probe()
    assert (pool.active is not None, pool.confirmed_as_of is not None, pool.last_probe) == (True, True, None)


def test_a_fake_standby_follows_and_can_be_ahead() -> None:
    """It reports that it has applied all transactions, or the position that a test sets."""
    log = FakeLog()
    first, second = FakeNameNode("a", log), FakeNameNode("b", log, active=False)
    pool = FakePool(boottime, first, second)
    first.unlink("/x")
    assert (first.last_txid, second.last_txid) == (1, 1)
    pool.probe()
    assert pool.last_probe is not None
    assert pool.last_probe.txid == 1
    second.applied = 9
    pool.probe()  # the active one was probed before the standby reported it
    stood_at = pool.last_probe
    pool.probe()
    assert pool.last_probe == stood_at, "contradicted"
