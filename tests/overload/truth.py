"""A path that comes and goes, and which answers about it can be right."""

import math
from dataclasses import dataclass

BOUND_S = 3.0
"""The guarantee Bounded: `max_staleness_s`, by default."""


@dataclass(slots=True)
class Flip:
    """One change of the path. Times are `time.monotonic()`; it took effect between the two."""

    is_there: bool  # from now on
    sent: float
    acknowledged: float = math.inf


def explains(flips: list[Flip], saw_it: bool, sent: float, ended: float, bound_s: float = BOUND_S) -> bool:
    """Whether an answer was true at some moment from `bound_s` before it was asked until it came.

    `flips` alternate. What was there before the first of them is not known: no answer from then is held to be wrong.
    """
    if not flips or sent - bound_s <= flips[0].acknowledged:
        return True
    following = [*flips[1:], None]
    for flip, after in zip(flips, following, strict=True):
        true_until = math.inf if after is None else after.acknowledged
        if flip.is_there == saw_it and flip.sent <= ended and true_until >= sent - bound_s:
            return True
    return False
