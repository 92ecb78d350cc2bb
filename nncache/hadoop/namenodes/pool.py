"""Keep an eye on the NameNodes of one nameservice: which is the active one, and how to ask it.

The shell around `nncache.hadoop.election_view`: it asks every NameNode over JMX, in a loop.
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

__all__ = ["Active", "NameNode", "NameNodePool", "PoolStats"]

NO_ACTIVE_INTERVAL_S = 0.25
"""Between two probes while no NameNode is known to be active: a failover should not last longer than it must."""

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
    contradictions: int  # answers after which a standby's log had come further than the active one's
    caller_connections: int  # RPC connections as other users than the service
    tickets: TicketStats = field(default_factory=TicketStats)  # of the service's own principal


class NameNodePool:
    """The NameNodes of one nameservice.

    `run` must be running for `active` to mean anything. Use the pool on one event loop.
    """

    def __init__(
        self,
        settings: NameNodeSettings,
        clock: Callable[[], float],
        identity: KerberosIdentity | None = None,
        web: NameNodeWeb = PLAIN,
    ) -> None:
        """Watch these NameNodes, reached as `web` says; with an `identity` as its principal."""
        self.namenodes = settings.namenodes
        # The user of `rpc`, as callers are named. What a NameNode makes of a principal is not known here, so that
        # with an identity it is empty, and no caller is taken for this service.
        self.user = settings.user if identity is None else ""
        self._settings = settings
        self._clock = clock
        self._view = ElectionView(self.namenodes)
        self._checks = {each: NamespaceCheck(each.http, each.rpc) for each in self.namenodes}
        self._silences: dict[NameNode, str] = {}  # why each gave no answer to the last probe
        self._login_failures: set[NameNode] = set()  # those that gave none for want of a ticket
        self._distrusted: dict[NameNode, str] = {}  # what was logged of those with which TLS finds fault
        self._web = web
        self._rpcs: dict[NameNode, NameNodeRpc] = {}  # made when first asked for
        self._jmx: JmxClient | None = None  # once `run` is running
        self._identity = identity
        self._callers = CallerConnections(clock, timeout_s=settings.rpc_timeout_s, identity=identity)
        self._wakeups = {namenode: asyncio.Event() for namenode in self.namenodes}  # set: probe it at once
        self._probed = asyncio.Event()  # set, and replaced, at the end of each probe
        self._probes = {namenode.http: 0 for namenode in self.namenodes}
        self._failed_probes = 0
        self._suspicions = 0

    @property
    def active(self) -> Active | None:
        """The active NameNode; None when none is known, or several say that they are."""
        return self._view.active

    @property
    def confirmed_as_of(self) -> float | None:
        """Local time at which the oldest probe was sent of those that show `active` to be the only active one."""
        return self._view.confirmed_as_of

    @property
    def last_probe(self) -> Probe | None:
        """The latest moment by which it is known how far the log of `active` had come."""
        return self._view.last_probe

    @property
    def is_login_failing(self) -> bool:
        """Whether a NameNode answers, and only the service's own Kerberos identity is in the way."""
        return bool(self._login_failures)

    async def run(self) -> None:
        """Watch the NameNodes until cancelled."""
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
        """Have all NameNodes probed at once: this one gave an error that may mean that it is not active."""
        _log.debug("%s is suspected: %s", namenode.http, why)
        self._suspicions += 1
        self._probe_all_now()

    async def wait_active(self, timeout_s: float) -> Active:
        """Return the active NameNode as soon as there is one.

        Raises NoActiveNameNodeError: there was none in that time.
        """
        try:
            async with asyncio.timeout(timeout_s):
                while (active := self._view.active) is None:
                    await self.wait_probed()
                return active
        except TimeoutError as exc:
            raise NoActiveNameNodeError("no active NameNode", reasons=self.describe()) from exc

    async def wait_probed(self) -> None:
        """Return when the next probe has ended, with or without an answer."""
        await self._probed.wait()

    async def last_txid(self, namenode: NameNode) -> int:
        """Return a transaction id >= all that this NameNode, or an earlier active one, has given out by now.

        Asked over JMX, which needs no superuser. It is active, in this order, before it says how far its log has
        come; so whatever was written before this was called is in that log.

        Raises HadoopError: it cannot say, or is not active.
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
        """Return the connection to this NameNode as the service's own user; it is shared by all."""
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
        """Lend a connection to this NameNode as another user; there are few, and idle ones are closed.

        Raises TooManyCallersError: on entering, all are in use.
        """
        return self._callers.borrow(namenode.rpc, user, self._checks[namenode])

    def namespace_check(self, namenode: NameNode) -> NamespaceCheck:
        """Return what this NameNode says about its namespace over HTTP and over RPC."""
        return self._checks[namenode]

    def state_of(self, namenode: NameNode) -> HaState | None:
        """Return what this NameNode last said of itself; None if it counts as unreachable."""
        return self._view.state_of(namenode)

    def wrong_namespace(self, namenode: NameNode) -> str:
        """Return which namespaces are mixed up, and what to do; "" while none are known to be.

        Each RPC connection is compared when it is made, and is not used if it leads to another namespace.
        """
        return self._checks[namenode].trouble or self._view.disagreement

    def order(self) -> tuple[NameNode, ...]:
        """Return the NameNodes in the order in which to try them: the active one, then those that answer.

        While several say that they are active, the one that became active last comes first. No observer is among them:
        it would not refuse a read, and what it answers may be older than what was answered before (OwnWrites).
        """
        claimant = self._view.claimant

        def rank(namenode: NameNode) -> int:
            if namenode == claimant:
                return 0
            return 1 if self._view.is_reachable(namenode) else 2

        return tuple(sorted((each for each in self.namenodes if not self._view.is_observer(each)), key=rank))

    def stats(self) -> PoolStats:
        """Return the figures of now."""
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
        """Close the RPC connections; call it when `run` has ended and no caller is left."""
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
            try:
                async with asyncio.timeout(interval_s):
                    await wakeup.wait()
            except TimeoutError:
                continue

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
        """Log what TLS finds wrong with a NameNode, once: a standby's certificate is needed in the next failover."""
        if isinstance(error, TlsError) and self._distrusted.get(namenode) != str(error):
            self._distrusted[namenode] = str(error)
            _log.warning("%s", error)

    def _probe_all_now(self) -> None:
        for wakeup in self._wakeups.values():
            wakeup.set()

    def describe(self) -> str:
        """Return what each NameNode says of itself, or why it cannot be asked."""
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
