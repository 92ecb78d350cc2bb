"""The result of each request: counted once, timed, and passed to observers.

The fast path counts its own hits and passes only a sample of them here, each with a weight.
"""

import logging
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

from nncache.hadoop.calls import WebHdfsCall
from nncache.hadoop.operations import OPERATIONS
from nncache.net.log_throttle import ThrottledLog
from nncache.proxy.cache_status import ForwardReason
from nncache.proxy.errors import ClientError, ClientGoneError, OverloadedError, ProxyError

_log = logging.getLogger(__name__)

GETFILESTATUS: Final = "GETFILESTATUS"
UNKNOWN_OPERATION: Final = "other"
"""The label of a request that is not, or not certainly, an operation of WebHDFS."""

OPERATION_NAMES: Final = (*sorted({each.name for each in OPERATIONS}), UNKNOWN_OPERATION)

BOUNDS_S: Final = (
    0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 2.5, 10.0, 60.0,
)  # fmt: skip
"""Upper bounds of the histogram of durations, in seconds: from a hit to the deadline of a call."""


class Result(StrEnum):
    """The result of a request."""

    HIT = "hit"
    COLLAPSED = "collapsed"
    STORED = "stored"
    FORWARDED = "forwarded"
    STREAMED = "streamed"
    REGISTRY = "registry"
    PREFLIGHT = "preflight"
    REFUSED = "refused"
    FAILED = "failed"
    ABANDONED = "abandoned"


MEANINGS: Final[Mapping[Result, str]] = {
    Result.HIT: "answered from memory",
    Result.COLLAPSED: "answered with the reply to an identical request of the same caller",
    Result.STORED: "answered by the NameNode, whose reply was cached",
    Result.FORWARDED: "answered by the NameNode",
    Result.STREAMED: "answered with a filter's events, until the stream ended",
    Result.REGISTRY: "answered from the service registry",
    Result.PREFLIGHT: "answered by the proxy: what a page of another origin may ask (cors_origins)",
    Result.REFUSED: "refused: malformed, too slow, not WebHDFS, not authenticated, or beyond a limit",
    Result.FAILED: "answered with an error of the proxy: no NameNode replied, or an internal error",
    Result.ABANDONED: "the client left before there was an answer",
}
"""The meaning of each result, for the documentation."""


UNTIMED: Final = frozenset(
    {Result.STREAMED, Result.REGISTRY, Result.PREFLIGHT, Result.REFUSED, Result.ABANDONED}
)
"""Counted as UNKNOWN_OPERATION and not timed: no NameNode is involved, and each operation would add a time series."""

_SHOWN_AT_ONCE: Final[Mapping[tuple[Result, str], int]] = {
    (each, UNKNOWN_OPERATION if each in UNTIMED else GETFILESTATUS): 0 for each in Result
}
"""Counters that exist from the start, so that their first count shows as an increase as well."""


def result_of(error: Exception) -> Result:
    """Return the result of a request that ended with this error."""
    if isinstance(error, ClientGoneError | ConnectionError):
        return Result.ABANDONED
    return Result.REFUSED if isinstance(error, ClientError | OverloadedError) else Result.FAILED


def operation_name(call: WebHdfsCall) -> str:
    """Return the operation's name; UNKNOWN_OPERATION if it is not certain."""
    return UNKNOWN_OPERATION if call.op is None else call.op.name


class Exchange:
    """One request and its result.

    Attributes:
        method: the request's method.
        target: the target as received; it may hold a credential.
        peer: the client's address.
        started: local time at which the request was complete, in seconds.
        duration_s: until the answer was ready to be written; of a streamed reply, until its end.
        caller: the caller that the request claims; "": none.
        operation: one of OPERATION_NAMES.
        why: why it was forwarded, if it was.
        request_id: the client's `X-Request-Id`; "": none.
        traceparent: the client's `traceparent` (W3C Trace Context), valid or not; "": none.
        status: of the reply; 0 if there was none.
        body_bytes: size of the reply's body; -1 if it was streamed.
        weight: the number of requests that this one stands for.
    """

    __slots__ = (
        "body_bytes",
        "caller",
        "duration_s",
        "method",
        "operation",
        "peer",
        "request_id",
        "result",
        "started",
        "status",
        "target",
        "traceparent",
        "weight",
        "why",
    )

    def __init__(self, method: str, target: str, peer: str, started: float) -> None:
        self.method = method
        self.target = target
        self.peer = peer
        self.started = started
        self.duration_s = 0.0
        self.caller = ""
        self.operation = UNKNOWN_OPERATION
        self.result = Result.ABANDONED
        self.why: ForwardReason | None = None
        self.request_id = ""
        self.traceparent = ""
        self.status = 0
        self.body_bytes = -1
        self.weight = 1

    def take_ids(self, first: Callable[[bytes], str]) -> None:
        """Record the client's ids of the request; `first` returns the first value of a field, "" for none."""
        self.request_id, self.traceparent = first(b"x-request-id"), first(b"traceparent")


Observer: TypeAlias = Callable[[Exchange], None]
"""Called with a request that has ended; must not block, raise or change it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Durations:
    """A histogram: the number of requests in each bucket of BOUNDS_S and above the last, and their total duration."""

    counts: tuple[int, ...]
    sum_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TrafficStats:
    """All requests since the start.

    Attributes:
        requests: by result and operation.
        durations: by result.
    """

    requests: dict[tuple[Result, str], int]
    durations: dict[Result, Durations]

    @property
    def total(self) -> int:
        """All requests."""
        return sum(self.requests.values())

    def of(self, result: Result) -> int:
        """Return the number of requests with this result."""
        return sum(count for (each, _), count in self.requests.items() if each is result)


class Traffic:
    """Counts requests by result, and passes them to observers.

    Invariants:
        T1  Each request is in exactly one count: `ended` and `count` take those that the fast path does not answer.
        T2  `_durations` has one bucket more than BOUNDS_S, for longer durations.
    """

    def __init__(self, clock: Callable[[], float], hits_of_fast_path: Callable[[], int] = lambda: 0) -> None:
        """Start with all counts at zero.

        Args:
            clock: local time in seconds.
            hits_of_fast_path: the number of requests that the fast path has answered since start.
        """
        self.clock = clock
        self.hits_of_fast_path = hits_of_fast_path
        self.observers: tuple[Observer, ...] = ()
        self._throttled = ThrottledLog(_log, clock)  # about observers
        self._requests: Counter[tuple[Result, str]] = Counter(_SHOWN_AT_ONCE)
        self._durations: dict[Result, list[int]] = {
            each: [0] * (len(BOUNDS_S) + 1) for each in Result if each not in UNTIMED
        }
        self._sums_s: dict[Result, float] = dict.fromkeys(self._durations, 0.0)

    def ended(self, exchange: Exchange) -> None:
        """Count a request that has just ended, and pass it to the observers."""
        duration_s = exchange.duration_s = self.clock() - exchange.started
        self.count(exchange.result, exchange.operation, duration_s)
        self._show(exchange)

    def count(self, result: Result, operation: str, duration_s: float) -> None:
        """Count a request without passing it to the observers."""
        if result in UNTIMED:
            self._requests[result, UNKNOWN_OPERATION] += 1
            return
        self._requests[result, operation] += 1
        self._note_duration(result, duration_s, 1)

    def sampled(self, exchange: Exchange) -> None:
        """Record the duration of a sampled hit, which the fast path has counted, and pass it to the observers."""
        exchange.duration_s = self.clock() - exchange.started
        self._note_duration(exchange.result, exchange.duration_s, exchange.weight)
        self._show(exchange)

    def refused(
        self, error: ProxyError, peer: str, *, method: str = "", target: str = "", request_id: str = ""
    ) -> None:
        """Count a request that was refused before its operation was known."""
        exchange = Exchange(method, target, peer, self.clock())
        exchange.request_id = request_id
        exchange.result, exchange.status = result_of(error), error.status
        self.ended(exchange)

    def stats(self) -> TrafficStats:
        """Return all counts and durations since start."""
        requests = dict(self._requests)
        hit = Result.HIT, GETFILESTATUS
        requests[hit] = requests.get(hit, 0) + self.hits_of_fast_path()
        durations = {
            result: Durations(counts=tuple(counts), sum_s=self._sums_s[result])
            for result, counts in self._durations.items()
        }
        return TrafficStats(requests=requests, durations=durations)

    def _note_duration(self, result: Result, duration_s: float, weight: int) -> None:
        self._durations[result][bisect_left(BOUNDS_S, duration_s)] += weight
        self._sums_s[result] += duration_s * weight

    def _show(self, exchange: Exchange) -> None:
        for observer in self.observers:
            try:
                observer(exchange)
            except Exception as error:  # noqa: BLE001 - FailToNameNode: no answer depends on an observer
                self._throttled.warn(f"internal error of an observer of requests: {error!r}")
