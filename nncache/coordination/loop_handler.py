"""The only place where kazoo's threads meet the event loop.

A handler is kazoo's interface for threads and callbacks (kazoo.interfaces.IHandler, kazoo 2.11). The stock handler runs
completions in one thread and watches in another, so their order is lost. This handler has no callback threads: it
passes every callback to the event loop in the order of the wire.
"""

import asyncio
import contextlib
import errno
import math
import os
import select
import socket
import ssl
import threading
import time
from collections.abc import Callable, Sequence
from typing import Final

from kazoo.handlers.threading import AsyncResult, KazooTimeoutError
from kazoo.protocol.states import Callback, EventType

from nncache.coordination.tls import WORDS, ReportingSocket, ZooKeeperTls
from nncache.net.tls_failure import why_no_tls

CONNECT_TIMEOUT_S: Final = 2.0
"""TCP connect timeout: after it a host that does not answer is retried, or the next one is tried."""

TLS_S: Final = 3.0
"""Timeout of a TLS handshake, whose duration is CPU time on both sides."""

HANDSHAKE_S: Final = 1.0
"""Timeout of a server's answer whether it grants a session. Each timeout doubles the next, up to kazoo's own.

A client that connects at the wrong moment of a server's start never gets an answer (3.8.6: NullPointerException in
ZooKeeperServer.removeCnxn, and the connection stays open), while the next client gets one immediately.
"""


class _Posts:
    """Replaces kazoo's queue of completions."""

    def __init__(self, post: Callable[..., None]) -> None:
        self.put = post


class LoopHandler:
    """Runs one KazooClient: its connection in a thread, its callbacks on the event loop.

    kazoo's thread calls all methods except `interrupt` and `close`. The class implements only what KazooClient needs;
    kazoo's recipes, which are not used here, would need more.

    Invariants:
        H1  All callbacks of the connection's thread (replies, watches, states) run on the loop, in that order.
        H2  After `interrupt` the connection's thread does not wait for the network any more.
    """

    name = "loop_handler"
    timeout_exception = KazooTimeoutError
    sleep_func = staticmethod(time.sleep)
    running = True  # while True, kazoo passes completions to `completion_queue`

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        *,
        on_attempt: Callable[[str], None],
        on_thread_ended: Callable[[], None],
        handshake_s: float = HANDSHAKE_S,
        tls: ZooKeeperTls | None = None,
        on_distrust: Callable[[str], None] | None = None,
    ) -> None:
        """Create a handler.

        Args:
            loop: runs the callbacks.
            on_attempt: called after each attempt to reach a server, with the failure, or "" for success.
            on_thread_ended: called when the connection's thread has ended.
            handshake_s: see HANDSHAKE_S.
            tls: TLS to the servers; None: plain connections.
            on_distrust: called with the reason why TLS failed, instead of `on_attempt`, or later, as TLS 1.3 may do.
        """
        self._tls = tls
        self._on_distrust = on_distrust or on_attempt
        self._loop = loop
        self._on_attempt = on_attempt
        self._on_thread_ended = on_thread_ended
        self._alarm, self._alarm_bell = socket.socketpair()  # readable after `interrupt`
        self._is_interrupted = False
        self._is_in_handshake = False  # a server was reached and has not answered yet
        self._first_handshake_s = handshake_s
        self._handshake_s = handshake_s  # timeout of the next answer
        self.completion_queue = _Posts(self.post)

    def post(self, tell: Callable[..., object], *arguments: object) -> None:
        """Call `tell` on the event loop; from any thread."""
        with contextlib.suppress(RuntimeError):  # the loop is closed: no callback can run
            self._loop.call_soon_threadsafe(tell, *arguments)

    def interrupt(self) -> None:
        """Make the current wait for the network fail, and all later ones; from any thread."""
        self._is_interrupted = True
        with contextlib.suppress(OSError):  # closed: no thread waits
            self._alarm_bell.send(b"\0")

    def granted(self) -> None:
        """Record that a server has granted a session; from kazoo's thread."""
        self._is_in_handshake = False
        self._handshake_s = self._first_handshake_s

    def close(self) -> None:
        """Close the sockets, after the threads have ended."""
        self._alarm.close()
        self._alarm_bell.close()

    # ---- methods that kazoo calls --------------------------------------------------------------------------------

    def start(self) -> None:
        """Do nothing: there are no worker threads."""

    def stop(self) -> None:
        """Do nothing: callbacks already posted to the loop still run."""

    def dispatch_callback(self, callback: Callback) -> None:
        """Call a watcher, without arguments, because its watch has fired.

        kazoo also calls watchers when the connection is lost. That is ignored: the connection itself reports the loss.
        """
        (event,) = callback.args
        if event.type != EventType.NONE:
            self.post(callback.func)

    def select(
        self,
        readers: Sequence[socket.socket],
        writers: Sequence[socket.socket],
        _: Sequence[socket.socket],
        timeout: float | None = None,
    ) -> tuple[list[socket.socket], list[socket.socket], list[socket.socket]]:
        """Wait until one of the sockets is ready, as `select.select` does.

        Raises KazooTimeoutError if `interrupt` was called.
        """
        if self._is_in_handshake and timeout is not None:
            timeout = min(timeout, self._handshake_s)
        poll = select.poll()
        for reader in readers:
            poll.register(reader, select.POLLIN)
        for writer in writers:
            poll.register(writer, select.POLLOUT)
        poll.register(self._alarm, select.POLLIN)
        # Bytes that TLS has already decrypted make no socket readable: a reply would wait for the next one.
        decrypted = {
            reader.fileno() for reader in readers if isinstance(reader, ssl.SSLSocket) and reader.pending()
        }
        if decrypted:
            timeout = 0.0
        ready = {found for found, _ in poll.poll(None if timeout is None else math.ceil(timeout * 1000))}
        ready |= decrypted
        if self._is_interrupted:
            raise KazooTimeoutError("interrupted")
        if self._is_in_handshake and not ready:
            self._handshake_s *= 2
        return (
            [reader for reader in readers if reader.fileno() in ready],
            [writer for writer in writers if writer.fileno() in ready],
            [],
        )

    def create_connection(
        self, address: tuple[str, int], timeout: float, hostname: str = "", **_: object
    ) -> socket.socket:
        """Connect to a numeric address of the host `hostname`; kazoo's further arguments, about its TLS, are ignored.

        Raises OSError if there is no connection.
        """
        self._is_in_handshake = False
        try:
            connection = self._connect(*address, min(timeout, CONNECT_TIMEOUT_S))
            if self._tls is not None:
                connection = self._secured(connection, self._tls, hostname)
        except ssl.SSLError as exc:
            self._distrust(f"{hostname}:{address[1]}", why_no_tls(exc, WORDS))
            raise
        except OSError as exc:
            self.post(self._on_attempt, exc.strerror or str(exc))
            raise
        self.post(self._on_attempt, "")
        self._is_in_handshake = True
        return connection

    def create_socket_pair(self) -> tuple[socket.socket, socket.socket]:
        """Return the two sockets by which kazoo wakes its thread."""
        return socket.socketpair()

    def event_object(self) -> threading.Event:
        """Return an event for kazoo's own use."""
        return threading.Event()

    def async_result(self) -> AsyncResult:
        """Return a future of a reply, in kazoo's form; its callbacks run on the loop."""
        return AsyncResult(self)

    def spawn(self, run: Callable[[], None]) -> threading.Thread:
        """Start the thread of the connection, and return it."""
        thread = threading.Thread(target=self._run, args=(run,), name="zookeeper", daemon=True)
        thread.start()
        return thread

    def _run(self, run: Callable[[], None]) -> None:
        try:
            run()
        except Exception as exc:  # noqa: BLE001 - the client's owner replaces the client
            self.post(self._on_attempt, f"{type(exc).__name__}: {exc}")
        finally:
            self.post(self._on_thread_ended)

    def _secured(self, connection: socket.socket, tls: ZooKeeperTls, host: str) -> socket.socket:
        """Perform the TLS handshake with the server of that name.

        Raises OSError if the server does not answer, ssl.SSLError if TLS fails.
        """
        where = f"{host}:{connection.getpeername()[1]}"
        deadline = time.monotonic() + TLS_S
        with contextlib.ExitStack() as undo:
            undo.callback(connection.close)
            secured = tls.wrap(connection, host)
            undo.callback(secured.close)
            secured.on_failure = lambda why: self._distrust(where, why)
            while not self._has_shaken_hands(secured, deadline - time.monotonic()):
                pass
            undo.pop_all()
        return secured

    def _has_shaken_hands(self, secured: ReportingSocket, timeout_s: float) -> bool:
        """Continue a handshake; return whether it is complete."""
        try:
            secured.do_handshake()
        except ssl.SSLWantReadError:
            is_ready = bool(self.select([secured], [], [], max(0.0, timeout_s))[0])
        except ssl.SSLWantWriteError:
            is_ready = bool(self.select([], [secured], [], max(0.0, timeout_s))[1])
        except (ssl.SSLEOFError, ssl.SSLZeroReturnError) as exc:  # 3.11.2 raises the second, 3.11.7 the first
            raise OSError(
                errno.ECONNRESET, f"it ends the connection in the TLS handshake: {WORDS.plain}"
            ) from exc
        else:
            return True
        if not is_ready:
            raise OSError(errno.ETIMEDOUT, f"no answer to a TLS handshake in {TLS_S:g} s: {WORDS.plain}")
        return False

    def _distrust(self, where: str, why: str) -> None:
        self.post(self._on_distrust, f"{where}: {why}")

    def _connect(self, host: str, port: int, timeout_s: float) -> socket.socket:
        family, kind, _, _, target = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST
        )[0]
        connection = socket.socket(family, kind)
        with contextlib.ExitStack() as undo:
            undo.callback(connection.close)
            connection.settimeout(0)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            code = connection.connect_ex(target)
            if code == errno.EINPROGRESS:
                if not self.select([], [connection], [], timeout_s)[1]:
                    code = errno.ETIMEDOUT
                else:
                    code = connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if code:
                raise OSError(code, os.strerror(code))
            undo.pop_all()
        return connection
