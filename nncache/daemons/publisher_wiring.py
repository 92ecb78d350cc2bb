"""Build the parts of a publisher from all rooms and run them.

It starts even if ZooKeeper and the NameNodes are unavailable, and its pages show what it waits for.
The pages start first: their address is part of the publisher's identity, by which the leader is found.
"""

import asyncio
import logging
import os
import socket
import uuid
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

from nncache.admin.access import Access
from nncache.admin.publisher_pages import PublisherReadiness, publisher_pages
from nncache.admin.server import AdminServer
from nncache.admin.settings import access_of
from nncache.admin.status_page import StatusPage
from nncache.clock import boottime, unix_time_of_boot
from nncache.coordination.acl import shown
from nncache.coordination.login import ZooKeeperLogin
from nncache.coordination.sasl import login_of
from nncache.daemons.daemon import Signals, run_until_signal
from nncache.daemons.history import History
from nncache.daemons.housekeeping import calm_collector
from nncache.daemons.namenodes_view import namenodes_view
from nncache.daemons.publisher_state import PublisherState, lines
from nncache.daemons.publisher_status import PublisherSnapshot, PublisherTotals, status_of, totals_of
from nncache.daemons.registered import publisher_daemon
from nncache.daemons.reloader import OF_PUBLISHER, Reloader
from nncache.daemons.service_manager import ServiceManager
from nncache.daemons.start_lines import who
from nncache.daemons.state_log import log_changes
from nncache.daemons.supervision import Work, background
from nncache.daemons.watchdog import Watchdog
from nncache.errors import ConfigurationError
from nncache.hadoop.kerberos.identity import KerberosIdentity, identity_of
from nncache.hadoop.namenode_web import PLAIN, NameNodeWeb
from nncache.hadoop.namenodes.pool import NameNodePool
from nncache.hadoop.namenodes.webhdfs import WebHdfs
from nncache.invalidation.edits_source import EditsSource
from nncache.invalidation.feed.source import FeedEdits
from nncache.invalidation.filters.hdfs_reader import FilterReader
from nncache.invalidation.filters.quick_hdfs import reading_ahead
from nncache.invalidation.journal.access import journal_access
from nncache.invalidation.journal.choice import edits_of
from nncache.invalidation.publisher.access import rules_of
from nncache.invalidation.publisher.filter_journal import FilterHistory
from nncache.invalidation.publisher.identity import PublisherIdentity
from nncache.invalidation.publisher.output_stream import OutputSetup, load_output_class
from nncache.invalidation.publisher.publisher import Publisher
from nncache.invalidation.publisher.stats import PublisherStats
from nncache.invalidation.settings import FEED, ZOOKEEPER
from nncache.logs import set_log_level, set_up_logs
from nncache.metrics.page import MetricsPage
from nncache.net.endpoint import ListenAddress
from nncache.net.setting_error import SettingError
from nncache.registry.registration import NO_REGISTRATION, Registration
from nncache.settings.commands import SettingsOfPublisher

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def host_name(boot_id: Path = BOOT_ID) -> str:
    """Return a name that is unique among running machines: the host name and a prefix of the kernel's boot id.

    A host name alone may be shared: two machines without a name are both `localhost`.
    Source: proc_sys_kernel(5), random/boot_id.
    """
    try:
        booted = boot_id.read_text(encoding="ascii").strip()[:8]
    except (OSError, ValueError):  # a container without /proc
        return socket.gethostname()
    return f"{socket.gethostname()}-{booted}"


_log = logging.getLogger(__name__)

Clock = Callable[[], float]

HDFS_TIMEOUT_S = 10.0
"""Timeout in seconds of a call about filters. Until a call succeeds, the published filters stay in force."""


def run_publisher(settings: SettingsOfPublisher, load: Callable[[], SettingsOfPublisher]) -> None:
    """Publish until SIGTERM or SIGINT, then let another publisher take over immediately.

    SIGHUP reloads the settings.

    Raises:
        StartError: the publisher cannot start. The message says why, in one line.
    """
    try:
        load_output_class(settings.publisher.output_stream)
        access = access_of(settings.admin, settings.publisher.admin_at.host)
        identity = identity_of(settings.kerberos, boottime)
        login = login_of(settings.zookeeper, identity)
        rules_of(settings.publisher, settings.zookeeper, login)
        web = NameNodeWeb(settings.namenode_tls)
    except SettingError as error:
        raise ConfigurationError(str(error)) from error
    set_up_logs(settings.log)
    manager = ServiceManager()

    async def serve(signals: Signals) -> None:
        system = PublisherSystem(settings, boottime, access, manager, identity, login, web)
        signals.on_reload = Reloader(load, settings, OF_PUBLISHER, system.take, manager).reload
        await system.serve(signals.stop)

    run_until_signal(serve, "nothing more is published, another publisher may take over")


class PublisherSystem:
    """A publisher: its parts, and the order in which they start and stop."""

    def __init__(
        self,
        settings: SettingsOfPublisher,
        clock: Clock,
        access: Access | None = None,
        manager: ServiceManager | None = None,
        identity: KerberosIdentity | None = None,
        login: ZooKeeperLogin | None = None,
        web: NameNodeWeb = PLAIN,
    ) -> None:
        """Build the parts; `access`, `manager`, `identity`, `login` and `web` are the same as for the proxy."""
        self._manager = manager or ServiceManager({})
        self._settings = settings
        self._clock = clock
        self._login = login
        self._identity = identity
        self._web = web
        self._pool = NameNodePool(settings.namenodes, clock, identity, web)
        first, *others = map(web.url, settings.namenodes.namenode_http)
        user = settings.namenodes.user
        self._hdfs = WebHdfs(
            first,
            user,
            others=others,
            timeout_s=HDFS_TIMEOUT_S,
            identity=identity,
            web=web,
            order=lambda: [web.url(each.http) for each in self._pool.order()],
        )
        self._watchdog = Watchdog()
        self._started_at = clock()
        self._history = History(self._started_at, PublisherTotals())
        self._publisher: Publisher | None = None  # set once its pages have an address
        self._registration: Registration | None = None
        if settings.registration.registry:
            self._registration = Registration(
                settings.zookeeper,
                settings.registry,
                clock,
                login,
                lambda: publisher_daemon(self._settings, self._admin.url),
            )
        self._admin = AdminServer(
            settings.publisher.admin_at,
            publisher_pages(
                readiness=self._readiness,
                metrics=MetricsPage("publisher", self.figures).render,
                filters=self._filters,
                status=self._status,
            ),
            lambda: self._readiness().state,
            title="nncache publisher",
            access=access or access_of(settings.admin, settings.publisher.admin_at.host),
            status_page=StatusPage("publisher.html"),
        )

    async def serve(self, stop: asyncio.Event) -> None:
        """Run until `stop` is set; then resign as the publisher, and return.

        Raises:
            StartError: the publisher cannot listen on the address of its pages.
        """
        async with self._admin, self._hdfs:
            publisher = self._publisher = self._made(self._admin.address)
            try:
                async with background(self._works(publisher)):
                    self._say_where()
                    calm_collector()
                    self._manager.ready()
                    await stop.wait()
                    self._manager.stopping()
                    if self._registration is not None:
                        await self._registration.withdraw()
            finally:
                await publisher.shut_down()
                await self._pool.close()

    def _made(self, admin: ListenAddress) -> Publisher:
        settings = self._settings
        output = load_output_class(settings.publisher.output_stream)(
            OutputSetup(
                nameservice=settings.namenodes.nameservice,
                publisher=settings.publisher,
                zookeeper=settings.zookeeper,
                clock=self._clock,
                login=self._login,
            )
        )
        return Publisher(
            source=self._source(),
            namenodes=self._pool,
            filters=FilterReader(
                self._hdfs,
                settings.filters.filters_path,
                reading_ahead(
                    self._hdfs,
                    settings.namenodes.user,
                    timeout_s=HDFS_TIMEOUT_S,
                    identity=self._identity,
                ),
                own_user=settings.kerberos.acts_as(settings.namenodes.user),
            ),
            output=output,
            admission=settings.filters,
            settings=settings.publisher,
            identity=PublisherIdentity(
                id=uuid.uuid4().hex, host=host_name(), pid=os.getpid(), admin=str(admin)
            ),
            clock=self._clock,
        )

    def _source(self) -> EditsSource:
        settings = self._settings
        if settings.edits.edits_source == FEED:
            return FeedEdits(
                self._pool, settings.zookeeper, settings.feed.feed_root, self._clock, login=self._login
            )
        access = journal_access(settings.edits, settings.namenodes, self._identity, self._web)
        return edits_of(
            self._pool, settings.edits, settings.polling, access, self._clock, at_first_sight=False
        )

    def _works(self, publisher: Publisher) -> tuple[Work, ...]:
        return (
            ("the watch over the NameNodes", self._pool.run),
            *(() if self._registration is None else (("the service registry", self._registration.run),)),
            ("publishing", publisher.run),
            ("the watch over the event loop", self._watchdog.run),
            ("signs of life for the service manager", self._manager.beat),
            ("the log of what changes", lambda: log_changes(self._look, lines)),
        )

    def take(self, settings: SettingsOfPublisher, changed: AbstractSet[str]) -> None:
        """Apply new settings. `changed` are the keys with new values (`nncache.daemons.reloader`)."""
        if "log_level" in changed:
            set_log_level(settings.log)

    def _say_who_may(self) -> None:
        """Log which users may read and write the published znodes."""
        settings = self._settings
        rules = rules_of(settings.publisher, settings.zookeeper, self._login)
        if rules is None:
            _log.warning(
                "every client that reaches ZooKeeper can read and change what is published in %s: set zookeeper_sasl "
                "(or zookeeper_certificate), so that it is protected by ACLs",
                settings.zookeeper.zookeeper_root,
            )
            return
        _log.info(
            "what is published in %s is protected by ACLs: all rights for this publisher, %s by zookeeper_acl; a "
            "filter's owner and subscribers read that filter as %s",
            settings.zookeeper.zookeeper_root,
            shown(rules.others),
            rules.subscriber or "no identity, since zookeeper_subscriber_id is not set",
        )

    def _say_where(self) -> None:
        settings = self._settings
        _log.info(
            "nncache %s publishes the edits of nameservice %s (%s), read as %s, filtered as %s says, in %s",
            version("nncache"),
            settings.namenodes.nameservice,
            ", ".join(settings.namenodes.namenode_http),
            who(settings.kerberos, settings.namenodes.user),
            settings.filters.filters_path,
            f"{settings.zookeeper.zookeeper_root} at {', '.join(settings.zookeeper.zookeeper)}"
            if self._is_on_zookeeper
            else settings.publisher.output_stream,
        )
        if self._is_on_zookeeper:
            self._say_who_may()
        _log.info("status, health, readiness, metrics and filters on %s", self._admin.url)

    @property
    def _is_on_zookeeper(self) -> bool:
        return self._settings.publisher.output_stream == ZOOKEEPER

    def figures(self) -> Mapping[str, object]:
        """Return the current figures of each room, by the keys of `nncache.metrics.metric.ROOMS`."""
        stats = self._stats()
        return {
            "admin": self._admin.stats(),
            "journal": stats.channel.journal,
            "loop": self._watchdog.stats(),
            "polling": stats.channel,
            "pool": self._pool.stats(),
            "publisher": stats,
            "registration": NO_REGISTRATION if self._registration is None else self._registration.stats(),
            "zookeeper": stats.session,
        }

    def _stats(self) -> PublisherStats:
        return PublisherStats() if self._publisher is None else self._publisher.stats()

    def _state(self) -> PublisherState:
        publisher = self._publisher
        return PublisherState(
            active=self._pool.active,
            is_zookeeper_connected=self._stats().session.is_connected if self._is_on_zookeeper else None,
            trouble="not started yet" if publisher is None else publisher.situation(),
            is_standby=publisher is not None and publisher.is_standby,
            namenodes=self._pool.describe(),
        )

    def _look(self) -> PublisherState:
        """Return the current state, and record it for the status page."""
        now = self._state()
        totals = totals_of(self._stats())
        self._history.look(self._clock(), totals, is_well=now.is_publishing, state=now.why_not)
        return now

    def _status(self) -> Mapping[str, object]:
        readiness, publisher = self._readiness(), self._publisher
        return status_of(
            PublisherSnapshot(
                version=version("nncache"),
                host=host_name(),
                now=self._clock(),
                boot_at=unix_time_of_boot(),
                started_at=self._started_at,
                is_ready=readiness.is_ready,
                ready_reason=readiness.reason,
                state=readiness.state,
                publishing=self._state(),
                stats=self._stats(),
                waiting_s=0.0 if publisher is None else publisher.waiting_s,
                last_probe=self._pool.last_probe,
                history=self._history,
                filters={} if publisher is None else publisher.filters,
                broken={} if publisher is None else publisher.broken_filters,
                journal=FilterHistory() if publisher is None else publisher.journal,
                loop=self._watchdog.stats(),
                namenodes=namenodes_view(self._pool),
                settings=self._settings,
            )
        )

    def _readiness(self) -> PublisherReadiness:
        now, stats = self._state(), self._stats()
        return PublisherReadiness(
            is_publishing=now.is_publishing,
            is_zookeeper_connected=now.is_zookeeper_connected,
            active=None if now.active is None else now.active.namenode.http,
            published_txid=stats.published_txid,
            state=now.why_not
            or f"publishing {stats.filters} filters up to transaction {stats.published_txid}",
        )

    def _filters(self) -> object:
        publisher = self._publisher
        positions = {} if publisher is None else publisher.filters
        return {
            "published": [
                asdict(position.filter) | {"txid": position.txid} for _, position in sorted(positions.items())
            ],
            "broken": {} if publisher is None else dict(publisher.broken_filters),
        }
