"""What this room asks of NameNodes and pool: the fakes and the real ones give the same answers."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Protocol

import pytest

from hadoop.errors import RemoteCallError
from hadoop.events import Create, Event, Unlink
from hadoop.namenode_settings import NameNodeSettings
from hadoop.pool import NameNodePool
from hadoop.remote_exception import Verdict
from hadoop.rpc.namenode import NameNodeRpc
from invalidation.namenodes import EditsRpc, NameNodes
from nncache.clock import boottime
from testbed import Cluster
from testbed.relay import Relay
from tests.cluster import webhdfs
from tests.invalidation.fakes import ACCESS_CONTROL, FakeNameNode, FakePool, remote_error

pytestmark = pytest.mark.timeout(300)  # the first of the session's tests waits for the cluster


class Rig(Protocol):
    """A NameNode, its client, and hands to make things happen."""

    rpc: EditsRpc
    nobody_rpc: EditsRpc  # as a user without rights

    async def change(self, name: str) -> type[Event]:
        """Change one path; return the kind of its event."""

    def cut(self) -> None:
        """Cut all connections."""


class FakeRig:
    """Over the fake."""

    def __init__(self) -> None:
        self._namenode = FakeNameNode()
        self._namenode.unlink("/before")
        self.rpc: EditsRpc = FakePool(boottime, self._namenode).rpc(self._namenode.address)
        other = FakeNameNode()
        other.refusal = other.roll_refusal = remote_error(ACCESS_CONTROL)
        self.nobody_rpc: EditsRpc = FakePool(boottime, other).rpc(other.address)
        self.cut = self._namenode.cut

    async def change(self, name: str) -> type[Event]:
        """Delete a path."""
        self._namenode.unlink(f"/{name}")
        return Unlink


class RealRig:
    """Over the cluster, through a relay."""

    def __init__(self, cluster: Cluster, relay: Relay, directory: str) -> None:
        self._cluster = cluster
        self._directory = directory
        self.real_rpc = NameNodeRpc(relay.address, cluster.superuser)
        self.real_nobody_rpc = NameNodeRpc(relay.address, "alice")
        self.rpc: EditsRpc = self.real_rpc
        self.nobody_rpc: EditsRpc = self.real_nobody_rpc
        self.cut = relay.reset_connections

    async def change(self, name: str) -> type[Event]:
        """Make a directory."""
        path = f"{self._directory}/{name}"
        status, _ = await asyncio.to_thread(webhdfs, self._cluster, "PUT", path, "MKDIRS")
        assert status == 200
        return Create


@pytest.fixture(params=["fake", "real"])
async def rig(request: pytest.FixtureRequest) -> AsyncIterator[Rig]:
    """Both rigs, one after the other; the cluster starts for the real one alone."""
    if request.param == "fake":
        yield FakeRig()
        return
    cluster: Cluster = request.getfixturevalue("cluster")
    directory: str = request.getfixturevalue("hdfs_directory")
    with Relay(cluster.namenodes[0].rpc) as relay:
        real = RealRig(cluster, relay, directory)
        yield real
        await real.real_rpc.close()
        await real.real_nobody_rpc.close()


async def test_nothing_new_is_a_page_of_nothing(rig: Rig) -> None:
    """Asked for what is not there yet, near or far, it says how far it is synced, and no more."""
    end = await rig.rpc.get_current_edit_log_txid()
    for asked in (end + 1, end + 1_000_000):
        page = await rig.rpc.get_edits(asked)
        assert (page.first_txid, page.last_txid, page.sync_txid, page.batches) == (-1, -1, end, ())


async def test_an_acknowledged_change_is_in_the_next_page(rig: Rig) -> None:
    """Once, at its own transaction, in a page that begins where it was asked to and ends where it is synced."""
    before = await rig.rpc.get_current_edit_log_txid()
    kinds = [await rig.change(name) for name in ("a", "b")]
    page = await rig.rpc.get_edits(before + 1)
    assert page.first_txid == before + 1
    assert page.last_txid == page.sync_txid == await rig.rpc.get_current_edit_log_txid()
    assert [type(event) for batch in page.batches for event in batch.events] == kinds
    assert [batch.txid for batch in page.batches] == sorted({batch.txid for batch in page.batches})
    assert all(before < batch.txid <= page.last_txid for batch in page.batches)


async def test_a_roll_is_two_transactions_without_events(rig: Rig) -> None:
    """The end of a segment and the beginning of the next, whose number is returned."""
    before = await rig.rpc.get_current_edit_log_txid()
    assert await rig.rpc.roll_edits() == before + 2
    page = await rig.rpc.get_edits(before + 1)
    assert (page.first_txid, page.last_txid, page.batches) == (before + 1, before + 2, ())


async def test_a_new_connection_has_a_new_number(rig: Rig) -> None:
    """0 before the first, the same while it lasts; a call over a cut one succeeds over the next."""
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
    """Others are refused, as what they are."""
    with pytest.raises(RemoteCallError) as raised:
        await call(rig.nobody_rpc)
    assert raised.value.verdict is Verdict.ACCESS_CONTROL


def test_the_real_pool_has_the_shape() -> None:
    """The type checker compares the two here."""
    pool: NameNodes = NameNodePool(NameNodeSettings(user="hdfs"), boottime)
    assert pool.active is None
