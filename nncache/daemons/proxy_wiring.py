"""Build the parts of a proxy from all rooms and run them. (nncache/daemons/proxy_wiring.py)

One event loop, one task group for the work in the background, one order of ending: clients first, then the
questions under way to the NameNode, then the watch over the NameNodes and their changes.
"""

import asyncio
import logging
import os
import socket
from collections.abc import Awaitable, Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Final

from nncache.admin.access import Access
from nncache.admin.proxy_pages import ProxyReadiness, ProxySources, proxy_pages, purge_action
from nncache.admin.server import AdminServer
from nncache.admin.settings import access_of
from nncache.admin.status_page import StatusPage
from nncache.cache import MetadataCache
from nncache.clock import unix_time_of_boot
from nncache.coordination.login import Login
from nncache.daemons.announcer import announce
from nncache.daemons.clients_authentication import ClientsAuthentication
from nncache.daemons.event_streams import event_streams_of
from nncache.daemons.held_paths import HeldPaths
from nncache.daemons.housekeeping import calm_collector, reclaim_in_slices, tend_collector
from nncache.daemons.namenodes_shown import namenodes_shown
from nncache.daemons.parsed_urls import forget_targets
from nncache.daemons.proxy_situation import Gate, ProxySituation, gate_text, lines
from nncache.daemons.proxy_status import HOTTEST_SHOWN, Seen, status_of, totals_of
from nncache.daemons.purging import Purger
from nncache.daemons.recent import Recent, Totals
from nncache.daemons.service_manager import ServiceManager
from nncache.daemons.start_lines import say_where, warn_of_globs
from nncache.daemons.supervision import background
from nncache.daemons.watchdog import Watchdog
from nncache.errors import StartError
from nncache.hadoop.kerberos.identity import KerberosIdentity
from nncache.hadoop.namenode_web import PLAIN, NameNodeWeb
from nncache.hadoop.pool import NameNodePool
from nncache.invalidation.consumer import Consumer
from nncache.invalidation.settings import ZOOKEEPER
from nncache.invalidation.stream import ChannelSetup, load_stream_class
from nncache.logs import set_log_level
from nncache.metrics.page import MetricsPage
from nncache.proxy.auditor import Auditor
from nncache.proxy.cache_status import MEANINGS
from nncache.proxy.clients.fastpath import FastPath
from nncache.proxy.clients.hit_memory import FastPathMemory
from nncache.proxy.clients.server import Server
from nncache.proxy.errors import StartError as ProxyStartError
from nncache.proxy.front_end import FrontEnd
from nncache.proxy.hottest import Hottest
from nncache.proxy.plain_calls import PlainCalls
from nncache.proxy.termination.stats import NO_TERMINATION
from nncache.proxy.traffic import Traffic
from nncache.proxy.upstream.client import Upstream
from nncache.proxy.upstream.queries import PoolQueries
from nncache.request_logs.request_logs import RequestLogs
from nncache.settings.commands import SettingsOfProxy

_log = logging.getLogger(__name__)

Clock = Callable[[], float]

QUESTIONS_END_S = 5.0
"""What questions to a NameNode get to end when their clients have gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Security:
    """As whom a proxy acts, and how it knows others.

    Attributes:
        identity: of the service itself, on a secured cluster.
        login: at ZooKeeper, if that wants one.
        web: how the NameNodes' web servers are reached.
        clients: authenticates clients; None: the NameNodes do.
    """

    identity: KerberosIdentity | None = None
    login: Login | None = None
    web: NameNodeWeb = PLAIN
    clients: ClientsAuthentication | None = None


NO_SECURITY: Final = Security()


class ProxySystem:
    """A proxy: all its parts, and the order in which they begin and end."""

    def __init__(
        self,
        settings: SettingsOfProxy,
        clock: Clock,
        access: Access | None = None,
        manager: ServiceManager | None = None,
        logs: RequestLogs | None = None,
        security: Security = NO_SECURITY,
    ) -> None:
        """Build it.

        Args:
            settings: all of them.
            clock: seconds of CLOCK_BOOTTIME.
            access: what the settings say of the operators' pages, if that was read already.
            manager: told when it serves and when it ends.
            logs: of requests, opened already; closed at the end.
            security: as whom it acts, and how it knows others.

        Raises:
            SettingError: one of those logs cannot be opened.
        """
        self._logs = logs or RequestLogs(settings.request_logs, clock)
        self._manager = manager or ServiceManager({})
        self._settings = settings
        self._clock = clock
        self._pool = NameNodePool(settings.namenodes, clock, security.identity, security.web)
        self._cache = MetadataCache(settings.cache)
        self._watchdog = Watchdog()
        setup = ChannelSetup(
            namenodes=self._pool,
            nameservice=settings.namenodes.nameservice,
            channel=settings.channel,
            polling=settings.polling,
            zookeeper=settings.zookeeper,
            clock=clock,
            login=security.login,
        )
        self._stream = load_stream_class(settings.channel_name)(setup)
        self._consumer = Consumer(self._cache, self._stream, clock)
        limits = settings.limits
        own = self._authentication = security.clients
        own_login = None if own is None else own.login
        self._upstream = Upstream(self._pool, limits, clock, security.web, own_login)
        queries = PoolQueries(
            self._pool,
            timeout_s=settings.proxy.namenode_query_timeout_s,
            asks_txid_over_jmx=settings.channel_name == ZOOKEEPER,  # no superuser is needed then
            clock=clock,
        )
        traffic = self._traffic = Traffic(clock)
        self._auditor = Auditor(
            self._cache, self._upstream, self._consumer, clock, share=settings.proxy.audit_share
        )
        self._hottest = Hottest(clock)
        auditors = (self._auditor,) if settings.proxy.audit_share > 0 else ()
        traffic.observers = (*self._logs.observers, *auditors, self._hottest)
        self._front_end = FrontEnd(
            self._cache, self._upstream, queries, self._consumer, settings.proxy, clock, limits, traffic
        )
        self._front_end.cookies = self._upstream.cookies
        self._fast_path = FastPath(
            self._cache.is_good, self._cache.store, clock, settings.limits, traffic.sampled
        )
        if settings.request_logs.access_log:
            sampler = self._fast_path.sampler
            sampler.max_every = min(sampler.max_every, settings.request_logs.access_log_sample)
        traffic.hits_of_fast_path = lambda: self._fast_path.hits
        self._front_end.hit_memory = FastPathMemory(self._fast_path)
        plain_calls: PlainCalls | None = None
        if own is None:
            plain_calls = PlainCalls(self._front_end, self._cache, self._upstream, clock, settings.limits)
        else:
            own.serve(self._front_end, self._fast_path)
        self._events = event_streams_of(
            settings,
            traffic,
            clock,
            login=security.login,
            terminator=self._front_end.terminator,
            is_secured=security.identity is not None,
        )
        handler = self._events.before(self._front_end.handle)
        self._server = Server(handler, self._fast_path, settings.limits, plain_calls, traffic)
        self._started_at = clock()
        self._recent = Recent(self._started_at, Totals())
        sources = ProxySources(
            readiness=self._readiness,
            metrics=MetricsPage("proxy", self.figures).render,
            explain=self._explain,
            status=self._status,
            sample=HeldPaths(self._cache, self._filter_names).sample,
        )
        self._admin = AdminServer(
            settings.proxy.admin_at,
            (*proxy_pages(sources), purge_action(Purger(self._cache, clock, self._filter_names))),
            lambda: self._readiness().state,
            access=access or access_of(settings.admin, settings.proxy.admin_at.host),
            status_page=StatusPage("proxy.html"),
        )
        self._admin.page_called = self._logs.page_called
        self._is_listening = False
        self._is_stopping = False

    async def serve(self, stop: asyncio.Event) -> None:
        """Run until `stop` is set; then listen no more, finish what is under way, and end.

        Raises:
            StartError: one of the two addresses cannot be listened on.
        """
        failure: StartError | None = None
        self._logs.start()
        try:
            async with asyncio.timeout(None) as end, self._upstream, self._front_end:
                # By value: raised in here it would leave as a group, since both contexts are task groups.
                failure = await self._listen()
                if failure is None:
                    await self._work_until(stop)
                end.reschedule(asyncio.get_running_loop().time() + QUESTIONS_END_S)
        except TimeoutError:
            _log.warning("abandoned calls to the NameNode after %g s", QUESTIONS_END_S)
        finally:
            await self._stream.shut_down()
            await self._pool.close()
            self._logs.note("end")
            self._logs.close()
        if failure is not None:
            raise failure

    async def _listen(self) -> StartError | None:
        """Listen on both addresses; say what is wrong with one of them."""
        try:
            await self._server.listen(self._settings.proxy, self._clock)
        except ProxyStartError as error:
            return StartError(str(error))
        try:
            await self._admin.__aenter__()
        except OSError as error:
            await self._server.stop()
            return StartError(f"admin: {self._settings.proxy.admin_at}: {error.strerror or error}")
        return None

    async def _work_until(self, stop: asyncio.Event) -> None:
        """Do everything there is to do, until `stop`; then drain."""
        try:
            async with background(self._background()):
                self._is_listening = True
                say_where(self._settings, self._server.port, self._admin.url)
                calm_collector()
                self._manager.ready()
                self._logs.note("start", version=version("nncache"), pid=os.getpid())
                try:
                    await stop.wait()
                    self._is_stopping = True
                    self._manager.stopping()
                    lame_duck_s = self._settings.proxy.lame_duck_s
                    self._logs.note("stop", lame_duck_s=lame_duck_s)
                    if lame_duck_s:
                        await asyncio.sleep(lame_duck_s)
                finally:
                    self._is_listening = False
                    self._front_end.waits.stop()
                    self._events.stop()
                    await self._server.stop()
        finally:
            await self._admin.__aexit__(None, None, None)

    def _background(self) -> tuple[tuple[str, Callable[[], Awaitable[object]]], ...]:
        """Return the work beside the requests. None of it is needed to forward a call."""
        return (
            ("the watch over the NameNodes", self._pool.run),
            ("the stream of changes", self._consumer.run),
            ("taking forgotten entries apart", lambda: reclaim_in_slices(self._cache)),
            *self._server.background,
            *(() if self._authentication is None else self._authentication.background),
            ("the garbage collector", tend_collector),
            ("forgetting request targets", forget_targets),
            ("the watch over the event loop", self._watchdog.run),
            ("signs of life for the service manager", self._manager.beat),
            ("the auditor", self._auditor.run),
            ("streams of events", self._events.run),
            ("the log of what changes", lambda: announce(self._look, lines)),
        )

    def take(self, settings: SettingsOfProxy, changed: AbstractSet[str]) -> None:
        """Work by these settings from now on, of which these keys are new (`nncache.daemons.reloading`)."""
        if "glob" in changed:
            self._cache.set_filters({glob: glob for glob in settings.cache.glob})
            warn_of_globs(settings)
        if "log_level" in changed:
            set_log_level(settings.log)
        self._settings = settings

    def figures(self) -> Mapping[str, object]:
        """Return each room's figures of now; the keys are those of `nncache.metrics.metric.ROOMS`."""
        stream = self._consumer.stats()
        return {
            "admin": self._admin.stats(),
            "audit": self._auditor.stats(),
            "cache": self._cache.stats(self._clock()),
            "events": self._events.stats(),
            "fast_path": self._fast_path.stats(),
            "forward": self._upstream.stats(),
            "front_end": self._front_end.stats(),
            "loop": self._watchdog.stats(),
            "polling": stream.channel,
            "request_logs": self._logs.stats(),
            "records": stream.channel.records,
            "pool": self._pool.stats(),
            "server": self._server.stats(),
            "stream": stream,
            "termination": NO_TERMINATION if self._authentication is None else self._authentication.stats(),
            "tls": self._server.tls_stats(),
            "traffic": self._traffic.stats(),
            "zookeeper": stream.channel.session,
        }

    def _readiness(self) -> ProxyReadiness:
        now = self._situation()
        return ProxyReadiness(
            is_listening=self._is_listening,
            is_stopping=self._is_stopping,
            active=None if now.active is None else now.active.namenode.http,
            is_login_failing=self._pool.is_login_failing,
            is_gate_open=now.is_gate_open,
            gate=now.gate,
        )

    def _explain(self, path: str) -> Mapping[str, object]:
        explanation = self._cache.explain(path, self._clock())
        self._consumer.request_probe()  # the next explanation can say what is applied by now
        return asdict(explanation) | {
            "meaning": MEANINGS.get(explanation.answer, ""),
            "gate": self._situation().gate,
            "namenodes": namenodes_shown(self._pool),
        }

    def _filter_names(self) -> Mapping[str, str]:
        return self._consumer.stats().channel.records.filter_names

    def _totals(self) -> Totals:
        channel = self._consumer.stats().channel
        return totals_of(self._traffic.stats(), self._front_end.stats(), self._pool.stats(), channel)

    def _look(self) -> ProxySituation:
        """Return the situation, and take note of it for the status page."""
        now = self._situation()
        self._recent.look(self._clock(), self._totals(), is_well=now.is_gate_open, state=now.gate)
        return now

    def _status(self) -> Mapping[str, object]:
        readiness, now = self._readiness(), self._clock()
        return status_of(
            Seen(
                version=version("nncache"),
                host=socket.gethostname(),
                is_ready=readiness.is_ready,
                ready_reason=readiness.reason,
                now=now,
                boot_at=unix_time_of_boot(),
                started_at=self._started_at,
                max_staleness_s=self._settings.cache.max_staleness_s,
                max_cache_bytes=self._settings.cache.max_cache_bytes,
                gate=readiness.gate,
                totals=self._totals(),
                recent=self._recent,
                cache=self._cache.stats(now),
                loop=self._watchdog.stats(),
                hottest=self._hottest.stats(HOTTEST_SHOWN),
                globs=self._cache.glob_of,
                filter_names=self._filter_names(),
                changes=self._cache.store.recent_changes,
                namenodes=namenodes_shown(self._pool),
                settings=self._settings,
            )
        )

    def _situation(self) -> ProxySituation:
        stream = self._consumer.stats()
        gate = Gate(
            is_open=self._cache.stats(self._clock()).is_open,
            is_stream_open=stream.is_open,
            trouble=self._consumer.trouble,
            applied_txid=stream.applied_txid,
            last_probe=self._pool.last_probe,
            session=stream.channel.session if self._settings.channel_name == ZOOKEEPER else None,
        )
        limits = self._settings.limits
        return ProxySituation(
            active=self._pool.active,
            gate=gate_text(gate),
            namenodes=self._pool.describe(),
            not_taken_s=limits.failover_wait_s,
            silent_s=limits.upstream_timeout_s,
        )
