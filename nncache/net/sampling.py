"""Random sampling of requests; each sample has the weight of the requests that it represents."""

import random
from typing import Final

MAX_EVERY: Final = 1_024
"""Maximum sampling interval: at the highest rates, one request in this many is a sample."""

AT_MOST_S: Final = 0.01
"""Seconds: samples closer together become rarer, and those more than four times as far apart more frequent."""


class Sampler:
    """Chooses the next sample: every request at a low rate, at most about a hundred a second.

    Attributes:
        every: weight of the next sample, and average distance between samples.
        max_every: maximum of `every`; 1: every request is a sample.
    """

    __slots__ = ("_last_at", "every", "max_every")

    def __init__(self, max_every: int = MAX_EVERY) -> None:
        self.every = 1
        self.max_every = max_every
        self._last_at = 0.0

    def next(self, number: int, now: float) -> int:
        """Return the number of the next sample after this one.

        It is random: a fixed distance would always hit the same path of a caller that asks for paths in a cycle.
        """
        since_s, self._last_at = now - self._last_at, now
        if since_s < AT_MOST_S:
            self.every *= 2
        elif since_s > 4 * AT_MOST_S:
            self.every //= 2
        self.every = max(1, min(self.every, self.max_every))
        return number + random.randint(1, 2 * self.every - 1)  # noqa: S311 - no secret
