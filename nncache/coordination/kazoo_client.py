"""One KazooClient from its start to its end, as the event loop sees it.

Read with kazoo 2.11, some of whose ways are held off here:
- A call made while there is no connection waits in kazoo's queue and goes out over the next one, long after it has
  failed for its caller. Here such a call fails at once, and what slipped into the queue is thrown away before a new
  connection is used.
- `stop` waits for the connection's thread, which may wait for the network. Here that happens on a thread of its own,
  and the network is interrupted after GRACE_S.
- One byte per call goes through a blocking socket to the connection's thread; with too many calls under way that would
  block the event loop. MAX_IN_FLIGHT is far from that.
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
from nncache.coordination.login import Attempt, Login
from nncache.coordination.loop_handler import LoopHandler
from nncache.coordination.tls import ZooKeeperTls

MAX_IN_FLIGHT: Final = 64
"""Calls that kazoo has and ZooKeeper has not answered; the others wait here."""

GRACE_S: Final = 1.0
"""What ZooKeeper has to confirm the end of a session."""

RETRY_FIRST_S: Final = 0.1
RETRY_MOST_S: Final = 0.25
"""Between two attempts to connect, give or take two fifths (KazooRetry.max_jitter)."""

ClientId: TypeAlias = tuple[int, bytes]
"""A session's id and password: a client that has both may take the session up."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Connected:
    """There is a connection, and a session: a new one, or the previous one."""

    client_id: ClientId


@dataclass(frozen=True, slots=True)
class Suspended:
    """The connection is lost; kazoo tries to take the session up again."""


@dataclass(frozen=True, slots=True)
class Expired:
    """A server said that the session has ended; kazoo asks for a new one."""


@dataclass(frozen=True, slots=True)
class Attempted:
    """A server was reached, or not."""

    failure: str  # empty: reached


@dataclass(frozen=True, slots=True)
class Distrusted:
    """A server was reached, and TLS with it has failed."""

    why: str  # begins with its address


@dataclass(frozen=True, slots=True)
class LoginFailed:
    """A server was reached and the login failed; kazoo takes that for final, and Ended follows."""

    why: str


@dataclass(frozen=True, slots=True)
class Ended:
    """kazoo has given up or failed, unasked; this client is of no use any more."""


@dataclass(frozen=True, slots=True)
class Closed:
    """It was retired, and nothing is left of it."""


ClientEvent: TypeAlias = (
    Connected | Suspended | Expired | Attempted | Distrusted | LoginFailed | Ended | Closed
)


class Client:
    """A KazooClient that has been started.

    Invariants:
        C1  A call is handed to kazoo only while there is a connection, and fails when that is lost.
        C2  At most MAX_IN_FLIGHT calls are under way.
        C3  Every event is delivered on the loop, in the order of the wire; after `retire` only Closed.
    """

    def __init__(
        self,
        hosts: str,
        timeout_s: float,
        on_event: Callable[["Client", ClientEvent], None],
        *,
        resume: ClientId | None = None,
        login: Login | None = None,
        tls: ZooKeeperTls | None = None,
    ) -> None:
        """Start one, on the running loop; with a `login` it is connected once the server has let it in.

        `resume` is a session to be taken up; if that is no more, it becomes a new one, and only its id tells.
        Where that fails, for want of a file or a thread, nothing stays open.
        """
        self._loop = asyncio.get_running_loop()
        self._on_event = on_event
        self._handler = LoopHandler(
            self._loop,
            on_attempt=lambda failure: self._tell(Attempted(failure)),
            on_thread_ended=lambda: self._tell(Ended()),
            tls=tls,
            on_distrust=lambda why: self._tell(Distrusted(why)),
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
        self, hosts: str, timeout_s: float, resume: ClientId | None, login: Login | None
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
            logger=KazooLog(lambda text: self._handler.post(self._tell, Attempted(text))),
        )

    async def begin(self, send: Callable[[KazooClient], IAsyncResult]) -> asyncio.Future[IAsyncResult | None]:
        """Make a call as soon as fewer than MAX_IN_FLIGHT are under way; return what will hold its reply.

        The reply is None if the connection was lost under it; mostly kazoo gets to say so itself (ConnectionLoss).
        A future that is cancelled drops the reply.

        Raises ConnectionLostError: there is no connection; nothing was sent.
        """
        await self._slots.acquire()
        if not (self._is_connected and self._kazoo.connected):
            self._slots.release()
            raise ConnectionLostError("the connection was lost")
        try:
            reply = send(self._kazoo)
        except BaseException:  # a bug of the caller's, such as a path that is no text
            self._slots.release()
            raise
        future: asyncio.Future[IAsyncResult | None] = self._loop.create_future()
        self._in_flight.add(future)
        reply.rawlink(partial(self._replied, future))
        return future

    def retire(self) -> None:
        """Begin to close the session and to end the threads; returns at once. May be called again."""
        if self._is_retired:
            return
        self._is_retired = True
        if self._kazoo.connected:
            self._interruption = self._loop.call_later(GRACE_S, self._handler.interrupt)
        else:
            self._handler.interrupt()
        threading.Thread(target=self._stop, name="zookeeper-stop", daemon=True).start()

    async def wait_closed(self) -> None:
        """Return when nothing is left of it; after `retire`."""
        await self._closed.wait()

    def _replied(self, future: asyncio.Future[IAsyncResult | None], reply: IAsyncResult | None) -> None:
        if future in self._in_flight:  # else it was given up when the connection was lost
            self._in_flight.remove(future)
            self._slots.release()
        if not future.done():
            future.set_result(reply)

    def _tell(self, event: ClientEvent) -> None:
        match event:
            case Connected():
                self._is_connected = True
            case Suspended() | Expired() | Ended():
                self._is_connected = False
                for future in list(self._in_flight):
                    self._replied(future, None)
            case Attempted() | Distrusted() | LoginFailed() | Closed():
                pass
            case _:
                assert_never(event)
        if not self._is_retired or isinstance(event, Closed):
            self._on_event(self, event)

    # ---- in kazoo's threads --------------------------------------------------------------------------------------

    def _on_state(self, state: KazooState) -> None:
        if state == KazooState.CONNECTED:
            self._handler.granted()
            if not self._is_retired:  # else the request to close the session is in there
                self._kazoo._queue.clear()  # noqa: SLF001 - see the module's docstring
            if self._attempt is None:
                self._connected()
        elif state == KazooState.SUSPENDED:
            self._handler.post(self._tell, Suspended())
        elif self._kazoo.client_state == KeeperState.EXPIRED_SESSION:
            self._handler.post(self._tell, Expired())
        elif self._kazoo.client_state == KeeperState.AUTH_FAILED:
            why = "" if self._attempt is None else self._attempt.failure
            self._handler.post(self._tell, LoginFailed(why or "the server has closed the connection"))

    def _connected(self) -> None:
        self._handler.post(self._tell, Connected(self._kazoo.client_id))

    def _stop(self) -> None:
        try:
            self._kazoo.stop()
            self._kazoo.close()
        except Exception:  # noqa: BLE001 - the border: a thread's exception goes nowhere else
            _log.exception("could not close a ZooKeeper client")
        finally:
            self._handler.post(self._stopped, threading.current_thread())

    def _stopped(self, stopper: threading.Thread) -> None:
        stopper.join()  # this was the last thing that it did
        if self._interruption is not None:
            self._interruption.cancel()
        self._handler.close()
        self._closed.set()
        self._tell(Closed())


_UNRESOLVED: Final = "Cannot resolve %s: %s"
"""kazoo says nowhere else that a host has no address (ConnectionHandler._expand_client_hosts, 2.11)."""


class KazooLog(logging.Logger):
    """The logger of one KazooClient: warnings and errors become lines for debugging."""

    def __init__(self, on_unresolved: Callable[[str], None]) -> None:
        """Make a logger; the function is called, in kazoo's thread, when a host has no address."""
        super().__init__("kazoo", level=logging.WARNING)
        self._on_unresolved = on_unresolved

    def handle(self, record: logging.LogRecord) -> None:
        """Take what kazoo says."""
        text = record.getMessage()
        if record.msg == _UNRESOLVED:
            self._on_unresolved(text)
        _log.debug("kazoo: %s", text, exc_info=record.exc_info)
