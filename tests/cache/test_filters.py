"""Filters are added and removed while the cache serves: what may be cached, and what a removal costs."""

from collections.abc import Mapping

import pytest

from nncache.cache import Conclusion, Fetch, Forward, MetadataCache, MissReason, Serve
from nncache.cache.deferred_writes import TwoStepWriter
from nncache.hadoop.change import Closed, Opened
from nncache.hadoop.globs import GlobError
from tests.cache.cases import (
    ALICE,
    BOB,
    TERM,
    fetch,
    fill,
    hit_of,
    is_hit,
    make_cache,
    missing,
    reclaim_all,
    settle,
)

FORMER = {"1": "/a/*", "2": "/b/*", "3": "/*/*/*"}

GONE: tuple[Mapping[str, str], ...] = (
    {},
    {"2": "/b/*", "3": "/*/*/*"},  # one was removed
    {"1": "/a/*", "2": "/b/x*", "3": "/*/*/*"},  # one has another glob
    {"4": "/a/*", "2": "/b/*", "3": "/*/*/*"},  # one was removed and added again: another id
    {"1": "/b/*", "2": "/a/*", "3": "/*/*/*"},
)


@pytest.fixture
def cache() -> MetadataCache:
    """Return a cache with its stream open and the former filters in force."""
    made = make_cache(glob=())
    made.set_filters(FORMER)
    return made


@pytest.mark.parametrize("later", GONE)
def test_gap_flush_a_filter_that_goes_takes_everything_along(
    cache: MetadataCache, later: Mapping[str, str]
) -> None:
    """GapFlush: entries, grants and hits are forgotten, also of paths that other filters still match."""
    for path in ("/a/f", "/b/f", "/a/b/f"):
        fill(cache, path, ALICE, 1.0)
    hits = [hit_of(cache.lookup(path, ALICE, 1.0)) for path in ("/a/f", "/b/f", "/a/b/f")]
    cache.set_filters(later)
    assert not any(cache.is_good(hit, 1.0) for hit in hits)
    assert not any(is_hit(cache, path, ALICE, 1.0) for path in ("/a/f", "/b/f", "/a/b/f"))
    assert not any(cache.explain(path, 1.0).grants for path in ("/a/f", "/b/f", "/a/b/f"))
    reclaim_all(cache)
    stats = cache.stats(1.0)
    assert (stats.entries, stats.grants, stats.tickets) == (0, 0, 0)
    cache.check()


@pytest.mark.parametrize("later", GONE)
def test_no_late_fill_a_reply_from_before_a_removal_is_dropped(
    cache: MetadataCache, later: Mapping[str, str]
) -> None:
    """NoLateFill: a change may have been missed since. A question asked afterwards is cached as usual."""
    asked_before = fetch(cache, "/a/b/f", ALICE, 1.0)
    joined = fetch(cache, "/a/b/g", ALICE, 1.0)
    cache.set_filters(later)
    cache.set_filters({"3": "/*/*/*"})  # in force all the time, or a third filter by now
    assert not isinstance(cache.lookup("/a/b/g", ALICE, 1.0), Serve)
    for ticket in (asked_before, joined):
        assert cache.conclude(ticket, missing(1.5)) is Conclusion.SPOILED
    assert fill(cache, "/a/b/f", ALICE, 1.6) is Conclusion.STORED
    assert is_hit(cache, "/a/b/f", ALICE, 1.6)


def test_a_filter_that_comes_has_refused_writes_asked_about(cache: MetadataCache) -> None:
    """OwnWrites: while no filter matched the path, no event was read that might give the caller the right."""
    cache.open_window("/a/f", None, 1.0, writer=TwoStepWriter(has_right=False))
    cache.set_filters({"2": "/b/*"})
    cache.windows.take_recheck_queue()  # rechecked before the filter was back
    cache.set_filters(FORMER)
    assert [write.path for write in cache.windows.take_recheck_queue()] == ["/a/f"]


def test_a_filter_that_goes_is_kept_no_more(cache: MetadataCache) -> None:
    """Paths that it alone matched are forwarded; the gate stays open for the other filters."""
    cache.set_filters({"2": "/b/*"})
    assert cache.glob_of == {"2": "/b/*"}
    assert cache.lookup("/a/f", ALICE, 1.0) == Forward(MissReason.NO_FILTER)
    assert cache.gate.is_open(1.0)
    fill(cache, "/b/f", ALICE, 1.0)
    assert is_hit(cache, "/b/f", ALICE, 1.0)


def test_a_filter_that_comes_costs_nothing(cache: MetadataCache) -> None:
    """Entries, grants, hits and questions in flight stay valid: no change of their paths was missed."""
    fill(cache, "/a/f", ALICE, 1.0)
    fill(cache, "/a/g", BOB, 1.0)
    asked_before = fetch(cache, "/b/f", ALICE, 1.0)
    hit, flushes = hit_of(cache.lookup("/a/f", ALICE, 1.0)), cache.stats(1.0).flushes
    cache.set_filters(FORMER | {"4": "/c/*", "5": "/a/*"})
    assert cache.is_good(hit, 1.0)
    assert cache.conclude(asked_before, missing(1.1)) is Conclusion.STORED
    assert is_hit(cache, "/b/f", ALICE, 1.1)
    settle(cache, 2.0)
    assert is_hit(cache, "/a/g", ALICE, 2.0), "alice's right and bob's entry"
    assert cache.stats(2.0).flushes == flushes
    assert isinstance(cache.lookup("/c/f", ALICE, 2.0), Fetch)


def test_what_was_asked_before_its_filter_came_leaves_no_trace(cache: MetadataCache) -> None:
    """NoLateFill: the call was forwarded without a ticket, because changes of its path were not read then."""
    assert cache.lookup("/c/f", ALICE, 1.0) == Forward(MissReason.NO_FILTER)
    cache.set_filters(FORMER | {"4": "/c/*"})
    assert not cache.holds("/c")
    assert cache.stats(1.0).tickets == 0
    assert isinstance(cache.lookup("/c/f", ALICE, 1.0), Fetch), "nothing to join, and nothing to wait for"


def test_a_glob_that_is_none_changes_nothing(cache: MetadataCache) -> None:
    """An invalid glob changes neither the filters nor the entries."""
    fill(cache, "/a/f", ALICE, 1.0)
    hit = hit_of(cache.lookup("/a/f", ALICE, 1.0))
    with pytest.raises(GlobError):
        cache.set_filters({"4": "/c/*", "5": "/a/{"})
    assert cache.is_good(hit, 1.0)
    assert is_hit(cache, "/a/f", ALICE, 1.0)
    assert cache.lookup("/c/f", ALICE, 1.0) == Forward(MissReason.NO_FILTER)
    cache.set_filters(FORMER)
    assert cache.is_good(hit, 1.0), "they were in force all the time"


def test_own_writes_two_step_writes_outlast_filters(cache: MetadataCache) -> None:
    """OwnWrites: a filter that is removed and added again, or another new filter, ends no window."""
    cache.open_window("/a/f", 100, 1.0)
    for later in ({}, FORMER, {"9": "/a/*"}):
        cache.set_filters(later)
    assert cache.lookup("/a/f", ALICE, 1.0) == Forward(MissReason.TWO_STEP_WRITE)
    assert cache.stats(1.0).windows == 1
    cache.apply(Opened("/a/f"), 1.2, 101)
    cache.apply(Closed("/a/f"), 1.3, 105)
    assert isinstance(cache.lookup("/a/f", ALICE, 1.4), Fetch)


def test_own_writes_a_new_filter_sees_writes_under_way(cache: MetadataCache) -> None:
    """OwnWrites: a write concerned no filter at its redirect, and its second step may still be in progress."""
    cache.open_window("/w/x/y/z/f", 100, 1.0)
    assert cache.stats(1.0).windows == 0
    cache.set_filters(FORMER | {"4": "/w/x/y/z/*"})
    assert cache.lookup("/w/x/y/z/f", ALICE, 1.0) == Forward(MissReason.TWO_STEP_WRITE)
    assert fill(cache, "/w/x/y/z/g", ALICE, 1.0) is Conclusion.STORED
    cache.apply(Opened("/w/x/y/z/f"), 1.1, 101)
    cache.apply(Closed("/w/x/y/z/f"), 1.2, 102)
    assert fill(cache, "/w/x/y/z/f", ALICE, 1.3) is Conclusion.STORED


def test_own_writes_a_write_between_streams_is_seen_later(cache: MetadataCache) -> None:
    """OwnWrites: while no stream is open, the next filters are unknown."""
    cache.close_stream("lost")
    cache.open_window("/w/x/y/z/f", 100, 1.0)
    cache.open_stream(TERM + 1)
    cache.set_filters({"9": "/w/x/y/z/*"})
    assert cache.lookup("/w/x/y/z/f", ALICE, 1.0) == Forward(MissReason.TWO_STEP_WRITE)
