"""Quantiles of times by HDR histograms.

The buckets are at most 0.1 % wide, so the size does not depend on the number of times, and the tail is as exact as the
middle.
"""

from collections.abc import Iterable
from typing import Any, Final

from hdrh.histogram import HdrHistogram

from nncache.bench.shared.figures import Quantiles

MOST_S: Final = 3600  # s; longer times count as this
CDF_TICKS: Final = 20  # points of `Quantiles.cdf` up to the median, the same number up to 75 %, and so on

_MICROSECONDS: Final = 1_000_000
_SIGNIFICANT_DIGITS: Final = 3
_PERCENTILES: Final = (50.0, 90.0, 99.0, 99.9)


class Histogram:
    """Counts times in whole microseconds, from 1 us to 1 hour with three significant digits.

    Args:
        counts: (microseconds, count); times below 0 count as 0, and times above an hour as an hour.
    """

    def __init__(self, counts: Iterable[tuple[int, int]]) -> None:
        self._histogram: Any = HdrHistogram(1, MOST_S * _MICROSECONDS, _SIGNIFICANT_DIGITS)
        self._sum = 0  # of all times, us: the mean needs no rounding
        for microseconds, count in counts:
            value = min(max(microseconds, 0), MOST_S * _MICROSECONDS)
            self._histogram.record_value(value, count)
            self._sum += value * count

    def quantiles(self) -> Quantiles:
        """Return the quantiles in seconds; all 0 if the histogram is empty."""
        count: int = self._histogram.total_count
        if not count:
            return Quantiles(count=0, mean=0.0, p50=0.0, p90=0.0, p99=0.0, p999=0.0, max=0.0)
        found = self._histogram.get_percentile_to_value_dict(_PERCENTILES)
        p50, p90, p99, p999 = (self._seconds(found[percentile]) for percentile in _PERCENTILES)
        return Quantiles(
            count=count,
            mean=self._sum / count / _MICROSECONDS,
            p50=p50,
            p90=p90,
            p99=p99,
            p999=p999,
            max=self._seconds(self._histogram.max_value),
            cdf=self._cdf(),
        )

    def encoded(self) -> bytes:
        """Return the histogram in the exchange format of the HDR libraries: V2, compressed, base64, in microseconds."""
        encoded: bytes = self._histogram.encode()
        return encoded

    def _seconds(self, microseconds: int) -> float:
        """Return a bucket's upper end in seconds, or the greatest time if it is less."""
        return min(microseconds, int(self._histogram.max_value)) / _MICROSECONDS

    def _cdf(self) -> tuple[tuple[float, float], ...]:
        count = self._histogram.total_count
        points = (
            (self._seconds(bucket.value_iterated_to), bucket.total_count_to_this_value / count)
            for bucket in self._histogram.get_percentile_iterator(CDF_TICKS)
        )
        return tuple(dict.fromkeys(points))
