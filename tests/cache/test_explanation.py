"""Figures for the operator."""

from cache import (
    Conclusion,
    Denied,
    Reason,
    Wait,
)
from hadoop.changes import (
    Moved,
    Touched,
)
from tests.cache.cases import (
    ALICE,
    BOB,
    CAROL,
    fetch,
    fill,
    make_cache,
    missing,
    ticket_of,
)


def test_statistics_count_what_was_decided() -> None:
    """Every lookup and conclusion is counted once, under its own name."""
    cache = make_cache()
    fill(cache, "/a/f", ALICE, 1.0)
    cache.lookup("/a/f", ALICE, 1.0)
    ticket = ticket_of(cache.lookup("/a/g", ALICE, 1.0))
    cache.lookup("/a/g", ALICE, 1.0)
    cache.lookup("/a/g", BOB, 1.0)
    fill(cache, "/a/h", CAROL, 1.0)
    assert isinstance(cache.lookup("/a/f", CAROL, 1.0), Wait)
    cache.conclude(ticket, missing(1.0))
    cache.apply(Touched("/a/f"), 1.0, 101)
    stats = cache.stats(2.0)
    assert (stats.serves, stats.joins, stats.waits, stats.changes) == (1, 1, 1, 1)
    assert stats.decisions == {Reason.MISS: 4}
    assert stats.conclusions == {Conclusion.STORED: 3}
    assert (stats.is_open, stats.gate_age_s, stats.covered_txid) == (True, 2.0, 100)


def test_explain_says_why() -> None:
    """`nncache explain`: what is known of the path, why it is not answered, since which transaction."""
    cache = make_cache(glob=("/a/*", "/a/b/*"))
    assert cache.explain("/", 1.0).answer == Reason.NO_FILTER
    assert cache.explain("/x", 1.0).answer == Reason.NO_FILTER
    assert cache.explain("/a/f", 1.0).answer == Reason.MISS
    fill(cache, "/a/f", ALICE, 1.0)
    known = cache.explain("/a/f", 3.0)
    assert known.answer == "hit"
    assert known.entry is not None
    assert (known.entry.status, known.entry.age_s, known.entry.since_txid) == (404, 2.0, 100)
    assert not known.entry.is_settled
    assert known.granted == (ALICE,)
    assert cache.explain("/a/f", 10.0).answer == Reason.GATE_CLOSED
    cache.conclude(fetch(cache, "/a/g", ALICE, 1.0), Denied())
    assert cache.explain("/a/f", 2.0).answer == Reason.NO_GRANT
    cache.apply(Moved("/a", "/z"), 2.0, 123)
    gone = cache.explain("/a/f", 2.5)
    assert gone.last_forgotten is not None
    assert (gone.last_forgotten.change, gone.last_forgotten.txid, gone.last_forgotten.path) == (
        "Moved",
        123,
        "/a",
    )
    cache.close_stream("test")
    assert cache.explain("/a/f", 2.5).gate_age_s is None
