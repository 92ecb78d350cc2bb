"""Compare some of the answers from memory with the NameNode's answers.

A difference alone is not a fault: the path may have changed between the two answers. So the cache is checked again when
every change that the NameNode's reply can show has been applied (`FreshnessGate.seen_as_of`, G2). If it still holds the
answer, it has missed a change (Bounded).
"""

import asyncio
import logging
import random
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NoReturn

from nncache.auditing.audit_judge import COVERED_WITHIN_S, AuditOutcome, compared, why_different
from nncache.cache.entries import Entry
from nncache.cache.metadata_cache import MetadataCache
from nncache.hadoop.calls import StatusRequest, parse_plain
from nncache.hadoop.paths import ROOT, name, parent
from nncache.net.log_throttle import ThrottledLog
from nncache.proxy.clients.cached_reply import body_of
from nncache.proxy.decide.ports import Clock, CoverageSignal, FetchCall
from nncache.proxy.errors import ProxyError
from nncache.proxy.headers import request_headers
from nncache.proxy.identity import claimed_caller
from nncache.proxy.messages import NO_TERM, RequestHead, UpstreamReply
from nncache.proxy.traffic import Exchange, Result

PER_CALL: Final = 0.01
"""Audits allowed for each forwarded call: audits add at most 1 % to the calls."""

BURST: Final = 10.0
"""The most audits that may be saved up."""

MAX_WAITING: Final = 10
"""The most answers that wait for an audit. The oldest ones are dropped."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AuditStats:
    """Audited answers from memory since start, by outcome."""

    outcomes: dict[AuditOutcome, int]


@dataclass(frozen=True, slots=True)
class _Answered:
    """One answer from memory."""

    target: str
    peer: str
    plain: StatusRequest
    entry: Entry


class Auditor:
    """Audits a share of the hits. An observer of `nncache.proxy.traffic.Traffic`.

    Invariant:
        A1  The number of audits is at most one, plus `PER_CALL` for each forwarded call.
    """

    def __init__(
        self,
        cache: MetadataCache,
        fetch: FetchCall,
        signal: CoverageSignal,
        clock: Clock,
        *,
        share: float,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """Audit this share of the hits, as far as the number of forwarded calls allows."""
        self._cache = cache
        self._fetch = fetch
        self._signal = signal
        self._clock = clock
        self._share = share
        self._chance = chance
        self._credit = 1.0  # audits that are allowed now
        self._waiting: deque[_Answered] = deque(maxlen=MAX_WAITING)
        self._came = asyncio.Event()
        self._outcomes = Counter[AuditOutcome](dict.fromkeys(AuditOutcome, 0))
        self._throttled = ThrottledLog(_log, clock)

    def answered(self, exchange: Exchange) -> None:
        """Observe a request: count forwarded calls, and queue some of the hits for an audit."""
        if exchange.result is not Result.HIT:
            if exchange.result in {Result.STORED, Result.FORWARDED}:
                self._credit = min(BURST, self._credit + PER_CALL)
            return
        if self._credit < 1 or self._chance() >= self._share * exchange.weight:
            return
        plain = parse_plain(exchange.target)
        entry = None if plain is None else self._entry_of(plain.path)
        if plain is None or entry is None:
            return  # forgotten in the turn of the event loop that served it
        self._credit -= 1
        self._waiting.append(_Answered(exchange.target, exchange.peer, plain, entry))
        self._came.set()

    async def run(self) -> NoReturn:
        """Audit the queued answers one at a time, until cancelled."""
        while True:
            await self._came.wait()
            while self._waiting:
                hit = self._waiting.popleft()
                outcome = await self._outcome_of(hit)
                self._outcomes[outcome] += 1
                if outcome is AuditOutcome.BEYOND:
                    self._throttled.warn(
                        f"audit: a wrong answer from memory about {hit.plain.path} (Bounded is broken): restart the "
                        "proxy without a glob or filter for it, and report this with what nncache explain says of it"
                    )
            self._came.clear()

    def stats(self) -> AuditStats:
        """Return the figures so far."""
        return AuditStats(dict(self._outcomes))

    def _entry_of(self, path: str) -> Entry | None:
        directory = self._cache.store.tree.find(parent(path) or ROOT)
        return None if directory is None else directory.entries.get(name(path))

    async def _outcome_of(self, hit: _Answered) -> AuditOutcome:
        fields = request_headers((), hit.peer)
        head = RequestHead("GET", hit.target, fields, hit.peer, claimed_caller(hit.plain))
        try:
            reply = await self._fetch(head, None)
        except ProxyError:
            return AuditOutcome.UNANSWERED
        kept = hit.entry.reply
        outcome = compared(
            (kept.status, body_of(kept, hit.plain.as_requested)),
            (reply.status, reply.body),
            is_active=reply.term != NO_TERM,
        )
        return await self._why_different(hit.entry, reply) if outcome is None else outcome

    async def _why_different(self, entry: Entry, reply: UpstreamReply) -> AuditOutcome:
        """Wait until it is decided whether the cache forgets the entry, and return the meaning of the difference."""
        gate, store = self._cache.gate, self._cache.store
        deadline = reply.replied_at + gate.max_staleness_s + COVERED_WITHIN_S
        while True:
            left_s = deadline - self._clock()
            outcome = why_different(
                is_held=store.is_alive(entry),
                seen_as_of=gate.seen_as_of,
                read_at=reply.replied_at,
                left_s=left_s,
            )
            if outcome is not None:
                return outcome
            self._signal.request_probe()
            if not await self._signal.wait_covered(left_s) and self._clock() < deadline:
                await asyncio.sleep(min(1.0, left_s))  # the stream has ended; the next one forgets everything
