"""Session: its behaviour when a real ZooKeeper, or the way to it, fails. (Its contract: tests/contracts.)"""

import asyncio
import gc
import threading
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from nncache.coordination.connection import CLOSE_S
from nncache.coordination.errors import ConnectionLostError, NoNodeError
from nncache.coordination.session import KazooSession
from nncache.coordination.settings import ZooKeeperSettings
from nncache.coordination.zookeeper import CreateOp, SetDataOp
from nncache.testbed.ports import PortLease
from nncache.testbed.relay import Relay
from nncache.testbed.zookeepers import ZooKeeperServer
from tests.coordination.simulations import connected, expire
from tests.patience import SLACK_S
from tests.real.faults import paused

LONG_S = 10.0
AGAIN_S = 5.0
"""Limit on the time from the moment at which ZooKeeper serves again to our next write."""

ON_BOTH_LOOPS = pytest.mark.asyncio(loop_factories=["uvloop", "asyncio"])
pytestmark = pytest.mark.asyncio(loop_factories=["uvloop"])


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    """No thread outlives its session."""
    before = set(threading.enumerate())
    yield
    assert {thread for thread in threading.enumerate() if thread.name.startswith("zookeeper")} <= before


@pytest.fixture
def path() -> str:
    """Return a path for this test only."""
    return f"/session-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def relay(zookeeper_server: ZooKeeperServer) -> Iterator[Relay]:
    """Yield a relay in front of the server."""
    with Relay(zookeeper_server.address) as relay:
        yield relay


@pytest.fixture
async def session(zookeeper_server: ZooKeeperServer) -> AsyncIterator[KazooSession]:
    """Yield a connected session."""
    async with connected(zookeeper_server.address) as session:
        yield session


def new_session(address: str, timeout_s: float = 6.0) -> KazooSession:
    """Return a session that has not been entered."""
    settings = ZooKeeperSettings(zookeeper=(address,), zookeeper_session_timeout_s=timeout_s)
    return KazooSession(settings, time.monotonic)


def sockets() -> int:
    """Return the number of this process's sockets."""
    gc.collect()
    links = [link for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
    return sum(link.readlink().name.startswith("socket:") for link in links)


async def write_again(session: KazooSession, path: str) -> float:
    """Write until a write succeeds; return the seconds that this took."""
    began = time.monotonic()
    async with asyncio.timeout(LONG_S):
        while True:
            try:
                await session.ensure(path)
                await session.commit([SetDataOp(path, b"again")])
                return time.monotonic() - began
            except ConnectionLostError:
                await asyncio.sleep(0.01)


@ON_BOTH_LOOPS
async def test_a_server_that_crashes_is_found_again(
    session: KazooSession, zookeeper_server: ZooKeeperServer, path: str
) -> None:
    """Soon after it serves, with the same session and ephemeral znodes; an open watch reports a change."""
    await session.commit([CreateOp(path, b"", ephemeral=True)])
    look = session.watch(path)
    await look.read()
    before = session.session_id
    zookeeper_server.process.kill()
    await asyncio.to_thread(zookeeper_server.process.start)
    assert await write_again(session, path) < AGAIN_S
    assert session.session_id == before == (await session.get(path)).owner_session
    assert await look.changed(0.0)
    znode = await look.read()
    assert znode is not None
    assert znode.data == b"again"
    assert session.stats().connections == 2


async def test_a_server_that_was_wiped_is_found_again(zookeeper_server: ZooKeeperServer, path: str) -> None:
    """It refuses clients with a later zxid for ever. They recover soon, also with the default session timeout."""
    async with connected(zookeeper_server.address) as session:
        await write_again(session, path)
        before = session.session_id
        zookeeper_server.wipe()
        await asyncio.to_thread(zookeeper_server.process.start)
        assert await write_again(session, path) < AGAIN_S
        assert session.session_id != before
        assert session.stats().sessions_given_up == 1


async def test_ephemerals_of_a_session_given_up_go_at_once(
    zookeeper_server: ZooKeeperServer, path: str
) -> None:
    """A restarted server restores its sessions, and would wait another timeout for one that is no longer used."""
    timeout_s = 6.0
    async with connected(zookeeper_server.address, timeout_s) as session:
        before = session.session_id
        await session.commit([CreateOp(path, b"", ephemeral=True)])
        zookeeper_server.process.kill()
        await asyncio.sleep(timeout_s + 0.4)
        assert session.session_id == 0
        await asyncio.to_thread(zookeeper_server.process.start)
        await session.wait_connected(LONG_S)
        assert session.session_id != before
        began = time.monotonic()
        async with asyncio.timeout(LONG_S):
            while await session.get_many([path]) != (None,):  # noqa: ASYNC110 - no event announces it
                await asyncio.sleep(0.01)
        assert time.monotonic() - began < timeout_s / 2
        assert session.is_connected


async def test_a_hung_server_is_noticed(zookeeper_server: ZooKeeperServer, path: str) -> None:
    """Calls fail in time while it is paused; afterwards the session works again."""
    async with connected(zookeeper_server.address, 1.0) as session:
        await session.ensure(path)
        with paused(zookeeper_server.process):
            with pytest.raises(ConnectionLostError):
                await session.get(path)
            await asyncio.sleep(1.0)
            assert not session.is_connected
        assert await write_again(session, path) < AGAIN_S


def vanish(relay: Relay) -> None:
    """Make the server unreachable."""
    relay.cut()


def fall_silent(relay: Relay) -> None:
    """Make the server accept everything and answer nothing."""
    relay.black_hole()


@pytest.mark.parametrize("fault", [vanish, fall_silent])
async def test_leaving_takes_a_moment_whatever_the_server_does(
    relay: Relay, fault: Callable[[Relay], None]
) -> None:
    """A call in flight fails then. A session that is not connected yet leaves as quickly."""
    async with asyncio.TaskGroup() as tasks:
        async with connected(relay.address) as session:
            fault(relay)
            call = tasks.create_task(failure(session))
            await asyncio.sleep(0.05)
            began = time.monotonic()
        assert time.monotonic() - began < CLOSE_S + SLACK_S
    assert isinstance(call.result(), ConnectionLostError)
    async with new_session(relay.address):
        await asyncio.sleep(0.05)
        began = time.monotonic()
    assert time.monotonic() - began < CLOSE_S + SLACK_S


async def failure(session: KazooSession) -> BaseException | None:
    """Return the error of a call; None: it succeeded."""
    try:
        await session.get("/")
    except ConnectionLostError as exc:
        return exc
    return None


async def test_nothing_is_left_open(zookeeper_server: ZooKeeperServer) -> None:
    """No socket stays open, after sessions that worked or sessions that never connected."""
    with PortLease() as lease:
        nowhere = f"127.0.0.1:{lease.take()}"
    async with connected(zookeeper_server.address):
        pass
    before = sockets()
    for _ in range(2):
        async with new_session(nowhere) as session:
            with pytest.raises(ConnectionLostError, match=f"{nowhere}: (no answer yet|Connection refused)"):
                await session.wait_connected(0.02)
        async with connected(zookeeper_server.address) as session:
            await session.get("/")
            await expire(zookeeper_server.address, session)
    assert sockets() == before


@ON_BOTH_LOOPS
async def test_one_task_may_enter_and_another_leave(zookeeper_server: ZooKeeperServer) -> None:
    """A stream connects in its first term and ends with the process. The session may be entered again."""
    session = new_session(zookeeper_server.address)
    for _ in range(2):
        async with asyncio.TaskGroup() as tasks:
            await tasks.create_task(enter(session))
        await session.wait_connected(LONG_S)
        await session.get("/")
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(session.__aexit__(None, None, None))
        with pytest.raises(ConnectionLostError):
            await session.get("/")
    assert session.stats().sessions == 2


async def enter(session: KazooSession) -> None:
    """Enter the session."""
    await session.__aenter__()


async def test_the_server_holds_one_watch_for_a_path(
    session: KazooSession, zookeeper_server: ZooKeeperServer, path: str
) -> None:
    """This holds for any number of watches and reads, with or without the znode, after changes and reconnects."""
    await session.ensure(path)
    before = zookeeper_server.monitored("zk_watch_count")
    looks = [session.watch(at) for at in (path, f"{path}/absent") for _ in range(3)]
    for number in range(4):
        for look in looks * 3:
            await look.read()
        assert zookeeper_server.monitored("zk_watch_count") == before + 2
        await session.commit([SetDataOp(path, str(number).encode())])
    await expire(zookeeper_server.address, session)
    for look in looks * 3:
        await look.read()
    assert zookeeper_server.monitored("zk_watch_count") == before + 2


async def test_reconnects_lose_no_change(
    session: KazooSession, zookeeper_server: ZooKeeperServer, relay: Relay, path: str
) -> None:
    """A client that reads after each change event sees the last of many changes, although connections are lost."""
    last = 60

    async def follow(follower: KazooSession) -> None:
        look = follower.watch(path)
        while True:
            try:
                znode = await look.read()
            except ConnectionLostError:
                await follower.wait_connected(LONG_S)
                continue
            if znode is not None and int(znode.data) == last:
                return
            await look.changed(LONG_S)

    async with (
        asyncio.timeout(LONG_S - 1),
        connected(relay.address) as follower,
        asyncio.TaskGroup() as tasks,
    ):
        tasks.create_task(follow(follower))
        await session.commit([CreateOp(path, b"0")])
        for number in range(1, last + 1):
            if number % 10 == 0:
                relay.reset_connections()
            await session.commit([SetDataOp(path, str(number).encode())])
            await asyncio.sleep(0.01)
        relay.reset_connections()
    assert follower.stats().connections > 1


async def test_the_first_server_that_answers_is_taken(zookeeper_server: ZooKeeperServer) -> None:
    """Some of several addresses are dead."""
    with PortLease() as lease:
        nowhere = tuple(f"127.0.0.1:{lease.take()}" for _ in range(2))
    settings = ZooKeeperSettings(zookeeper=(*nowhere, zookeeper_server.address))
    async with KazooSession(settings, time.monotonic) as session:
        await session.wait_connected(LONG_S)
        await session.get("/")


async def test_its_figures_say_what_it_did(
    session: KazooSession, zookeeper_server: ZooKeeperServer, path: str
) -> None:
    """Calls, writes, watches and connections are counted, and so are failures and refusals."""
    look = session.watch(path)
    await look.read()  # get, exists: one watch
    await session.commit([CreateOp(path, b"")])
    assert await look.changed(LONG_S)
    with pytest.raises(NoNodeError):
        await session.commit([SetDataOp(f"{path}/x", b"")])
    await session.get_many([path] * 5)
    await expire(zookeeper_server.address, session)
    stats = session.stats()
    assert (stats.is_connected, stats.connections >= 2, stats.sessions) == (True, True, 2)
    assert (stats.calls, stats.calls_failed, stats.writes, stats.writes_refused) == (5, 0, 1, 1)
    assert stats.sessions_given_up == 0
    zookeeper_server.process.kill()
    try:
        async with asyncio.timeout(LONG_S):
            while session.is_connected:  # noqa: ASYNC110 - no event announces it
                await asyncio.sleep(0.01)
        for call in (session.get(path), session.get_many([path] * 5)):
            with pytest.raises(ConnectionLostError):
                await call
        assert (session.stats().is_connected, session.stats().calls_failed) == (False, 2)
    finally:
        await asyncio.to_thread(zookeeper_server.process.start)
