"""Keeps a daemon registered while it serves.

Its entry is permanent: it survives a crash, a restart replaces it, and a clean stop removes it before all else stops,
unless another daemon has replaced it.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NoReturn

from nncache.coordination.errors import ConnectionLostError
from nncache.coordination.login import ZooKeeperLogin
from nncache.coordination.session import KazooSession
from nncache.coordination.settings import ZooKeeperSettings
from nncache.net.daemon_thread import on_daemon_thread
from nncache.net.endpoint import ListenAddress
from nncache.registry.addresses import authorities_of
from nncache.registry.daemon_record import PLACE, RegisteredDaemon
from nncache.registry.errors import InvalidRecordError, NoRecordError, PathNotFoundError, RegistryError
from nncache.registry.operations import Registry
from nncache.registry.record import ServiceRecord
from nncache.registry.settings import RegistrySettings

_log = logging.getLogger(__name__)

AGAIN_S: Final = 5.0
"""Delay before the next attempt after a failed one."""

LOOK_S: Final = 60.0
"""Interval of checks that the entry exists: a ZooKeeper that was wiped has lost it."""

WITHDRAW_S: Final = 2.0
"""Limit of a stop's wait for the removal of the entry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistrationStats:
    """Figures of a daemon's own entry.

    Attributes:
        is_wanted: the daemon should be registered; False once it stops.
        is_registered: the entry existed at the last check.
        is_connected: the session with ZooKeeper is connected.
        failures: failed attempts to register or to check the entry.
    """

    is_wanted: bool = False
    is_registered: bool = False
    is_connected: bool = False
    failures: int = 0


NO_REGISTRATION: Final = RegistrationStats()
"""The figures of a daemon that does not register."""


class Registration:
    """One daemon's entry, kept up to date while `run` runs."""

    def __init__(
        self,
        zookeeper: ZooKeeperSettings,
        settings: RegistrySettings,
        clock: Callable[[], float],
        login: ZooKeeperLogin | None,
        daemon: Callable[[], RegisteredDaemon],
    ) -> None:
        """Prepare the registration; `daemon` is called once the daemon listens, and returns its description."""
        self._zookeeper = zookeeper
        self._settings = settings
        self._clock = clock
        self._login = login
        self._daemon = daemon
        self._session: KazooSession | None = None  # while `run` runs
        self._registry: Registry | None = None  # while `run` runs
        self._at: RegisteredDaemon | None = None  # what the entry is of; set before the attempt to register
        self._is_withdrawn = False
        self._is_registered = False  # at the last check
        self._failures = 0
        self._version: int | None = None  # of the entry that this daemon bound; None before
        self._rival: ServiceRecord | None = None  # that was last found in its place
        self._writing = asyncio.Lock()

    @property
    def root(self) -> str:
        """The registry's root znode."""
        return self._settings.registry_root

    def registry(self) -> Registry | None:
        """Return the registry; None while `run` does not run."""
        return self._registry

    def session(self) -> KazooSession | None:
        """Return the session with ZooKeeper; None while `run` does not run."""
        return self._session

    def stats(self) -> RegistrationStats:
        """Return the current figures."""
        return RegistrationStats(
            is_wanted=not self._is_withdrawn,
            is_registered=self._is_registered,
            is_connected=self._session is not None and self._session.is_connected,
            failures=self._failures,
        )

    async def run(self) -> NoReturn:
        """Register the daemon, and restore its entry whenever it is lost, until cancelled."""
        session = KazooSession(self._zookeeper, self._clock, log_name="registry", login=self._login)
        async with session:
            self._session = session
            self._registry = Registry(session, self._settings.registry_root, self._settings.access)
            try:
                while True:
                    is_registered = await self._registered(session)
                    self._is_registered = is_registered and not self._is_withdrawn
                    self._failures += not is_registered
                    await asyncio.sleep(LOOK_S if is_registered else AGAIN_S)
            finally:
                self._session = self._registry = None

    async def withdraw(self) -> None:
        """Remove the entry for good, within WITHDRAW_S; log a warning if it could not be removed."""
        self._is_withdrawn = True
        registry, at = self._registry, self._at
        if registry is None or at is None:
            return
        path = at.path
        try:
            async with asyncio.timeout(WITHDRAW_S), self._writing:
                await registry.delete(path, version=self._version)
        except TimeoutError:
            _log.warning(
                "left %s in the service registry: no answer from ZooKeeper in %g s", path, WITHDRAW_S
            )
        except RegistryError as error:
            _log.warning("left %s in the service registry: %s", path, error)
        else:
            self._is_registered = False
            _log.info("removed %s from the service registry", path)

    async def _registered(self, session: KazooSession) -> bool:
        registry = self._registry
        assert registry is not None, "while it runs"
        before = self._at
        daemon = before if before and "." in before.host else await self._described()
        self._at = before if before and self._version is not None else daemon
        try:
            await session.wait_connected(self._zookeeper.zookeeper_session_timeout_s)
            async with self._writing:
                if self._at.path != daemon.path and not self._is_withdrawn:
                    await self._leave(registry, self._at.path)
                    self._at, self._version = daemon, None
                found = await _found(registry, daemon.path)
                if not self._is_withdrawn and (found != daemon.record or self._version is None):
                    self._report_rival(daemon, found)
                    await registry.mknode(PLACE, create_parents=True)
                    await registry.bind(daemon.path, daemon.record, overwrite=True)
                    self._version = (await registry.read(daemon.path)).status.version
                    _log.info("registered as %s", daemon.path)
        except (RegistryError, ConnectionLostError) as error:
            _log.warning("not registered as %s, trying again in %g s: %s", daemon.path, AGAIN_S, error)
            return False
        return True

    async def _described(self) -> RegisteredDaemon:
        """Return the daemon as of now, whose host's name is not whole while no name server answers."""
        return await on_daemon_thread(self._daemon, "registry_host")

    async def _leave(self, registry: Registry, path: str) -> None:
        """Remove the entry under a former name, unless another daemon has replaced it."""
        try:
            await registry.delete(path, version=self._version)
        except RegistryError as error:
            _log.warning("left %s in the service registry: %s", path, error)

    def _report_rival(self, daemon: RegisteredDaemon, found: ServiceRecord | None) -> None:
        """Log that another daemon has replaced the entry, once for each record of it."""
        if found is None or self._version is None or found == self._rival:
            return
        self._rival = found
        where = ", ".join(authorities_of(found))
        _log.warning(
            "%s was replaced by another daemon (%s, at %s): the two overwrite each other's entry; give one of them "
            "another registry_host or port",
            daemon.path,
            found.description or "no description",
            where or "no address",
        )


async def _found(registry: Registry, path: str) -> ServiceRecord | None:
    """Return the record at a path; None if there is none, or an invalid one."""
    try:
        return await registry.resolve(path)
    except (PathNotFoundError, NoRecordError, InvalidRecordError):
        return None


def url_of(scheme: str, host: str, port: int, path: str = "/") -> str:
    """Return a URL; an IPv6 address gets its brackets."""
    return f"{scheme}://{ListenAddress(host, port)}{path}"
