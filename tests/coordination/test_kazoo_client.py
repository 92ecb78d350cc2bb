"""Client: the behaviour of kazoo that it prevents, on a real ZooKeeper."""

import asyncio
import logging
import threading
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import ConnectionLoss
from kazoo.interfaces import IAsyncResult

from nncache.coordination.errors import ConnectionLostError
from nncache.coordination.kazoo_client import (
    GRACE_S,
    MAX_IN_FLIGHT,
    ClientId,
    KazooClosed,
    KazooConnected,
    KazooEvent,
    KazooExpired,
    KazooLog,
    KazooSuspended,
    StartedKazoo,
)
from nncache.testbed.relay import Relay
from nncache.testbed.zookeepers import ZooKeeperServer
from tests.patience import SLACK_S, until_so

LONG_S = 10.0
TIMEOUT_S = 6.0


@dataclass
class Fixture:
    """A client, the relay to its server, and the events that it reported."""

    server: ZooKeeperServer
    relay: Relay
    reported: list[KazooEvent] = field(default_factory=list)
    path: str = field(default_factory=lambda: f"/{uuid.uuid4().hex[:12]}")

    def start(self, resume: ClientId | None = None) -> StartedKazoo:
        """Start a client."""
        return StartedKazoo(
            self.relay.address, TIMEOUT_S, lambda _, event: self.reported.append(event), resume=resume
        )

    async def heard(self, kind: type[KazooEvent]) -> None:
        """Wait until it reports an event of this kind once more."""
        had = self.count(kind)
        await until_so(lambda: self.count(kind) > had)

    def count(self, kind: type[KazooEvent]) -> int:
        """Return the number of reported events of a kind."""
        return sum(isinstance(event, kind) for event in self.reported)

    @property
    def client_id(self) -> ClientId:
        """The session's id and password."""
        return [event.client_id for event in self.reported if isinstance(event, KazooConnected)][-1]


@pytest.fixture
def fixture(zookeeper_server: ZooKeeperServer) -> Iterator[Fixture]:
    """Yield the fixture. At the end no client may have left a thread."""
    before = set(threading.enumerate())
    with Relay(zookeeper_server.address) as relay:
        yield Fixture(zookeeper_server, relay)
    assert set(threading.enumerate()) <= before


@pytest.fixture
async def client(fixture: Fixture) -> AsyncIterator[StartedKazoo]:
    """Yield a connected client, with a znode at `fixture.path`."""
    client = fixture.start()
    await fixture.heard(KazooConnected)
    await call(client, lambda kazoo: kazoo.create_async(fixture.path, b"first"))
    yield client
    client.retire()
    await client.wait_closed()


async def call(client: StartedKazoo, send: Callable[[KazooClient], IAsyncResult]) -> IAsyncResult | None:
    """Make a call, and return its reply."""
    return await (await client.begin(send))


async def data(client: StartedKazoo, path: str) -> bytes:
    """Return the data of a znode."""
    reply = await call(client, lambda kazoo: kazoo.get_async(path))
    assert reply is not None
    value: bytes = reply.value[0]
    return value


async def test_what_was_given_up_is_never_sent(fixture: Fixture, client: StartedKazoo) -> None:
    """A call that enters kazoo's queue after the loss and before we learn of it fails, and never takes effect."""
    fixture.relay.cut()
    await fixture.heard(KazooSuspended)
    with pytest.raises(ConnectionLostError):
        await client.begin(lambda kazoo: kazoo.set_async(fixture.path, b"late"))
    client._kazoo.set_async(fixture.path, b"late")  # noqa: SLF001 - as if it had slipped in
    fixture.relay.restore()
    await fixture.heard(KazooConnected)
    await call(client, lambda kazoo: kazoo.create_async(f"{fixture.path}/x"))
    assert await data(client, fixture.path) == b"first"


async def test_no_more_calls_are_under_way_than_is_good(fixture: Fixture, client: StartedKazoo) -> None:
    """Further calls wait without blocking the event loop; in the end all are answered, in order."""
    fixture.relay.hold()
    order: list[int] = []

    async def ask(number: int) -> None:
        assert await data(client, fixture.path) == b"first"
        order.append(number)

    async with asyncio.TaskGroup() as tasks:
        for number in range(1000):
            tasks.create_task(ask(number))
        await asyncio.sleep(0.2)
        kazoo = client._kazoo  # noqa: SLF001 - its queues are not visible otherwise
        assert len(kazoo._queue) + len(kazoo._pending) == MAX_IN_FLIGHT  # noqa: SLF001 - as above
        fixture.relay.restore()
    assert order == list(range(1000))


async def test_a_lost_connection_frees_all_who_wait(fixture: Fixture, client: StartedKazoo) -> None:
    """Calls in flight get no reply, waiting calls were never sent, and later calls find all places free."""
    fixture.relay.black_hole()
    async with asyncio.TaskGroup() as tasks:
        calls = [tasks.create_task(outcome(client, fixture.path)) for _ in range(3 * MAX_IN_FLIGHT)]
        await asyncio.sleep(0.05)
        fixture.relay.cut()
    assert [task.result() for task in calls] == ["lost"] * MAX_IN_FLIGHT + ["not sent"] * 2 * MAX_IN_FLIGHT
    fixture.relay.restore()
    await fixture.heard(KazooConnected)
    async with asyncio.TaskGroup() as tasks:
        calls = [tasks.create_task(outcome(client, fixture.path)) for _ in range(3 * MAX_IN_FLIGHT)]
    assert {task.result() for task in calls} == {"answered"}


async def outcome(client: StartedKazoo, path: str) -> str:
    """Return the outcome of a call."""
    try:
        reply = await call(client, lambda kazoo: kazoo.get_async(path))
    except ConnectionLostError:
        return "not sent"
    return "lost" if reply is None or isinstance(reply.exception, ConnectionLoss) else "answered"


async def test_a_late_reply_is_dropped(fixture: Fixture, client: StartedKazoo) -> None:
    """It belongs to a cancelled call; the next call gets its own reply."""
    fixture.relay.hold()
    for _ in range(MAX_IN_FLIGHT - 1):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await call(client, lambda kazoo: kazoo.exists_async("/zookeeper"))
    fixture.relay.restore()
    assert await data(client, fixture.path) == b"first"


async def test_a_bad_argument_costs_no_place(fixture: Fixture, client: StartedKazoo) -> None:
    """The caller's bug raises an error in the caller, and its place in the queue is free again."""
    for _ in range(2 * MAX_IN_FLIGHT):
        with pytest.raises(TypeError):
            await client.begin(lambda kazoo: kazoo.get_async(7))
    assert await data(client, fixture.path) == b"first"


async def test_to_retire_closes_the_session(fixture: Fixture) -> None:
    """The server has forgotten the session when the client is closed. Retiring it again changes nothing."""
    sessions = fixture.server.monitored("zk_global_sessions")
    client = fixture.start()
    await fixture.heard(KazooConnected)
    assert fixture.server.monitored("zk_global_sessions") == sessions + 1
    client.retire()
    client.retire()
    await client.wait_closed()
    assert fixture.server.monitored("zk_global_sessions") == sessions
    assert fixture.reported[-1] == KazooClosed()


@pytest.mark.parametrize("fault", [Relay.black_hole, Relay.cut])
async def test_to_retire_takes_no_longer_than_its_grace(
    fixture: Fixture, fault: Callable[[Relay], None]
) -> None:
    """The server may be silent or down, and the client connected or still connecting."""
    for is_connected in (True, False):
        fixture.relay.restore()
        client = fixture.start()
        if is_connected:
            await fixture.heard(KazooConnected)
        fault(fixture.relay)
        began = time.monotonic()
        client.retire()
        await client.wait_closed()
        assert time.monotonic() - began < GRACE_S + SLACK_S
        assert fixture.reported[-1] == KazooClosed()


async def test_to_retire_at_once_is_quick(fixture: Fixture) -> None:
    """The client is retired before it has a connection."""
    began = time.monotonic()
    client = fixture.start()
    client.retire()
    await client.wait_closed()
    assert time.monotonic() - began < GRACE_S + SLACK_S


async def test_a_session_can_be_taken_up(fixture: Fixture, client: StartedKazoo) -> None:
    """Another client resumes it with its id and password, but only before it ends."""
    session = fixture.client_id
    thief = fixture.start(resume=session)
    await fixture.heard(KazooConnected)
    assert fixture.client_id == session
    thief.retire()
    await thief.wait_closed()
    await fixture.heard(KazooExpired)
    await fixture.heard(KazooConnected)
    late = fixture.start(resume=session)
    await fixture.heard(KazooConnected)
    assert fixture.client_id != session
    late.retire()
    await late.wait_closed()


def test_a_host_without_an_address_is_heard_of() -> None:
    """The message is kazoo's; no other message is passed on."""
    heard: list[str] = []
    log = KazooLog(heard.append)
    log.warning("Cannot resolve %s: %s", "zk1", OSError(-2, "Name or service not known"))
    log.warning("Connection dropped: %s", "socket connection broken")
    assert heard == ["Cannot resolve zk1: [Errno -2] Name or service not known"]


def test_the_rest_is_for_debugging(caplog: pytest.LogCaptureFixture) -> None:
    """Warnings and errors, with tracebacks, become debug lines; kazoo's line for each call is dropped."""
    log = KazooLog(lambda _: None)
    with caplog.at_level(logging.DEBUG, logger="nncache.coordination.kazoo_client"):
        log.debug("Sending request(xid=%s): %s", 1, "GetData")
        log.warning("Connection dropped: %s", "socket connection broken")
        log.error("Unhandled exception in connection loop", exc_info=RuntimeError("xids do not match"))
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("DEBUG", "kazoo: Connection dropped: socket connection broken"),
        ("DEBUG", "kazoo: Unhandled exception in connection loop"),
    ]
    assert caplog.records[1].exc_info
