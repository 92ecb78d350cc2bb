"""Build the parts of the DNS daemon and run them.

It starts even if ZooKeeper is unavailable.
"""

import asyncio
import logging
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Final, Literal

from nncache.admin.access import Access
from nncache.admin.server import AdminServer, daemon_pages
from nncache.admin.settings import access_of
from nncache.clock import boottime, unix_time
from nncache.coordination.errors import NotAllowedError
from nncache.coordination.login import ZooKeeperLogin
from nncache.coordination.sasl import login_of
from nncache.coordination.session import KazooSession
from nncache.daemons.daemon import Signals, run_until_signal
from nncache.daemons.housekeeping import calm_collector
from nncache.daemons.reloader import OF_DNS, Reloader
from nncache.daemons.service_manager import ServiceManager
from nncache.daemons.state_change import StateLine
from nncache.daemons.state_log import log_changes
from nncache.daemons.supervision import Work, background
from nncache.daemons.watchdog import Watchdog
from nncache.errors import ConfigurationError
from nncache.hadoop.kerberos.identity import identity_of
from nncache.logs import set_log_level, set_up_logs
from nncache.metrics.page import MetricsPage
from nncache.net.endpoint import ListenAddress
from nncache.net.setting_error import SettingError
from nncache.registry import paths
from nncache.registry.dns_answers import DnsResponder, ZoneAuthority
from nncache.registry.dns_server import DnsServer
from nncache.registry.dns_zone import Zone
from nncache.registry.tree_watch import Change, Current, Present, Removed, TreeWatch, WatchGap
from nncache.settings.commands import SettingsOfDns


@dataclass(frozen=True, slots=True, kw_only=True)
class DnsState:
    """The state that the log and /ready report.

    Attributes:
        is_loaded: the registry has been read once, so that questions are answered.
        is_current: the registry is being followed.
        is_zookeeper_connected: there is a connection to ZooKeeper.
        missing_root: the registry_root if there is no such znode; empty if the znode exists.
    """

    is_loaded: bool
    is_current: bool
    is_zookeeper_connected: bool
    missing_root: str = ""

    @property
    def is_ready(self) -> bool:
        """Whether questions are answered; while ZooKeeper is unavailable, from the last known records."""
        return self.is_loaded

    @property
    def reason(self) -> Literal["", "no-zookeeper", "not-loaded"]:
        """The fault, as a fixed word that every client may see; "" if there is none."""
        if not self.is_zookeeper_connected:
            return "no-zookeeper"
        return "" if self.is_loaded else "not-loaded"

    @property
    def state(self) -> str:
        """One line for operators."""
        if self.is_current and self.missing_root:
            return f"there is no registry at {self.missing_root} in ZooKeeper: no name is found"
        if self.is_current:
            return "answers are those of what is registered"
        if self.is_loaded:
            return "the registry cannot be read: answers are those of what was last known"
        return "the registry has not been read yet: questions are answered with SERVFAIL"


def lines(before: DnsState | None, now: DnsState) -> tuple[StateLine, ...]:
    """Return the log lines for a change of state. `before` is None until a state has been logged."""
    if before is not None and before.state == now.state:
        return ()
    if now.is_current and not now.missing_root:
        return (StateLine(now.state),)
    if now.is_current:
        return (StateLine(f"{now.state}; correct registry_root (hadoop.registry.zk.root)", is_bad=True),)
    what_to_do = "see that the servers of zookeeper run and that this host reaches them"
    return (StateLine(f"{now.state}; {what_to_do}", is_bad=True),)


AT_ONCE: Final = 16
"""How many changes are applied before the event loop answers questions again."""


class DnsFollowing:
    """Applies the changes of the registry to the zone. While no changes arrive, the known records stay."""

    def __init__(self, zone: Zone) -> None:
        self._zone = zone
        self.is_current = False  # the zone holds everything that the last read found
        self.has_root = False  # the root znode of the registry exists

    async def follow(self, changes: AsyncIterator[Change]) -> None:
        """Apply the changes of a new watch until they end. Entries that the watch does not find are removed."""
        seen: set[str] | None = set()
        taken = 0
        self.is_current = self.has_root = False
        try:
            async for change in changes:
                match change:
                    case Present(status, record):
                        self.has_root |= status.path == paths.ROOT
                        self._zone.take(status.path, record)
                        if seen is not None:
                            seen.add(status.path)
                    case Removed(path):
                        self.has_root &= path != paths.ROOT
                        self._zone.take(path, None)
                        if seen is not None:
                            seen.discard(path)
                    case WatchGap():
                        self.is_current = False
                    case Current():
                        if seen is not None:
                            for number, path in enumerate(self._zone.others(seen), 1):
                                self._zone.take(path, None)
                                if number % AT_ONCE == 0:
                                    await asyncio.sleep(0)
                            seen = None
                        self._zone.is_loaded = self.is_current = True
                taken += 1
                if taken % AT_ONCE == 0:
                    await asyncio.sleep(0)  # the first read of a registry must not delay answers
        finally:
            self.is_current = False


_log = logging.getLogger(__name__)

REFUSED_S = 10.0
"""Seconds until the registry is read again after its ACL has refused the read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DnsStats:
    """The state of the zone, and counters since start."""

    is_loaded: bool = False
    is_current: bool = False
    names: int = 0
    responses: Mapping[str, int] = field(default_factory=dict)
    dropped: Mapping[str, int] = field(default_factory=dict)
    connections_refused: int = 0


def run_dns(settings: SettingsOfDns, load: Callable[[], SettingsOfDns]) -> None:
    """Serve the registry as DNS until SIGTERM or SIGINT.

    SIGHUP reloads the settings.

    Raises:
        StartError: the daemon cannot start. The message says why, in one line.
    """
    try:
        access = access_of(settings.admin, settings.dns.admin_at.host)
        login = login_of(settings.zookeeper, identity_of(settings.kerberos, boottime))
    except SettingError as error:
        raise ConfigurationError(str(error)) from error
    set_up_logs(settings.log)
    manager = ServiceManager()

    async def serve(signals: Signals) -> None:
        system = DnsSystem(settings, boottime, access, manager, login)
        signals.on_reload = Reloader(load, settings, OF_DNS, system.take, manager).reload
        await system.serve(signals.stop)

    run_until_signal(serve, "no more questions are answered")


class DnsSystem:
    """The DNS daemon: its parts, and the order in which they start and stop."""

    def __init__(
        self,
        settings: SettingsOfDns,
        clock: Callable[[], float],
        access: Access | None = None,
        manager: ServiceManager | None = None,
        login: ZooKeeperLogin | None = None,
    ) -> None:
        self._settings = settings
        self._manager = manager or ServiceManager({})
        authority = ZoneAuthority.of(
            settings.dns.domain,
            settings.dns.dns_name_server or socket.getfqdn(),
            ttl_s=settings.dns.dns_ttl_s,
            serial=int(unix_time()),  # increases with each start
        )
        self._zone = Zone(authority.domain_bytes)
        self._answers = DnsResponder(self._zone, authority)
        self._following = DnsFollowing(self._zone)
        self._session = KazooSession(settings.zookeeper, clock, log_name="registry", login=login)
        self._server = DnsServer(
            settings.dns.listen_at, self._answers.reply, settings.dns.dns_queries_per_s, clock
        )
        self._watchdog = Watchdog()
        pages = daemon_pages(
            self._state, "the registry has been read", MetricsPage("dns", self.figures).render
        )
        self._admin = AdminServer(
            settings.dns.admin_at,
            pages,
            lambda: self._state().state,
            title="nncache dns",
            access=access or access_of(settings.admin, settings.dns.admin_at.host),
        )

    @property
    def address(self) -> ListenAddress:
        """The address at which questions are answered."""
        return self._server.address

    @property
    def admin_url(self) -> str:
        """The URL of the operators' pages."""
        return self._admin.url

    async def serve(self, stop: asyncio.Event) -> None:
        """Run until `stop` is set.

        Raises:
            StartError: the daemon cannot listen on one of its addresses.
        """
        async with self._admin, self._server, self._session, background(self._works()):
            self._say_where()
            calm_collector()
            self._manager.ready()
            await stop.wait()
            self._manager.stopping()

    def take(self, settings: SettingsOfDns, changed: AbstractSet[str]) -> None:
        """Apply new settings. `changed` are the keys with new values (`nncache.daemons.reloader`)."""
        if "log_level" in changed:
            set_log_level(settings.log)

    def _works(self) -> tuple[Work, ...]:
        return (
            ("following the registry", self._follow),
            ("the watch over the event loop", self._watchdog.run),
            ("signs of life for the service manager", self._manager.beat),
            ("the log of what changes", lambda: log_changes(self._state, lines)),
        )

    async def _follow(self) -> None:
        tree = TreeWatch(self._session, self._settings.registry.registry_root, paths.ROOT)
        while True:
            try:
                await self._following.follow(tree.changes())
            except NotAllowedError as error:
                _log.warning("the registry is not read, trying again in %g s: %s", REFUSED_S, error)
            await asyncio.sleep(REFUSED_S)

    def _say_where(self) -> None:
        settings = self._settings
        _log.info(
            "nncache %s answers DNS of %s on %s (UDP and TCP), from the registry %s at %s",
            version("nncache"),
            settings.dns.domain,
            self.address,
            settings.registry.registry_root,
            ", ".join(settings.zookeeper.zookeeper),
        )
        _log.info("health, readiness and metrics on %s", self._admin.url)

    def figures(self) -> Mapping[str, object]:
        """Return the current figures of each room, by the keys of `nncache.metrics.metric.ROOMS`."""
        return {
            "admin": self._admin.stats(),
            "dns": self._stats(),
            "loop": self._watchdog.stats(),
            "zookeeper": self._session.stats(),
        }

    def _stats(self) -> DnsStats:
        server, state = self._server.figures, self._state()
        return DnsStats(
            is_loaded=state.is_loaded,
            is_current=state.is_current,
            names=self._zone.names,
            responses=dict(self._answers.rcodes),
            dropped={
                "rate": server.over_rate,
                "malformed": self._answers.unanswered,
                "error": server.failed,
            },
            connections_refused=server.connections_refused,
        )

    def _state(self) -> DnsState:
        return DnsState(
            is_loaded=self._zone.is_loaded,
            is_current=self._following.is_current and self._session.is_connected,
            is_zookeeper_connected=self._session.is_connected,
            missing_root="" if self._following.has_root else self._settings.registry.registry_root,
        )
