"""Globs that match less than they seem to are told with what to write instead."""

import pytest

from nncache.hadoop.glob_pitfalls import pitfall
from nncache.hadoop.globs import compile_glob


@pytest.mark.parametrize(
    "glob",
    ["/", "/user/*/x", "/a/b*", "/a/*b*", "/a/{b,c}*", "/a*", "/a?*", r"/a/\\*\\*"],
)
def test_most_globs_mean_what_they_say(glob: str) -> None:
    """Two stars that stand apart, or are escaped, are no mistake."""
    assert pitfall(glob) == ""


@pytest.mark.parametrize("glob", ["/user/**/_SUCCESS", "/**", "/a/b**c/d", "/a/{x/**,y}"])
def test_two_stars_are_one_level(glob: str) -> None:
    """As Hadoop has it; other tools take them for any depth."""
    assert pitfall(glob).startswith(f"{glob}: ** stays within one level, as * does in Hadoop")


def test_what_to_write_instead_is_said_and_does_it() -> None:
    """One glob for each depth."""
    told = pitfall("/user/**/_SUCCESS")
    assert told.endswith("such as /user/*/_SUCCESS and /user/*/*/_SUCCESS")
    assert not compile_glob("/user/**/_SUCCESS").matches("/user/a/b/_SUCCESS")
    assert compile_glob("/user/*/*/_SUCCESS").matches("/user/a/b/_SUCCESS")
