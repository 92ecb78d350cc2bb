"""The room's errors name the znode and say what is wrong with it."""

import pytest

from nncache.coordination.errors import (
    BadVersionError,
    CoordinationError,
    NodeExistsError,
    NoNodeError,
    NotAllowedError,
    NotEmptyError,
    ZnodeError,
)


@pytest.mark.parametrize(
    "kind", [NoNodeError, NodeExistsError, BadVersionError, NotEmptyError, NotAllowedError]
)
def test_a_refusal_names_its_znode(kind: type[NoNodeError]) -> None:
    """In a field for programs, and in the text for people."""
    error = kind("/a/b")
    assert isinstance(error, ZnodeError)
    assert isinstance(error, CoordinationError)
    assert error.path == "/a/b"
    assert str(error).startswith("/a/b: ")
