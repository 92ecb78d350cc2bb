"""What a subscriber misses is held against what it received."""

from nncache.bench.inotify.following import Heard, Received
from nncache.bench.inotify.overload import accounting

MADE = {f"/loud/{txid}": txid for txid in range(1, 7)}
GAP = Received(1.0, 3, 4)


def event(txid: int, place: str = "loud") -> Received:
    """Return what is received of a path."""
    return Received(1.0, txid, txid, f"/{place}/{txid}")


def test_what_lies_within_a_gap_is_covered() -> None:
    """By its transaction; what was made otherwise is no part of it."""
    received = [event(1), event(2), GAP, event(5), event(6), event(7, "loud/after")]
    found = accounting(Heard(received), MADE)
    assert (found.delivered, found.covered, found.silent, found.wrong) == (4, 2, 0, 0)
    found = accounting(Heard([event(1), GAP, event(5), event(6)]), MADE)
    assert (found.delivered, found.covered, found.silent) == (3, 2, 1)


def test_what_is_told_twice_or_out_of_order_is_wrong() -> None:
    """Whatever else is right."""
    found = accounting(Heard([event(txid) for txid in (1, 2, 2, 4, 3, 5, 6)]), MADE)
    assert (found.delivered, found.silent, found.wrong) == (6, 0, 2)
