"""What a subscriber misses is held against what it received."""

import math

from nncache.bench.inotify import Received, account, normal_after

MADE = {f"/loud/{txid}": txid for txid in range(1, 7)}
GAP = Received(1.0, 3, 4)


def event(txid: int, place: str = "loud") -> Received:
    """Return what is received of a path."""
    return Received(1.0, txid, txid, f"/{place}/{txid}")


def test_what_lies_within_a_gap_is_covered() -> None:
    """By its transaction; what was made otherwise is no part of it, and what is in no gap is missing in silence."""
    found = account([event(1), event(2), GAP, event(5), event(6), event(7, "loud/after")], MADE)
    assert (found.delivered, found.covered, found.silent, found.wrong) == (4, 2, 0, 0)
    found = account([event(1), GAP, event(5), event(6)], MADE)
    assert (found.delivered, found.covered, found.silent) == (3, 2, 1)


def test_an_event_that_comes_twice_or_out_of_order_is_wrong() -> None:
    """Whatever else is right."""
    found = account([event(txid) for txid in (1, 2, 2, 4, 3, 5, 6)], MADE)
    assert (found.delivered, found.silent, found.wrong) == (6, 0, 2)


def test_all_is_normal_after_the_last_late_event() -> None:
    """At once if none is late, never if the last one is."""
    made = {"/a": 10.0, "/b": 11.0, "/c": 12.5}
    in_time = {path: at + 0.1 for path, at in made.items()}
    assert normal_after(made, in_time, 9.0) == 0.0
    assert normal_after(made, in_time | {"/b": 13.0}, 9.0) == 3.5
    assert normal_after(made, {"/a": 10.1, "/b": 11.1}, 9.0) == math.inf
