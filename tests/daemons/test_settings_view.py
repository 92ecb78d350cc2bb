"""The view shows settings but masks secrets."""

from dataclasses import dataclass, field

from nncache.daemons.settings_view import MASKED, settings_view
from nncache.settings.commands import SettingsOfProxy


@dataclass(frozen=True)
class _Part:
    admin_token_file: str = "/etc/token"
    admin_token: str = "s3cret"
    api_key: str = ""
    user: str = "hdfs"


@dataclass(frozen=True)
class _Settings:
    part: _Part = field(default_factory=_Part)


def test_secrets_are_masked() -> None:
    """The path of a secret's file and an empty secret are shown. Every key of the proxy is in the view."""
    assert settings_view(_Settings()) == {
        "admin_token_file": "/etc/token",
        "admin_token": MASKED,
        "api_key": "",
        "user": "hdfs",
    }
    assert {"listen", "glob", "max_staleness_s", "log_level"} <= settings_view(SettingsOfProxy()).keys()
