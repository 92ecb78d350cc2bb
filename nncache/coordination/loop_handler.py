"""kazoo's threads meet the event loop here, and nowhere else.

A handler is kazoo's own seam for how a client runs what it runs (kazoo.interfaces.IHandler, kazoo 2.11). Its stock
handler calls back on two threads, completions on one and watches on the other, so that it is not known which came
first. This one has no thread for that: it hands everything to the event loop in the order of the wire.
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
"""For TCP to connect: a host that is gone without a word is left for the next one, or asked again."""

TLS_S: Final = 3.0
"""For a TLS handshake, which is a matter of CPU on both sides."""

HANDSHAKE_S: Final = 1.0
"""For a server to answer whether it grants a session; doubled each time it does not, up to what kazoo would wait.

Who connects at the wrong moment of a server's start is never answered (3.8.6: NullPointerException in
ZooKeeperServer.removeCnxn, and the connection stays open), while the next one is at once.
"""


class _Posts:
    """What kazoo takes for a queue of completions."""

    def __init__(self, post: Callable[..., None]) -> None:
        self.put = post


class LoopHandler:
    """Runs one KazooClient: the thread of its connection, and callbacks on the event loop.

    Called from kazoo's thread, but for `interrupt` and `close`. Only what kazoo's client needs is here; its recipes,
    which nothing here uses, would need more.

    Invariants:
        H1  Whatever the connection's thread tells (replies, watches, states) runs on the loop, in that order.
        H2  After `interrupt` the connection's thread waits for no network any more.
    """

    name = "loop_handler"
    timeout_exception = KazooTimeoutError
    sleep_func = staticmethod(time.sleep)
    running = True  # kazoo calls completions back through `completion_queue` as long as this is so

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
        """Make a handler.

        Args:
            loop: on which the functions are called.
            on_attempt: called after each attempt to reach a server, with what failed, or with nothing.
            on_thread_ended: called when the connection's thread has ended.
            handshake_s: see HANDSHAKE_S.
            tls: how servers are reached over TLS; None: without.
            on_distrust: called with the reason why TLS with a server has failed, before `on_attempt` is.
        """
        self._tls = tls
        self._on_distrust = on_distrust or on_attempt
        self._loop = loop
        self._on_attempt = on_attempt
        self._on_thread_ended = on_thread_ended
        self._alarm, self._alarm_bell = socket.socketpair()  # readable: `interrupt` was called
        self._is_interrupted = False
        self._is_in_handshake = False  # a server was reached and has not answered yet
        self._first_handshake_s = handshake_s
        self._handshake_s = handshake_s  # for the next answer
        self.completion_queue = _Posts(self.post)

    def post(self, tell: Callable[..., object], *arguments: object) -> None:
        """Have it called on the event loop; from any thread."""
        with contextlib.suppress(RuntimeError):  # the loop is closed: there is no one to call
            self._loop.call_soon_threadsafe(tell, *arguments)

    def interrupt(self) -> None:
        """Make each wait for the network fail, now and from now on; from any thread."""
        self._is_interrupted = True
        with contextlib.suppress(OSError):  # closed: no thread is left that waits
            self._alarm_bell.send(b"\0")

    def granted(self) -> None:
        """A server has granted a session; from kazoo's thread."""
        self._is_in_handshake = False
        self._handshake_s = self._first_handshake_s

    def close(self) -> None:
        """Free what is held, when the threads have ended."""
        self._alarm.close()
        self._alarm_bell.close()

    # ---- what kazoo calls ----------------------------------------------------------------------------------------

    def start(self) -> None:
        """Do nothing: there are no worker threads."""

    def stop(self) -> None:
        """Do nothing: what is on its way to the loop is still delivered."""

    def dispatch_callback(self, callback: Callback) -> None:
        """Tell a watcher, without arguments, that its watch has fired.

        kazoo also tells watchers of a lost connection; here that is heard from the connection itself.
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

        Raises KazooTimeoutError: `interrupt` was called.
        """
        if self._is_in_handshake and timeout is not None:
            timeout = min(timeout, self._handshake_s)
        poll = select.poll()
        for reader in readers:
            poll.register(reader, select.POLLIN)
        for writer in writers:
            poll.register(writer, select.POLLOUT)
        poll.register(self._alarm, select.POLLIN)
        # What TLS has decrypted already no socket tells: without this a reply would wait for the next one.
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
        """Connect to an address of numbers, whose host is called `hostname`; what else kazoo says is about its TLS.

        Raises OSError: no connection.
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
        """Return the two ends by which kazoo wakes its thread."""
        return socket.socketpair()

    def event_object(self) -> threading.Event:
        """Return an event for kazoo's own use."""
        return threading.Event()

    def async_result(self) -> AsyncResult:
        """Return what holds a reply once it is there; its callbacks run on the loop."""
        return AsyncResult(self)

    def spawn(self, run: Callable[[], None]) -> threading.Thread:
        """Start the thread of the connection."""
        thread = threading.Thread(target=self._run, args=(run,), name="zookeeper", daemon=True)
        thread.start()
        return thread

    def _run(self, run: Callable[[], None]) -> None:
        try:
            run()
        except Exception as exc:  # noqa: BLE001 - the border: the client's owner makes another one
            self.post(self._on_attempt, f"{type(exc).__name__}: {exc}")
        finally:
            self.post(self._on_thread_ended)

    def _secured(self, connection: socket.socket, tls: ZooKeeperTls, host: str) -> socket.socket:
        """Make the handshake of TLS with the server of that name.

        Raises OSError: the server is silent; ssl.SSLError: or it is not believed.
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
        """Go on with a handshake; return whether it is over."""
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
