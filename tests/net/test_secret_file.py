"""Checks of a file with a secret, before it is used."""

import os
from pathlib import Path

import pytest

from nncache.net.secret_file import FileState, fault_of, shown, state_of


@pytest.mark.parametrize(
    ("mode", "part"), [(0o400, ""), (0o600, ""), (0o640, "mode 0640"), (0o604, "chmod 0400")]
)
def test_only_its_owner_may_read_it(tmp_path: Path, mode: int, part: str) -> None:
    """A process that has the key can act as the service."""
    file = tmp_path / "k"
    file.write_bytes(b"\x05\x02")
    file.chmod(mode)
    fault = fault_of(str(file), "a key")
    assert part in fault
    assert bool(fault) == bool(part)


def test_what_is_no_file(tmp_path: Path) -> None:
    """The path is missing, or a directory."""
    assert "No such file" in fault_of(str(tmp_path / "none"), "a key")
    assert "must be a file with a key" in fault_of(str(tmp_path), "a key")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_this_user_may_not_read(tmp_path: Path) -> None:
    """The owner's own permissions may be missing, too."""
    file = tmp_path / "k"
    file.touch(mode=0o000)
    assert "must be readable" in fault_of(str(file), "a key")


def test_a_file_that_is_replaced_has_another_state(tmp_path: Path) -> None:
    """The inode alone shows it, for instance after a rename of a file with equal size."""
    file, other = tmp_path / "k", tmp_path / "new"
    file.write_bytes(b"1")
    before = state_of(str(file))
    assert state_of(str(file)) == before
    other.write_bytes(b"1")
    other.replace(file)
    assert state_of(str(file)) != before
    assert state_of(str(tmp_path / "none")) == FileState()


def test_a_file_with_another_mode_has_another_state(tmp_path: Path) -> None:
    """What was refused for its mode is read again once the operator has corrected that, as the log says."""
    file = tmp_path / "k"
    file.touch(mode=0o644)
    os.utime(file, ns=(0, 0))
    before = state_of(str(file))
    file.chmod(0o400)
    assert state_of(str(file)) != before


def test_a_secret_in_place_of_its_files_name_is_not_shown(tmp_path: Path) -> None:
    """A path is shown, and so is a name of an existing file."""
    assert shown("s3cret") == "..."
    assert shown("/no/file") == "/no/file"
    here = Path.cwd()
    os.chdir(tmp_path)
    try:
        Path("token").touch()
        assert shown("token") == "token"
    finally:
        os.chdir(here)
