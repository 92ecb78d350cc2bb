"""The lifecycle of one KazooClient, as the event loop sees it.

Based on kazoo 2.11, some of whose behaviour is avoided here:
- kazoo queues a call that is made without a connection, and sends it over the next one, long after the call has failed
  for its caller. Here such a call fails immediately, and calls that are in the queue all the same are dropped before a
  new connection is used.
- `stop` waits for the connection's thread, which may wait for the network. Here `stop` runs in a thread of its own, and
  the network wait is interrupted after GRACE_S.
- kazoo wakes the connection's thread by one byte per call through a blocking socket; too many calls in flight would
  block the event loop. MAX_IN_FLIGHT is far below that number.
"""

import asyncio
import logging
import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeAlias, assert_never

from kazoo.client import KazooClient
from kazoo.interfaces import IAsyncResult
from kazoo.protocol.states import KazooState, KeeperState
from kazoo.retry import KazooRetry

from nncache.coordination.errors import ConnectionLostError
from nncache.coordination.login import Attempt, ZooKeeperLogin
from nncache.coordination.loop_handler import LoopHandler
from nncache.coordination.tls import ZooKeeperTls

MAX_IN_FLIGHT: Final = 64
"""Limit of calls that ZooKeeper has not answered; further calls wait here."""

GRACE_S: Final = 1.0
"""Time for ZooKeeper to confirm the end of a session."""

STOP_AGAIN_S: Final = 0.25
"""Time between two attempts to start the thread that stops a client."""

RETRY_FIRST_S: Final = 0.1
RETRY_MOST_S: Final = 0.25
"""Seconds between two connection attempts, plus or minus two fifths (KazooRetry.max_jitter)."""

ClientId: TypeAlias = tuple[int, bytes]
"""A session's id and password, with which another client can resume the session."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class KazooConnected:
    """There is a connection with a session, a new one or the previous one."""

    client_id: ClientId


@dataclass(frozen=True, slots=True)
class KazooSuspended:
    """The connection is lost; kazoo tries to resume the session."""


@dataclass(frozen=True, slots=True)
class KazooExpired:
    """A server has reported the session as expired; kazoo requests a new one."""


@dataclass(frozen=True, slots=True)
class KazooAttempted:
    """A connection attempt has ended."""

    failure: str  # empty: a server was reached


@dataclass(frozen=True, slots=True)
class TlsFailed:
    """A server was reached, and TLS with it has failed."""

    why: str  # begins with the server's address


@dataclass(frozen=True, slots=True)
class LoginFailed:
    """A server was reached and the login failed; kazoo does not try again, and Ended follows."""

    why: str


@dataclass(frozen=True, slots=True)
class KazooEnded:
    """kazoo has stopped on its own, or failed; this client cannot be used any more."""


@dataclass(frozen=True, slots=True)
class KazooClosed:
    """The client was retired, and all its resources are released."""


KazooEvent: TypeAlias = (
    KazooConnected
    | KazooSuspended
    | KazooExpired
    | KazooAttempted
    | TlsFailed
    | LoginFailed
    | KazooEnded
    | KazooClosed
)


class StartedKazoo:
    """A started KazooClient.

    Invariants:
        C1  A call is passed to kazoo only while there is a connection, and fails when the connection is lost.
        C2  At most MAX_IN_FLIGHT calls are in flight.
        C3  Every event is delivered on the loop, in the order of the wire; after `retire` only Closed is.
    """

    def __init__(
        self,
        hosts: str,
        timeout_s: float,
        on_event: Callable[["StartedKazoo", KazooEvent], None],
        *,
        resume: ClientId | None = None,
        login: ZooKeeperLogin | None = None,
        tls: ZooKeeperTls | None = None,
    ) -> None:
        """Start a client on the running loop; with a `login`, it is connected once the server has accepted the login.

        `resume` is the session to resume. If it no longer exists, a new session replaces it, and only the id shows it.
        If the start fails, for lack of a file or a thread, nothing stays open.
        """
        self._loop = asyncio.get_running_loop()
        self._on_event = on_event
        self._handler = LoopHandler(
            self._loop,
            on_attempt=lambda failure: self._tell(KazooAttempted(failure)),
            on_thread_ended=lambda: self._tell(KazooEnded()),
            tls=tls,
            on_distrust=lambda why: self._tell(TlsFailed(why)),
        )
        self._attempt = None if login is None else Attempt(self._connected)
        self._slots = asyncio.Semaphore(MAX_IN_FLIGHT)
        self._in_flight: set[asyncio.Future[IAsyncResult | None]] = set()  # each holds a slot
        self._is_connected = False
        self._is_retired = False
        self._interruption: asyncio.TimerHandle | None = None
        self._closed = asyncio.Event()
        with ExitStack() as undo:
            undo.callback(self._handler.close)
            self._kazoo = self._new_kazoo(hosts, timeout_s, resume, login)
            undo.callback(self._kazoo.close)
            self._kazoo.add_listener(self._on_state)
            self._kazoo.start_async()
            undo.pop_all()

    def _new_kazoo(
        self, hosts: str, timeout_s: float, resume: ClientId | None, login: ZooKeeperLogin | None
    ) -> KazooClient:
        return KazooClient(
            hosts=hosts,
            sasl_options=None
            if login is None or self._attempt is None
            else dict(login.options(self._attempt)),
            timeout=timeout_s,
            client_id=resume,
            handler=self._handler,
            connection_retry=KazooRetry(
                max_tries=-1, delay=RETRY_FIRST_S, max_delay=RETRY_MOST_S, sleep_func=self._handler.sleep_func
            ),
            logger=KazooLog(lambda text: self._handler.post(self._tell, KazooAttempted(text))),
        )

    async def begin(self, send: Callable[[KazooClient], IAsyncResult]) -> asyncio.Future[IAsyncResult | None]:
        """Send a call once fewer than MAX_IN_FLIGHT are in flight; return a future of its reply.

        The reply is None if the connection was lost during the call; usually kazoo reports it itself (ConnectionLoss).
        Cancelling the future drops the reply.

        Raises ConnectionLostError if there is no connection; nothing was sent.
        """
        await self._slots.acquire()
        if not (self._is_connected and self._kazoo.connected):
            self._slots.release()
            raise ConnectionLostError("the connection was lost")
        try:
            reply = send(self._kazoo)
        except BaseException:  # the caller's bug, such as a path that is no text
            self._slots.release()
            raise
        future: asyncio.Future[IAsyncResult | None] = self._loop.create_future()
        self._in_flight.add(future)
        reply.rawlink(partial(self._replied, future))
        return future

    def retire(self) -> None:
        """Start to close the session and to end the threads, without waiting. May be called again."""
        if self._is_retired:
            return
        self._is_retired = True
        if self._kazoo.connected:
            self._interruption = self._loop.call_later(GRACE_S, self._handler.interrupt)
        else:
            self._handler.interrupt()
        self._begin_to_stop()

    def _begin_to_stop(self) -> None:
        try:
            threading.Thread(target=self._stop, name="zookeeper-stop", daemon=True).start()
        except RuntimeError:  # the process may have no more threads; until it has, this client stays open
            self._loop.call_later(STOP_AGAIN_S, self._begin_to_stop)

    async def wait_closed(self) -> None:
        """Wait until all resources are released; call `retire` first."""
        await self._closed.wait()

    def _replied(self, future: asyncio.Future[IAsyncResult | None], reply: IAsyncResult | None) -> None:
        if future in self._in_flight:  # else it was failed when the connection was lost
            self._in_flight.remove(future)
            self._slots.release()
        if not future.done():
            future.set_result(reply)

    def _tell(self, event: KazooEvent) -> None:
        match event:
            case KazooConnected():
                self._is_connected = True
            case KazooSuspended() | KazooExpired() | KazooEnded():
                self._is_connected = False
                for future in list(self._in_flight):
                    self._replied(future, None)
            case KazooAttempted() | TlsFailed() | LoginFailed() | KazooClosed():
                pass
            case _:
                assert_never(event)
        if not self._is_retired or isinstance(event, KazooClosed):
            self._on_event(self, event)

    # ---- in kazoo's threads --------------------------------------------------------------------------------------

    def _on_state(self, state: KazooState) -> None:
        if state == KazooState.CONNECTED:
            self._handler.granted()
            if not self._is_retired:  # else the queue holds the request to close the session
                self._kazoo._queue.clear()  # noqa: SLF001 - see the module's docstring
            if self._attempt is None:
                self._connected()
        elif state == KazooState.SUSPENDED:
            self._handler.post(self._tell, KazooSuspended())
        elif self._kazoo.client_state == KeeperState.EXPIRED_SESSION:
            self._handler.post(self._tell, KazooExpired())
        elif self._kazoo.client_state == KeeperState.AUTH_FAILED:
            why = "" if self._attempt is None else self._attempt.failure
            self._handler.post(self._tell, LoginFailed(why or "the server has closed the connection"))

    def _connected(self) -> None:
        self._handler.post(self._tell, KazooConnected(self._kazoo.client_id))

    def _stop(self) -> None:
        try:
            self._kazoo.stop()
            self._kazoo.close()
        except Exception:  # noqa: BLE001 - a thread's exception would be lost otherwise
            _log.exception("could not close a ZooKeeper client")
        finally:
            self._handler.post(self._stopped, threading.current_thread())

    def _stopped(self, stopper: threading.Thread) -> None:
        stopper.join()  # `_stop` has just ended
        if self._interruption is not None:
            self._interruption.cancel()
        self._handler.close()
        self._closed.set()
        self._tell(KazooClosed())


_UNRESOLVED: Final = "Cannot resolve %s: %s"
"""kazoo reports an unresolved host nowhere else (ConnectionHandler._expand_client_hosts, 2.11)."""


class KazooLog(logging.Logger):
    """The logger of one KazooClient: its warnings and errors are logged at debug level."""

    def __init__(self, on_unresolved: Callable[[str], None]) -> None:
        """Create the logger; `on_unresolved` is called, in kazoo's thread, when a host cannot be resolved."""
        super().__init__("kazoo", level=logging.WARNING)
        self._on_unresolved = on_unresolved

    def handle(self, record: logging.LogRecord) -> None:
        """Log kazoo's message, and report an unresolved host."""
        text = record.getMessage()
        if record.msg == _UNRESOLVED:
            self._on_unresolved(text)
        _log.debug("kazoo: %s", text, exc_info=record.exc_info)
