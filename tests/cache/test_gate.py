"""The freshness gate."""

from nncache.cache.gate import FreshnessGate


def test_is_closed_until_something_was_covered() -> None:
    """Bounded: without a proof nothing is fresh."""
    assert not FreshnessGate(3.0).is_open(0.0)


def test_is_open_up_to_the_bound_and_not_after() -> None:
    """Bounded: an answer may be `max_staleness_s` old, counted from the probe's start, and no older."""
    gate = FreshnessGate(3.0)
    gate.cover(10.0, 5, 10.0)
    assert gate.is_open(13.0)
    assert not gate.is_open(13.001)


def test_never_goes_back_but_by_reset() -> None:
    """G2: a late reply to an earlier probe does not move the gate back."""
    gate = FreshnessGate(3.0)
    gate.cover(10.0, 5, 10.0)
    gate.cover(8.0, 4, 8.0)
    assert (gate.fresh_as_of, gate.covered_txid) == (10.0, 5)
    gate.reset()
    assert not gate.is_open(10.0)
    assert gate.covered_txid == -1


def test_what_was_seen_is_known_apart_from_what_was_acknowledged() -> None:
    """A NameNode shows a change before it is durable. A reset clears both times."""
    gate = FreshnessGate(3.0)
    gate.cover(10.0, 5, 8.0)
    gate.cover(11.0, 5, -1.0)
    assert (gate.fresh_as_of, gate.seen_as_of) == (11.0, 8.0)
    gate.reset()
    assert not gate.is_open(11.0)
    assert gate.seen_as_of < 0
