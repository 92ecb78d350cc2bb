"""Distributions as curves. (bench/report/curves.py)"""

import itertools
import math

from nncache.bench.figures import Quantiles

Curve = tuple[tuple[float, float], ...]
"""(value, share of all that are at most that), rising in both."""


def curve_of(quantiles: Quantiles) -> Curve:
    """Return the distribution; where only its quantiles are known, those; nothing if it is empty."""
    if not quantiles.count:
        return ()
    few = (
        (quantiles.p50, 0.5),
        (quantiles.p90, 0.9),
        (quantiles.p99, 0.99),
        (quantiles.p999, 0.999),
        (quantiles.max, 1.0),
    )
    return tuple(point for point in quantiles.cdf or few if math.isfinite(point[0]))


def value_at(curve: Curve, share: float) -> float:
    """Return the value that a share of all does not pass, straight between the curve's points."""
    for (value, above), (next_value, next_above) in itertools.pairwise(curve):
        if above <= share <= next_above and next_above > above:
            return value + (next_value - value) * (share - above) / (next_above - above)
    return curve[0][0] if share < curve[0][1] else curve[-1][0]


def nines(share: float) -> float:
    """Return how many nines a share has: 0 for 0 %, 1 for 90 %, 3 for 99.9 %."""
    return -math.log10(1 - share)


def spread(places: list[float], apart: float) -> list[float]:
    """Return the places, in the same order, moved so that any two are at least so far apart; all within 0 to 1.

    If there is no room for that, they are spread over all there is.
    """
    apart = min(apart, 1 / max(1, len(places) - 1))
    order = sorted(range(len(places)), key=places.__getitem__)
    upwards, downwards = list(places), list(places)
    for lower, index in itertools.pairwise(order):
        upwards[index] = max(places[index], upwards[lower] + apart)
    for index, higher in itertools.pairwise(reversed(order)):
        downwards[higher] = min(places[higher], downwards[index] - apart)
    moved = [(up + down) / 2 for up, down in zip(upwards, downwards, strict=True)]
    for rank, index in enumerate(order):
        room_above = 1 - (len(order) - 1 - rank) * apart
        moved[index] = min(max(moved[index], rank * apart), room_above)
    return moved
