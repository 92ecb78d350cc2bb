"""A filter is found by its name or its glob."""

import pytest

from nncache.daemons.filters_named import UnknownFilterError, globs_named

GLOBS = {"id1": "/w/*", "id2": "/v/*", "/u/*": "/u/*"}
NAMES = {"id1": "ours", "id2": "theirs"}


@pytest.mark.parametrize(("name", "glob"), [("ours", "/w/*"), ("/v/*", "/v/*"), ("/u/*", "/u/*")])
def test_a_name_or_a_glob(name: str, glob: str) -> None:
    """A glob of the settings has no name."""
    assert globs_named(name, GLOBS, NAMES) == {glob}


def test_one_that_is_not_in_force_is_said_with_those_that_are() -> None:
    """Some of them."""
    with pytest.raises(
        UnknownFilterError, match=r"no filter 'mine' is in force; in force: /u/\*, ours, theirs$"
    ):
        globs_named("mine", GLOBS, NAMES)
    many = {str(number): f"/{number:02}/*" for number in range(30)}
    with pytest.raises(UnknownFilterError, match="/09/\\* and 20 more"):
        globs_named("mine", many, {})
    with pytest.raises(UnknownFilterError, match="in force: none"):
        globs_named("mine", {}, {})
