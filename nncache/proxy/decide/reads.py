"""Answer GETFILESTATUS: from memory, by joining a question in flight, or by asking the NameNode.

The cache decides; this module carries out the decision.
"""

from dataclasses import dataclass, replace
from typing import TypeAlias, assert_never

from nncache.cache.clock_eviction import Caller
from nncache.cache.decisions import Cacheable, Conclusion, Decision, Fetch, Forward, Join, Serve, Wait
from nncache.cache.entries import Hit, Ticket
from nncache.cache.metadata_cache import MetadataCache
from nncache.hadoop.calls import StatusRequest
from nncache.proxy.admission import AuthLease
from nncache.proxy.cache_status import Bypass, ForwardReason
from nncache.proxy.clients.request import InFlight
from nncache.proxy.decide.flights import Flight, FlightResult, Flights
from nncache.proxy.decide.ports import Clock, CoverageSignal
from nncache.proxy.errors import ProxyError
from nncache.proxy.identity import Credential
from nncache.proxy.messages import RequestHead, UpstreamReply


@dataclass(frozen=True, slots=True)
class FromMemory:
    """A hit."""

    hit: Hit


@dataclass(frozen=True, slots=True)
class Collapsed:
    """The reply to the same caller's question that was already in flight."""

    known: Cacheable


@dataclass(frozen=True, slots=True)
class FromNameNode:
    """The NameNode's reply to this very call.

    Attributes:
        is_stored: whether the cache is known to have stored this reply.
        is_known: whether the reply is known to be in the cache, stored now or before.
    """

    reply: UpstreamReply
    why: ForwardReason
    is_stored: bool
    is_known: bool = False


@dataclass(frozen=True, slots=True)
class Unanswered:
    """The NameNode was asked, and there was no reply."""

    error: ProxyError
    why: ForwardReason


@dataclass(frozen=True, slots=True)
class ForwardWithoutTrace:
    """The call must be forwarded without a trace: the cache decided so, or an internal error has occurred."""

    why: ForwardReason


@dataclass(frozen=True, slots=True)
class NotAdmitted:
    """The NameNode was not asked: the client's authentication has ended in the meantime."""


ReadAnswer: TypeAlias = FromMemory | Collapsed | FromNameNode | Unanswered | ForwardWithoutTrace | NotAdmitted


@dataclass(frozen=True, slots=True)
class Asked(InFlight):
    """A question that was sent to the NameNode for a request, possibly before its handler started."""

    flight: Flight
    why: ForwardReason

    def abandon(self) -> None:
        """Do nothing: the question continues without the client."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusRead:
    """One plain GETFILESTATUS.

    Attributes:
        credential: the cookie or token that authenticates it, if any.
        refresh: whether the caller asks for the NameNode's own answer.
        asked: the question that was already sent for it, if any.
        decision: the cache's decision, if it was made just before.
        lease: the validity of the proxy's own authentication; None: the NameNode authenticates.
    """

    plain: StatusRequest
    caller: Caller
    head: RequestHead
    credential: Credential | None = None
    refresh: bool = False
    asked: Asked | None = None
    decision: Decision | None = None
    lease: AuthLease | None = None

    @property
    def is_admitted(self) -> bool:
        """Whether the proxy's authentication of the caller is still valid."""
        return self.lease is None or self.lease.is_good()

    def as_of_now(self) -> "StatusRead | None":
        """Return the read with the caller as of now; None: its lease has ended, and it has no other caller."""
        if self.lease is None or self.lease.is_good():
            return self
        if self.lease.otherwise is None:
            return None
        return replace(self, caller=self.lease.otherwise, lease=None)


def from_namenode(asked: Asked, reply: UpstreamReply, result: FlightResult | None) -> FromNameNode:
    """Return the reply to a question, with the cache's conclusion; a `result` of None: none yet."""
    conclusion = Conclusion.NOT_KEPT if result is None else result.conclusion
    is_stored = conclusion.is_shareable
    is_known = is_stored or conclusion is Conclusion.UNCHANGED
    return FromNameNode(reply, asked.why, is_stored=is_stored, is_known=is_known)


class StatusReads:
    """Carries out the cache's decisions, for any number of concurrent reads."""

    def __init__(
        self,
        cache: MetadataCache,
        flights: Flights,
        signal: CoverageSignal,
        clock: Clock,
        *,
        join_wait_s: float,
    ) -> None:
        self._cache = cache
        self._flights = flights
        self._signal = signal
        self._clock = clock
        self._join_wait_s = join_wait_s

    async def answer(self, read: StatusRead) -> ReadAnswer:
        """Answer one read.

        An exception is an internal error; no call was sent to the NameNode then.
        """
        asked, decision = read.asked, read.decision
        deadline = self._clock() + self._join_wait_s
        may_wait = True
        while asked is None:
            if (now := read.as_of_now()) is None:
                return NotAdmitted()
            read = now
            found, decision = decision, None
            match found or self._cache.lookup(
                read.plain.path, read.caller, self._clock(), refresh=read.refresh, may_wait=may_wait
            ):
                case Serve(hit):
                    return FromMemory(hit)
                case Forward(reason):
                    return ForwardWithoutTrace(reason)
                case Fetch(ticket, reason):
                    asked = Asked(
                        self._flights.launch(ticket, read.plain, read.head, read.credential), reason
                    )
                case Join(ticket):
                    assert may_wait, "asked without waiting, the cache says Join"
                    if (known := await self._joined(ticket)) is not None and read.is_admitted:
                        return Collapsed(known)
                    may_wait = False
                case Wait(ticket):
                    assert may_wait, "asked without waiting, the cache says Wait"
                    may_wait = await self._wait(ticket, deadline - self._clock())
                case other:
                    assert_never(other)
        return await self._fetched(asked)

    async def _fetched(self, asked: Asked) -> FromNameNode | Unanswered | ForwardWithoutTrace:
        """Return the reply once the cache has taken it, or `join_wait_s` after its arrival.

        So `Cache-Status` can report whether the reply was cached, and the same client's next read finds
        it. The wait is for isFileClosed, which takes about a millisecond.
        """
        answer = await asked.flight.answer()
        if type(answer) is ProxyError:  # an internal error (FailToNameNode)
            return ForwardWithoutTrace(Bypass.CACHE_ERROR)
        if isinstance(answer, ProxyError):
            return Unanswered(answer, asked.why)
        return from_namenode(asked, answer, await asked.flight.result(self._join_wait_s))

    async def _joined(self, ticket: Ticket) -> Cacheable | None:
        """Wait for the same caller's question; None: its reply may not be shared, or is not in the cache in time."""
        if (flight := self._flights.find(ticket)) is None:
            return None
        flight.is_joined = True
        await flight.answer()  # takes no longer than a call of its own
        result = await flight.result(self._join_wait_s)
        return None if result is None else result.shared

    async def _wait(self, ticket: Ticket | None, timeout_s: float) -> bool:
        """Wait for the conclusion of a question or, without one, for proof that all changes were applied.

        False: neither happened in time, and there is no point in waiting longer.
        """
        if timeout_s <= 0:
            return False
        if ticket is None:
            self._signal.request_probe()
            return await self._signal.wait_covered(timeout_s)
        flight = self._flights.find(ticket)
        return flight is not None and await flight.result(timeout_s) is not None
