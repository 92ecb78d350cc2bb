"""Settings are shown, secrets are not."""

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
    """Not the name of the file that holds one, nor that there is none; every key of the proxy is there."""
    assert settings_view(_Settings()) == {
        "admin_token_file": "/etc/token",
        "admin_token": MASKED,
        "api_key": "",
        "user": "hdfs",
    }
    assert {"listen", "glob", "max_staleness_s", "log_level"} <= settings_view(SettingsOfProxy()).keys()
