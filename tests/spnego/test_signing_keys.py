"""The secrets are read again when their file changes; a file that other users may read is refused."""

import errno
import os
from pathlib import Path

import pytest

from nncache.net.setting_error import SettingError
from nncache.spnego.signing_keys import SigningKeys

FIRST, SECOND = b"1" * 32, b"2" * 32


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return a file with one secret."""
    made = tmp_path / "secret"
    made.touch(mode=0o600)
    made.write_bytes(FIRST + b"\n")
    return made


def replace(file: Path, text: bytes, mode: int = 0o600) -> None:
    """Replace the file, as an operator would."""
    new = file.with_name("new")
    new.touch(mode=mode)
    new.write_bytes(text)
    new.replace(file)


def test_a_new_key_signs_and_the_old_one_is_good(file: Path) -> None:
    """It is valid until it is removed; then the callbacks of `on_retired` are called."""
    keys, retired = SigningKeys(str(file)), []
    keys.on_retired.append(lambda: retired.append(keys.keys.keys))
    keys.look()
    assert keys.keys.keys == (FIRST,)
    replace(file, SECOND + b"\n" + FIRST + b"\n")
    keys.look()
    found: object = keys.keys.keys, retired
    assert found == ((SECOND, FIRST), [])
    replace(file, SECOND + b"\n")
    keys.look()
    assert retired == [(SECOND,)]


@pytest.mark.parametrize(("text", "mode"), [(b"", 0o600), (b"short", 0o600), (SECOND, 0o644)])
def test_one_that_cannot_be_used_changes_nothing(
    file: Path, caplog: pytest.LogCaptureFixture, text: bytes, mode: int
) -> None:
    """It is logged once, without its content."""
    keys = SigningKeys(str(file))
    replace(file, text, mode)
    for _ in range(2):
        keys.look()
    assert keys.keys.keys == (FIRST,)
    (line,) = [record.getMessage() for record in caplog.records]
    assert str(file) in line
    assert SECOND.decode() not in line


def test_one_that_was_refused_is_taken_once_its_mode_is_right(file: Path) -> None:
    """The operator does what the log says, which changes no content."""
    keys = SigningKeys(str(file))
    replace(file, SECOND, 0o644)
    keys.look()
    file.chmod(0o600)
    keys.look()
    assert keys.keys.keys == (SECOND,)


def test_one_that_could_not_be_opened_is_taken_once_it_can_be(
    file: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process without a file to spare must not believe a retired secret until it is restarted."""
    keys = SigningKeys(str(file))
    replace(file, SECOND)
    with monkeypatch.context() as at_the_limit:
        at_the_limit.setattr(Path, "read_bytes", _too_many_files)
        keys.look()
        keys.look()
    assert (len(caplog.records), keys.keys.keys) == (1, (FIRST,))
    keys.look()
    found: object = keys.keys.keys
    assert found == (SECOND,)


def _too_many_files(_: Path) -> bytes:
    raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))


@pytest.mark.parametrize(
    ("text", "mode"), [(b"", 0o600), (b"short", 0o600), (SECOND, 0o644), (SECOND, 0o640)]
)
def test_a_start_with_one_fails(file: Path, text: bytes, mode: int) -> None:
    """The error names the setting."""
    replace(file, text, mode)
    with pytest.raises(SettingError, match=r"^cookie_secret_file: "):
        SigningKeys(str(file))


def test_a_file_must_be_there(tmp_path: Path) -> None:
    """The start fails otherwise."""
    with pytest.raises(SettingError, match=r"^cookie_secret_file: .*No such file"):
        SigningKeys(str(tmp_path / "none"))
