"""Which watches a change invalidates."""

import tracemalloc
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nncache.cache.watches import PathWatches
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
    """The path, everything below if rights or places change, and the statuses above it that the change affects."""
    watches = PathWatches()
    all_of_them = {path: watches.add(path, lambda: None) for path in PATHS}
    watches.check()
    watches.apply(change, is_event=True)
    assert tuple(path for path, watch in all_of_them.items() if watch.invalidations) == touched


def test_a_change_of_rights_leaves_descendants_to_events() -> None:
    """Each waiting request is woken once, by the event, and not by the call as well."""
    watches, woken = PathWatches(), list[str]()
    all_of_them = {path: watches.add(path, partial(woken.append, path)) for path in PATHS}
    watches.apply(AccessChanged("/a"), is_event=False)
    assert woken == ["/a"]
    touched = [path for path, watch in all_of_them.items() if watch.invalidations]
    assert touched == [path for path in PATHS if f"{path}/".startswith("/a/")], (
        "a question under way is put again"
    )


def test_two_watches_of_a_path_are_both_touched() -> None:
    """W1: after both are removed, nothing is left."""
    watches, woken = PathWatches(), list[str]()
    first = watches.add("/a/b", lambda: woken.append("first"))
    second = watches.add("/a/b", lambda: woken.append("second"))
    other = watches.add("/a/c", lambda: woken.append("other"))
    watches.invalidate_all()
    assert sorted(woken) == ["first", "other", "second"]
    for watch in (first, second, other):
        watches.remove(watch)
        watches.check()
    assert len(watches) == 0
    watches.apply(EverythingUnknown("a test"), is_event=False)
    assert first.invalidations == 1


NAMES = st.lists(st.sampled_from(["a", "b", "a.", "a0", "-", "é"]), max_size=4)


def path_of(names: list[str]) -> str:
    """Return the path of these names."""
    return "/" + "/".join(names)


@given(st.lists(NAMES, max_size=12), NAMES)
def test_a_subtree_is_what_a_twin_says_that_looks_at_every_path(
    all_names: list[list[str]], top: list[str]
) -> None:
    """Siblings are not touched, even if their names continue the top's or have characters that sort before a slash."""
    watches, paths = PathWatches(), sorted({path_of(names) for names in all_names})
    all_of_them = {path: watches.add(path, lambda: None) for path in paths}
    watches.check()
    watches.apply(SubtreeUnknown(path_of(top)), is_event=False)
    touched = {path for path, watch in all_of_them.items() if watch.invalidations}
    assert touched == {path_of(names) for names in all_names if names[: len(top)] == top}
    for path in paths:
        watches.remove(all_of_them[path])
        watches.check()
    assert len(watches) == 0


def test_a_deep_path_costs_no_more_than_its_text() -> None:
    """A path of 900 levels has 3 MB of ancestors."""
    path = "/abcdefg" * 900
    tracemalloc.start()
    try:
        watches = PathWatches()
        watches.add(path, lambda: None)
        assert tracemalloc.get_traced_memory()[0] < len(path)
    finally:
        tracemalloc.stop()
