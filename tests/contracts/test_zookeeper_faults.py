"""The effects on a session of an unreachable server and of lost data: the fake and ZooKeeper agree."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable

import pytest

from nncache.coordination.errors import ConnectionLostError, NoNodeError
from nncache.coordination.zookeeper import CreateOp, SetDataOp, ZooKeeper
from nncache.testbed.relay import Relay
from nncache.testbed.zookeepers import ZooKeeperServer
from tests.coordination.fake_zookeeper import FakeZooKeeper
from tests.coordination.simulations import connected
from tests.patience import SLACK_S

TIMEOUT_S = 1.0
"""Session timeout in seconds: the minimum that the test bed's ZooKeeper grants."""

LONG_S = 10.0
ROOT = "/faults"


class FakeServer:
    """The fake with a session to cut off, and another."""

    def __init__(self) -> None:
        self._server = FakeZooKeeper(time.monotonic, session_timeout_s=TIMEOUT_S)
        self.victim = self._server.session()
        self.other = self._server.session()

    async def cut(self) -> None:
        """Cut the victim's connection and refuse new ones."""
        self._server.disconnect(self.victim)

    async def restore(self) -> None:
        """Accept connections again; wait until the victim is connected."""
        self._server.connect()

    async def hush(self) -> None:
        """Delay all answers beyond the timeout."""
        self._server.latency_s = 1000.0

    async def wipe(self) -> None:
        """Lose all data."""
        self._server.wipe()


class RealServer:
    """A ZooKeeper with the victim's connections through a relay."""

    def __init__(self, server: ZooKeeperServer, relay: Relay, victim: ZooKeeper, other: ZooKeeper) -> None:
        self.victim = victim
        self.other = other
        self._server = server
        self._relay = relay

    async def cut(self) -> None:
        """Cut the relay; wait until the victim notices."""
        self._relay.cut()
        async with asyncio.timeout(LONG_S):
            while self.victim.is_connected:  # noqa: ASYNC110 - nothing notifies
                await asyncio.sleep(0.01)

    async def restore(self) -> None:
        """Restore the relay; wait until the victim is connected."""
        self._relay.restore()
        await self.victim.wait_connected(LONG_S)

    async def hush(self) -> None:
        """Drop all traffic of the relay."""
        self._relay.black_hole()

    async def wipe(self) -> None:
        """Wipe and restart the server; wait for new sessions."""
        before = self.victim.session_id, self.other.session_id
        self._server.wipe()
        await asyncio.to_thread(self._server.process.start)
        async with asyncio.timeout(LONG_S):
            while {self.victim.session_id, self.other.session_id} & {0, *before}:  # noqa: ASYNC110 - nothing notifies
                await asyncio.sleep(0.01)


Simulation = FakeServer | RealServer


class Contract:
    """The common contract; a subclass has the fixture `simulation`, where ROOT exists and is empty."""

    async def test_a_short_cut_costs_the_connection_alone(self, simulation: Simulation) -> None:
        """In the cut, calls fail immediately. The session and its ephemeral znodes stay; watches report a change."""
        session_id, connection_id = simulation.victim.session_id, simulation.victim.connection_id
        await simulation.victim.commit([CreateOp(f"{ROOT}/e", b"", ephemeral=True)])
        look = simulation.victim.watch(ROOT)
        await look.read()
        await simulation.cut()
        assert not await look.changed(0.0)
        for call in (simulation.victim.get(ROOT), simulation.victim.get_many([ROOT]), look.read()):
            with pytest.raises(ConnectionLostError):
                await call
        with pytest.raises(ConnectionLostError):
            await simulation.victim.wait_connected(0.01)
        assert simulation.victim.session_id == session_id
        await simulation.restore()
        assert (simulation.victim.session_id, simulation.victim.connection_id) == (
            session_id,
            connection_id + 1,
        )
        assert (await simulation.victim.get(f"{ROOT}/e")).owner_session == session_id
        assert await look.changed(0.0)
        await look.read()
        assert not await look.changed(0.0)
        await simulation.other.commit([SetDataOp(ROOT, b"new")])
        assert await look.changed(LONG_S), "the watch was set again"

    async def test_a_long_cut_costs_the_session(self, simulation: Simulation) -> None:
        """Its ephemeral znodes expire during the cut, which others see. Then it has a new session."""
        session_id, connection_id = simulation.victim.session_id, simulation.victim.connection_id
        await simulation.victim.commit([CreateOp(f"{ROOT}/e", b"", ephemeral=True)])
        look = simulation.other.watch(f"{ROOT}/e")
        await look.read()
        await simulation.cut()
        assert await look.changed(LONG_S)
        assert await look.read() is None
        await asyncio.sleep(0.3)  # by then the victim has noticed, too
        await simulation.restore()
        assert simulation.victim.session_id not in (0, session_id)
        assert simulation.victim.connection_id > connection_id
        with pytest.raises(NoNodeError):
            await simulation.victim.get(f"{ROOT}/e")

    async def test_a_call_under_way_is_lost_with_its_connection(self, simulation: Simulation) -> None:
        """Calls, including get_many, raise ConnectionLostError. The next call gets its own answer."""
        await simulation.hush()
        async with asyncio.TaskGroup() as tasks:
            calls = [
                tasks.create_task(failure(call))
                for call in (simulation.victim.get(ROOT), simulation.victim.get_many([ROOT] * 100))
            ]
            await asyncio.sleep(0.05)
            await simulation.cut()
        assert all(isinstance(call.result(), ConnectionLostError) for call in calls)

    async def test_no_call_waits_for_longer_than_the_session(self, simulation: Simulation) -> None:
        """By then there is an answer or ConnectionLostError."""
        await simulation.hush()
        began = time.monotonic()
        with pytest.raises(ConnectionLostError):
            await simulation.victim.get_many([ROOT, ROOT])
        assert time.monotonic() - began < TIMEOUT_S + SLACK_S

    async def test_wiped_data_cost_the_session(self, simulation: Simulation) -> None:
        """Every client gets a new session with an empty tree, and watches report a change."""
        await simulation.victim.commit([CreateOp(f"{ROOT}/a", b"old")])
        look = simulation.victim.watch(f"{ROOT}/a")
        await look.read()
        await simulation.wipe()
        assert await look.changed(0.0)
        assert await look.read() is None
        assert await simulation.victim.get_many([ROOT]) == (None,)
        await simulation.victim.commit([CreateOp(ROOT, b"anew"), CreateOp(f"{ROOT}/a", b"new")])
        assert await look.changed(LONG_S)
        assert (await simulation.other.get(f"{ROOT}/a")).data == b"new"


class TestFake(Contract):
    """The fake."""

    @pytest.fixture
    async def simulation(self) -> Simulation:
        """Return the fake."""
        simulation = FakeServer()
        await simulation.other.ensure(ROOT)
        return simulation


class TestReal(Contract):
    """The real ZooKeeper."""

    @pytest.fixture
    async def simulation(self, zookeeper_server: ZooKeeperServer) -> AsyncIterator[Simulation]:
        """Yield an empty ZooKeeper."""
        zookeeper_server.wipe()
        await asyncio.to_thread(zookeeper_server.process.start)
        with Relay(zookeeper_server.address) as relay:
            async with (
                connected(zookeeper_server.address, TIMEOUT_S) as other,
                connected(relay.address, TIMEOUT_S) as victim,
            ):
                await other.ensure(ROOT)
                yield RealServer(zookeeper_server, relay, victim, other)


async def failure(call: Awaitable[object]) -> ConnectionLostError | None:
    """Return the ConnectionLostError of a call; None if it succeeds."""
    try:
        await call
    except ConnectionLostError as exc:
        return exc
    return None
