"""The most frequent names of a stream, in a bounded number of counters.

Source: Metwally, Agrawal, El Abbadi, "Efficient Computation of Frequent and Top-k Elements in Data Streams", 2005
(Space-Saving), with weights that decay as in Cormode, Shkapenyuk, Srivastava, Xu, "Forward Decay", 2009: a weight
halves in each half-life, without an update of its counter.
"""

from dataclasses import dataclass
from heapq import heapify, heappush, heapreplace
from math import exp2
from typing import Final

_MAX_HALF_LIVES: Final = 64.0
"""Maximum of half-lives since the landmark, before counts are scaled to a later one: far from a float's limit."""


@dataclass(frozen=True, slots=True)
class Frequent:
    """A name and its decayed weight; the true weight is lower by at most `error`, never higher."""

    name: str
    weight: float
    error: float


class SpaceSaving:
    """Counters for the most frequent names.

    Invariants:
        S1  There are at most `capacity` counters, each with one element of `_heap`, which is not above the counter.
        S2  A name's true weight is in [weight - error, weight]. A name without a counter has at most the least weight.
        S3  The least weight, and each error, is at most total / capacity.
    """

    def __init__(self, capacity: int, *, half_life_s: float, now: float) -> None:
        """Begin with no counters.

        Args:
            capacity: maximum number of counters.
            half_life_s: seconds in which a weight halves.
            now: local time in seconds, as in all calls.
        """
        self.half_life_s = half_life_s
        self._capacity = capacity
        self._landmark = now  # weights are stored in relation to this time
        self._counts: dict[str, list[float]] = {}  # name -> weight and error
        self._heap: list[tuple[float, str]] = []  # by a weight that may have grown since it was pushed
        self._total = 0.0  # of all weights, evicted names included

    def add(self, name: str, weight: float, now: float) -> None:
        """Add to a name's weight. Costs O(log capacity), amortized."""
        half_lives = (now - self._landmark) / self.half_life_s
        if half_lives > _MAX_HALF_LIVES:
            self._move_landmark(now)
            half_lives = 0.0
        grown = weight * exp2(half_lives)
        self._total += grown
        count = self._counts.get(name)
        if count is not None:
            count[0] += grown
        elif len(self._counts) < self._capacity:
            self._counts[name] = [grown, 0.0]
            heappush(self._heap, (grown, name))
        else:
            least, evicted = self._least()
            del self._counts[evicted]
            self._counts[name] = [least + grown, least]
            heapreplace(self._heap, (least + grown, name))

    def top(self, number: int, now: float) -> tuple[Frequent, ...]:
        """Return the most frequent names, in descending order."""
        shrink = self._shrink(now)
        ranked = sorted(self._counts.items(), key=lambda item: (-item[1][0], item[0]))
        return tuple(
            Frequent(name, weight * shrink, error * shrink) for name, (weight, error) in ranked[:number]
        )

    def total(self, now: float) -> float:
        """Return the sum of all decayed weights."""
        return self._total * self._shrink(now)

    def check(self) -> None:
        """Assert S1 and S3; for tests."""
        assert len(self._heap) == len(self._counts) <= self._capacity
        assert {name for _, name in self._heap} == self._counts.keys()
        assert all(weight <= self._counts[name][0] for weight, name in self._heap)
        bound = self._total / self._capacity * (1 + 1e-9)
        assert all(error <= bound for _, error in self._counts.values())

    def _least(self) -> tuple[float, str]:
        """Move the least weight to the top of the heap; return it and its name."""
        while True:
            weight, name = self._heap[0]
            grown = self._counts[name][0]
            if grown == weight:
                return weight, name
            heapreplace(self._heap, (grown, name))

    def _shrink(self, now: float) -> float:
        return exp2(-(now - self._landmark) / self.half_life_s)

    def _move_landmark(self, now: float) -> None:
        shrink = self._shrink(now)
        self._landmark = now
        self._total *= shrink
        for count in self._counts.values():
            count[0] *= shrink
            count[1] *= shrink
        self._heap = [(count[0], name) for name, count in self._counts.items()]
        heapify(self._heap)
