"""Globs for repeated reads: few, admitted by the filters' rules, and matching little else."""

import pytest

from nncache.advisor.candidates import ANY, VARIABLE, Candidate, Finder, SkeletonReads, Some, glob_of, part_of
from nncache.hadoop.globs import compile_glob
from nncache.invalidation.filters.settings import FilterSettings

V = VARIABLE


def find(*seen: SkeletonReads, least: int = 50, most: int = 100, level: int = 2) -> list[str]:
    """Return the globs found."""
    finder = Finder(seen, FilterSettings(min_wildcard_level=level), least)
    return [each.glob for each in finder.find(most)]


def polled(skeleton: str, reads: int = 1000, paths: int = 3) -> SkeletonReads:
    """Return a skeleton whose reads are nearly all repeats."""
    return SkeletonReads(skeleton, reads, reads - paths, paths)


def once(skeleton: str, paths: int = 500) -> SkeletonReads:
    """Return a skeleton whose paths are each read once."""
    return SkeletonReads(skeleton, paths, 0, paths)


def test_what_varies_becomes_a_star() -> None:
    """This includes a part of a name; the constant text around it stays."""
    assert part_of("a") == "a"
    assert (part_of(V), part_of(f"dt={V}-{V}-{V}.x")) == (ANY, Some("dt=", ".x"))
    assert find(polled(f"/data/a/dt={V}/_SUCCESS"), once(f"/data/a/part-{V}")) == ["/data/a/dt=*/_SUCCESS"]


def test_a_name_with_wildcards_in_it_is_escaped() -> None:
    """Any user may create a file with this name."""
    glob = glob_of(("a*b", "{c}", "d\\e", Some("[", "?")))
    assert glob == "/a\\*b/\\{c\\}/d\\\\e/\\[*\\?"
    compile_glob(glob)


def test_siblings_that_are_asked_alike_become_a_star() -> None:
    """There must be three or more, and almost nothing else that matches."""
    users = [polled(f"/user/{name}/flow/{V}/_SUCCESS") for name in ("ann", "bob", "eve")]
    assert find(*users) == ["/user/*/flow/*/_SUCCESS"]
    assert len(find(*users[:2])) == 2
    assert find(*users, level=3) == [each.skeleton.replace(V, "*") for each in users]
    assert len(find(*users, once(f"/user/zoe/flow/{V}/_SUCCESS"))) == 3


def test_deep_and_shallow_siblings_merge_in_one_go() -> None:
    """The deepest level merges first; a glob with a star at that level stays as it is."""
    seen = [polled(f"/data/{team}/{table}/done") for team in ("a", "b", "c") for table in ("x", "y", "z")]
    assert find(*seen) == ["/data/*/*/done"]
    assert find(*seen, polled(f"/data/q/{V}/other"), polled("/data/q")) == [
        "/data/*/*/done",
        "/data/q",
        "/data/q/*/other",
    ]


def test_what_is_read_once_is_no_candidate() -> None:
    """Nor are paths with too few repeats, or with more first reads than repeats: a miss of a file costs two calls."""
    assert find(once(f"/spark/{V}"), polled("/a/b", reads=20), SkeletonReads("/a/c", 1000, 400, 600)) == []


def test_a_glob_no_filter_may_have_is_refused_with_the_reason() -> None:
    """The glob is too general, or is not valid in Hadoop."""
    finder = Finder([polled(f"/{V}/x"), polled("/a/\0")], FilterSettings(), 10)
    assert finder.find(10) == []
    assert {glob: reason.partition(":")[0] for glob, reason in finder.refused.items()} == {
        "/*/x": "/*/x has a wildcard in level 1 of the path",
        "/a/\0": "/a/\0",
    }


def test_of_too_many_the_best_are_taken() -> None:
    """The order is by repeats; paths that a better glob matches are not counted again."""
    assert find(polled("/a/x", reads=100), polled("/a/y", reads=300), most=1) == ["/a/y"]
    again = find(polled(f"/a/p{V}"), polled(f"/a/p{V}q{V}"))
    assert again == ["/a/p*"]


def test_figures_are_those_of_all_that_a_glob_takes_in() -> None:
    """Reads, repeats and paths are sums over the matched skeletons."""
    seen = (SkeletonReads("/a/b", 10, 8, 2), SkeletonReads("/a/c", 5, 4, 1))
    whole = Candidate("/a/*", ("a", ANY), seen)
    assert (whole.reads, whole.repeats, whole.paths) == (15, 12, 3)


@pytest.mark.parametrize(
    ("name", "is_matched"), [("dt=1", True), ("dt=", True), ("dt", False), ("xdt=1", False)]
)
def test_a_part_with_a_star_matches_by_its_ends(name: str, *, is_matched: bool) -> None:
    """The text between them may vary."""
    assert Some("dt=", "").matches(name) is is_matched
    assert not Some("aa", "aa").matches("aaa")
