"""The directory that stands for several writes."""

import pytest

from nncache.cache.shared_directory import shared_directory_of


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
def test_most_writes_then_the_deepest(places: list[str | None], directory: str | None) -> None:
    """Never the root: it is everybody's."""
    assert shared_directory_of(places) == directory
