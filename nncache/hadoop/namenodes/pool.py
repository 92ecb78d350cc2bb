"""Monitor the NameNodes of one nameservice: which one is active, and the connections to them.

The shell around `nncache.hadoop.election_view`: it probes every NameNode over JMX, in a loop.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field

import aiohttp

from nncache.hadoop.election_view import Active, ElectionView, HaState, NameNode, Probe
from nncache.hadoop.errors import (
    HadoopError,
    KerberosError,
    MalformedReplyError,
    NoActiveNameNodeError,
    TlsError,
)
from nncache.hadoop.kerberos.identity import KerberosIdentity
from nncache.hadoop.kerberos.tickets import TicketStats
from nncache.hadoop.kerberos.web_login import WebLogin
from nncache.hadoop.namenode_settings import MIN_PROBE_PAUSE_S, NameNodeSettings
from nncache.hadoop.namenode_web import PLAIN, NameNodeWeb
from nncache.hadoop.namenodes.jmx_client import JmxClient
from nncache.hadoop.namespace import NamespaceCheck
from nncache.hadoop.rpc.callers import IDLE_S, CallerConnections
from nncache.hadoop.rpc.namenode import NameNodeRpc
from nncache.hadoop.rpc.user import RpcUser
from nncache.net.event_wait import wait_set

__all__ = ["Active", "NameNode", "NameNodePool", "PoolStats"]

NO_ACTIVE_INTERVAL_S = 0.25
"""Interval between probes while no NameNode is known to be active, to notice the end of a failover quickly."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolStats:
    """Figures of the pool; counts are since the start."""

    namenodes: int
    reachable: int  # NameNodes that answer now
    has_active: int  # 1 or 0
    is_login_failing: int  # 1 or 0
    is_rpc_login_failing: int = 0  # 1 or 0
    term: int
    probes: Mapping[str, int]  # by the NameNode's HTTP address
    failed_probes: int
    suspicions: int
    contradictions: int  # answers of the active NameNode whose log position was behind a standby's
    caller_connections: int  # RPC connections for users other than the service's own
    tickets: TicketStats = field(default_factory=TicketStats)  # of the service's own principal


class NameNodePool:
    """The NameNodes of one nameservice.

    `active` is valid only while `run` is running. Use the pool on one event loop.
    """

    def __init__(
        self,
        settings: NameNodeSettings,
        clock: Callable[[], float],
        identity: KerberosIdentity | None = None,
        web: NameNodeWeb = PLAIN,
    ) -> None:
        """Monitor these NameNodes with the scheme and TLS context of `web`; with an `identity`, as its principal."""
        self.namenodes = settings.namenodes
        # The user of `rpc`, as callers are named. The short name that a NameNode gives to a principal is unknown
        # here. So the user is empty with an identity, and no caller is taken for this service.
        self.user = settings.user if identity is None else ""
        self._settings = settings
        self._clock = clock
        self._view = ElectionView(self.namenodes)
        self._checks = {each: NamespaceCheck(each.http, each.rpc) for each in self.namenodes}
        self._silences: dict[NameNode, str] = {}  # the error of each one's last failed probe
        self._login_failures: set[NameNode] = set()  # those whose last probe failed with a KerberosError
        self._distrusted: dict[NameNode, str] = {}  # the logged TLS error of each
        self._web = web
        self._rpcs: dict[NameNode, NameNodeRpc] = {}  # created on demand
        self._jmx: JmxClient | None = None  # None until `run` is running
        self._identity = identity
        self._callers = CallerConnections(clock, timeout_s=settings.rpc_timeout_s, identity=identity)
        self._wakeups = {namenode: asyncio.Event() for namenode in self.namenodes}  # set: probe immediately
        self._probed = asyncio.Event()  # set, and replaced, at the end of each probe
        self._probes = {namenode.http: 0 for namenode in self.namenodes}
        self._failed_probes = 0
        self._suspicions = 0

    @property
    def active(self) -> Active | None:
        """The active NameNode; None if none is known, or if several claim to be active."""
        return self._view.active

    @property
    def confirmed_as_of(self) -> float | None:
        """Local time when the oldest of the probes was sent that prove `active` to be the only active NameNode."""
        return self._view.confirmed_as_of

    @property
    def last_probe(self) -> Probe | None:
        """The latest known position of the log of `active`, with its time."""
        return self._view.last_probe

    @property
    def is_login_failing(self) -> bool:
        """Whether the last probe of some NameNode failed with a KerberosError."""
        return bool(self._login_failures)

    async def run(self) -> None:
        """Monitor the NameNodes until cancelled."""
        timeout_s = self._settings.namenode_probe_timeout_s
        connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=30)
        async with (
            aiohttp.ClientSession(
                connector=connector,
                timeout=aiohttp.ClientTimeout(total=timeout_s),
                cookie_jar=aiohttp.DummyCookieJar(),
                trust_env=False,
                middlewares=self._middlewares(timeout_s),
            ) as session,
            asyncio.TaskGroup() as tasks,
        ):
            self._jmx = jmx = JmxClient(
                session,
                self._clock,
                timeout_s=timeout_s,
                user=self._settings.user,
                wants_guard=self._identity is not None and not self._identity.may_fall_back,
                web=self._web,
            )
            tasks.create_task(self._close_idle(), name="close idle connections of callers")
            if self._identity is not None:
                tasks.create_task(self._identity.keep_ticket(), name="keep a Kerberos ticket")
            for namenode in self.namenodes:
                tasks.create_task(self._watch(jmx, namenode), name=f"watch {namenode.http}")

    def suspect(self, namenode: NameNode, why: str) -> None:
        """Probe all NameNodes immediately: this one returned an error that may mean that it is not active."""
        _log.debug("%s is suspected: %s", namenode.http, why)
        self._suspicions += 1
        self._probe_all_now()

    async def wait_active(self, timeout_s: float) -> Active:
        """Return the active NameNode as soon as there is one.

        Raises NoActiveNameNodeError: there is none within the timeout.
        """
        try:
            async with asyncio.timeout(timeout_s):
                while (active := self._view.active) is None:
                    await self.wait_probed()
                return active
        except TimeoutError as exc:
            raise NoActiveNameNodeError("no active NameNode", reasons=self.describe()) from exc

    async def wait_probed(self) -> None:
        """Wait until the next probe ends, with or without an answer."""
        await self._probed.wait()

    async def last_txid(self, namenode: NameNode) -> int:
        """Return a transaction id >= all ids that this NameNode, or an earlier active one, has assigned by now.

        JMX needs no superuser. The NameNode reports that it is active before it reports the position of its log. So
        all changes that were written before this call are in that log.

        Raises HadoopError: the NameNode does not answer, or is not active.
        """
        if self._jmx is None:
            raise NoActiveNameNodeError("the NameNodes are not being watched")
        answer = await self._jmx.ask(namenode)
        if answer.state is not HaState.ACTIVE:
            raise NoActiveNameNodeError(f"{namenode.http} is {answer.state.name.lower()}")
        if answer.journal is None:
            raise MalformedReplyError(f"{namenode.http} does not say how far its log has come")
        return answer.journal.last_txid

    def rpc(self, namenode: NameNode) -> NameNodeRpc:
        """Return the shared connection to this NameNode for the service's own user."""
        rpc = self._rpcs.get(namenode)
        if rpc is None:
            rpc = NameNodeRpc(
                namenode.rpc,
                self._settings.user,
                timeout_s=self._settings.rpc_timeout_s,
                check=self._checks[namenode],
                identity=self._identity,
            )
            self._rpcs[namenode] = rpc
        return rpc

    def rpc_as(self, namenode: NameNode, user: RpcUser) -> AbstractAsyncContextManager[NameNodeRpc]:
        """Return a context manager for a connection to this NameNode as another user, from a small pool.

        Raises TooManyCallersError: on entering, all connections are in use.
        """
        return self._callers.borrow(namenode.rpc, user, self._checks[namenode])

    def namespace_check(self, namenode: NameNode) -> NamespaceCheck:
        """Return the check that compares this NameNode's namespace over HTTP with that over RPC."""
        return self._checks[namenode]

    def state_of(self, namenode: NameNode) -> HaState | None:
        """Return the HA state that this NameNode last reported; None if it counts as unreachable."""
        return self._view.state_of(namenode)

    def wrong_namespace(self, namenode: NameNode) -> str:
        """Return which namespaces are mixed up, and what to do; "" if none are known to be.

        Each RPC connection is checked when it is opened, and is not used if it leads to another namespace.
        """
        return self._checks[namenode].trouble or self._view.disagreement

    def order(self) -> tuple[NameNode, ...]:
        """Return the NameNodes in the order in which to try them: the active one, the reachable ones, the others.

        If several claim to be active, the one that became active last is first. Observers are excluded: an observer
        does not refuse a read, and its answer may be older than an earlier one (OwnWrites).
        """
        claimant = self._view.claimant

        def rank(namenode: NameNode) -> int:
            if namenode == claimant:
                return 0
            return 1 if self._view.is_reachable(namenode) else 2

        return tuple(sorted((each for each in self.namenodes if not self._view.is_observer(each)), key=rank))

    def stats(self) -> PoolStats:
        """Return the current figures."""
        return PoolStats(
            namenodes=len(self.namenodes),
            reachable=sum(map(self._view.is_reachable, self.namenodes)),
            has_active=int(self._view.active is not None),
            is_login_failing=int(self.is_login_failing),
            is_rpc_login_failing=int(any(rpc.is_login_failing for rpc in self._rpcs.values())),
            term=self._view.term,
            probes=dict(self._probes),
            failed_probes=self._failed_probes,
            suspicions=self._suspicions,
            contradictions=self._view.contradictions,
            caller_connections=len(self._callers),
            tickets=TicketStats() if self._identity is None else self._identity.stats(),
        )

    async def close(self) -> None:
        """Close the RPC connections. Call it after `run` has ended and no connection is in use."""
        for rpc in self._rpcs.values():
            await rpc.close()
        await self._callers.close()

    def _middlewares(self, timeout_s: float) -> tuple[WebLogin, ...]:
        if self._identity is None:
            return ()
        return (WebLogin(self._identity, [each.http for each in self.namenodes], timeout_s=timeout_s),)

    async def _close_idle(self) -> None:
        while True:
            await asyncio.sleep(IDLE_S / 2)
            await self._callers.close_idle()

    async def _watch(self, jmx: JmxClient, namenode: NameNode) -> None:
        wakeup = self._wakeups[namenode]
        while True:
            wakeup.clear()
            await self._probe(jmx, namenode)
            await asyncio.sleep(MIN_PROBE_PAUSE_S)
            interval_s = self._settings.namenode_probe_interval_s
            if self._view.active is None:
                interval_s = min(interval_s, NO_ACTIVE_INTERVAL_S)
            await wait_set(wakeup, interval_s)

    async def _probe(self, jmx: JmxClient, namenode: NameNode) -> None:
        was_active = self._view.active
        others_had = self._view.last_txid_of_others(namenode)
        asked_at = self._clock()
        self._probes[namenode.http] += 1
        try:
            answer = await jmx.ask(namenode)
        except HadoopError as error:
            _log.debug("cannot probe %s: %s", namenode.http, error)
            self._failed_probes += 1
            self._silences[namenode] = str(error)
            self._warn_of_tls(namenode, error)
            if isinstance(error, KerberosError):
                self._login_failures.add(namenode)
            else:
                self._login_failures.discard(namenode)
            self._view.failed(namenode)
            if was_active is not None and was_active.namenode == namenode:
                self._wakeups[namenode].set()
        else:
            self._login_failures.discard(namenode)
            self._distrusted.pop(namenode, None)
            self._checks[namenode].note_over_http(answer.namespace)
            self._view.answered(namenode, asked_at, answer, others_had=others_had)
        if was_active is not None and self._view.active is None:
            self._probe_all_now()
        self._probed.set()
        self._probed = asyncio.Event()

    def _warn_of_tls(self, namenode: NameNode, error: HadoopError) -> None:
        """Log a NameNode's TLS error once: a standby's certificate must be valid at the next failover."""
        if isinstance(error, TlsError) and self._distrusted.get(namenode) != str(error):
            self._distrusted[namenode] = str(error)
            _log.warning("%s", error)

    def _probe_all_now(self) -> None:
        for wakeup in self._wakeups.values():
            wakeup.set()

    def describe(self) -> str:
        """Return a text with the HA state of each NameNode, or the reason why it cannot be reached."""
        states = []
        for namenode in self.namenodes:
            state = self._view.state_of(namenode)
            if state is None:
                states.append(
                    f"{namenode.http} cannot be asked ({self._silences.get(namenode, 'no answer yet')})"
                )
            else:
                states.append(f"{namenode.http} is {state.name.lower()}")
        return ", ".join(states)
