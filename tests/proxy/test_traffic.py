"""Each request is counted once, by its result; a sampled request represents as many as its weight."""

from collections import Counter

import pytest

from nncache.proxy.errors import (
    ClientGoneError,
    MalformedRequestError,
    TooManyCallsError,
    UpstreamUnavailableError,
)
from nncache.proxy.traffic import BOUNDS_S, MEANINGS, OPERATION_NAMES, Exchange, Result, Traffic, result_of


class _Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def _exchange(result: Result, started: float = 100.0, operation: str = "GETFILESTATUS") -> Exchange:
    exchange = Exchange("GET", "/webhdfs/v1/f?op=GETFILESTATUS", "127.0.0.1", started)
    exchange.result, exchange.operation = result, operation
    return exchange


def test_a_request_is_counted_by_result_and_operation() -> None:
    """Observers get it with its duration."""
    clock, seen = _Clock(), list[Exchange]()
    traffic = Traffic(clock)
    traffic.observers = (seen.append,)
    one, other = (
        _exchange(Result.STORED, started=99.997),
        _exchange(Result.FORWARDED, started=30.0, operation="OPEN"),
    )
    traffic.ended(one)
    traffic.ended(other)
    stats = traffic.stats()
    assert +Counter(stats.requests) == {(Result.STORED, "GETFILESTATUS"): 1, (Result.FORWARDED, "OPEN"): 1}
    assert (stats.total, stats.of(Result.FORWARDED)) == (2, 1)
    assert stats.durations[Result.STORED].counts[BOUNDS_S.index(0.005)] == 1
    assert stats.durations[Result.STORED].sum_s == pytest.approx(0.003)
    assert stats.durations[Result.FORWARDED].counts[-1] == 1, "longer than the largest bound"
    assert seen == [one, other]
    assert other.duration_s == 70.0


def test_a_duration_equal_to_a_bound_is_within_it() -> None:
    """Prometheus defines `le` as less than or equal."""
    clock = _Clock()
    traffic = Traffic(clock)
    traffic.ended(_exchange(Result.HIT, started=99.0))
    assert traffic.stats().durations[Result.HIT].counts[BOUNDS_S.index(1.0)] == 1


def test_fast_path_hits_are_counted_there() -> None:
    """A sample adds no request; its duration counts as often as its weight."""
    clock, seen = _Clock(), list[Exchange]()
    traffic = Traffic(clock, lambda: 640)
    traffic.observers = (seen.append,)
    sample = _exchange(Result.HIT, started=clock.now - 0.00004)
    sample.weight = 64
    traffic.sampled(sample)
    stats = traffic.stats()
    assert stats.requests[Result.HIT, "GETFILESTATUS"] == stats.total == 640
    assert stats.durations[Result.HIT].counts[0] == 64
    assert stats.durations[Result.HIT].sum_s == pytest.approx(64 * 0.00004)
    assert seen == [sample]


@pytest.mark.parametrize(
    ("error", "result"),
    [
        (MalformedRequestError("x"), Result.REFUSED),
        (TooManyCallsError("x"), Result.REFUSED),
        (UpstreamUnavailableError("x"), Result.FAILED),
        (ValueError("a bug"), Result.FAILED),
        (ClientGoneError("x"), Result.ABANDONED),
        (ConnectionResetError(), Result.ABANDONED),
    ],
)
def test_an_error_says_what_became_of_the_request(error: Exception, result: Result) -> None:
    """Client errors and proxy errors are told apart, so that a client's fault does not page the operators."""
    assert result_of(error) is result


def test_what_is_refused_unread_is_counted_as_well() -> None:
    """Such a request has no operation."""
    seen = list[Exchange]()
    traffic = Traffic(_Clock())
    traffic.observers = (seen.append,)
    traffic.refused(MalformedRequestError("x"), "10.0.0.1")
    assert +Counter(traffic.stats().requests) == {(Result.REFUSED, "other"): 1}
    assert [(each.peer, each.status) for each in seen] == [("10.0.0.1", 400)]


def test_every_result_is_explained_and_there_from_the_start() -> None:
    """A series that exists from the start makes the first error an increase; the number of series is bounded."""
    traffic = Traffic(_Clock())
    assert {result for result, _ in traffic.stats().requests} == set(Result) == set(MEANINGS)
    assert len(OPERATION_NAMES) == len(set(OPERATION_NAMES)) < 80
