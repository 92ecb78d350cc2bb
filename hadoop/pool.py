"""Keep an eye on the NameNodes of one nameservice: which is the active one, and how to ask it. (hadoop/pool.py)

The shell around `hadoop.election_view`: it asks every NameNode over JMX, as nobody in particular, in a loop.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus

import aiohttp
from yarl import URL

from hadoop.election_view import Active, Answer, ElectionView, Journal, NameNode, Probe
from hadoop.errors import MalformedReplyError, NoActiveNameNodeError
from hadoop.jmx import (
    BLOCK_POOL_QUERY,
    JOURNAL_QUERY,
    STARTED_QUERY,
    STATUS_QUERY,
    parse_block_pool,
    parse_last_txid,
    parse_started_ms,
    parse_status,
)
from hadoop.namenode_settings import NameNodeSettings
from hadoop.rpc.namenode import NameNodeRpc

__all__ = ["Active", "NameNode", "NameNodePool", "PoolStats"]

MIN_PROBE_PAUSE_S = 0.05
"""Between two probes of one NameNode, however often it is suspected."""

NO_ACTIVE_INTERVAL_S = 0.25
"""Between two probes while no NameNode is known to be active: a failover should not last longer than it must."""

MAX_JMX_REPLY_BYTES = 1024 * 1024


_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolStats:
    """Figures of the pool; counts are since the start."""

    namenodes: int
    reachable: int  # NameNodes that answer now
    has_active: int  # 1 or 0
    term: int
    probes: int
    failed_probes: int
    suspicions: int


class NameNodePool:
    """The NameNodes of one nameservice.

    `run` must be running for `active` to mean anything. Use the pool on one event loop.
    """

    def __init__(self, settings: NameNodeSettings, clock: Callable[[], float]) -> None:
        self.namenodes = settings.namenodes
        self._settings = settings
        self._clock = clock
        self._view = ElectionView(self.namenodes)
        self._block_pools: dict[
            NameNode, tuple[int, str]
        ] = {}  # what each said, in which life of its process
        self._rpcs: dict[NameNode, NameNodeRpc] = {}  # made when first asked for
        self._wakeups = {namenode: asyncio.Event() for namenode in self.namenodes}  # set: probe it at once
        self._probed = asyncio.Event()  # set, and replaced, at the end of each probe
        self._probes = 0
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

    async def run(self) -> None:
        """Watch the NameNodes until cancelled."""
        timeout = aiohttp.ClientTimeout(total=self._settings.namenode_probe_timeout_s)
        connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=30)
        async with (
            aiohttp.ClientSession(
                connector=connector, timeout=timeout, cookie_jar=aiohttp.DummyCookieJar(), trust_env=False
            ) as session,
            asyncio.TaskGroup() as tasks,
        ):
            for namenode in self.namenodes:
                tasks.create_task(self._watch(session, namenode), name=f"watch {namenode.http}")

    def suspect(self, namenode: NameNode, why: str) -> None:
        """Have all NameNodes probed at once: this one gave an error that may mean that it is not active."""
        _log.debug("%s is suspected: %s", namenode.http, why)
        self._suspicions += 1
        self._probe_all_now()

    async def wait_active(self, timeout_s: float) -> Active:
        """Return the active NameNode as soon as there is one.

        Raises:
            NoActiveNameNodeError: There was none in that time.
        """
        try:
            async with asyncio.timeout(timeout_s):
                while (active := self._view.active) is None:
                    await self.wait_probed()
                return active
        except TimeoutError as exc:
            raise NoActiveNameNodeError(self._describe()) from exc

    async def wait_probed(self) -> None:
        """Return when the next probe has ended, with or without an answer."""
        await self._probed.wait()

    def rpc(self, namenode: NameNode) -> NameNodeRpc:
        """Return the connection to this NameNode as the service's own user; it is shared by all."""
        rpc = self._rpcs.get(namenode)
        if rpc is None:
            rpc = NameNodeRpc(namenode.rpc, self._settings.user, timeout_s=self._settings.rpc_timeout_s)
            self._rpcs[namenode] = rpc
        return rpc

    def order(self) -> tuple[NameNode, ...]:
        """Return the NameNodes in the order in which to try them: the active one, then those that answer."""
        active = self._view.active

        def rank(namenode: NameNode) -> int:
            if active is not None and active.namenode == namenode:
                return 0
            return 1 if self._view.is_reachable(namenode) else 2

        return tuple(sorted(self.namenodes, key=rank))

    def stats(self) -> PoolStats:
        """Return the figures of now."""
        return PoolStats(
            namenodes=len(self.namenodes),
            reachable=sum(map(self._view.is_reachable, self.namenodes)),
            has_active=int(self._view.active is not None),
            term=self._view.term,
            probes=self._probes,
            failed_probes=self._failed_probes,
            suspicions=self._suspicions,
        )

    async def close(self) -> None:
        """Close the RPC connections; call it when `run` has ended and nobody asks any more."""
        for rpc in self._rpcs.values():
            await rpc.close()

    async def _watch(self, session: aiohttp.ClientSession, namenode: NameNode) -> None:
        wakeup = self._wakeups[namenode]
        while True:
            wakeup.clear()
            await self._probe(session, namenode)
            await asyncio.sleep(MIN_PROBE_PAUSE_S)
            interval_s = self._settings.namenode_probe_interval_s
            if self._view.active is None:
                interval_s = min(interval_s, NO_ACTIVE_INTERVAL_S)
            try:
                async with asyncio.timeout(interval_s):
                    await wakeup.wait()
            except TimeoutError:
                continue

    async def _probe(self, session: aiohttp.ClientSession, namenode: NameNode) -> None:
        was_active = self._view.active
        asked_at = self._clock()
        self._probes += 1
        try:
            async with asyncio.timeout(self._settings.namenode_probe_timeout_s):
                answer = await self._ask(session, namenode)
        except (aiohttp.ClientError, MalformedReplyError, OSError):  # TimeoutError is an OSError
            self._failed_probes += 1
            self._view.failed(namenode)
            if was_active is not None and was_active.namenode == namenode:
                self._wakeups[namenode].set()
        else:
            self._view.answered(namenode, asked_at, answer)
        if was_active is not None and self._view.active is None:
            self._probe_all_now()
        self._probed.set()
        self._probed = asyncio.Event()

    async def _ask(self, session: aiohttp.ClientSession, namenode: NameNode) -> Answer:
        """Ask when the process started, what it is, how far its log has come, and when it started again.

        Only the same start before and after shows that one process gave all these answers.
        """
        started_ms = await self._ask_started(session, namenode)
        block_pool = await self._ask_block_pool(session, namenode, started_ms)
        status = parse_status(await self._get(session, namenode, STATUS_QUERY))
        journal = await self._ask_journal(session, namenode)
        if await self._ask_started(session, namenode) != started_ms:
            raise MalformedReplyError(f"{namenode.http} was restarted between two questions")
        return status.answer(started_ms, block_pool, journal)

    async def _ask_started(self, session: aiohttp.ClientSession, namenode: NameNode) -> int:
        return parse_started_ms(await self._get(session, namenode, STARTED_QUERY))

    async def _ask_block_pool(
        self, session: aiohttp.ClientSession, namenode: NameNode, started_ms: int
    ) -> str:
        known = self._block_pools.get(namenode)
        if known is not None and known[0] == started_ms:
            return known[1]
        try:
            block_pool = parse_block_pool(await self._get(session, namenode, BLOCK_POOL_QUERY))
        except MalformedReplyError as exc:
            _log.debug("%s does not say which namespace it serves: %s", namenode.http, exc)
            return ""
        self._block_pools[namenode] = started_ms, block_pool
        return block_pool

    async def _ask_journal(self, session: aiohttp.ClientSession, namenode: NameNode) -> Journal | None:
        asked_at = self._clock()
        try:
            last_txid = parse_last_txid(await self._get(session, namenode, JOURNAL_QUERY))
        except MalformedReplyError as exc:
            _log.debug("%s does not say how far its log has come: %s", namenode.http, exc)
            return None
        return Journal(last_txid=last_txid, asked_at=asked_at, answered_at=self._clock())

    async def _get(self, session: aiohttp.ClientSession, namenode: NameNode, query: str) -> bytes:
        url = URL(f"http://{namenode.http}{query}", encoded=True)
        async with session.get(url, allow_redirects=False) as reply:
            if reply.status != HTTPStatus.OK:
                raise MalformedReplyError(f"JMX of {namenode.http} answers {reply.status}")
            body = bytearray()
            async for chunk in reply.content.iter_any():
                body += chunk
                if len(body) > MAX_JMX_REPLY_BYTES:
                    raise MalformedReplyError(f"JMX of {namenode.http} answers too much")
            return bytes(body)

    def _probe_all_now(self) -> None:
        for wakeup in self._wakeups.values():
            wakeup.set()

    def _describe(self) -> str:
        states = []
        for namenode in self.namenodes:
            state = self._view.state_of(namenode)
            states.append(
                f"{namenode.http} {'cannot be reached' if state is None else 'is ' + state.name.lower()}"
            )
        return "no active NameNode: " + ", ".join(states)
