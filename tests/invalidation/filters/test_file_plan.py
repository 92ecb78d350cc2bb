"""The plan that makes HDFS have the filters of a file."""

import pytest

from nncache.invalidation.errors import FilterError
from nncache.invalidation.filters.definition import Filter
from nncache.invalidation.filters.file_plan import FilePlan, FilterUpdate, plan_file
from nncache.invalidation.filters.filter_file import FileEntry
from nncache.invalidation.filters.settings import FilterSettings
from nncache.invalidation.filters.stored_filters import StoredFilters

JOE = Filter("joe", "/user/joe/*", "joe", ("alice",))
ANN = Filter("ann", "/user/ann/*", "ann", ("bob",))
STORED = StoredFilters(filters={"joe": JOE, "ann": ANN}, broken={"bad": "why"})


def plan(*entries: FileEntry, prune: bool = False) -> FilePlan:
    """Return the plan for these entries against STORED."""
    return plan_file(entries, STORED, user="root", prune=prune)


def test_what_is_left_out_stays_as_it_is() -> None:
    """That is owner and subscribers. A new filter gets the applying user as owner, and no subscribers."""
    made = plan(
        FileEntry(name="joe", path_glob="/user/joe/*"),
        FileEntry(name="ann", path_glob="/x"),
        FileEntry(name="new", path_glob="/n"),
    )
    assert made == FilePlan(
        added=(Filter("new", "/n", "root"),),
        changed=(FilterUpdate(ANN, Filter("ann", "/x", "ann", ("bob",))),),
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
    """Glob, owner or subscribers; an empty list means no subscribers."""
    entry = FileEntry(
        name="joe",
        path_glob=after.path_glob,
        owner=after.owner,
        allowed_subscribers=after.allowed_subscribers,
    )
    assert plan(entry).changed == (FilterUpdate(JOE, after),)


def test_new_globs_that_match_less_than_they_seem_to_are_named() -> None:
    """Each glob once, whether its filter is new or changed. A glob already in HDFS was intended."""
    stored = StoredFilters(
        filters={"joe": Filter("joe", "/j/**", "joe", ()), "ann": ANN}, broken={}, odd_subscribers={}
    )
    globs = {"joe": "/j/**", "ann": "/a/**", "new": "/a/**", "other": "/b/**/x", "plain": "/c/*"}
    entries = [FileEntry(name=name, path_glob=glob, owner="root") for name, glob in globs.items()]
    named = plan_file(entries, stored, user="root", prune=False).pitfalls
    assert [trouble.partition(":")[0] for trouble in named] == ["/a/**", "/b/**/x"]


def test_nothing_is_removed_unless_asked_for() -> None:
    """With `prune` broken filters are removed too: no file ever names them."""
    entry = FileEntry(name="joe", path_glob="/user/joe/*")
    kept, pruned = plan(entry), plan(entry, prune=True)
    assert (kept.removed, kept.unlisted, kept.is_empty) == ((), ("ann", "bad"), True)
    assert (pruned.removed, pruned.unlisted, pruned.is_empty) == (("ann", "bad"), (), False)


def test_a_broken_filter_of_the_file_is_left_alone() -> None:
    """The plan has the reason; HDFS lacks what the file says."""
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
    """The user who applies the file may have an invalid name."""
    with pytest.raises(FilterError, match="owner: 'a:b'"):
        plan_file([FileEntry(name="n", path_glob="/n")], STORED, user="a:b", prune=False)


def test_what_is_beyond_the_limits_is_refused() -> None:
    """This applies to what the file adds or changes; its removals make room."""
    limits = FilterSettings(max_filters=2)
    wide, new = FileEntry(name="joe", path_glob="/*/x"), FileEntry(name="new", path_glob="/n")
    assert plan_file([wide], STORED, user="root", prune=False, limits=limits).refused.keys() == {"joe"}
    assert plan_file([new], STORED, user="root", prune=False, limits=limits).refused.keys() == {"new"}
    assert plan_file([new], STORED, user="root", prune=True, limits=limits).refused == {}
