"""The token comes from a file."""

from pathlib import Path

import pytest

from nncache.admin.settings import AdminSettings, read_token
from nncache.hadoop.settings import SettingError


def test_without_a_file_there_is_no_token() -> None:
    """The default."""
    assert read_token("admin_token_file", AdminSettings().admin_token_file) is None


def test_the_token_is_the_files_one_word(tmp_path: Path) -> None:
    """The end of the line does not belong to it."""
    file = tmp_path / "token"
    file.write_text("0123456789abcdef\n")
    assert read_token("admin_token_file", str(file)) == "0123456789abcdef"


@pytest.mark.parametrize("content", [b"", b"short", b"0123456789 abcdefgh", b"0123456789abcdef\xff"])
def test_a_file_without_a_token_is_refused(tmp_path: Path, content: bytes) -> None:
    """An empty token would let everybody in."""
    file = tmp_path / "token"
    file.write_bytes(content)
    with pytest.raises(SettingError, match=r"^admin_token_file: .*must"):
        read_token("admin_token_file", str(file))


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    """At the start, not at the first page."""
    with pytest.raises(SettingError, match="No such file"):
        read_token("admin_token_file", str(tmp_path / "none"))
