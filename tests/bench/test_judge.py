"""The judge's parts without Spark: quantiles of known distributions, and the latencies of other clients."""

import math
import random
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from hdrh.histogram import HdrHistogram

from nncache.bench.judge.lateness import counted_until
from nncache.bench.judge.quantiles import CDF_TICKS, Histogram
from nncache.bench.judge.reduction import OTHERS_FILE, others
from nncache.bench.shared.figures import Quantiles
from nncache.bench.shared.tables import OTHERS, write

HOUR_US = 3_600_000_000
SHARES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999}


def close(seconds: float) -> object:
    """Return a value that equals any time which a three-digit histogram may report for `seconds`."""
    return pytest.approx(seconds, rel=1e-3, abs=1e-6)


def of(seconds: list[float]) -> Histogram:
    """Return a histogram of these times."""
    return Histogram(Counter(round(value * 1e6) for value in seconds).items())


def evenly(inverse: Callable[[float], float], count: int = 200_000) -> list[float]:
    """Return times distributed by this quantile function, without randomness."""
    return [inverse((step + 0.5) / count) for step in range(count)]


@pytest.mark.parametrize(
    "inverse",
    [
        pytest.param(lambda share: 2.5 * share, id="uniform to 2.5 s"),
        pytest.param(lambda share: -0.004 * math.log(1 - share), id="exponential, mean 4 ms"),
        pytest.param(lambda share: 0.0003 if share < 0.95 else 1.2, id="0.3 ms, and 1.2 s in one of 20"),
    ],
)
def test_quantiles_are_right_to_a_thousandth(inverse: Callable[[float], float]) -> None:
    """Each quantile agrees with the distribution to 0.1 % and 1 us; so does the mean."""
    seconds = evenly(inverse)
    found = of(seconds).quantiles()
    assert {name: getattr(found, name) for name in SHARES} == {
        name: close(inverse(share)) for name, share in SHARES.items()
    }
    assert found.count == len(seconds)
    assert found.mean == pytest.approx(sum(seconds) / len(seconds), abs=1e-6)
    assert found.max == pytest.approx(max(seconds), abs=1e-6)


def test_a_tail_of_few_is_not_lost() -> None:
    """Twenty slow replies in ten thousand set the 99.9th percentile, with the usual precision."""
    found = of([0.001] * 9_980 + [7.77] * 20).quantiles()
    assert (found.p50, found.p99) == (close(0.001), close(0.001))
    assert (found.p999, found.max) == (close(7.77), 7.77)


def test_one_time_is_every_quantile() -> None:
    """No quantile exceeds the maximum, even if its bucket does."""
    assert of([1.234567]).quantiles() == Quantiles(
        count=1,
        mean=1.234567,
        p50=1.234567,
        p90=1.234567,
        p99=1.234567,
        p999=1.234567,
        max=1.234567,
        cdf=((1.234567, 1.0),),
    )


def test_of_nothing_all_is_0() -> None:
    """A mode without replies has quantiles, too."""
    assert Histogram([]).quantiles() == Quantiles(
        count=0, mean=0.0, p50=0.0, p90=0.0, p99=0.0, p999=0.0, max=0.0
    )


def test_times_out_of_range_are_counted_at_its_ends() -> None:
    """A negative time, which clocks may produce, counts as 0, one above an hour as an hour; no time is lost."""
    found = Histogram([(-500, 3), (HOUR_US + 1, 2)]).quantiles()
    assert (found.count, found.p50, found.max) == (5, 0.0, 3600.0)
    assert found.mean == pytest.approx(1440.0)


def test_the_cdf_of_few_times_is_exact() -> None:
    """Each distinct time is a point, with the share of times up to it."""
    assert of([0.0, 0.0, 0.5, 1.5]).quantiles().cdf == ((0.0, 0.5), (close(0.5), 0.75), (1.5, 1.0))


def test_the_cdf_of_many_times_is_thinned_to_its_shape() -> None:
    """It ascends, follows the distribution from end to end, and is dense in the tail."""
    mean_s = 0.02
    chance = random.Random(6)
    seconds = sorted(chance.expovariate(1 / mean_s) for _ in range(100_000))
    cdf = of(seconds).quantiles().cdf
    assert len(cdf) <= CDF_TICKS * (1 + math.log2(len(seconds)))
    assert list(cdf) == sorted(set(cdf))
    assert cdf[0][1] < 0.001
    assert cdf[-1][0] == pytest.approx(seconds[-1], abs=1e-6)
    assert cdf[-1][1] == 1.0
    assert max(after - before for (_, before), (_, after) in pairwise(cdf)) < 0.026
    assert sum(share > 0.99 for _, share in cdf) > 40
    for value, share in cdf:
        assert share == pytest.approx(1 - math.exp(-value / mean_s), abs=0.006)


def test_others_can_read_the_encoded_histogram() -> None:
    """It is the exchange format of HDR libraries, which decode the same counts."""
    decoded = HdrHistogram.decode(Histogram([(1_500, 10), (2_000_000, 5)]).encoded())
    assert decoded.get_total_count() == 15
    assert decoded.get_value_at_percentile(50) == 1_500
    assert decoded.get_value_at_percentile(99) == decoded.get_highest_equivalent_value(2_000_000)


def row(kind: str, seconds: float, calls: int = 1, error: str | None = None) -> dict[str, object]:
    """Return a row of the table."""
    return {"at_s": 0.0, "kind": kind, "seconds": seconds, "calls": calls, "error": error}


def test_means_are_over_calls_and_quantiles_over_answers(tmp_path: Path) -> None:
    """A mean is weighted by its calls; a call without a reply has no time."""
    rows = [
        *(row("call", 0.002) for _ in range(99)),
        row("call", 0.5),
        row("call", 5.0, error="no reply"),
        *(row("queue", 0.001, 30), row("queue", 0.005, 10)),
        *(row("lock wait", 0.0, 40), row("processing", 0.003, 40)),
    ]
    write(rows, OTHERS, tmp_path / OTHERS_FILE)
    found = others(tmp_path)
    assert found is not None
    assert (found.took_s.count, found.failed, found.rpc_calls) == (100, 1, 40)
    assert found.took_s.p50 == pytest.approx(0.002, rel=0.01)
    assert found.took_s.max == pytest.approx(0.5, rel=0.01)
    assert found.queue_s == pytest.approx(0.002)
    assert found.lock_wait_s == 0.0
    assert found.processing_s == pytest.approx(0.003)


def test_what_was_not_measured_is_none(tmp_path: Path) -> None:
    """A run on an external cluster has no such table; a short run may have no mean."""
    assert others(tmp_path) is None
    write([row("call", 0.001)], OTHERS, tmp_path / OTHERS_FILE)
    found = others(tmp_path)
    assert found is not None
    assert (found.queue_s, found.lock_wait_s, found.processing_s, found.rpc_calls) == (None, None, None, 0)


@pytest.mark.parametrize(
    ("bound_s", "until_s"),
    [pytest.param(10.0, 40.0, id="two periods and the bound"), pytest.param(50.0, 55.0, id="one period")],
)
def test_changes_count_until_enough_time_was_left_to_see_them(bound_s: float, until_s: float) -> None:
    """The limit is two periods and the bound before the end, or one period if the bound is longer than the run."""
    assert counted_until(duration_s=60.0, bound_s=bound_s, period_s=5.0) == until_s
