"""How general a glob is."""

import pytest

from nncache.hadoop.glob_syntax import GlobError
from nncache.hadoop.glob_wildcards import first_wildcard_level


@pytest.mark.parametrize(
    ("glob", "level"),
    [
        ("/", None),
        ("/user/joe", None),
        ("/user/{joe,ann}/x", None),
        ("/user/\\*/x", None),
        ("/*", 1),
        ("/*/x/*", 1),
        ("/user/*", 2),
        ("/user/j?e", 2),
        ("/user/[a-z]/x", 2),
        ("/user/joe/{a,b*}", 3),
        ("/{user/joe/*,tmp/*}", 2),
        ("/user/{a,b{c,d*}}/x", 2),
    ],
)
def test_the_highest_wildcard_counts(glob: str, level: int | None) -> None:
    """Alternatives are no wildcard by themselves; of those with one the highest counts."""
    assert first_wildcard_level(glob) == level


def test_what_is_no_glob_is_refused() -> None:
    """As elsewhere."""
    with pytest.raises(GlobError):
        first_wildcard_level("/user/[")
