"""What the well-behaved clients saw, one sample for each request."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Final, NamedTuple

from tests.real.figures import quantile

_LATE_S: Final = 1.0


class Kind(Enum):
    """Who asked."""

    POLLER = "pollers"  # a filtered path over a connection that is kept: should be a hit
    NEWCOMER = "newcomers"  # the same over a connection of its own
    FORWARDED = "forwarded"  # a path outside the filters: the NameNode answers
    WITNESS = "witness"  # the path that comes and goes


class SampleResult(Enum):
    """What became of a request."""

    HIT = "hit"
    ANSWERED = "answered by the NameNode"
    REFUSED = "refused with a time to come back"  # 503 or 429, with Retry-After
    FAILED = "failed"  # any other answer that is neither right nor wrong
    SILENT = "no answer"  # a connection refused or cut, or no reply within the client's patience
    WRONG = "wrong"
    DELAYED = (
        "delayed"  # not sent: the request before it was still waiting; has a latency, counts as nothing else
    )


class Sample(NamedTuple):
    """One request. Times are `time.monotonic()`.

    Latencies count from `due`, when the request should have been sent, so that a client that is held up does not
    hide the requests that it could not send.
    """

    kind: Kind
    due: float
    ended: float
    outcome: SampleResult


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleCounts:
    """What one kind of client saw in one phase. Shares are of the requests sent; seconds."""

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
    """Sum up what these kinds of clients saw of the requests that were due in [since, until)."""
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
    """Return when the pollers' answers had become hits for good: none that was due later is anything else.

    None: not within the samples, of which at least the last `quiet_s` must be hits. A request that could not be sent
    for the one before it is a miss if that took longer than `_LATE_S`.
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
