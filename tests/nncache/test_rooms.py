"""A foreign package under one of our import names ends the start."""

from pathlib import Path

import pytest

from nncache.errors import ForeignRoomError
from nncache.rooms import check_rooms


def test_our_own_rooms_are_fine() -> None:
    """The check passes where nncache runs from one directory."""
    check_rooms()


def test_a_foreign_room_is_named_with_its_file(tmp_path: Path) -> None:
    """The line says which name leads where, and what to do."""
    with pytest.raises(
        ForeignRoomError, match=r"the import name hadoop leads to .*__init__\.py.* environment"
    ):
        check_rooms(("hadoop",), home=tmp_path)


def test_a_missing_room_is_named(tmp_path: Path) -> None:
    """A half installed nncache says what is missing and where it should be."""
    with pytest.raises(ForeignRoomError, match=f"the package no_such_room is missing.*{tmp_path.name}"):
        check_rooms(("no_such_room",), home=tmp_path)


def test_a_room_without_init_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bare directory of that name (a namespace package) is not a room."""
    (tmp_path / "bare_room").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ForeignRoomError, match="bare_room is missing"):
        check_rooms(("bare_room",))
