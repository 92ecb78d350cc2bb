"""LoopHandler: events from kazoo's threads reach the event loop in order; waits can be interrupted."""

import asyncio
import contextlib
import socket
import ssl
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
from kazoo.handlers.threading import KazooTimeoutError
from kazoo.protocol.states import Callback, EventType, WatchedEvent

from nncache.coordination import loop_handler
from nncache.coordination.loop_handler import LoopHandler
from nncache.coordination.settings import ZooKeeperSettings
from nncache.coordination.tls import ReportingSocket, ZooKeeperTls
from nncache.testbed.certificates import Authority
from tests.patience import HANG_S
from tests.tls import server_context

LONG_S = 10.0
HANDSHAKE_S = 0.1


class Heard:
    """The reports of the handler."""

    def __init__(self) -> None:
        self.attempts: list[str] = []
        self.ended = asyncio.Event()
        self.threads: set[threading.Thread] = set()


@pytest.fixture
def heard() -> Heard:
    """Return where the handler's reports are recorded."""
    return Heard()


@pytest.fixture
async def handler(heard: Heard) -> AsyncIterator[LoopHandler]:
    """Yield a handler."""
    handler = LoopHandler(
        asyncio.get_running_loop(),
        on_attempt=heard.attempts.append,
        on_thread_ended=heard.ended.set,
        handshake_s=HANDSHAKE_S,
    )
    yield handler
    handler.close()


def over_tls(authority: Authority, heard: Heard) -> LoopHandler:
    """Return a handler that trusts this authority."""
    of = ZooKeeperSettings(zookeeper=("localhost:1",), zookeeper_tls=True, zookeeper_ca=str(authority.ca))
    return LoopHandler(
        asyncio.get_running_loop(),
        on_attempt=heard.attempts.append,
        on_thread_ended=heard.ended.set,
        tls=ZooKeeperTls(of),
    )


async def test_events_reach_the_loop_in_order(handler: LoopHandler, heard: Heard) -> None:
    """Replies, watch events and posts of one thread keep their order; the thread's end comes last."""
    reported: list[int] = []

    def take(number: int) -> None:
        reported.append(number)
        heard.threads.add(threading.current_thread())

    def tell() -> None:
        for number in range(0, 300, 3):
            handler.post(take, number)
            reply = handler.async_result()
            reply.rawlink(lambda reply: take(reply.value))
            reply.set(number + 1)
            event = WatchedEvent(EventType.CHANGED, None, "/a")
            handler.dispatch_callback(Callback("watch", lambda number=number: take(number + 2), (event,)))

    thread = handler.spawn(tell)
    await heard.ended.wait()
    thread.join()
    assert reported == list(range(300))
    assert heard.threads == {threading.current_thread()}


async def test_watchers_are_not_notified_of_lost_connections(handler: LoopHandler) -> None:
    """The connection itself reports its loss."""
    reported: list[str] = []
    for kind in (EventType.NONE, EventType.CREATED, EventType.DELETED):
        event = WatchedEvent(kind, None, "/a")
        handler.dispatch_callback(Callback("watch", lambda kind=kind: reported.append(kind), (event,)))
    await asyncio.sleep(0)
    assert reported == [EventType.CREATED, EventType.DELETED]


async def test_a_thread_that_fails_is_heard_of(handler: LoopHandler, heard: Heard) -> None:
    """The thread's error is reported, and then its end."""

    def fail() -> None:
        raise RuntimeError("xids do not match")

    handler.spawn(fail).join()
    await heard.ended.wait()
    assert heard.attempts == ["RuntimeError: xids do not match"]


def test_a_closed_loop_is_not_notified(heard: Heard) -> None:
    """A thread that outlives the loop does not fail."""

    async def make() -> LoopHandler:
        return LoopHandler(
            asyncio.get_running_loop(), on_attempt=heard.attempts.append, on_thread_ended=heard.ended.set
        )

    with asyncio.Runner() as runner:
        handler = runner.run(make())
    handler.post(heard.attempts.append, "late")
    handler.close()
    assert not heard.attempts


async def test_it_selects_what_is_ready(handler: LoopHandler) -> None:
    """Readers and writers are selected separately, and none after the timeout."""
    one, other = handler.create_socket_pair()
    with one, other:
        assert handler.select([one], [], [], 0.0) == ([], [], [])
        assert handler.select([one], [other], [], 0.0) == ([], [other], [])
        other.send(b"x")
        assert handler.select([one, other], [], [], None) == ([one], [], [])


async def test_an_interrupt_ends_each_wait(handler: LoopHandler) -> None:
    """An interrupt ends the present wait, and every later one."""
    one, other = handler.create_socket_pair()
    with one, other:
        threading.Timer(0.05, handler.interrupt).start()
        began = time.monotonic()
        for _ in range(3):
            with pytest.raises(KazooTimeoutError):
                handler.select([one], [], [], HANG_S)
        assert time.monotonic() - began < HANG_S


async def test_it_says_which_servers_it_reached(handler: LoopHandler, heard: Heard) -> None:
    """The report is empty if a server was reached, and otherwise has the system's reason."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = server.getsockname()
        handler.create_connection(address, timeout=LONG_S, hostname="localhost", use_ssl=False).close()
    with pytest.raises(ConnectionRefusedError):
        handler.create_connection(address, timeout=LONG_S)
    await asyncio.sleep(0)
    assert heard.attempts == ["", "Connection refused"]


async def test_a_connect_ends_in_time(handler: LoopHandler, heard: Heard) -> None:
    """A connect to a host that does not answer ends too; an interrupt ends it immediately."""
    with contextlib.ExitStack() as close:
        server = close.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(3):  # fill the server's backlog; it drops further connections
            client = close.enter_context(socket.socket())
            client.settimeout(0)
            client.connect_ex(server.getsockname())
        with pytest.raises(TimeoutError):
            handler.create_connection(server.getsockname(), timeout=0.1)
        handler.interrupt()
        with pytest.raises(KazooTimeoutError):
            handler.create_connection(server.getsockname(), timeout=LONG_S)
    await asyncio.sleep(0)
    assert heard.attempts == ["Connection timed out"]


@pytest.mark.asyncio(loop_factories=["uvloop"])
async def test_a_silent_server_is_left_sooner_than_by_kazoo(handler: LoopHandler) -> None:
    """The timeout doubles with each attempt. Once a session is granted, kazoo's own timeout applies."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        for waits_s in (HANDSHAKE_S, 2 * HANDSHAKE_S):
            with handler.create_connection(server.getsockname(), timeout=LONG_S) as connection:
                began = time.monotonic()
                assert handler.select([connection], [], [], HANG_S) == ([], [], [])
                assert waits_s <= time.monotonic() - began < HANG_S
        with handler.create_connection(server.getsockname(), timeout=LONG_S) as connection:
            handler.granted()
            threading.Timer(5 * HANDSHAKE_S, handler.interrupt).start()
            with pytest.raises(KazooTimeoutError):
                handler.select([connection], [], [], LONG_S)


async def test_what_tls_has_decrypted_is_ready(tmp_path: Path, heard: Heard) -> None:
    """One TLS record holds two replies: the socket is readable for the first only, but the second must not wait."""
    authority = Authority(tmp_path)
    handler = over_tls(authority, heard)
    with serving(authority, lambda connection: connection.sendall(b"onetwo")) as address:
        connection = await asyncio.to_thread(
            handler.create_connection, address, timeout=LONG_S, hostname="localhost"
        )
        with connection:
            for reply in (b"one", b"two"):
                began = time.monotonic()
                assert handler.select([connection], [], [], HANG_S) == ([connection], [], [])
                assert time.monotonic() - began < HANG_S, "it has waited for the socket"
                received = b""
                while not received:
                    with contextlib.suppress(ssl.SSLWantReadError):
                        received = connection.recv(3)
                assert received == reply
            assert handler.select([connection], [], [], 0.0) == ([], [], [])
    handler.close()


@pytest.mark.parametrize("error", [ssl.SSLEOFError, ssl.SSLZeroReturnError])
async def test_each_name_of_a_tls_end_has_its_advice(
    tmp_path: Path, heard: Heard, monkeypatch: pytest.MonkeyPatch, error: type[ssl.SSLError]
) -> None:
    """A server hangs up during the handshake: some releases of 3.11 raise the first error, some the second."""

    def hang_up(_: ReportingSocket) -> None:
        raise error

    monkeypatch.setattr(ReportingSocket, "do_handshake", hang_up)
    handler = over_tls(Authority(tmp_path), heard)
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        pytest.raises(OSError, match="name the secureClientPort in zookeeper"),
    ):
        await asyncio.to_thread(
            handler.create_connection, server.getsockname(), timeout=LONG_S, hostname="localhost"
        )
    handler.close()


@pytest.mark.parametrize("ends", [True, False])
async def test_a_handshake_ends_in_time(
    tmp_path: Path, heard: Heard, monkeypatch: pytest.MonkeyPatch, *, ends: bool
) -> None:
    """A server hangs up or stays silent: the error says what to do. An interrupt ends the handshake immediately."""
    monkeypatch.setattr(loop_handler, "TLS_S", 0.2)
    handler = over_tls(Authority(tmp_path), heard)
    with socket.create_server(("127.0.0.1", 0)) as server:
        if ends:

            def hang_up() -> None:
                server.accept()[0].close()

            threading.Thread(target=hang_up, daemon=True).start()
        with pytest.raises(OSError, match=r"secureClientPort|reset"):
            await asyncio.to_thread(
                handler.create_connection, server.getsockname(), timeout=LONG_S, hostname="localhost"
            )
        if not ends:
            monkeypatch.setattr(loop_handler, "TLS_S", HANG_S)
            threading.Timer(0.05, handler.interrupt).start()
            with pytest.raises(KazooTimeoutError):
                await asyncio.to_thread(
                    handler.create_connection, server.getsockname(), timeout=LONG_S, hostname="localhost"
                )
    await asyncio.sleep(0)
    assert len(heard.attempts) == 1
    handler.close()


@contextlib.contextmanager
def serving(authority: Authority, serve: Callable[[ssl.SSLSocket], None]) -> Iterator[tuple[str, int]]:
    """Serve one connection over TLS on a thread; yield the address."""
    context = server_context(authority)
    with socket.create_server(("127.0.0.1", 0)) as server:
        done = threading.Event()

        def run() -> None:
            accepted = server.accept()[0]
            with context.wrap_socket(accepted, server_side=True) as connection:
                serve(connection)
                done.wait(HANG_S)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        try:
            yield server.getsockname()
        finally:
            done.set()
            thread.join()
