"""User names are those of WebHDFS."""

import pytest

from nncache.hadoop.users import is_user_name


@pytest.mark.parametrize("name", ["alice", "dr.who", "_svc-1", "HOST$", "a" * 255])
def test_a_name_that_a_namenode_accepts(name: str) -> None:
    """Letters, digits and ._- after the first letter; a dollar may end it, as a machine account's does."""
    assert is_user_name(name)


@pytest.mark.parametrize("name", ["", "9bad", "a b", "a/b", "..", "$", "a$b", "ä", "a\n", "a" * 256])
def test_a_name_that_a_namenode_refuses(name: str) -> None:
    """Nothing that could be a path, or longer than one name of a path may be."""
    assert not is_user_name(name)
