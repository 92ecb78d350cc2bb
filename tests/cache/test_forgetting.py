"""Which entries each change costs, and which it must cost."""

import pytest

from nncache.cache import Conclusion, EntryKind, Failed, Forward, MetadataCache, MissReason, Serve
from nncache.cache.deferred_writes import TwoStepWriter
from nncache.hadoop.change import (
    AccessChanged,
    Appeared,
    Closed,
    EverythingUnknown,
    FileTouched,
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
    TERM,
    fetch,
    fill,
    hit_of,
    is_hit,
    make_cache,
    missing,
    reclaim_all,
    settle,
    status,
)

KEPT = ("/a", "/a/b", "/a/b/f", "/a/b/g", "/a/c", "/d", "/d/e")

FOOTPRINTS: list[tuple[Footprint, set[str]]] = [
    (Appeared("/a/b"), {"/a", "/a/b", "/a/b/f", "/a/b/g"}),
    (Appeared("/a/b/f"), {"/a/b", "/a/b/f"}),
    (Appeared("/a/new"), {"/a"}),
    (Vanished("/a/b"), {"/a", "/a/b", "/a/b/f", "/a/b/g"}),
    (Moved("/a/b", "/d/e"), {"/a", "/a/b", "/a/b/f", "/a/b/g", "/d", "/d/e"}),
    (Touched("/a/b"), {"/a/b"}),
    (Touched("/x/y"), set()),
    (Touched("/"), set()),
    (FileTouched("/a/b/f"), {"/a/b/f"}),
    (FileTouched("/x/y"), set()),
    (FileTouched("/"), set()),
    (LineTouched("/a/b/f", "/a/b/f"), {"/a/b/f"}),
    (LineTouched("/a/b/f", "/a/b"), {"/a/b", "/a/b/f"}),
    (LineTouched("/a/b/f/x/y", "/"), {"/a", "/a/b", "/a/b/f"}),
    (LineTouched("/d/x/y", "/d/x"), set()),
    (LineTouched("/", "/"), set()),
    (Opened("/a/b/f"), {"/a/b/f"}),
    (Closed("/a/b/f"), {"/a/b/f"}),
    (AccessChanged("/a"), {"/a", "/a/b", "/a/b/f", "/a/b/g", "/a/c"}),
    (AccessChanged("/"), set(KEPT)),
    (SubtreeUnknown("/d"), {"/d", "/d/e"}),
    (EverythingUnknown("test"), set(KEPT)),
]


def as_id(value: object) -> str:
    """Return the same text in every process: the order of a set differs between processes."""
    return str(sorted(value) if isinstance(value, set) else value)[:60]


@pytest.mark.parametrize(("change", "gone"), FOOTPRINTS, ids=as_id)
@pytest.mark.parametrize("txid", [None, 101], ids=["through the proxy", "event"])
def test_a_change_costs_its_footprint_and_nothing_else(
    cache: MetadataCache, change: Footprint, gone: set[str], txid: int | None
) -> None:
    """HitsKept: every other entry stays a hit. A forgotten entry's hit is invalid on the fast path as well."""
    hits = {}
    for path in KEPT:
        fill(cache, path, ALICE, 1.0)
        decision = cache.lookup(path, ALICE, 1.0)
        assert isinstance(decision, Serve)
        hits[path] = decision.hit
    settle(cache, 1.0)
    cache.apply(change, 1.5, txid)
    assert {path for path in KEPT if not cache.is_good(hits[path], 1.5)} == gone
    # A path below a directory whose rights were forgotten is fetched again; no other path is.
    assert {path for path in KEPT if not is_hit(cache, path, ALICE, 1.5)} == gone
    cache.check()


@pytest.mark.parametrize(("change", "gone"), FOOTPRINTS, ids=as_id)
def test_no_late_fill_a_change_spoils_tickets_of_its_paths(
    cache: MetadataCache, change: Footprint, gone: set[str]
) -> None:
    """NoLateFill: a reply given before a change never becomes an entry or a grant once the change is known."""
    tickets = {path: fetch(cache, path, ALICE, 1.0) for path in KEPT}
    cache.apply(change, 1.5, 101)
    spoiled = {
        path for path, ticket in tickets.items() if cache.conclude(ticket, missing(2.0)) is Conclusion.SPOILED
    }
    assert spoiled == gone
    settle(cache, 2.0)
    assert {path for path in KEPT if not is_hit(cache, path, ALICE, 2.0)} == gone


def test_no_late_fill_an_ancestors_change_spoils_tickets(cache: MetadataCache) -> None:
    """The ticket's directory was detached; a new directory of the same name is another one."""
    ticket = fetch(cache, "/a/b/c/f", ALICE, 1.0)
    cache.apply(AccessChanged("/a"), 1.0, 101)
    fill(cache, "/a/b/c/g", ALICE, 1.1)
    assert cache.conclude(ticket, missing(1.2)) is Conclusion.SPOILED


def test_no_late_fill_a_reopened_stream_spoils_all_tickets(cache: MetadataCache) -> None:
    """GapFlush and NoLateFill: no question of an earlier stream fills this one."""
    fill(cache, "/a/g", ALICE, 1.0)
    ticket = fetch(cache, "/a/f", ALICE, 1.0)
    cache.open_stream(TERM)
    cache.cover(2.0, 100)
    assert cache.conclude(ticket, missing(2.0)) is Conclusion.SPOILED
    assert not is_hit(cache, "/a/g", ALICE, 2.0)


def test_a_later_reply_that_differs_takes_the_entrys_place(cache: MetadataCache) -> None:
    """A forwarded reply that differs shows that the entry is out of date."""
    fill(cache, "/a/f", ALICE, 1.0, status(1.0, "old"))
    assert fill(cache, "/a/f", BOB, 1.1, status(1.1, "new")) is Conclusion.STORED
    hit = hit_of(cache.lookup("/a/f", BOB, 1.1))
    assert hit.entry.reply.body == b"new"


def test_failed_fetches_leave_no_trace(cache: MetadataCache) -> None:
    """An error, a standby's refusal or a timeout is not an answer."""
    assert cache.conclude(fetch(cache, "/a/f"), Failed()) is Conclusion.NOT_KEPT
    reclaim_all(cache)
    assert (cache.stats(0.0).directories, cache.stats(0.0).tickets) == (0, 0)


def test_a_move_that_costs_nothing_is_not_remembered(cache: MetadataCache) -> None:
    """`explain` names only changes that cost an entry."""
    cache.apply(Moved("/x", "/y"), 1.0, 101)
    assert cache.explain("/x", 1.0).last_forgotten is None
    fill(cache, "/a/f", ALICE, 1.0)
    cache.apply(Moved("/a/f", "/y"), 1.0, 102)
    assert cache.explain("/a/f", 1.0).last_forgotten is not None
    assert cache.explain("/y", 1.0).last_forgotten is not None


@pytest.mark.parametrize(
    ("changes", "is_over"),
    [
        ([Appeared("/w/day")], True),
        ([Moved("/old/day", "/w/day")], True),
        ([Moved("/w/day", "/old/day"), Vanished("/w/day"), Touched("/w/day"), Appeared("/w")], False),
        ([Opened("/w/day/part-0"), Closed("/w/day/part-0")], True),
        ([Closed("/w/day/part-0"), Opened("/w/day/part-0")], False),
    ],
)
@pytest.mark.parametrize("txid", [None, 50, 51])
def test_own_writes_newer_events_alone_end_a_two_step_write(
    changes: list[Footprint], is_over: bool, txid: int | None
) -> None:
    """OwnWrites: events that create, open and close a path count; calls through the proxy do not."""
    cache = make_cache(glob=("/w/*/_DONE",))
    cache.open_window("/w/day/part-0", 50, 1.0, "/w/day")
    for change in changes:
        cache.apply(change, 1.0, txid)
    is_covered = cache.lookup("/w/day/_DONE", ALICE, 1.0) == Forward(MissReason.TWO_STEP_WRITE)
    assert is_covered is not (is_over and txid == 51)


def test_own_writes_a_write_outside_filters_takes_no_room() -> None:
    """A cache with these filters need not receive its events; once a filter matches it, the write gets a window."""
    cache = make_cache(glob=("/w/*/_DONE",), max_two_step_windows=1)
    for path in ("/w/day/part-0", "/w/day/part-1", "/x/y"):
        cache.open_window(path, 50, 1.0)
    assert cache.stats(1.0).windows == 0
    cache.set_filters({"1": "/x/*"})
    assert cache.stats(1.0).windows == 1


@pytest.mark.parametrize(
    ("change", "is_asked"),
    [
        (AccessChanged("/a"), True),
        (SubtreeUnknown("/"), True),
        (Appeared("/a/b"), True),
        (Vanished("/a/b/f"), True),
        (Moved("/a/b", "/x"), True),
        (Moved("/x", "/a/b"), True),
        (LineTouched("/a/b/c/d", "/a"), True),  # any part of it may have been created
        (EverythingUnknown("test"), True),
        (AccessChanged("/a/b/f/x"), False),
        (Touched("/a/b"), False),
    ],
    ids=as_id,
)
def test_own_writes_what_may_give_a_right_has_it_asked_about(
    cache: MetadataCache, change: Footprint, *, is_asked: bool
) -> None:
    """OwnWrites: after such a change, the caller of a refused two-step write may have the right to it."""
    cache.open_window("/a/b/f", None, 1.0, writer=TwoStepWriter(has_right=False))
    cache.apply(change, 1.0)
    assert bool(cache.windows.take_recheck_queue()) is is_asked


def test_own_writes_a_stream_that_begins_again_may_give_a_right(cache: MetadataCache) -> None:
    """OwnWrites, GapFlush: a change may have been missed, even one just after the end of the stream was noticed."""
    cache.open_window("/a/b/f", None, 1.0, writer=TwoStepWriter(has_right=False))
    cache.close_stream("test")
    assert cache.windows.take_recheck_queue()
    cache.open_stream(TERM)
    assert cache.windows.take_recheck_queue()


def test_an_access_time_costs_a_directory_only_open_queries(cache: MetadataCache) -> None:
    """A directory has no access time. A reply still in flight may be that of a file that replaces it."""
    fill(cache, "/a/d", known=status(0.0, kind=EntryKind.DIRECTORY))
    ticket = fetch(cache, "/a/d", refresh=True)
    cache.apply(FileTouched("/a/d"), 0.0)
    assert is_hit(cache, "/a/d")
    assert cache.conclude(ticket, status(0.0)) is Conclusion.SPOILED
    fill(cache, "/a/f", known=status(0.0))
    cache.apply(FileTouched("/a/f"), 0.0)
    assert not is_hit(cache, "/a/f")
