"""Keeps this process connected to ZooKeeper.

It gives up a session by the local clock: see `coordination/session_expiry.py`.
"""

import asyncio
import logging
import math
from collections.abc import Callable
from typing import Final, assert_never

from nncache.coordination.errors import ConnectionLostError
from nncache.coordination.kazoo_client import (
    ClientId,
    KazooAttempted,
    KazooClosed,
    KazooConnected,
    KazooEnded,
    KazooEvent,
    KazooExpired,
    KazooSuspended,
    LoginFailed,
    StartedKazoo,
    TlsFailed,
)
from nncache.coordination.login import ZooKeeperLogin
from nncache.coordination.session_expiry import SessionExpiry
from nncache.coordination.settings import ZooKeeperSettings
from nncache.coordination.tls import tls_of

_log = logging.getLogger(__name__)

CLOSE_S: Final = 2.0
"""Limit of `close`, which does not wait for a ZooKeeper that does not answer."""

_TICK_S: Final = 0.25  # interval of the timer while there is no connection
_RESTART_S: Final = 1.0  # delay before a failed client is replaced
_LOGIN_AGAIN_S: Final = 5.0  # delay before another client tries to log in
_SESSION_BITS: Final = 0xFFFF_FFFF_FFFF_FFFF


class ZooKeeperConnection:
    """Keeps one client connected from `start` to `close`, and replaces it if its session cannot be resumed.

    Invariants:
        N1  At most one client is in use; events of other clients serve only to close these clients.
        N2  From `start` to `close`, the timer runs whenever there is no connection.
        N3  A session that was given up is closed once there is a new connection, in case ZooKeeper still holds it: its
            ephemeral znodes are deleted then, instead of when it expires.
    """

    def __init__(
        self,
        settings: ZooKeeperSettings,
        clock: Callable[[], float],
        *,
        log_name: str,
        on_connected: Callable[[], None],
        login: ZooKeeperLogin | None = None,
    ) -> None:
        """Prepare the connection; with a `login`, each client logs in.

        Raises SettingError if a file for TLS is unusable.
        """
        self.timeout_s = settings.zookeeper_session_timeout_s
        self.name = f"ZooKeeper at {', '.join(settings.zookeeper)}"
        self.connections = 0  # since start; also the id of the current connection
        self.sessions = 0  # since start
        self.sessions_given_up = 0  # since start
        self.session_id = 0  # 0: no session
        self._hosts = ",".join(settings.zookeeper)
        self._clock = clock
        self._label = f"{log_name}: " if log_name else ""  # prefix of each log line
        self._on_connected = on_connected
        self._login = login
        self._tls = tls_of(settings)
        self._distrust: set[str] = set()  # TLS failures that were logged since the last connection
        self._login_failure = ""  # of the last login; "" if it did not fail
        self._client: StartedKazoo | None = None  # the one in use
        self._leaving: set[StartedKazoo] = set()  # other clients, until they are closed
        self._client_id: ClientId | None = None  # of the current session
        self._orphan: ClientId | None = None  # a session that was given up and is not closed yet
        self._connected = asyncio.Event()
        self._expiry = SessionExpiry(self.timeout_s)
        self._lost_at = 0.0  # when the connection was lost
        self._failure = "not started"  # why there is no connection, as far as is known
        self._is_logged = False  # the long absence of a connection was logged
        self._replace_at = math.inf  # when a failed client is replaced
        self._timer: asyncio.TimerHandle | None = None

    @property
    def is_connected(self) -> bool:
        """Whether there is a connection, as far as this client knows."""
        return self._connected.is_set()

    @property
    def is_login_failing(self) -> bool:
        """Whether the last login failed, and none has succeeded since."""
        return bool(self._login_failure)

    def start(self) -> None:
        """Start to connect, without waiting."""
        self._failure = "no answer yet"
        self._lost_at = self._clock()
        self._restart(self._lost_at)
        self._tick()

    async def close(self) -> None:
        """Close the session, within CLOSE_S; from now on there is no connection."""
        self._lose(self._clock(), "closed")
        if self._timer is not None:
            self._timer.cancel()
        if self._client is not None:
            self._leaving.add(self._client)
            self._client = None
        self._end_session()
        leaving = tuple(self._leaving)
        for client in leaving:
            client.retire()
        try:
            async with asyncio.timeout(CLOSE_S):
                for client in leaving:
                    await client.wait_closed()
        except TimeoutError:
            _log.warning("%scould not close the session with %s in time", self._label, self.name)

    def client(self) -> StartedKazoo:
        """Return the connected client. Raises ConnectionLostError if there is no connection."""
        if self._client is None or not self.is_connected:
            raise ConnectionLostError(self.complaint)
        return self._client

    @property
    def complaint(self) -> str:
        """The reason why there is no connection, for messages."""
        return f"no connection to {self.name}: {self._failure}"

    async def wait(self) -> None:
        """Wait for a connection."""
        await self._connected.wait()

    def _hear(self, client: StartedKazoo, event: KazooEvent) -> None:
        if client is not self._client:
            self._hear_leaving(client, event)
            return
        now = self._clock()
        match event:
            case KazooConnected(client_id):
                self._take(client_id, now)
            case KazooSuspended():
                _log.warning("%slost the connection to %s", self._label, self.name)
                self._lose(now, "the connection was lost")
            case KazooExpired():
                _log.warning("%s%s has ended session %s", self._label, self.name, self._shown_session())
                self._lose(now, "the session has expired")
                self._end_session()
            case KazooAttempted(failure) | TlsFailed(failure):
                self._attempted(failure, now, is_distrusted=isinstance(event, TlsFailed))
            case LoginFailed(why):
                self._refused(why)
            case KazooEnded():
                if self.is_connected:
                    _log.warning("%slost the connection to %s: %s", self._label, self.name, self._failure)
                elif self._login is not None and not self._login_failure:
                    self._refused(self._failure)  # the server requires SASL (enforce.auth.schemes)
                self._lose(now, self._failure)
                self._replace_at = now + (_LOGIN_AGAIN_S if self._login_failure else _RESTART_S)
            case KazooClosed():
                pass
            case _:
                assert_never(event)

    def _hear_leaving(self, client: StartedKazoo, event: KazooEvent) -> None:
        match event:
            case (
                KazooConnected() | KazooEnded()
            ):  # it can be closed now; this is a new session if the orphan was gone
                client.retire()
            case KazooClosed():
                self._leaving.discard(client)
            case KazooSuspended() | KazooExpired() | KazooAttempted() | TlsFailed() | LoginFailed():
                pass
            case _:
                assert_never(event)

    def _refused(self, why: str) -> None:
        """Log a login failure and its remedy, once per reason. A later login may succeed, so another client tries."""
        assert self._login is not None
        self._login.recheck()
        failure = f"the login as {self._login.who} failed: {why}"
        if failure != self._login_failure:
            _log.warning(
                "%s%s: %s; it is tried again every %g s: see zookeeper_sasl, that the servers' JAAS configuration and "
                "authProvider know this user, and the servers' own logs",
                self._label,
                self.name,
                failure,
                _LOGIN_AGAIN_S,
            )
        self._failure = self._login_failure = failure

    def _attempted(self, failure: str, now: float, *, is_distrusted: bool) -> None:
        """Record an attempt: a server was reached if there is no failure."""
        if failure:
            self._expiry.not_reached()
        else:
            self._expiry.reached(now)
        self._failure = failure or self._login_failure or "it is there, and grants no session"
        if is_distrusted and failure not in self._distrust:  # even if another server works
            self._distrust.add(failure)
            _log.warning("%sZooKeeper at %s; it is tried again", self._label, failure)

    def _take(self, client_id: ClientId, now: float) -> None:
        is_new = client_id != self._client_id
        self.connections += 1
        self.sessions += is_new
        self.session_id, self._client_id = client_id[0], client_id
        _log.info(
            "%sconnected to %s after %.1f s, with %s session %s",
            self._label,
            self.name,
            now - self._lost_at,
            "a new" if is_new else "the same",
            self._shown_session(),
        )
        self._expiry.connected()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._is_logged = False
        self._login_failure = ""
        self._distrust.clear()
        self._connected.set()
        self._close_orphan()
        self._on_connected()

    def _lose(self, now: float, why: str) -> None:
        self._failure = why
        if not self.is_connected:
            return
        self._connected.clear()
        self._lost_at = now
        self._expiry.lost(now)
        self._tick()

    def _end_session(self) -> None:
        self._expiry.ended()
        self.session_id, self._client_id = 0, None

    def _tick(self) -> None:
        """Check the deadlines, and schedule the next check."""
        self._timer = asyncio.get_running_loop().call_later(_TICK_S, self._tick)
        now = self._clock()
        if self._expiry.is_over(now) or now >= self._replace_at:
            self._restart(now)
        elif not self._is_logged and now - self._lost_at > self.timeout_s:
            self._is_logged = True
            _log.warning("%sstill %s", self._label, self.complaint)

    def _restart(self, now: float) -> None:
        """Start a client, instead of the former one if there is one, and request a new session."""
        self._replace_at = math.inf
        if self._client_id is not None:
            self._is_logged = True
            self.sessions_given_up += 1
            _log.warning(
                "%sabandoning session %s after %.1f s: %s",
                self._label,
                self._shown_session(),
                now - self._lost_at,
                self.complaint,
            )
            self._orphan = self._client_id
            self._end_session()
        former, self._client = self._client, None
        try:
            if former is not None:
                self._leaving.add(former)
                former.retire()
            self._client = self._new_client()
        except Exception as error:  # noqa: BLE001 - such as too many open files; nothing else would try again
            self._replace_at = now + _RESTART_S
            self._not_made(error)

    def _not_made(self, error: Exception) -> None:
        """Record that no client could be started; log each new reason once."""
        failure = f"no client can be started: {str(error) or type(error).__name__}"
        if failure != self._failure:
            _log.warning(
                "%s%s: %s; it is tried again every %g s", self._label, self.name, failure, _RESTART_S
            )
        self._failure = failure

    def _new_client(self, resume: ClientId | None = None) -> StartedKazoo:
        return StartedKazoo(
            self._hosts, self.timeout_s, self._hear, resume=resume, login=self._login, tls=self._tls
        )

    def _close_orphan(self) -> None:
        """Resume the session that was given up, in order to close it."""
        if self._orphan is None:
            return
        try:
            closer = self._new_client(self._orphan)
        except Exception as error:  # noqa: BLE001 - as in `_restart`; the new session does not depend on it
            _log.warning(
                "%sthe session that was given up is not closed, and ends by itself: %s", self._label, error
            )
            return
        self._orphan = None
        self._leaving.add(closer)
        asyncio.get_running_loop().call_later(self.timeout_s, closer.retire)

    def _shown_session(self) -> str:
        """Return the session's id in the format of ZooKeeper's own logs."""
        return f"0x{self.session_id & _SESSION_BITS:x}"
