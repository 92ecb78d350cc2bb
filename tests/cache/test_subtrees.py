"""Whether a path is at or below any of many paths."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nncache.cache.subtrees import Subtrees

PLACES = ("/", "/a", "/a/b", "/a/bc", "/a/b/c", "/d", "/d/e/f")
ASKED = (*PLACES, "/ab", "/a/b/c/d", "/d/e", "/d/e/f/g", "/x")


@given(st.lists(st.tuples(st.booleans(), st.sampled_from(PLACES)), max_size=30))
def test_agrees_with_a_naive_twin(steps: list[tuple[bool, str]]) -> None:
    """U1: a path added more often than removed is a top, and covers itself and everything below."""
    subtrees = Subtrees()
    twin: Counter[str] = Counter()
    for is_added, place in steps:
        if is_added:
            subtrees.add(place)
            twin[place] += 1
        elif twin[place]:
            subtrees.remove(place)
            twin[place] -= 1
        assert subtrees.counted() == +twin
        for asked in ASKED:
            expected = any(asked == top or asked.startswith(top.rstrip("/") + "/") for top in +twin)
            assert subtrees.cover(asked) is expected


def test_tops_of_one_hash_are_distinguished(monkeypatch: pytest.MonkeyPatch) -> None:
    """The hash only narrows the search; paths are compared."""
    monkeypatch.setattr("nncache.cache.subtrees._chains", lambda _: iter((0,)))
    subtrees = Subtrees()
    subtrees.add("/a")
    subtrees.add("/d")
    subtrees.remove("/a")
    assert [subtrees.cover(path) for path in ("/a/b", "/d/e", "/x")] == [False, True, False]
    subtrees.remove("/d")
    assert not subtrees.cover("/d")


def test_a_top_is_covered_until_it_is_removed_as_often() -> None:
    """A top covers itself and everything below, and no sibling."""
    subtrees = Subtrees()
    subtrees.add("/a/b")
    subtrees.add("/a/b")
    subtrees.remove("/a/b")
    assert [subtrees.cover(path) for path in ("/a/b", "/a/b/c", "/a", "/a/bc")] == [True, True, False, False]
    assert subtrees.counted() == {"/a/b": 1}
    subtrees.remove("/a/b")
    assert not subtrees.cover("/a/b")
