"""Two-step writes without a window, compared with a plain list."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nncache.cache.deferred_writes import DeferredWrites, TwoStepWrite, TwoStepWriter
from nncache.hadoop.globs import GlobSet
from nncache.hadoop.paths import ancestors

PATHS = st.sampled_from(["/a", "/a/b", "/a/b/c", "/a-b", "/a0", "/a/b0", "/b", "/b/c"])
CHANGES = st.one_of(PATHS, st.just("/"))
ACTS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["add", "late"]), PATHS, st.booleans(), st.sampled_from(["x", "y", "z"])),
        st.tuples(st.just("change"), CHANGES, st.booleans(), st.just("")),
        st.tuples(st.just("pass"), PATHS, st.booleans(), st.just("")),
    ),
    max_size=30,
)
SHARE, MAX = 3, 6


def write(path: str, ends_at: float, *owners: str, has_right: bool = True) -> TwoStepWrite:
    """Return a write to the path."""
    return TwoStepWrite(path, 5, ends_at, None, TwoStepWriter(owners=owners, has_right=has_right))


@given(ACTS)
def test_what_is_set_aside_is_bounded_and_found_by_its_path(acts: list[tuple[str, str, bool, str]]) -> None:
    """The oldest is dropped, per owner and in total; a change finds the denied writes at and below its path."""
    aside, plain, now = DeferredWrites(max_writes=MAX, share=SHARE), list[TwoStepWrite](), 0.0
    for act, path, has_right, owner in acts:
        now += 1.0
        match act:
            case "add" | "late":
                new = write(path, now + (10 if act == "add" else 7.5), owner, has_right=has_right)
                aside.add(new)
                plain = sorted([*plain, new], key=lambda each: each.ends_at)
                theirs = [each for each in plain if each.writer.owners == (owner,)]
                if len(theirs) > SHARE:
                    plain.remove(theirs[0])
                if len(plain) > MAX:
                    del plain[0]
            case "change":
                found = aside.denied_at(path)
                expected = [
                    each
                    for each in plain
                    if not each.writer.has_right and path in (each.path, *ancestors(each.path))
                ]
                assert sorted(map(id, found)) == sorted(map(id, expected))
            case _:
                now += 4.0
                aside.expire(now)
                plain = [each for each in plain if each.ends_at > now]
        aside.check()
        assert list(aside) == plain
        assert len(aside) == len(plain)
        assert all(each in aside for each in plain)


@pytest.mark.parametrize(
    ("max_writes", "owners", "forgotten"),
    [(2, ("a", "b", "c"), 0), (9, ("a", "b", "b", "b"), 1)],
    ids=["of all", "of an owner with a share of two"],
)
def test_the_oldest_goes_where_there_is_no_room(
    max_writes: int, owners: tuple[str, ...], forgotten: int
) -> None:
    """Writes of other owners stay while there is room in total."""
    aside = DeferredWrites(max_writes=max_writes, share=2)
    writes = [write(f"/{n}", 10.0 + n, owner, has_right=False) for n, owner in enumerate(owners)]
    for each in writes:
        aside.add(each)
    del writes[forgotten]
    assert list(aside) == writes
    aside.check()


def test_a_write_has_its_place_where_the_filters_look() -> None:
    """The write's own path is tried first, then the ancestors that it may have to create."""
    filters = GlobSet({"f": "/w/*/x"})
    assert write("/w/a/x", 1.0).place(filters) == "/w/a/x"
    assert write("/q/a", 1.0).place(filters) is None
    assert TwoStepWrite("/w/a/b/c/d", None, 1.0, "/w/a").place(filters) is not None
    assert TwoStepWrite("/w/a/b/c/d", None, 1.0, "/w/a/b/c").place(filters) is None


def test_the_topmost_path_is_a_missing_ancestor_or_its_own() -> None:
    """Everything that the write creates is at or below this path."""
    assert write("/a/b/c", 9.0).topmost == "/a/b/c"
    assert TwoStepWrite("/a/b/c", 5, 9.0, "/a/b", TwoStepWriter()).topmost == "/a/b"


def test_a_namenodes_view_of_a_write_is_added_to_ours() -> None:
    """Its path, owners and expiry time stay."""
    recheck_queue = TwoStepWrite("/a/b/c", 5, 9.0, "/a", TwoStepWriter(owners=("x",), is_known=False))
    known = recheck_queue.known("/a/b", has_right=False)
    assert (known.path, known.after_txid, known.ends_at, known.topmost) == ("/a/b/c", 5, 9.0, "/a/b")
    assert known.writer == TwoStepWriter(owners=("x",), has_right=False)


def test_asking_again_about_a_write_costs_no_later_one() -> None:
    """A write that is added again keeps its age: a full table drops it immediately, and otherwise drops it next."""
    aside = DeferredWrites(max_writes=9, share=2)
    early, first, second = (write(f"/{n}", 10.0 + n, "he") for n in range(3))
    aside.add(first)
    aside.add(early)
    assert list(aside) == [early, first]
    aside.add(second)
    assert list(aside) == [first, second]
    aside.add(early)
    assert list(aside) == [first, second]
    aside.check()


def test_writes_without_a_right_are_found_below_a_change() -> None:
    """A change finds the denied writes at and below its path, until they expire."""
    aside = DeferredWrites(max_writes=9, share=9)
    assert aside.denied_at("/") == []
    denied = [write(path, 10.0, "x", has_right=False) for path in ("/a", "/a/b", "/a-b", "/b")]
    for each in (*denied, write("/a/c", 10.0, "x")):
        aside.add(each)
    assert aside.denied_at("/a") == denied[:2]
    assert {each.path for each in aside.denied_at("/")} == {"/a", "/a/b", "/a-b", "/b"}
    assert denied[0] in aside
    aside.check()
    aside.expire(10.0)
    assert len(aside) == 0
    assert aside.denied_at("/a") == []
