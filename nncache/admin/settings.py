"""Who may see the pages of an admin port that show paths and users. (nncache/admin/settings.py)"""

from dataclasses import dataclass, field
from pathlib import Path

from nncache.admin.access import Access
from nncache.hadoop.endpoint import Endpoint, parse_endpoint
from nncache.hadoop.settings import SettingError

_MIN_TOKEN_BYTES = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class AdminSettings:
    """Access to the operators' pages."""

    admin_token_file: str = field(
        default="",
        metadata={
            "help": "File with the token that the pages with paths and users (/status, /explain, /sample, /filters) "
            "and /purge ask for, as `Authorization: Bearer TOKEN`, or as the password that a browser asks for. Without "
            "a file they answer clients on this host only.",
            "default": "none",
        },
    )
    admin_hosts: tuple[str, ...] = field(
        default=(),
        metadata={
            "help": "Names in a Host header under which these pages answer without a token, beside the "
            "admin address and localhost. Others are refused, which stops DNS rebinding."
        },
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainSettings:
    """Where a command finds the operators' pages of a proxy."""

    admin: str = field(default="127.0.0.1:9872", metadata={"help": "host:port of the proxy's admin pages."})
    admin_token_file: str = field(
        default="", metadata={"help": "The proxy's admin_token_file, if it has one.", "default": "none"}
    )

    def __post_init__(self) -> None:
        """Refuse what cannot be an address.

        Raises:
            SettingError: it is none.
        """
        parse_endpoint("admin", self.admin)

    @property
    def admin_at(self) -> Endpoint:
        """Where the admin pages are."""
        return parse_endpoint("admin", self.admin)


def access_of(settings: AdminSettings, host: str) -> Access:
    """Return who may see the operators' pages of an admin port that listens on `host`.

    Raises:
        SettingError: there is no token in the file.
    """
    return Access(host, read_token("admin_token_file", settings.admin_token_file), settings.admin_hosts)


def read_token(key: str, file: str) -> str | None:
    """Return the token in a file; None if no file is named.

    Raises:
        SettingError: the file cannot be read, or holds no token.
    """
    if not file:
        return None
    try:
        token = Path(file).read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingError(key, file, f"must be a readable file of ASCII: {error}") from error
    if len(token) < _MIN_TOKEN_BYTES or not token.isprintable() or " " in token:
        raise SettingError(
            key, file, f"must hold one token of at least {_MIN_TOKEN_BYTES} characters and no blanks"
        )
    return token
