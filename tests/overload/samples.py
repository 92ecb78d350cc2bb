"""What the well-behaved clients saw, one sample per request."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Final, NamedTuple

from tests.real.figures import quantile

_LATE_S: Final = 1.0


class Kind(Enum):
    """The kinds of clients."""

    POLLER = "pollers"  # a filtered path over a persistent connection: should be a hit
    NEWCOMER = "newcomers"  # the same over a new connection
    FORWARDED = "forwarded"  # a path outside the filters: the NameNode answers
    WITNESS = "witness"  # the path that is created and deleted in turn


class SampleResult(Enum):
    """The outcome of a request."""

    HIT = "hit"
    ANSWERED = "answered by the NameNode"
    REFUSED = "refused with a time to come back"  # 503 or 429, with Retry-After
    FAILED = "failed"  # any other reply that is neither correct nor wrong
    SILENT = "no answer"  # a connection refused or cut, or no reply within the client's patience
    WRONG = "wrong"
    DELAYED = "delayed"  # unsent, for the previous request still waited; only its latency counts


class Sample(NamedTuple):
    """One request. Times are `time.monotonic()`.

    Latencies count from `due`, when the request should have been sent, so that a blocked client does not hide the
    requests that it could not send.
    """

    kind: Kind
    due: float
    ended: float
    outcome: SampleResult


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleCounts:
    """What one kind of client saw in one phase. Shares are of the requests sent; times in seconds."""

    sent: int
    hits: float
    right: float  # hits and the NameNode's own answers
    refused: float
    failed: float  # failed or silent
    wrong: int
    p50_s: float
    p99_s: float
    max_s: float


def summed_up(samples: Iterable[Sample], kinds: Collection[Kind], since: float, until: float) -> SampleCounts:
    """Sum up the samples of these kinds of clients that were due in [since, until)."""
    chosen = [sample for sample in samples if sample.kind in kinds and since <= sample.due < until]
    outcomes = [sample.outcome for sample in chosen if sample.outcome is not SampleResult.DELAYED]
    latencies = [sample.ended - sample.due for sample in chosen]

    def share(*wanted: SampleResult) -> float:
        return sum(outcome in wanted for outcome in outcomes) / len(outcomes) if outcomes else 0.0

    return SampleCounts(
        sent=len(outcomes),
        hits=share(SampleResult.HIT),
        right=share(SampleResult.HIT, SampleResult.ANSWERED),
        refused=share(SampleResult.REFUSED),
        failed=share(SampleResult.FAILED, SampleResult.SILENT),
        wrong=outcomes.count(SampleResult.WRONG),
        p50_s=quantile(latencies, 0.50),
        p99_s=quantile(latencies, 0.99),
        max_s=max(latencies, default=0.0),
    )


def _is_a_little_late(sample: Sample) -> bool:
    return sample.outcome is SampleResult.DELAYED and sample.ended - sample.due < _LATE_S


def recovered_at(samples: Iterable[Sample], since: float, *, quiet_s: float = 1.0) -> float | None:
    """Return the time of the last miss of the pollers, after which all answers were hits.

    None: the samples do not show it; at least the last `quiet_s` of them must be hits. A request that could not be
    sent because of the previous one is a miss if that took longer than `_LATE_S`.
    """
    due = sorted(
        (sample.due, sample.outcome is SampleResult.HIT or _is_a_little_late(sample))
        for sample in samples
        if sample.kind is Kind.POLLER and sample.due >= since
    )
    if not due:
        return None
    last_miss = max((at for at, is_hit in due if not is_hit), default=since)
    return last_miss if due[-1][0] - last_miss >= quiet_s else None
