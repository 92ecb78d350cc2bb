"""Build the parts that serve one namespace, behind the clients' connections.

They are its NameNodes and their changes, cache, gate, front end, fast path and direct calls. Namespaces share no part,
so that trouble in one does not affect the others (docs/decisions/0024).
"""

import socket
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass
from functools import partial
from importlib.metadata import version
from types import TracebackType
from typing import Final, Self

from nncache.admin.proxy_pages import ProxyReadiness
from nncache.auditing.auditor import Auditor
from nncache.cache import MetadataCache
from nncache.clock import unix_time_of_boot
from nncache.coordination.login import ZooKeeperLogin
from nncache.daemons.history import History, Totals
from nncache.daemons.housekeeping import reclaim_in_slices
from nncache.daemons.namenodes_view import namenodes_view
from nncache.daemons.proxy_state import Gate, ProxyState, gate_text, lines
from nncache.daemons.proxy_status import StatusSnapshot, totals_of
from nncache.daemons.purging import Purger, held_paths
from nncache.daemons.start_lines import warn_of_globs
from nncache.daemons.state_log import log_changes
from nncache.daemons.watchdog import LoopStats
from nncache.events.callers import identify_by
from nncache.events.endpoint import EventsEndpoint
from nncache.events.zookeeper import ZooKeeperEvents
from nncache.hadoop.kerberos.identity import KerberosIdentity
from nncache.hadoop.namenode_web import PLAIN, NameNodeWeb
from nncache.hadoop.namenodes.pool import NameNodePool
from nncache.invalidation.consumer import Consumer
from nncache.invalidation.edits_source import EditsSource
from nncache.invalidation.journal.access import journal_access
from nncache.invalidation.journal.choice import edits_of
from nncache.invalidation.settings import DIRECT, FEED, ZOOKEEPER
from nncache.invalidation.stream import ChannelSetup, load_stream_class
from nncache.proxy.cache_status import MEANINGS
from nncache.proxy.clients.fastpath import FastPath
from nncache.proxy.decide.answers import Answers
from nncache.proxy.decide.direct_calls import DirectCalls
from nncache.proxy.decide.front_end import FrontEnd
from nncache.proxy.traffic import Observer, Traffic
from nncache.proxy.upstream.client import Upstream
from nncache.proxy.upstream.queries import PoolQueries
from nncache.settings.commands import SettingsOfProxy
from nncache.spnego.clients_authentication import ClientsAuthentication
from nncache.tenants.hottest import HottestStats

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Security:
    """The identity of a proxy, and its means to authenticate clients.

    Attributes:
        identity: the service's own identity, on a secured cluster.
        login: the login at ZooKeeper, if ZooKeeper needs one.
        web: the way to the NameNodes' web servers.
        clients: authenticates clients; None: the NameNodes do.
    """

    identity: KerberosIdentity | None = None
    login: ZooKeeperLogin | None = None
    web: NameNodeWeb = PLAIN
    clients: ClientsAuthentication | None = None


NO_SECURITY: Final = Security()


def _edits(
    pool: NameNodePool, settings: SettingsOfProxy, security: Security, clock: Clock
) -> EditsSource | None:
    """Return the edits source of the direct channel; None for other channels."""
    if settings.channel_name != DIRECT:
        return None
    access = journal_access(settings.edits, settings.namenodes, security.identity, security.web)
    return edits_of(pool, settings.edits, settings.polling, access, clock, at_first_sight=True)


class NamespaceStack:
    """The parts of one namespace, an async context manager. Leaving it waits for in-flight calls to its NameNodes.

    Attributes:
        settings: the settings in force.
        cache: the metadata cache.
        consumer: applies changes to the cache.
        traffic: counts requests and their results.
        front_end: answers requests.
        events: the endpoint that streams the events of filters.
        handle: answers requests, including requests for events.
        fast_path: answers requests with a known head.
        direct_calls: starts requests that need no task; None if the proxy itself authenticates clients.
        upstream: sends calls to the NameNodes.
        purger: purges cached paths for operators.
    """

    def __init__(
        self,
        settings: SettingsOfProxy,
        clock: Clock,
        *,
        security: Security = NO_SECURITY,
        observers: tuple[Observer, ...] = (),
    ) -> None:
        """Build the parts. `clock` reads CLOCK_BOOTTIME, in seconds; `observers` are shown the requests."""
        self.settings = settings
        self._clock = clock
        self._pool = NameNodePool(settings.namenodes, clock, security.identity, security.web)
        self.cache = MetadataCache(settings.cache)
        setup = ChannelSetup(
            namenodes=self._pool,
            nameservice=settings.namenodes.nameservice,
            channel=settings.channel,
            polling=settings.polling,
            zookeeper=settings.zookeeper,
            clock=clock,
            login=security.login,
            feed=settings.feed,
            edits=_edits(self._pool, settings, security, clock),
        )
        self._stream = load_stream_class(settings.channel_name)(setup)
        self.consumer = Consumer(self.cache, self._stream, clock)
        limits = settings.limits
        own = security.clients
        self.upstream = Upstream(self._pool, limits, clock, security.web, None if own is None else own.login)
        queries = PoolQueries(
            self._pool,
            timeout_s=settings.proxy.namenode_query_timeout_s,
            asks_txid_over_jmx=settings.channel_name in {FEED, ZOOKEEPER},  # these need no superuser
            clock=clock,
        )
        traffic = self.traffic = Traffic(clock)
        fetch = partial(self.upstream.fetch, is_followed=False)
        self._auditor = Auditor(self.cache, fetch, self.consumer, clock, share=settings.proxy.audit_share)
        auditors = (self._auditor.answered,) if settings.proxy.audit_share > 0 else ()
        traffic.observers = (*auditors, *observers)
        self.fast_path = FastPath(
            self.cache.is_good, self.cache.store, clock, settings.limits, traffic.sampled
        )
        if settings.request_logs.access_log:
            sampler = self.fast_path.sampler
            sampler.max_every = min(sampler.max_every, settings.request_logs.access_log_sample)
        traffic.hits_of_fast_path = lambda: self.fast_path.hits
        issued, admit = (None, None) if own is None else (own.issued, own.terminator.admit)
        self.front_end = FrontEnd(
            self.cache,
            self.upstream,
            queries,
            self.consumer,
            settings.proxy,
            clock,
            limits,
            traffic,
            answers=Answers(clock, self.upstream.cookies, issued, self.fast_path.remember),
            admit=admit,
        )
        self.direct_calls: DirectCalls | None = None
        if own is None:
            self.direct_calls = DirectCalls(self.front_end, self.cache, self.upstream, clock)
        else:
            own.tell(self.front_end.waits, self.fast_path)
        source = ZooKeeperEvents(settings.zookeeper, settings.namenodes.nameservice, clock, security.login)
        self.events = EventsEndpoint(
            source if settings.channel_name == ZOOKEEPER else None,
            identify_by(admit, is_secured=security.identity is not None),
            traffic,
            limits,
            max_streams=settings.proxy.max_event_streams,
        )
        if own is not None:
            own.keys.on_retired.append(self.events.key_retired)
        self.handle = self.events.before(self.front_end.handle)
        self._started_at = clock()
        self._history = History(self._started_at, Totals())
        self.purger = Purger(self.cache, clock, self._filter_names)
        self._under_way = AsyncExitStack()

    async def __aenter__(self) -> Self:
        await self._under_way.enter_async_context(self.upstream)
        await self._under_way.enter_async_context(self.front_end)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._under_way.__aexit__(kind, exc, trace)

    async def close(self) -> None:
        """Shut down the stream of changes and the pool of NameNodes."""
        await self._stream.shut_down()
        await self._pool.close()

    @property
    def background(self) -> tuple[tuple[str, Callable[[], Awaitable[object]]], ...]:
        """Return the background work. None of it is needed to forward a call."""
        return (
            ("the watch over the NameNodes", self._pool.run),
            ("the stream of changes", self.consumer.run),
            ("taking forgotten entries apart", lambda: reclaim_in_slices(self.cache.reclaim)),
            ("the auditor", self._auditor.run),
            ("streams of events", self.events.run),
            ("the log of what changes", lambda: log_changes(self._look, lines)),
        )

    def sample(self, limit: int, filter_: str | None) -> tuple[str, ...]:
        """Return a random sample of cached paths. Raises RefusedQueryError if no such filter is in force."""
        return held_paths(self.cache, self._filter_names(), limit, filter_)

    def take_globs(self, settings: SettingsOfProxy) -> None:
        """Make the globs of these settings the only filters of the cache."""
        self.cache.set_filters({glob: glob for glob in settings.cache.glob})
        warn_of_globs(settings)

    def figures(self) -> dict[str, object]:
        """Return the current figures of each room that belongs to the namespace."""
        stream = self.consumer.stats()
        return {
            "audit": self._auditor.stats(),
            "cache": self.cache.stats(self._clock()),
            "events": self.events.stats(),
            "fast_path": self.fast_path.stats(),
            "forward": self.upstream.stats(),
            "front_end": self.front_end.stats(),
            "journal": stream.channel.journal,
            "polling": stream.channel,
            "records": stream.channel.records,
            "pool": self._pool.stats(),
            "stream": stream,
            "traffic": self.traffic.stats(),
            "zookeeper": stream.channel.session,
        }

    def readiness(self, *, is_listening: bool, is_stopping: bool) -> ProxyReadiness:
        """Return whether it can serve, and whether from memory. The arguments concern the whole proxy."""
        now = self._state()
        return ProxyReadiness(
            is_listening=is_listening,
            is_stopping=is_stopping,
            active=None if now.active is None else now.active.namenode.http,
            is_login_failing=self._pool.is_login_failing,
            is_gate_open=now.is_gate_open,
            gate=now.gate,
        )

    def explain(self, path: str) -> Mapping[str, object]:
        """Return the cache's state for a canonical path, and why it is or is not answered from memory."""
        explanation = self.cache.explain(path, self._clock())
        self.consumer.request_probe()  # so that the next explanation is more recent
        return asdict(explanation) | {
            "meaning": MEANINGS.get(explanation.answer, ""),
            "gate": self._state().gate,
            "namenodes": namenodes_view(self._pool),
        }

    def seen(self, readiness: ProxyReadiness, *, loop: LoopStats, hottest: HottestStats) -> StatusSnapshot:
        """Return the data for the status document. `loop` and `hottest` are those of the whole proxy."""
        now = self._clock()
        return StatusSnapshot(
            version=version("nncache"),
            host=socket.gethostname(),
            is_ready=readiness.is_ready,
            ready_reason=readiness.reason,
            now=now,
            boot_at=unix_time_of_boot(),
            started_at=self._started_at,
            max_staleness_s=self.settings.cache.max_staleness_s,
            max_cache_bytes=self.settings.cache.max_cache_bytes,
            gate=readiness.gate,
            totals=self.totals(),
            history=self._history,
            cache=self.cache.stats(now),
            loop=loop,
            hottest=hottest,
            globs=self.cache.glob_of,
            filter_names=self._filter_names(),
            channel=self.consumer.stats().channel,
            changes=self.cache.store.recent_changes,
            namenodes=namenodes_view(self._pool),
            settings=self.settings,
        )

    def _filter_names(self) -> Mapping[str, str]:
        return self.consumer.stats().channel.records.filter_names

    def totals(self) -> Totals:
        """Return the counters of requests and their results."""
        channel = self.consumer.stats().channel
        return totals_of(self.traffic.stats(), self.front_end.stats(), self._pool.stats(), channel)

    def _look(self) -> ProxyState:
        """Return the current state, and record it for the status page."""
        now = self._state()
        self._history.look(self._clock(), self.totals(), is_well=now.is_gate_open, state=now.gate)
        return now

    def _state(self) -> ProxyState:
        stream = self.consumer.stats()
        gate = Gate(
            is_open=self.cache.stats(self._clock()).is_open,
            is_stream_open=stream.is_open,
            trouble=self.consumer.trouble,
            applied_txid=stream.applied_txid,
            last_probe=self._pool.last_probe,
            session=stream.channel.session if self.settings.channel_name in {FEED, ZOOKEEPER} else None,
        )
        limits = self.settings.limits
        return ProxyState(
            active=self._pool.active,
            gate=gate_text(gate),
            namenodes=self._pool.describe(),
            not_taken_s=limits.failover_wait_s,
            silent_s=limits.upstream_timeout_s,
        )
