"""The rules by which the cache answers; each test names the guarantee that it checks."""

import pytest

from nncache.cache import Conclusion, Denied, EntryKind, Fetch, Forward, Join, MetadataCache, MissReason, Wait
from nncache.cache.deferred_writes import TwoStepWriter
from nncache.cache.metadata_cache import ROOT_AGE_S
from nncache.hadoop.change import (
    AccessChanged,
    Appeared,
    Closed,
    Footprint,
    LineTouched,
    Moved,
    Opened,
    SubtreeUnknown,
    Touched,
    Vanished,
)
from tests.cache.cases import (
    ALICE,
    BOB,
    CAROL,
    TERM,
    fetch,
    fill,
    hit_of,
    is_hit,
    make_cache,
    missing,
    open_file,
    reclaim_all,
    settle,
    status,
    ticket_of,
    unchanged,
)

# -- when a call leaves no trace -----


def test_only_paths_of_a_filter_are_kept() -> None:
    """A path that no glob matches is forwarded."""
    cache = make_cache(glob=("/user/*/_SUCCESS",))
    assert cache.lookup("/user/joe/x", ALICE, 0.0) == Forward(MissReason.NO_FILTER)
    assert isinstance(cache.lookup("/user/joe/_SUCCESS", ALICE, 0.0), Fetch)


def test_filters_come_and_go() -> None:
    """GapFlush: a removed filter flushes everything, an added one nothing; `test_filters.py` has more."""
    cache = make_cache(glob=("/a/*",))
    fill(cache, "/a/f", ALICE, 0.0)
    cache.set_filters({"/a/*": "/a/*", "1": "/b/*"})
    assert is_hit(cache, "/a/f", ALICE, 0.0)
    cache.set_filters({"2": "/a/*"})
    assert (is_hit(cache, "/a/f", ALICE, 0.0), cache.glob_of) == (False, {"2": "/a/*"})


def test_the_root_is_kept_for_a_minute_by_a_glob_of_its_own() -> None:
    """The root is snapshottable in every release, and its snapshots set its modification time without an event."""
    assert make_cache(glob=("/*",)).lookup("/", ALICE, 0.0) == Forward(MissReason.NO_FILTER)
    cache = make_cache(glob=("/", "/a/*"), max_staleness_s=1e9, max_entry_age_s=1e6)
    fill(cache, "/", ALICE, 1.0, status(1.0, kind=EntryKind.DIRECTORY))
    fill(cache, "/a/f", ALICE, 1.0)
    assert cache.holds("/")
    for now, is_kept in ((1.0, True), (1.0 + ROOT_AGE_S - 0.1, True), (1.0 + ROOT_AGE_S, False)):
        assert is_hit(cache, "/", ALICE, now) is is_kept
        assert is_hit(cache, "/a/f", ALICE, now)
    short = make_cache(glob=("/",), max_entry_age_s=2.0)
    fill(short, "/", ALICE, 0.0, status(0.0, kind=EntryKind.DIRECTORY))
    assert (is_hit(short, "/", ALICE, 1.9), is_hit(short, "/", ALICE, 2.0)) == (True, False)


@pytest.mark.parametrize(
    ("change", "is_kept"),
    [
        (Appeared("/new"), False),
        (Vanished("/new"), False),
        (Moved("/a/f", "/f"), False),
        (Touched("/"), False),
        (AccessChanged("/"), False),
        (SubtreeUnknown("/"), False),
        (LineTouched("/a/b", "/"), False),
        (LineTouched("/a/b", "/a"), True),
        (Appeared("/a/new"), True),
        (Touched("/a"), True),
        (AccessChanged("/a"), True),
    ],
)
def test_what_changes_the_root_is_forgotten(change: Footprint, *, is_kept: bool) -> None:
    """NoLateFill: the root's number of children and its times change with each name directly below it."""
    cache = make_cache(glob=("/",))
    fill(cache, "/", ALICE, 0.0, status(0.0, kind=EntryKind.DIRECTORY))
    ticket = ticket_of(cache.lookup("/", BOB, 0.0, refresh=True))
    cache.apply(change, 0.0, 101)
    assert is_hit(cache, "/", ALICE, 0.0) is is_kept
    conclusion = cache.conclude(ticket, status(0.0, kind=EntryKind.DIRECTORY))
    assert (conclusion is not Conclusion.SPOILED) is is_kept
    cache.check()


def test_a_write_below_a_missing_top_directory_concerns_the_root() -> None:
    """OwnWrites: the second step may create that directory, which is a child of the root."""
    cache = make_cache(glob=("/",))
    fill(cache, "/", ALICE, 0.0, status(0.0, kind=EntryKind.DIRECTORY))
    assert list(cache.unproven_ancestors("/a/b/f", 0.0)) == ["/a"]
    cache.open_window("/a/b/f", 5, 0.0, "/a")
    assert cache.lookup("/", ALICE, 0.0) == Forward(MissReason.TWO_STEP_WRITE)


def test_nothing_is_kept_while_the_stream_is_closed(cache: MetadataCache) -> None:
    """NoLateFill: a ticket counts only if changes were being read when it was taken."""
    cache.close_stream("test")
    assert cache.lookup("/a", ALICE, 0.0) == Forward(MissReason.STREAM_CLOSED)
    cache.cover(5.0, 7)
    assert not cache.gate.is_open(5.0)


# -- hits -----


def test_the_asker_is_answered_from_memory_at_once(cache: MetadataCache) -> None:
    """The NameNode gave this caller this very reply."""
    assert fill(cache, "/a/f", ALICE, 1.0) is Conclusion.STORED
    hit = hit_of(cache.lookup("/a/f", ALICE, 1.0))
    assert hit.entry.is_missing
    assert cache.is_good(hit, 1.0)


def test_bounded_no_answer_once_the_gate_has_closed() -> None:
    """Bounded: after `max_staleness_s` without a proof, neither `lookup` nor the fast path serves the entry."""
    cache = make_cache(max_staleness_s=3.0)
    fill(cache, "/a/f", ALICE, 1.0)
    hit = hit_of(cache.lookup("/a/f", ALICE, 3.0))
    assert not cache.is_good(hit, 3.1)
    late = cache.lookup("/a/f", ALICE, 3.1)
    assert isinstance(late, Fetch)
    assert late.reason is MissReason.GATE_CLOSED
    assert cache.conclude(late.ticket, missing(3.1)) is Conclusion.CONFIRMED
    settle(cache, 3.2)
    assert cache.is_good(hit, 3.2), "the entry is kept over a closed gate"


def test_an_entry_ends_with_max_entry_age() -> None:
    """`max_entry_age_s` bounds changes that HDFS announces by no event."""
    cache = make_cache(max_entry_age_s=10.0)
    fill(cache, "/a/f", ALICE, 0.0)
    settle(cache, 10.0)
    hit = hit_of(cache.lookup("/a/f", ALICE, 9.9))
    assert not cache.is_good(hit, 10.0)
    assert not is_hit(cache, "/a/f", ALICE, 10.0)


def test_a_confirmation_by_the_namenode_renews_the_age() -> None:
    """The NameNode has just given the same reply again."""
    cache = make_cache(max_entry_age_s=10.0)
    fill(cache, "/a/f", ALICE, 0.0)
    assert cache.conclude(fetch(cache, "/a/f", BOB, 8.0), missing(8.0)) is Conclusion.CONFIRMED
    settle(cache, 15.0)
    assert is_hit(cache, "/a/f", ALICE, 15.0)


# -- open files -----


def test_open_files_are_not_kept_but_prove_the_right(cache: MetadataCache) -> None:
    """OpenFileUncached: an open file grows without events. An entry that it contradicts is removed."""
    fill(cache, "/a/f", ALICE, 1.0, status(1.0))
    fill(cache, "/a/g", BOB, 1.0)
    assert (
        cache.conclude(fetch(cache, "/a/f", ALICE, 1.5, refresh=True), open_file(1.5)) is Conclusion.NOT_KEPT
    )
    assert not is_hit(cache, "/a/f", ALICE, 1.5)
    settle(cache, 2.0)
    assert is_hit(cache, "/a/g", ALICE, 2.0)


def test_an_unchanged_status_proves_the_right_and_renews_no_age() -> None:
    """Its caller is no witness, since the file may be open: they get hits once that reply is covered."""
    cache = make_cache(max_entry_age_s=10.0)
    fill(cache, "/a/f", ALICE, 0.0, status(0.0))
    settle(cache, 7.9)
    assert cache.conclude(fetch(cache, "/a/f", BOB, 8.0), unchanged(8.0)) is Conclusion.UNCHANGED
    assert not is_hit(cache, "/a/f", BOB, 8.1)
    settle(cache, 8.2)
    assert is_hit(cache, "/a/f", BOB, 8.2)
    settle(cache, 10.0)
    assert not is_hit(cache, "/a/f", ALICE, 10.0)


def test_an_unchanged_status_never_makes_an_entry(cache: MetadataCache) -> None:
    """The entry it was compared with is gone or was replaced; isFileClosed was not asked."""
    tickets = fetch(cache, "/a/f", ALICE, 0.5), fetch(cache, "/a/g", ALICE, 0.5)
    fill(cache, "/a/g", BOB, 1.0, status(1.0, "2"))
    assert {cache.conclude(ticket, unchanged(1.5)) for ticket in tickets} == {Conclusion.NOT_KEPT}
    assert not is_hit(cache, "/a/f", ALICE, 1.5)
    assert not is_hit(cache, "/a/g", BOB, 1.5)
    assert ALICE in cache.explain("/a/f", 1.5).granted


# -- flights -----


def test_one_callers_misses_share_one_question(cache: MetadataCache) -> None:
    """Concurrent misses of one caller cost the NameNode one call."""
    ticket = ticket_of(cache.lookup("/a/f", ALICE, 1.0))
    assert cache.lookup("/a/f", ALICE, 1.0) == Join(ticket)
    assert isinstance(cache.lookup("/a/g", ALICE, 1.0), Fetch)


def test_a_stranger_joins_no_flight(cache: MetadataCache) -> None:
    """ProvenGrant: a flight's reply is for the caller who asked."""
    cache.lookup("/a/f", ALICE, 1.0)
    assert isinstance(cache.lookup("/a/f", BOB, 1.0), Fetch)


def test_a_caller_with_a_right_waits_for_anothers_question(cache: MetadataCache) -> None:
    """Concurrent requests of many users for one new file cost the NameNode one call."""
    fill(cache, "/a/g", BOB, 1.0)
    ticket = ticket_of(cache.lookup("/a/f", ALICE, 1.0))
    assert cache.lookup("/a/f", BOB, 1.0) == Wait(ticket)
    assert isinstance(cache.lookup("/a/f", BOB, 1.0, may_wait=False), Fetch)


def test_no_caller_joins_a_spoiled_flight(cache: MetadataCache) -> None:
    """OwnWrites: a question that is asked after a write was answered must see the write."""
    cache.lookup("/a/f", ALICE, 1.0)
    cache.apply(Appeared("/a/f"), 1.0)
    assert isinstance(cache.lookup("/a/f", ALICE, 1.0), Fetch)


def test_no_caller_joins_an_old_flight() -> None:
    """Bounded: a reply may be as old as its question."""
    cache = make_cache(max_staleness_s=3.0)
    cache.lookup("/a/f", ALICE, 1.0)
    settle(cache, 4.0)
    assert isinstance(cache.lookup("/a/f", ALICE, 4.1), Fetch)


def test_no_cache_asks_itself_and_nothing_joins_it(cache: MetadataCache) -> None:
    """Cache-Control `no-cache`: the NameNode is asked, and its reply replaces the entry."""
    fill(cache, "/a/f", ALICE, 1.0, status(1.0, "old"))
    decision = cache.lookup("/a/f", ALICE, 1.0, refresh=True)
    assert isinstance(decision, Fetch)
    assert decision.reason is MissReason.REQUEST
    cache.apply(Touched("/a/f"), 1.0)
    again = ticket_of(cache.lookup("/a/f", ALICE, 1.0, refresh=True))
    assert isinstance(cache.lookup("/a/f", ALICE, 1.0), Fetch)
    assert cache.conclude(again, status(1.1, "new")) is Conclusion.STORED


def test_with_a_closed_gate_a_caller_joins_only_his_own_question() -> None:
    """Waiting for another caller's question helps only if its entry may then be served."""
    cache = make_cache(max_staleness_s=3.0)
    fill(cache, "/a/g", BOB, 1.0)
    ticket = ticket_of(cache.lookup("/a/f", ALICE, 5.0))
    assert cache.lookup("/a/f", ALICE, 5.0) == Join(ticket)
    assert isinstance(cache.lookup("/a/f", BOB, 5.0), Fetch)


# -- two-step writes -----


def test_own_writes_a_two_step_write_blocks_its_path(cache: MetadataCache) -> None:
    """OwnWrites: from the redirect to the CLOSE, reads of the path, its parent and everything below are forwarded."""
    for path in ("/a", "/a/f", "/a/g"):
        fill(cache, path, ALICE, 1.0)
    asked_before = fetch(cache, "/a/f", BOB, 1.0)
    hit = hit_of(cache.lookup("/a/f", ALICE, 1.0))
    cache.open_window("/a/f", 100, 1.0)
    assert not cache.is_good(hit, 1.0)
    assert cache.lookup("/a/f", ALICE, 1.0) == Forward(MissReason.TWO_STEP_WRITE)
    assert cache.lookup("/a", ALICE, 1.0) == Forward(MissReason.TWO_STEP_WRITE)
    assert is_hit(cache, "/a/g", ALICE, 1.0)
    assert cache.conclude(asked_before, missing(1.1)) is Conclusion.SPOILED
    cache.apply(Appeared("/a/f"), 1.2, 101)
    cache.apply(Opened("/a/f"), 1.2, 101)
    cache.apply(Closed("/a/f"), 1.3, 105)
    assert fill(cache, "/a/f", ALICE, 1.4, status(1.4)) is Conclusion.STORED


def test_own_writes_the_forgetting_of_a_write_ends_no_window(cache: MetadataCache) -> None:
    """Only events end a window; changes applied for a call through the proxy do not."""
    cache.open_window("/a/f", 100, 1.0)
    cache.apply(Opened("/a/f"), 1.2)
    cache.apply(Closed("/a/f"), 1.3)
    assert cache.lookup("/a/f", ALICE, 1.4) == Forward(MissReason.TWO_STEP_WRITE)


def test_own_writes_missing_ancestors_belong_to_the_window() -> None:
    """CREATE makes missing ancestors, so everything below them changes as well."""
    fill(cache := make_cache(), "/a/b/x", ALICE, 1.0)
    cache.open_window("/a/b/c/f", 100, 1.0, "/a/b", TwoStepWriter(is_known=False))
    assert cache.lookup("/a/b/x", ALICE, 1.0) == Forward(MissReason.TWO_STEP_WRITE)  # all that may be missing
    for recheck_queue in cache.windows.take_recheck_queue():
        cache.answer_recheck(recheck_queue, recheck_queue.known(None, has_right=True), 1.1)
    assert isinstance(cache.lookup("/a/b/x", ALICE, 1.1), Fetch)


def test_own_writes_a_full_table_forwards_everything() -> None:
    """The number of windows is bounded: a write without a window costs all hits, not correctness."""
    cache = make_cache(max_two_step_windows=1)
    fill(cache, "/b/x", ALICE, 1.0)
    hit = hit_of(cache.lookup("/b/x", ALICE, 1.0))
    cache.open_window("/a/f", 100, 1.0)
    cache.open_window("/a/g", 100, 1.0)
    assert cache.lookup("/b/x", ALICE, 1.0) == Forward(MissReason.WINDOW_TABLE_FULL)
    assert not cache.is_good(hit, 1.0)


def test_unproven_ancestors_are_those_without_a_grant() -> None:
    """MKDIRS forgets entries below ancestors that it may have created, and no others."""
    cache = make_cache(glob=("/*", "/*/*", "/*/*/*"))
    assert tuple(cache.unproven_ancestors("/a", 1.0)) == ()
    assert tuple(cache.unproven_ancestors("/a/b/c/d/e/f", 1.0)) == ("/a/b/c/d", "/a/b/c", "/a/b", "/a"), (
        "/a/b/c may be kept, and a child that it gets is a change of it; no glob reaches further"
    )
    fill(cache, "/a/b/x", ALICE, 1.0)
    assert tuple(cache.unproven_ancestors("/a/b/c/d", 1.0)) == ("/a/b/c", "/a/b", "/a")
    fill(cache, "/a/b/y", ALICE, 1.0, status(1.0))
    assert tuple(cache.unproven_ancestors("/a/b/c/d", 1.0)) == ("/a/b/c",)
    fill(cache, "/e", ALICE, 1.0)
    assert tuple(cache.unproven_ancestors("/e/f", 1.0)) == ("/e",)
    fill(cache, "/g", ALICE, 1.0, status(1.0, kind=EntryKind.DIRECTORY))
    assert tuple(cache.unproven_ancestors("/g/h", 1.0)) == ()
    assert tuple(cache.unproven_ancestors("/g/h", 9.0)) == ("/g",), "what may not be served proves nothing"
    assert cache.holds("/a/b")
    assert not cache.holds("/zzz")
    assert cache.concerns("/zzz")
    fetch(cache, "/i", ALICE, 1.0)
    assert tuple(cache.unproven_ancestors("/i/j", 1.0)) == ("/i",)


# -- figures and explanations -----


def test_statistics_count_what_was_decided(cache: MetadataCache) -> None:
    """Every lookup and every conclusion is counted once, under its own reason or conclusion."""
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
    assert (stats.joins, stats.waits, stats.changes) == (1, 1, 1)
    assert stats.decisions == {MissReason.MISS: 4}
    assert stats.conclusions == {Conclusion.STORED: 3}
    assert (stats.is_open, stats.gate_age_s, stats.covered_txid) == (True, 2.0, 100)
    assert stats.max_staleness_s == cache.gate.max_staleness_s > 0


def test_explain_says_why() -> None:
    """`nncache explain` shows what is known of the path, why it is not answered, and the txid of the last change."""
    cache = make_cache(glob=("/a/*", "/a/b/*"))
    assert cache.explain("/", 1.0).answer == MissReason.NO_FILTER
    assert cache.explain("/x", 1.0).answer == MissReason.NO_FILTER
    assert cache.explain("/a/f", 1.0).answer == MissReason.MISS
    assert cache.explain("/a/b/f", 1.0).grants == 0
    fill(cache, "/a/f", ALICE, 1.0)
    known = cache.explain("/a/f", 3.0)
    assert known.answer == "hit"
    assert known.entry is not None
    assert (known.entry.status, known.entry.age_s, known.entry.since_txid) == (404, 2.0, 100)
    assert not known.entry.is_settled
    assert known.granted == (ALICE,)
    assert cache.explain("/a/f", 10.0).answer == MissReason.GATE_CLOSED
    cache.conclude(fetch(cache, "/a/g", ALICE, 1.0), Denied())
    cache.check()
    assert cache.explain("/a/f", 2.0).answer == MissReason.NO_GRANT
    cache.apply(Moved("/a", "/z"), 2.0, 123)
    gone = cache.explain("/a/f", 2.5)
    reported = gone.last_forgotten
    assert reported is not None
    assert (reported.change, reported.txid, reported.path) == ("Moved", 123, "/a")
    assert (gone.now, gone.seen_as_of, gone.stream_closed_because) == (2.5, cache.gate.seen_as_of, None)
    cache.close_stream("purged")
    closed = cache.explain("/a/f", 2.5)
    assert (closed.gate_age_s, closed.seen_as_of, closed.stream_closed_because) == (None, None, "purged")


# -- the order of replies --------------------------------------------------------------------------------


def test_no_late_fill_by_an_earlier_or_foreign_reply(cache: MetadataCache) -> None:
    """NoLateFill: a reply of another term is not cached; of two replies that differ, neither is kept."""
    assert cache.conclude(fetch(cache, "/a/f"), missing(0.0, term=TERM + 1)) is Conclusion.SPOILED
    early = fetch(cache, "/a/f", ALICE, 1.0)
    fill(cache, "/a/f", BOB, 1.1, status(1.1, "new"))
    assert cache.conclude(early, status(1.2, "old")) is Conclusion.NOT_KEPT
    assert not is_hit(cache, "/a/f", BOB, 1.2)


def test_a_closed_stream_forgets_and_says_so(cache: MetadataCache) -> None:
    """GapFlush: entries, grants and questions are dropped."""
    fill(cache, "/a/f", ALICE, 1.0)
    hit = hit_of(cache.lookup("/a/f", ALICE, 1.0))
    cache.close_stream("gap")
    cache.open_stream(TERM + 1)
    cache.cover(1.0, 5)
    assert not cache.is_good(hit, 1.0)
    reclaim_all(cache)
    assert cache.stats(1.0).entries == 0


def test_the_fast_path_rechecks_after_a_change(cache: MetadataCache) -> None:
    """HitsKept: a change elsewhere costs one walk to the root, not the hit."""
    fill(cache, "/a/f", ALICE, 1.0)
    fill(cache, "/b/f", ALICE, 1.0)
    hit = hit_of(cache.lookup("/a/f", ALICE, 1.0))
    cache.apply(Appeared("/b/f"), 1.0, 101)
    assert cache.is_good(hit, 1.0)
    assert hit.forget_epoch == cache.store.forget_epoch
    cache.apply(Appeared("/a"), 1.0, 102)
    assert not cache.is_good(hit, 1.0)
    reclaim_all(cache)


def test_own_writes_an_unrecorded_write_blocks_everything() -> None:
    """OwnWrites: after an internal error, nothing is served or cached for the length of a window."""
    cache = make_cache(two_step_window_s=20.0)
    fill(cache, "/a/f", ALICE, 1.0)
    cache.forward_all(1.0)
    assert cache.lookup("/a/f", ALICE, 2.0) == Forward(MissReason.WINDOW_TABLE_FULL)
    cache.cover(21.0, 100)
    assert is_hit(cache, "/a/f", ALICE, 21.0)
