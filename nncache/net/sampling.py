"""Look at a few of many requests, chosen by chance, each with the weight of all that were left out."""

import random
from typing import Final

MAX_EVERY: Final = 1_024
"""At the highest rates one in as many is looked at."""

AT_MOST_S: Final = 0.01
"""Samples that follow each other faster become rarer, and more frequent again at a quarter of that rate."""


class Sampler:
    """Says which one is the next: all at a low rate, about a hundred a second at most.

    Attributes:
        every: the weight of the next one; they lie so far apart on average.
        max_every: 1: each is looked at.
    """

    __slots__ = ("_last_at", "every", "max_every")

    def __init__(self, max_every: int = MAX_EVERY) -> None:
        self.every = 1
        self.max_every = max_every
        self._last_at = 0.0

    def next(self, number: int, now: float) -> int:
        """Return the number of the next one, after this one was looked at.

        By chance: callers that ask for so many paths in turn would show the same one each time.
        """
        since_s, self._last_at = now - self._last_at, now
        if since_s < AT_MOST_S:
            self.every *= 2
        elif since_s > 4 * AT_MOST_S:
            self.every //= 2
        self.every = max(1, min(self.every, self.max_every))
        return number + random.randint(1, 2 * self.every - 1)  # noqa: S311 - no secret
