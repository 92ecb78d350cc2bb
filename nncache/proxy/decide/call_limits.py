"""Limits on concurrent calls to the NameNodes, and on calls per second.

Answers from memory do not count. Each address and each caller is counted, as HDFS's FairCallQueue counts users.
"""

import math
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from nncache.net.shares import Shares, holder_of
from nncache.net.token_bucket import TokenBucket
from nncache.proxy.decide.ports import FetchCall
from nncache.proxy.errors import TooManyCallsError, TooManyRequestsError
from nncache.proxy.limits import LimitSettings
from nncache.proxy.messages import RequestHead, UpstreamReply
from nncache.proxy.upstream.direct_exchange import StartedCall

CALL_LIMITS: Final = ("max_calls", "max_calls_per_s_per_address", "max_calls_per_s_per_caller")
"""The settings that can refuse a call: the keys of `CallLimits.refused`."""

_MAX_BUCKETS: Final = 65_536
"""Number of callers and addresses whose rate is tracked; the least recently active one is evicted."""


class CallLimits:
    """Admits calls, or refuses those beyond a limit."""

    def __init__(self, limits: LimitSettings, clock: Callable[[], float]) -> None:
        self._limits = limits
        self._has_rates = bool(limits.max_calls_per_s_per_address or limits.max_calls_per_s_per_caller)
        self._clock = clock
        self._by_address = Shares(limits.max_calls)
        self._by_caller = Shares(limits.max_calls)
        self._buckets: OrderedDict[int, TokenBucket] = OrderedDict()  # by a hash: names may be long
        self.refused: Counter[str] = Counter()  # by the setting that was reached

    @property
    def under_way(self) -> int:
        """Number of calls in flight."""
        return self._by_address.in_use

    @property
    def followed(self) -> int:
        """Number of callers and addresses whose rate is tracked."""
        return len(self._buckets)

    @contextmanager
    def admitted(self, head: RequestHead, *, is_charged: bool = False) -> Iterator[None]:
        """Count a call while it is in flight, and in its rates unless it `is_charged` already.

        A refused call is not counted: a greedy caller must not use up the rate of its whole address.

        Raises:
            TooManyRequestsError: its address or its caller exceeds its calls per second.
            TooManyCallsError: its address or its caller has used up its share of `max_calls`.
        """
        address, caller = holder_of(head.peer), head.caller
        rates = () if is_charged else tuple(self._rates(address, caller))
        buckets, now = [self._bucket(*rate) for rate in rates], self._clock()
        for (kind, _, per_s), bucket in zip(rates, buckets, strict=True):
            if bucket.left(now) < 1:
                self.refused[f"max_calls_per_s_per_{kind}"] += 1
                wait_s = max(1, math.ceil(bucket.ready_at(1.0) - now))
                raise TooManyRequestsError(f"more than {per_s:g} calls a second of one {kind}", wait_s)
        if not self._take(address, caller):
            raise self._too_many_calls()
        for bucket in buckets:
            bucket.charge(1.0, now)
        try:
            yield
        finally:
            self.leave(address, caller)

    def enter(self, address: str, caller: str) -> bool:
        """Count one call until `leave`, unless a limit refuses it; a refused call is not counted.

        Args:
            address: the client's address, as returned by `holder_of`.
            caller: the claimed caller.
        """
        if not self._has_rates:
            return self._take(address, caller)
        buckets = [self._bucket(*rate) for rate in self._rates(address, caller)]
        now = self._clock()
        if any(bucket.left(now) < 1 for bucket in buckets) or not self._take(address, caller):
            return False
        for bucket in buckets:
            bucket.charge(1.0, now)
        return True

    def leave(self, address: str, caller: str) -> None:
        """Stop counting a call that `enter` has counted."""
        self._by_caller.give_back(caller)
        self._by_address.give_back(address)

    def _take(self, address: str, caller: str) -> bool:
        if not self._by_address.take(address):
            return False
        if self._by_caller.take(caller):
            return True
        self._by_address.give_back(address)
        return False

    def _rates(self, address: str, caller: str) -> Iterator[tuple[str, str, float]]:
        """Yield each rate that applies: the kind of name, the name, and its calls per second."""
        if per_s := self._limits.max_calls_per_s_per_address:
            yield "address", address, per_s
        if per_s := self._limits.max_calls_per_s_per_caller:
            yield "caller", caller, per_s

    def _too_many_calls(self) -> TooManyCallsError:
        self.refused["max_calls"] += 1
        return TooManyCallsError(
            f"too many calls wait for the NameNode: the proxy takes {self._limits.max_calls}, "
            "and of each address and caller their share"
        )

    def _bucket(self, kind: str, name: str, per_s: float) -> TokenBucket:
        key = hash((kind, name))
        bucket = self._buckets.get(key)
        if bucket is None:
            if len(self._buckets) >= _MAX_BUCKETS:
                self._buckets.popitem(last=False)
            burst = max(1.0, per_s * self._limits.call_burst_s)
            bucket = self._buckets[key] = TokenBucket(per_s, burst, self._clock())
        self._buckets.move_to_end(key)
        return bucket


class LimitedFetcher:
    """A `FetchCall` whose calls are counted and limited."""

    def __init__(self, fetch: FetchCall, limits: CallLimits) -> None:
        self._fetch = fetch
        self._limits = limits

    async def fetch(self, head: RequestHead, begun: StartedCall | None = None) -> UpstreamReply:
        """Send the call to the active NameNode if the limits allow it; or continue one that was sent.

        Raises:
            UpstreamError: no NameNode replied.
            OverloadedError: a limit refuses the call, or no connection became free in time.
        """
        with self._limits.admitted(head, is_charged=begun is not None):
            return await self._fetch(head, begun)
