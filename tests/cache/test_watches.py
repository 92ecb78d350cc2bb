"""Which watches a change touches."""

import pytest

from nncache.cache.watches import Watches
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

PATHS = ("/a", "/a/b", "/a/b/c", "/d")
ALL_OF_A = ("/a", "/a/b", "/a/b/c")


@pytest.mark.parametrize(
    ("change", "touched"),
    [
        (Appeared("/a/b"), ALL_OF_A),
        (Vanished("/a/b"), ALL_OF_A),
        (Appeared("/a"), ALL_OF_A),
        (Appeared("/x"), ()),
        (Moved("/a/b/c", "/d"), ("/a/b", "/a/b/c", "/d")),
        (Touched("/a"), ("/a",)),
        (Opened("/a/b"), ("/a/b",)),
        (Closed("/a/b/c"), ("/a/b/c",)),
        (FileTouched("/d"), ("/d",)),
        (LineTouched("/a/b/c", "/a/b"), ("/a/b", "/a/b/c")),
        (AccessChanged("/a/b"), ("/a/b", "/a/b/c")),
        (SubtreeUnknown("/"), PATHS),
        (EverythingUnknown("a test"), PATHS),
    ],
)
def test_a_change_touches_what_it_may_have_changed(change: Footprint, touched: tuple[str, ...]) -> None:
    """The path, what lies below it where rights or places change, and the status of what is above."""
    watches = Watches()
    all_of_them = {path: watches.add(path, lambda: None) for path in PATHS}
    watches.check()
    watches.apply(change)
    assert tuple(path for path, watch in all_of_them.items() if watch.touches) == touched


def test_two_watches_of_a_path_are_both_touched_and_leave_one_by_one() -> None:
    """W1: nothing stays behind."""
    watches, woken = Watches(), list[str]()
    first = watches.add("/a/b", lambda: woken.append("first"))
    second = watches.add("/a/b", lambda: woken.append("second"))
    other = watches.add("/a/c", lambda: woken.append("other"))
    watches.touch_all()
    assert sorted(woken) == ["first", "other", "second"]
    for watch in (first, second, other):
        watches.remove(watch)
        watches.check()
    assert len(watches) == 0
    watches.apply(EverythingUnknown("a test"))
    assert first.touches == 1
