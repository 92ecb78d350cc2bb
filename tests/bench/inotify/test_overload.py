"""What a subscriber misses is held against what it was told."""

from nncache.bench.inotify.following import Heard, Told
from nncache.bench.inotify.load import noted_path
from nncache.bench.inotify.overload import LOUD, accounting

MADE = {noted_path(f"/{LOUD}", 1, number): 0.0 for number in range(6)}


def event(number: int, directory: str = LOUD) -> Told:
    """Return what is told of a path."""
    return Told(1.0, number, number, noted_path(f"/{directory}", 1, number))


GAP = Told(1.0, 2, 3)


def test_what_lies_within_a_gap_is_covered() -> None:
    """At its place alone; what comes after the flood is no part of it."""
    told = [event(0), event(1), GAP, event(4), event(5), event(6, f"{LOUD}/after")]
    found = accounting(Heard(told), MADE)
    assert (found.told, found.covered, found.silent, found.wrong) == (4, 2, 0, 0)
    found = accounting(Heard([event(0), GAP, event(1), event(4), event(5)]), MADE)
    assert (found.told, found.covered, found.silent, found.wrong) == (4, 0, 2, 0)
    found = accounting(Heard([event(0), event(1), GAP]), MADE)
    assert (found.covered, found.silent) == (4, 0)


def test_what_is_told_twice_or_out_of_order_is_wrong() -> None:
    """Whatever else is right."""
    found = accounting(Heard([event(number) for number in (0, 1, 1, 3, 2, 4, 5)]), MADE)
    assert (found.told, found.silent, found.wrong) == (6, 0, 2)
