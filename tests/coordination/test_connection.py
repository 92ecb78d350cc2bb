"""ZooKeeperConnection: which client is in use, when another replaces it, and the log lines."""

import asyncio
import contextlib
import errno
import logging
import socket
import threading
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from nncache.coordination import connection as connection_module
from nncache.coordination.connection import ZooKeeperConnection
from nncache.coordination.errors import ConnectionLostError
from nncache.coordination.kazoo_client import StartedKazoo
from nncache.coordination.loop_handler import LoopHandler
from nncache.coordination.settings import ZooKeeperSettings
from nncache.testbed.ports import PortLease
from tests.coordination.scripted_zookeeper import Mood, ScriptedZooKeeper
from tests.patience import until_so

LONG_S = 10.0
TIMEOUT_S = 30.0
"""The session timeout, on a clock that only the test advances."""


@dataclass
class Link:
    """A scripted server, a connection with it, and the clock."""

    server: ScriptedZooKeeper
    now: float = 1000.0
    connected: int = 0  # number of `on_connected` calls
    connection: ZooKeeperConnection = field(init=False)

    def __post_init__(self) -> None:
        settings = ZooKeeperSettings(zookeeper=(self.server.address,), zookeeper_session_timeout_s=TIMEOUT_S)
        self.connection = ZooKeeperConnection(
            settings, lambda: self.now, log_name="test", on_connected=self._count
        )

    def _count(self) -> None:
        self.connected += 1

    async def lose(self, mood: Mood) -> None:
        """Cut the connection, and set how the server treats clients from now on."""
        self.server.mood = mood
        self.server.cut()
        await until_so(lambda: not self.connection.is_connected)

    async def greeted(self) -> None:
        """Wait until clients have connected twice more."""
        had = len(self.server.greetings)
        await until_so(lambda: len(self.server.greetings) > had + 1)

    async def connect(self) -> None:
        """Wait for a connection."""
        async with asyncio.timeout(LONG_S):
            await self.connection.wait()


@pytest.fixture
async def link() -> AsyncIterator[Link]:
    """Yield a link that is connected."""
    async with ScriptedZooKeeper() as server:
        link = Link(server)
        link.connection.start()
        await link.connect()
        yield link
        await link.connection.close()


async def ask(connection: ZooKeeperConnection) -> None:
    """Make a call; the caller expects no particular result."""
    await (await connection.client().begin(lambda kazoo: kazoo.get_async("/a")))


async def test_a_session_is_taken_up_again(link: Link) -> None:
    """The client resumes a session that has not expired, and sends its last zxid."""
    await ask(link.connection)
    await link.lose(Mood.GRANT)
    await link.connect()
    assert (link.connection.connections, link.connection.sessions) == (2, 1)
    assert link.connection.session_id == 0xA1
    assert (link.server.greetings[-1].session_id, link.server.greetings[-1].last_zxid) == (0xA1, 7)


async def test_an_expired_session_is_followed_by_another(link: Link) -> None:
    """The new session follows immediately, and sends neither the old id nor the old zxid."""
    await ask(link.connection)
    link.server.sessions.clear()
    await link.lose(Mood.GRANT)
    await link.connect()
    assert (link.connection.sessions, link.connection.sessions_given_up) == (2, 0)
    assert link.connection.session_id == 0xA2
    assert (link.server.greetings[-1].session_id, link.server.greetings[-1].last_zxid) == (0, 0)


async def test_a_session_past_its_time_is_given_up(link: Link) -> None:
    """Our own clock decides, while no server reports the expiry; the next client does not know the old session."""
    await ask(link.connection)
    await link.lose(Mood.SILENT)
    link.now += TIMEOUT_S
    await asyncio.sleep(0.3)
    assert link.connection.session_id == 0xA1
    link.now += 1.0
    await until_so(lambda: link.connection.session_id == 0)
    await until_so(lambda: link.server.greetings[-1].session_id == 0)
    assert link.server.greetings[-1].last_zxid == 0
    assert link.connection.sessions_given_up == 1
    link.now += 10 * TIMEOUT_S
    await asyncio.sleep(0.3)
    assert link.connection.sessions_given_up == 1, "there is nothing more to give up"


async def test_a_session_that_is_refused_is_given_up(link: Link) -> None:
    """A server whose data was wiped hangs up on clients that have seen a later zxid than its own."""
    await ask(link.connection)
    await link.lose(Mood.HANG_UP)
    began = link.now
    while link.connection.sessions_given_up == 0:
        link.now += 0.5
        await link.greeted()
    assert 2.0 <= link.now - began < 4.0
    link.server.mood = Mood.GRANT
    await link.connect()
    assert link.connection.session_id == 0xA2


async def test_a_session_given_up_is_closed_at_the_next_connection(link: Link) -> None:
    """If the server still knows it, its ephemeral znodes go before it would expire; no other session is closed."""
    await link.lose(Mood.HANG_UP)
    link.now += TIMEOUT_S + 1.0
    await until_so(lambda: link.connection.session_id == 0)
    link.server.mood = Mood.GRANT
    await link.connect()
    await until_so(lambda: link.server.closed == [0xA1])
    assert link.connection.session_id == 0xA2
    await ask(link.connection)


async def test_a_session_given_up_that_nobody_knows_is_left_alone(link: Link) -> None:
    """The attempt to close it leaves neither a thread nor another session."""
    link.server.sessions.clear()
    await link.lose(Mood.HANG_UP)
    link.now += TIMEOUT_S + 1.0
    await until_so(lambda: link.connection.session_id == 0)
    link.server.mood = Mood.GRANT
    await link.connect()
    await until_so(lambda: sum(thread.name == "zookeeper" for thread in threading.enumerate()) == 1)
    assert link.server.sessions == {0xA2}
    assert link.connection.session_id == 0xA2


async def test_a_client_that_fails_is_replaced(link: Link, caplog: pytest.LogCaptureFixture) -> None:
    """A server that answers nonsense ends kazoo's thread for good; a new client follows a moment later."""
    link.server.mood = Mood.NONSENSE
    with contextlib.suppress(ConnectionLostError):
        await ask(link.connection)
    await until_so(lambda: not link.connection.is_connected)
    with pytest.raises(ConnectionLostError, match="xids do not match"):
        link.connection.client()
    assert len(caplog.messages) == 1
    assert "RuntimeError: ('xids do not match" in caplog.messages[0]
    link.server.mood = Mood.GRANT
    await asyncio.sleep(0.3)
    assert not link.connection.is_connected
    link.now += 1.0
    await link.connect()
    await until_so(lambda: link.server.closed == [0xA1])
    assert link.connection.session_id == 0xA2


def fail_to_make_clients(patch: pytest.MonkeyPatch, *times: int) -> None:
    """Make the creation of clients fail, at these counts from now on."""
    number = 0

    def make(*args: Any, **how: Any) -> Any:
        nonlocal number
        number += 1
        if number in times:
            raise RuntimeError("can't start new thread")
        return StartedKazoo(*args, **how)

    patch.setattr(connection_module, "StartedKazoo", make)


async def test_a_client_that_cannot_be_made_is_tried_again(
    link: Link, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is retried after the usual pause until it succeeds; the reason is reported, and logged once."""
    fail_to_make_clients(monkeypatch, 1, 2)
    await link.lose(Mood.HANG_UP)
    link.now += TIMEOUT_S + 1.0
    await until_so(lambda: link.connection.complaint.endswith("can't start new thread"))
    with pytest.raises(ConnectionLostError, match="no client can be started: can't start new thread"):
        link.connection.client()
    link.server.mood = Mood.GRANT

    def is_connected_later() -> bool:
        link.now += 0.5
        return link.connection.is_connected

    await until_so(is_connected_later)
    assert (link.connection.session_id, link.connection.sessions_given_up) == (0xA2, 1)
    assert sum("can't start new thread; it is tried again every 1 s" in text for text in caplog.messages) == 1
    await until_so(lambda: link.server.closed == [0xA1])


async def test_a_start_without_a_client_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy opens its session for events at the first request, when files or threads may be scarce."""
    fail_to_make_clients(monkeypatch, 1)
    async with ScriptedZooKeeper() as server:
        link = Link(server)
        link.connection.start()
        assert link.connection.complaint.endswith("no client can be started: can't start new thread")
        link.now += 1.0
        await link.connect()
        await link.connection.close()


@pytest.mark.parametrize("wanting", ["create_socket_pair", "spawn"])
async def test_of_a_client_half_made_nothing_stays_open(
    wanting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its sockets are closed, not left to the garbage collector: files or threads are scarce at that moment."""
    made, make = list[socket.socket](), socket.socketpair

    def note() -> tuple[socket.socket, socket.socket]:
        made.extend(pair := make())
        return pair

    def fail(*_: object) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(socket, "socketpair", note)
    monkeypatch.setattr(LoopHandler, wanting, fail)
    with pytest.raises(OSError, match="Too many open files"):
        StartedKazoo("127.0.0.1:1", TIMEOUT_S, lambda *_: None)
    assert [each.fileno() for each in made] == [-1] * (2 if wanting == "create_socket_pair" else 4)


async def test_a_client_is_closed_once_there_is_a_thread_for_it(
    link: Link, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To be without one, because of a limit of processes, neither ends the daemon's stop nor leaves a session."""
    start, refused = threading.Thread.start, list[str]()

    def scarce(thread: threading.Thread) -> None:
        if thread.name == "zookeeper-stop" and not refused:
            refused.append(thread.name)
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", scarce)
    await link.connection.close()
    assert (refused, link.server.closed) == (["zookeeper-stop"], [0xA1])


async def test_a_session_given_up_that_cannot_be_closed_costs_no_connection(
    link: Link, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The session ends by itself; readers of znodes still learn of the connection."""
    fail_to_make_clients(monkeypatch, 2)
    await link.lose(Mood.HANG_UP)
    link.now += TIMEOUT_S + 1.0
    await until_so(lambda: link.connection.session_id == 0)
    link.server.mood = Mood.GRANT
    await link.connect()
    assert (link.connected, link.connection.session_id) == (2, 0xA2)
    assert any("is not closed, and ends by itself: can't start new" in text for text in caplog.messages)


async def test_the_log_says_each_thing_once(link: Link, caplog: pytest.LogCaptureFixture) -> None:
    """Loss, abandoned session and connection are logged once each, with the address, and no attempt in between."""
    with caplog.at_level(logging.INFO):
        await link.lose(Mood.HANG_UP)
        await link.greeted()
        link.now += TIMEOUT_S + 1.0
        await until_so(lambda: link.connection.session_id == 0)
        link.now += TIMEOUT_S
        await link.greeted()
        await link.greeted()
        link.server.mood = Mood.GRANT
        await link.connect()
    where = f"ZooKeeper at {link.server.address}"
    assert [record.getMessage() for record in caplog.records if record.name != "asyncio"] == [
        f"test: lost the connection to {where}",
        f"test: abandoning session 0xa1 after 31.0 s: no connection to {where}: it is there, and grants no session",
        f"test: connected to {where} after 61.0 s, with a new session 0xa2",
    ]


async def test_the_log_says_that_a_session_was_ended(link: Link, caplog: pytest.LogCaptureFixture) -> None:
    """The server reports the end when the client reconnects."""
    link.server.sessions.clear()
    await link.lose(Mood.GRANT)
    await link.connect()
    assert f"test: ZooKeeper at {link.server.address} has ended session 0xa1" in caplog.messages


async def test_a_host_without_an_address_is_named() -> None:
    """Otherwise a mistyped host would give no reason for the missing connection."""
    settings = ZooKeeperSettings(zookeeper=("no-such-host.invalid:2181",))
    connection = ZooKeeperConnection(settings, lambda: 0.0, log_name="", on_connected=lambda: None)
    connection.start()
    await until_so(lambda: "Cannot resolve no-such-host.invalid: " in connection.complaint)
    await connection.close()


async def test_no_server_there_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    """It is logged after as long as a session timeout; callers get the reason from the beginning."""
    now = 0.0
    with PortLease() as lease:
        address = f"127.0.0.1:{lease.take()}"
    settings = ZooKeeperSettings(zookeeper=(address,), zookeeper_session_timeout_s=TIMEOUT_S)
    connection = ZooKeeperConnection(settings, lambda: now, log_name="", on_connected=lambda: None)
    assert connection.complaint == f"no connection to ZooKeeper at {address}: not started"
    connection.start()
    with pytest.raises(ConnectionLostError, match="no answer yet"):
        connection.client()
    await until_so(lambda: connection.complaint.endswith(": Connection refused"))
    now += TIMEOUT_S + 1
    await until_so(lambda: bool(caplog.messages))
    now += TIMEOUT_S + 1
    await asyncio.sleep(0.3)
    assert caplog.messages == [f"still no connection to ZooKeeper at {address}: Connection refused"]
    await connection.close()
    assert connection.complaint.endswith(": closed")


async def test_after_the_end_nothing_is_heard(link: Link) -> None:
    """There is no connection and no session: the session was closed, and no timer continues."""
    await link.connection.close()
    assert link.server.closed == [0xA1]
    assert not link.connection.is_connected
    assert link.connection.session_id == 0
    with pytest.raises(ConnectionLostError, match="closed"):
        link.connection.client()
    await asyncio.sleep(0.3)
    assert len(link.server.greetings) == 1
