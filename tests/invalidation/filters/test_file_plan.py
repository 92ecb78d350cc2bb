"""What must be done for HDFS to have the filters of a file."""

import pytest

from nncache.invalidation.errors import FilterError
from nncache.invalidation.filters.definition import Filter
from nncache.invalidation.filters.file_plan import Change, FilePlan, plan_file
from nncache.invalidation.filters.filter_file import FileEntry
from nncache.invalidation.filters.settings import FilterSettings
from nncache.invalidation.filters.stored_filters import StoredFilters

JOE = Filter("joe", "/user/joe/*", "joe", ("alice",))
ANN = Filter("ann", "/user/ann/*", "ann", ("bob",))
STORED = StoredFilters(filters={"joe": JOE, "ann": ANN}, broken={"bad": "why"})


def plan(*entries: FileEntry, prune: bool = False) -> FilePlan:
    """Compare with what is there."""
    return plan_file(entries, STORED, user="root", prune=prune)


def test_what_is_left_out_stays_as_it_is() -> None:
    """Owner and subscribers; of a new filter they are those of who applies the file, and none."""
    made = plan(
        FileEntry(name="joe", path_glob="/user/joe/*"),
        FileEntry(name="ann", path_glob="/x"),
        FileEntry(name="new", path_glob="/n"),
    )
    assert made == FilePlan(
        added=(Filter("new", "/n", "root"),),
        changed=(Change(ANN, Filter("ann", "/x", "ann", ("bob",))),),
        unlisted=("bad",),
        broken={},
        unchanged=1,
    )
    assert made.steps == 2


@pytest.mark.parametrize(
    "after",
    [
        Filter("joe", "/user/joe/x", "joe", ("alice",)),
        Filter("joe", "/user/joe/*", "ann", ("alice",)),
        Filter("joe", "/user/joe/*", "joe", ()),
    ],
)
def test_whatever_differs_is_a_change(after: Filter) -> None:
    """Glob, owner, subscribers; an empty list means none."""
    entry = FileEntry(
        name="joe",
        path_glob=after.path_glob,
        owner=after.owner,
        allowed_subscribers=after.allowed_subscribers,
    )
    assert plan(entry).changed == (Change(JOE, after),)


def test_new_globs_that_match_less_than_they_seem_to_are_named() -> None:
    """Each once, whether its filter is new or changed; one that is there already was meant."""
    stored = StoredFilters(
        filters={"joe": Filter("joe", "/j/**", "joe", ()), "ann": ANN}, broken={}, odd_subscribers={}
    )
    globs = {"joe": "/j/**", "ann": "/a/**", "new": "/a/**", "other": "/b/**/x", "plain": "/c/*"}
    entries = [FileEntry(name=name, path_glob=glob, owner="root") for name, glob in globs.items()]
    named = plan_file(entries, stored, user="root", prune=False).pitfalls
    assert [trouble.partition(":")[0] for trouble in named] == ["/a/**", "/b/**/x"]


def test_nothing_is_removed_unless_asked_for() -> None:
    """What is broken goes, too: no file would ever name it."""
    entry = FileEntry(name="joe", path_glob="/user/joe/*")
    kept, pruned = plan(entry), plan(entry, prune=True)
    assert (kept.removed, kept.unlisted, kept.is_empty) == ((), ("ann", "bad"), True)
    assert (pruned.removed, pruned.unlisted, pruned.is_empty) == (("ann", "bad"), (), False)


def test_a_broken_filter_of_the_file_is_left_alone() -> None:
    """Why is told; HDFS has not what the file says."""
    made = plan(FileEntry(name="bad", path_glob="/b"), prune=True)
    assert made.broken == {"bad": "why"}
    assert "bad" not in made.removed
    assert not plan_file(
        [FileEntry(name="bad", path_glob="/b")],
        StoredFilters(broken={"bad": "why"}),
        user="root",
        prune=False,
    ).is_empty


def test_a_new_filter_needs_an_owner_that_hdfs_knows() -> None:
    """The user who applies the file may be none."""
    with pytest.raises(FilterError, match="owner: 'a:b'"):
        plan_file([FileEntry(name="n", path_glob="/n")], STORED, user="a:b", prune=False)


def test_what_is_beyond_the_limits_is_refused() -> None:
    """Of what the file adds or changes; what it removes makes room."""
    limits = FilterSettings(max_filters=2)
    wide, new = FileEntry(name="joe", path_glob="/*/x"), FileEntry(name="new", path_glob="/n")
    assert plan_file([wide], STORED, user="root", prune=False, limits=limits).refused.keys() == {"joe"}
    assert plan_file([new], STORED, user="root", prune=False, limits=limits).refused.keys() == {"new"}
    assert plan_file([new], STORED, user="root", prune=True, limits=limits).refused == {}
