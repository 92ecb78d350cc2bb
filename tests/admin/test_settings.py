"""Tokens are read from files."""

from pathlib import Path

import pytest

from nncache.admin.access import Token
from nncache.admin.settings import AdminSettings, ExplainSettings, access_of, read_tokens
from nncache.net.setting_error import SettingError
from nncache.testbed.certificates import Authority


def written(file: Path, text: str) -> str:
    """Write a file of tokens; return its path."""
    file.write_text(text)
    file.chmod(0o400)
    return str(file)


def test_each_line_is_a_token(tmp_path: Path) -> None:
    """A token may have a name."""
    file = written(tmp_path / "token", "0123456789abcdef\njoe  fedcba9876543210\n")
    assert read_tokens("admin_token_file", file) == (
        Token("0123456789abcdef"),
        Token("fedcba9876543210", "joe"),
    )


def test_one_token_has_one_role(tmp_path: Path) -> None:
    """The role of a token in both files would be ambiguous."""
    settings = AdminSettings(
        admin_token_file=written(tmp_path / "operators", "0123456789abcdef\n"),
        admin_reader_token_file=written(tmp_path / "readers", "ann 0123456789abcdef\n"),
    )
    with pytest.raises(SettingError, match=r"^admin_reader_token_file: .*there twice$") as caught:
        access_of(settings, "h")
    assert "0123456789abcdef" not in str(caught.value)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"short",
        b"0123456789 abcdefgh",
        b"0123456789abcdef\xff",
        b"two names 0123456789abcdef",
        b"0123456789abcdef\n\n0123456789abcdeg",
    ],
)
def test_a_file_without_a_token_is_refused(tmp_path: Path, content: bytes) -> None:
    """An empty token would admit everybody."""
    file = tmp_path / "token"
    file.write_bytes(content)
    file.chmod(0o600)
    with pytest.raises(SettingError, match=r"^admin_token_file: .*must"):
        read_tokens("admin_token_file", str(file))


def test_a_token_that_others_may_read_is_refused(tmp_path: Path) -> None:
    """The error has the mode to set. A token given instead of a file name is not printed."""
    file = tmp_path / "token"
    file.write_text("0123456789abcdef\n")
    file.chmod(0o640)
    with pytest.raises(SettingError, match=rf"^admin_token_file: {file}: has mode 0640.*chmod 0400 {file}"):
        read_tokens("admin_token_file", str(file))
    with pytest.raises(SettingError, match=r"^admin_token_file: \.\.\.: must be a readable file") as caught:
        read_tokens("admin_token_file", "0123456789abcdef")
    assert "0123456789abcdef" not in str(caught.value)


def tls(authority: Authority) -> AdminSettings:
    """Return settings with a certificate."""
    issued = authority.issue("admin")
    return AdminSettings(admin_tls_certificate=str(issued.chain), admin_tls_key=str(issued.key))


def test_the_port_is_served_over_tls_with_a_certificate(tmp_path: Path) -> None:
    """Without one it serves plain HTTP."""
    assert access_of(AdminSettings(), "h").scheme == "http"
    assert access_of(tls(Authority(tmp_path)), "h").scheme == "https"


def test_an_unusable_certificate_is_refused_with_its_key(tmp_path: Path) -> None:
    """Refused are one file without the other, a key that others may read, and a file without a certificate."""
    settings = tls(Authority(tmp_path))
    with pytest.raises(SettingError, match=r"^admin_tls_key: none: must be a PEM file"):
        AdminSettings(admin_tls_certificate="x")
    with pytest.raises(SettingError, match=r"^admin_tls_certificate: none: must be a PEM file"):
        AdminSettings(admin_tls_key="x")
    Path(settings.admin_tls_key).chmod(0o640)
    with pytest.raises(
        SettingError, match=rf"^admin_tls_key: {settings.admin_tls_key}: has mode 0640.*chmod 0400"
    ):
        access_of(settings, "h")
    Path(settings.admin_tls_key).chmod(0o400)
    Path(settings.admin_tls_certificate).write_text("none")
    with pytest.raises(
        SettingError, match=r"^admin_tls_certificate: .*must be a certificate in PEM.*admin_tls_key"
    ):
        access_of(settings, "h")


def test_where_a_command_asks() -> None:
    """An https URL means TLS; a CA is allowed only with https."""
    assert not ExplainSettings().is_over_tls
    found = ExplainSettings(admin="https://proxy1:9872/", admin_ca="ca.pem")
    assert (found.is_over_tls, str(found.admin_at)) == (True, "proxy1:9872")
    with pytest.raises(SettingError, match=r"^admin: proxy1:9872: must begin with https://"):
        ExplainSettings(admin="proxy1:9872", admin_ca="ca.pem")
    with pytest.raises(SettingError, match=r"^admin: .*must be host:port"):
        ExplainSettings(admin="http://proxy1:9872")
