"""Two-step writes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nncache.cache.deferred_writes import ANYBODY, TwoStepWrite, TwoStepWriter
from nncache.cache.windows import TwoStepWindows, shared_directory_of
from nncache.hadoop.globs import GlobSet

ALL = ("/*", "/*/*", "/*/*/*", "/*/*/*/*")
WINDOW_S = 600.0


def globs(*which: str) -> GlobSet:
    """Return filters of these globs."""
    return GlobSet({glob: glob for glob in which})


def make(max_windows: int = 10) -> TwoStepWindows:
    """Return windows of ten minutes."""
    return TwoStepWindows(window_s=WINDOW_S, max_windows=max_windows)


@pytest.fixture
def windows() -> TwoStepWindows:
    """Return a table of ten windows."""
    return make()


def begin(windows: TwoStepWindows, path: str, now: float = 0.0, **more: object) -> bool:
    """Open a window after transaction 50 with filters that match every path, unless the arguments say otherwise."""
    after_txid = more.get("after_txid", 50)
    topmost = more.get("topmost_missing")
    assert after_txid is None or isinstance(after_txid, int)
    assert topmost is None or isinstance(topmost, str)
    filters = globs(*ALL) if "glob" not in more else globs(str(more["glob"]))
    writer = more.get("writer", ANYBODY)
    assert isinstance(writer, TwoStepWriter)
    write = TwoStepWrite(path, after_txid, windows.ends_at(now), topmost, writer)
    return windows.begin(write, now=now, filters=filters) is not None


def written(windows: TwoStepWindows, path: str, txid: int) -> None:
    """Report the events of a write: its CREATE and its CLOSE."""
    windows.opened(path, txid)
    windows.closed(path)


def of(*owners: str, has_right: bool = True) -> TwoStepWriter:
    """Return a writer."""
    return TwoStepWriter(owners=owners, has_right=has_right)


@pytest.mark.parametrize(
    ("path", "is_followed"),
    [
        ("/w/day/_DONE", True),
        ("/w/day/_DONE/x", True),
        ("/w/new", True),
        ("/w/day/part-0", False),
        ("/x", False),
    ],
)
def test_a_write_that_concerns_no_filter_is_not_followed(path: str, is_followed: bool) -> None:
    """A window takes room, and no channel need carry the CLOSE of a write that concerns no filter."""
    windows = make(max_windows=1)
    assert begin(windows, path, glob="/w/*/_DONE")
    assert (windows.open == 1) is windows.is_blocked(path, 1.0) is is_followed
    begin(windows, "/x/y", glob="/w/*/_DONE")
    assert not windows.is_full(1.0)
    windows.check()


def test_an_unfiltered_write_is_followed_once_a_filter_comes(windows: TwoStepWindows) -> None:
    """W3, OwnWrites: its second step may still be in progress, with a CREATE and a CLOSE of its own."""
    for path, topmost in (("/w/day/_DONE", None), ("/w/day/tmp/part-0", "/w"), ("/x", None)):
        begin(windows, path, 1.0, glob="/other", topmost_missing=topmost)
    assert not any(windows.is_blocked(path, 2.0) for path in ("/w/day/_DONE", "/w/day", "/x"))
    windows.follow(globs("/w/*/_DONE"))
    windows.check()
    assert windows.open == 2
    windows.appeared("/w/day", 51)
    assert windows.open == 1
    assert windows.is_blocked("/w/day/_DONE", 600.9)
    written(windows, "/w/day/_DONE", 51)
    assert not windows.is_blocked("/w/day/_DONE", 2.0)
    windows.check()


def test_an_ancestor_window_outlasts_them_if_a_lower_matters(windows: TwoStepWindows) -> None:
    """W1, OwnWrites: the window ends with the lowest ancestor that concerns the current filters."""
    for number, glob in enumerate(("/w", "/w/*", "/w/*/tmp/*")):
        begin(windows, f"/w/day/tmp/part-{number}", topmost_missing="/w", glob="/w")
        windows.follow(globs("/w", glob))
        windows.check()
        windows.appeared("/w/day", 51)
        assert windows.open == (number > 0)
        windows.appeared("/w/day/tmp", 51)
        assert windows.open == (number > 1)
        windows.check()
    windows.follow(globs("/other"))
    assert windows.is_blocked("/w/day/tmp/part-2", 1.0)
    written(windows, "/w/day/tmp/part-2", 51)
    assert windows.open == 0


def test_an_ancestor_window_ends_with_the_lowest_that_matters(windows: TwoStepWindows) -> None:
    """W1: what the write still creates below that directory concerns no filter."""
    begin(windows, "/w/day/tmp/part-0", topmost_missing="/w", glob="/w/*/_DONE")
    for path, txid in (("/w", 51), ("/w/day/tmp", 51), ("/w/day/tmp/part-0", 51), ("/w/day", 50)):
        windows.appeared(path, txid)
        assert windows.is_blocked("/w/day/_DONE", 1.0), (path, txid)
    windows.check()
    windows.appeared("/w/day", 51)
    assert not windows.is_blocked("/w/day/_DONE", 1.0)
    windows.check()


def test_windows_of_one_newer_ancestor_end_together(windows: TwoStepWindows) -> None:
    """W1: the directory exists for all of them, but not for a window that began after it appeared."""
    for number, after_txid in enumerate((50, 50, 60, None)):
        begin(
            windows,
            f"/w/day/part-{number}",
            after_txid=after_txid,
            topmost_missing="/w/day",
            glob="/w/*/_DONE",
        )
    windows.appeared("/w/day", 55)
    assert windows.open == 2
    windows.check()
    windows.appeared("/w/day", 61)
    assert windows.open == 1
    assert not windows.is_blocked("/w/day/_DONE", 600.0)
    windows.check()


def test_a_window_of_its_own_path_outlasts_ancestors(windows: TwoStepWindows) -> None:
    """OwnWrites: the file does not exist yet when its directory does."""
    begin(windows, "/w/day/_DONE", topmost_missing="/w/day", glob="/w/*/_DONE")
    windows.appeared("/w/day", 51)
    windows.appeared("/w/day/_DONE", 51)
    assert windows.is_blocked("/w/day/_DONE", 1.0)


@pytest.mark.parametrize("topmost", [None, "/w/day/a", "/w/day/a/b"])
def test_ancestors_that_concern_no_filter_open_no_window(
    windows: TwoStepWindows, topmost: str | None
) -> None:
    """Only the ancestors that the write may have to create count."""
    begin(windows, "/w/day/a/b/c", topmost_missing=topmost, glob="/w/*/_DONE")
    assert windows.open == 0


def test_a_write_that_finds_no_room_covers_everything() -> None:
    """W2: the number of windows is bounded, and never at the cost of a stale answer."""
    windows = make(max_windows=1)
    assert begin(windows, "/f")
    assert not begin(windows, "/g", 5.0)
    assert windows.is_full(604.9)
    assert not windows.is_full(605.0)
    assert windows.open == 1
    windows.block_all(10.0)  # an internal error: nothing is known of a write in progress
    assert windows.is_full(609.9)
    assert not windows.is_full(610.0)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["begin", "opened", "closed", "tick"]),
            st.sampled_from(["/a", "/a/b", "/a/b/c", "/d"]),
            st.integers(0, 300),
        ),
        max_size=60,
    )
)
def test_agrees_with_a_naive_twin(steps: list[tuple[str, str, int]]) -> None:
    """The indexes give the result of a walk over all windows."""
    windows, now = make(max_windows=5), 0.0
    twin: list[dict[str, object]] = []
    for step, path, n in steps:
        twin = [w for w in twin if now < float(str(w["ends"]))]
        match step:
            case "begin":
                taken = begin(windows, path, now, after_txid=n)
                assert taken == (len(twin) < 5)
                if taken:
                    twin.append({"path": path, "ends": now + 600, "after": n, "armed": False})
            case "opened":
                windows.opened(path, n)
                for w in twin:
                    w["armed"] = w["armed"] or (w["path"] == path and n > int(str(w["after"])))
            case "closed":
                windows.closed(path)
                same = [w for w in twin if w["path"] == path]
                if len(same) == 1 and same[0]["armed"]:
                    twin.remove(same[0])
            case "tick":
                now += n
        live = [str(w["path"]) for w in twin if now < float(str(w["ends"]))]
        for asked in ("/", "/a", "/a/b", "/a/b/c", "/a/b/c/d", "/d", "/e"):
            expected = any(
                asked == p or asked.startswith(p + "/") or asked == (p.rsplit("/", 1)[0] or "/") for p in live
            )
            assert windows.is_blocked(asked, now) == expected, (asked, live)
        windows.check()


def answer(
    windows: TwoStepWindows,
    write: TwoStepWrite,
    *,
    has_right: bool = True,
    topmost: str | None = None,
    now: float = 1.0,
) -> tuple[str, ...] | None:
    """Apply a NameNode's report about a write."""
    known = write.known(topmost, has_right=has_right)
    covered = windows.answer(write, known, now=now, filters=globs(*ALL))
    windows.check()
    return covered


def test_no_window_without_a_right_the_namenode_confirms(windows: TwoStepWindows) -> None:
    """Each change that may give the right queues a recheck; only a NameNode's confirmation opens a window."""
    calls: list[int] = []
    windows.on_recheck = lambda: calls.append(1)
    assert begin(windows, "/a/b", writer=of("c", has_right=False))
    windows.follow(globs(*ALL))  # nor do later filters open one
    assert windows.open == 0
    windows.may_be_granted("/x")
    assert windows.take_recheck_queue() == []
    for count in range(1, 3):
        windows.may_be_granted("/a")
        (write,) = windows.take_recheck_queue()
        assert (write.path, len(calls)) == ("/a/b", count)
        assert answer(windows, write, has_right=False) == ()
        assert not windows.is_blocked("/a/b", 1.0)
    windows.may_be_granted("/a")
    windows.may_be_granted("/a")  # also while a recheck is in progress
    (write,) = windows.take_recheck_queue()
    assert answer(windows, write) == ("/a/b",)
    assert windows.is_blocked("/a/b", 1.0)
    windows.may_be_granted("/a")
    assert windows.take_recheck_queue() == []


def test_asking_does_not_prolong_a_write_without_a_right(windows: TwoStepWindows) -> None:
    """A window that opens late ends when it would have ended had the right been there from the first."""
    begin(windows, "/a/b", now=0.0, writer=of("c", has_right=False))
    windows.may_be_granted("/a")
    (write,) = windows.take_recheck_queue()
    assert answer(windows, write, has_right=False, now=WINDOW_S - 2) == ()
    assert answer(windows, write, now=WINDOW_S - 1) == ("/a/b",)
    assert windows.is_blocked("/a/b", WINDOW_S - 0.5)
    assert not windows.is_blocked("/a/b", WINDOW_S)
    assert answer(windows, write, now=WINDOW_S) == ()  # it is over
    assert windows.open == 0


def test_a_window_gets_as_narrow_as_what_a_namenode_says(windows: TwoStepWindows) -> None:
    """The window still knows the CREATE that was seen before."""
    write = TwoStepWrite("/a/b/c", 50, WINDOW_S, "/a", TwoStepWriter(is_known=False))
    windows.begin(write, now=0.0, filters=globs(*ALL))
    windows.opened("/a/b/c", 60)
    assert windows.is_blocked("/a/x", 1.0)
    assert answer(windows, write) == ("/a/b/c",)
    assert not windows.is_blocked("/a/x", 1.0)
    assert windows.is_blocked("/a/b/c", 1.0)
    windows.closed("/a/b/c")
    assert not windows.is_blocked("/a/b/c", 1.0)


def test_a_window_to_which_there_is_no_right_is_set_aside(windows: TwoStepWindows) -> None:
    """The write stays set aside until a change at or above its path."""
    write = TwoStepWrite("/a/b/c", 50, WINDOW_S, "/a", TwoStepWriter(is_known=False))
    windows.begin(write, now=0.0, filters=globs(*ALL))
    assert answer(windows, write, has_right=False) == ()
    assert not windows.is_blocked("/a/b/c", 1.0)
    windows.may_be_granted("/a/b")
    (again,) = windows.take_recheck_queue()
    assert again.path == "/a/b/c"


def test_what_is_in_doubt_is_bounded_by_what_is_under_way() -> None:
    """Ended writes leave the queue first; a write in progress is never dropped."""
    windows = make(max_windows=2)
    pending = TwoStepWrite("/a/b", 1, WINDOW_S, None)
    windows.begin(pending, now=0.0, filters=globs(*ALL))
    windows.recheck(pending)
    for n in range(20):
        windows.recheck(TwoStepWrite(f"/{n}", 1, WINDOW_S, None))
    recheck_queue = windows.take_recheck_queue()
    assert pending in recheck_queue
    assert len(recheck_queue) <= 8


def test_the_window_of_one_write_leaves_the_other_its_own(windows: TwoStepWindows) -> None:
    """Two writes to the same path each have a window of their own."""
    one, other = (TwoStepWrite("/a/b", 50, WINDOW_S, None) for _ in range(2))
    for write in (one, other):
        windows.begin(write, now=0.0, filters=globs(*ALL))
    answer(windows, one, has_right=False)
    assert windows.is_blocked("/a/b", 1.0)
    answer(windows, other, has_right=False)
    assert not windows.is_blocked("/a/b", 1.0)


def test_an_address_has_a_share_whatever_names_come_from_it() -> None:
    """Where authentication is simple, a client can invent any number of user names."""
    windows = make(max_windows=48)
    for number in range(200):
        begin(windows, f"/a/{number}", writer=of("one address", f"user {number}"))
        windows.check()
    assert windows.open <= 3
    assert not windows.is_full(1.0)


def test_of_alternatives_the_one_that_is_written_ends_both(windows: TwoStepWindows) -> None:
    """W1, HitsKept: a window on the alternative that is not written would last until its expiry."""
    either = TwoStepWriter(alternatives=("/a/e", "/a/f"))
    for path in either.alternatives:
        begin(windows, path, writer=either)
    written(windows, "/a/f", 50)  # by an earlier write
    windows.opened("/a/e", 51)
    windows.closed("/a/f")
    assert windows.open == 2
    written(windows, "/a/f", 52)
    assert windows.open == 0
    windows.check()


def test_an_alternative_of_two_writes_ends_with_neither(windows: TwoStepWindows) -> None:
    """W1, OwnWrites: it is unknown which of the two has ended; another write's window on the path stays as well."""
    either = TwoStepWriter(alternatives=("/a/e", "/a/f"))
    for path in ("/a/e", "/a/f", "/a/f"):
        begin(windows, path, writer=either)
    begin(windows, "/b/f")
    written(windows, "/a/e", 51)
    assert windows.open == 3
    begin(windows, "/a/e", writer=TwoStepWriter(alternatives=("/a/e", "/b/f")))
    written(windows, "/a/e", 52)
    assert windows.open == 3
    assert windows.is_blocked("/b/f", 1.0)
    windows.check()


@pytest.mark.parametrize(
    ("places", "directory"),
    [
        (["/a/b", "/a/c", "/a/b"], "/a/b"),
        (["/a/b", "/a/b", "/d", "/d", "/d"], "/d"),
        (["/a/b/c", "/a/b/d", "/e"], "/a/b"),
        (["/a/b/c", "/a/d", "/e"], "/a"),
        (["/a", "/a/b"], "/a"),
        (["/a/x", "/b/x", "/", None], None),
        ([], None),
    ],
)
def test_a_share_falls_on_most_writes_then_the_deepest(
    places: list[str | None], directory: str | None
) -> None:
    """The root is never chosen: all callers share it."""
    assert shared_directory_of(places) == directory


# -- writes that share what is bounded, and those that are set aside -----


def test_a_deferred_write_ends_with_its_window() -> None:
    """An expired write takes no room; one that gets its window late keeps its own expiry time."""
    windows = make(max_windows=2)
    for now, path in ((0.0, "/w/a"), (100.0, "/w/b"), (200.0, "/x")):
        begin(windows, path, now, glob="/x" if path == "/x" else "/other")
    assert not windows.is_blocked("/w/a", 600.0)
    windows.follow(globs("/w/*", "/x"))
    windows.check()
    assert windows.is_blocked("/w/b", 699.9)
    assert not windows.is_blocked("/w/b", 700.0)
    assert windows.is_blocked("/x", 700.0)
    assert not windows.is_full(0.0)


def test_the_latest_deferred_writes_find_room() -> None:
    """W2: the number of windows is bounded; a write without one covers every path until its expiry."""
    windows = make(max_windows=3)
    for number in range(5):
        begin(windows, f"/w/{number}", float(number), glob="/other")
    for number in range(2):
        begin(windows, f"/x/{number}", 10.0, glob="/x/*")
    windows.follow(globs("/w/*", "/x/*"))
    windows.check()
    assert [windows.is_blocked(f"/w/{number}", 11.0) for number in range(5)] == [False] * 4 + [True]
    assert windows.is_full(602.9)
    assert not windows.is_full(603.0)


def test_a_merged_directory_lasts_as_long_as_its_windows() -> None:
    """W5: this holds even if the last write to get its window, since a filter is new, ends first."""
    windows = make(max_windows=32)  # a share of two
    begin(windows, "/a/0", writer=of("c"))
    begin(windows, "/a/1", now=100.0, writer=of("c"), glob="/none")
    begin(windows, "/a/2", now=200.0, writer=of("c"), glob="/none")
    windows.follow(globs(*ALL))
    windows.check()
    assert windows.is_blocked("/a/any", 201.0)  # the directory
    assert windows.is_blocked("/a/2", WINDOW_S + 199.0)
    assert not windows.is_blocked("/a/2", WINDOW_S + 200.0)


def test_a_used_up_share_costs_its_owner_one_directory() -> None:
    """One window, ended only by time, replaces the owner's windows in the directory with most of their writes."""
    windows = make(max_windows=48)  # a share of three
    for number in range(3):
        assert begin(windows, f"/a/b/{number}", writer=of("greedy"))
    begin(windows, "/a/x", writer=of("modest"))
    assert windows.open == 4
    assert begin(windows, "/a/b/3", writer=of("greedy"))
    assert windows.open == 2
    assert windows.is_blocked("/a/b/other", 1.0)
    assert not windows.is_blocked("/a/c", 1.0)
    for number in range(200):
        assert begin(windows, f"/a/b/d{number}/x", writer=of("greedy"))
        windows.check()
    assert not windows.is_full(1.0)
    assert not windows.is_blocked("/c", 1.0)


def test_rights_at_several_places_leave_their_parents_alone() -> None:
    """Only the directories that they write to are covered."""
    windows = make(max_windows=64)  # a share of four
    for number in range(300):
        assert begin(windows, f"/x/mine{number % 3}/{number}", writer=of("greedy"))
        windows.check()
    assert windows.open <= 4
    assert all(windows.is_blocked(f"/x/mine{number}/297", 1.0) for number in range(3))
    assert not windows.is_blocked("/x/hers", 1.0)


def test_a_merged_window_covers_ancestors_of_every_write() -> None:
    """OwnWrites (W5): the second step creates these ancestors as well."""
    windows = make(max_windows=32)  # a share of two
    for number in range(3):
        assert begin(windows, f"/a/new/b/{number}", topmost_missing="/a/new", writer=of("greedy"))
    assert windows.open == 1
    for path in ("/a/new", "/a/new/b", "/a/new/b/0", "/a/new/b/2", "/a"):
        assert windows.is_blocked(path, 599.0), path
