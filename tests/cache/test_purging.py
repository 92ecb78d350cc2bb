"""Which changes a purge applies to the cache."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nncache.cache.purging import Purge, purge_of_path, purges_of_glob
from nncache.hadoop.change import SubtreeUnknown, Touched
from nncache.hadoop.globs import GlobError, compile_glob


@pytest.mark.parametrize(
    ("glob", "purges"),
    [
        ("/w/_SUCCESS", (Touched("/w/_SUCCESS"),)),
        ("/w/*/_SUCCESS", (SubtreeUnknown("/w"),)),
        ("/w/day=?/x", (SubtreeUnknown("/w"),)),
        ("/{w/a,v/*}/x", (SubtreeUnknown("/v"), Touched("/w/a/x"))),
        ("/{w/a,w/a/*}", (SubtreeUnknown("/w/a"),)),
        ("/{w,v}/x", (SubtreeUnknown("/"),)),
        ("/*", (SubtreeUnknown("/"),)),
        ("/", (Touched("/"),)),
    ],
)
def test_a_glob_is_purged_from_its_first_wildcard_on(glob: str, purges: tuple[Purge, ...]) -> None:
    """A glob without a wildcard purges that path alone. Braces without a slash count as a wildcard."""
    assert purges_of_glob(glob) == purges


@given(
    glob=st.lists(st.sampled_from(["a", "b", "*", "a?", "{a,b}", "[ab]"]), min_size=1, max_size=3),
    path=st.lists(st.sampled_from(["a", "b", "ab"]), min_size=1, max_size=3),
)
def test_all_that_matches_is_purged(glob: list[str], path: list[str]) -> None:
    """A path that a glob matches is at or below one of the glob's purges."""
    text, place = "/" + "/".join(glob), "/" + "/".join(path)
    if compile_glob(text).matches(place):
        assert any(
            place == purge.path
            or (isinstance(purge, SubtreeUnknown) and f"{place}/".startswith(purge.path.rstrip("/") + "/"))
            for purge in purges_of_glob(text)
        )


def test_a_path_alone_or_with_all_below() -> None:
    """The path alone is touched; its subtree becomes unknown."""
    assert purge_of_path("/w", is_subtree=False) == Touched("/w")
    assert purge_of_path("/w", is_subtree=True) == SubtreeUnknown("/w")


def test_what_is_no_glob_is_refused() -> None:
    """The error says what is wrong with the glob."""
    with pytest.raises(GlobError):
        purges_of_glob("/w/[")
