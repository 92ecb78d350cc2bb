"""Which stand a race is held at: all of them are aimed at in turn. (tests/races/aims.py)"""

import random
from collections import Counter
from dataclasses import dataclass, field

from tests.races.steering import Arrival, Hold, Stand, Verdict

_EXPLORED_SHARE = 0.15
"""Of the races that are held anywhere, so that stands that nobody knows are found."""

_FURTHEST = 12
"""Arrivals counted when a race is held anywhere."""


@dataclass(slots=True)
class Book:
    """What is known of the stands of one kind of errand.

    Attributes:
        known: how often each was seen.
        held: how often a race was held there.
        tried: how often one was aimed at.
    """

    known: Counter[Stand] = field(default_factory=Counter)
    held: Counter[Stand] = field(default_factory=Counter)
    tried: Counter[Stand] = field(default_factory=Counter)

    def choose(self, chance: random.Random) -> Stand | None:
        """Return a stand that was aimed at least; None: hold it anywhere."""
        if not self.known or chance.random() < _EXPLORED_SHARE:
            return None
        return min(self.known, key=lambda stand: (self.held[stand] * 4 + self.tried[stand], chance.random()))


class Aim:
    """One race's wish to be held, at a given stand or at its nth arrival."""

    def __init__(self, book: Book, chance: random.Random) -> None:
        self.hold = Hold()
        self._book = book
        self._stand = book.choose(chance)
        self._countdown = chance.randrange(_FURTHEST)
        if self._stand is not None:
            book.tried[self._stand] += 1

    def meets(self, arrival: Arrival) -> Hold | None:
        """Return the hold if this is where the race is to be held; at most once."""
        stand = arrival.stand
        self._book.known[stand] += 1
        if self.hold.is_over or self.hold.reached.done():
            return None
        if self._stand is None:
            self._countdown -= 1
            if self._countdown >= 0:
                return None
        elif stand is not self._stand:
            return None
        self._book.held[stand] += 1
        return self.hold


class Errand:
    """The label of all tasks that work for one client connection, or of those that work for nobody."""

    def __init__(self) -> None:
        self.aim: Aim | None = None

    def arrive(self, arrival: Arrival) -> Verdict:
        """Decide for the steering."""
        return None if self.aim is None else self.aim.meets(arrival)
