"""What an operator may choose about the front end. (proxy/settings.py)"""

from dataclasses import dataclass, field

from hadoop.addresses import is_resolvable
from hadoop.settings import SettingError

_MAX_PORT = 65535


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a socket listens. A bracketed IPv6 host is kept without its brackets."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_endpoint(key: str, value: str) -> Endpoint:
    """Read `host:port`; port 0 lets the system choose.

    Raises:
        SettingError: the value has another form.
    """
    host, colon, port = value.rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    name = host[1:-1] if bracketed else host
    is_host = name and not set(name) & set("[] /@" if bracketed else ":[] /@") and is_resolvable(name)
    digits = port.isascii() and port.isdecimal()
    if not colon or not is_host or not digits or int(port) > _MAX_PORT:
        raise SettingError(key, value, "must be host:port with a port from 0 to 65535")
    return Endpoint(name, int(port))


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxySettings:
    """Addresses of the front end and its patience.

    Raises:
        SettingError: a value is outside what its key allows.
    """

    listen: str = field(
        default="127.0.0.1:9871",
        metadata={"help": "host:port on which WebHDFS clients are served."},
    )
    admin: str = field(
        default="127.0.0.1:9872",
        metadata={"help": "host:port of the health, readiness, metrics and explain pages."},
    )
    join_wait_s: float = field(
        default=0.1,
        metadata={"help": "Seconds for which a read may wait for another's answer before it asks by itself."},
    )
    namenode_query_timeout_s: float = field(
        default=1.0,
        metadata={
            "help": "Seconds for a question of the proxy's own beside a call (isFileClosed, the last "
            "transaction id); without an answer the reply is not kept."
        },
    )

    def __post_init__(self) -> None:
        parse_endpoint("listen", self.listen)
        parse_endpoint("admin", self.admin)
        if not self.join_wait_s >= 0:
            raise SettingError("join_wait_s", self.join_wait_s, "must be 0 seconds or more")
        if not self.namenode_query_timeout_s > 0:
            raise SettingError(
                "namenode_query_timeout_s", self.namenode_query_timeout_s, "must be more than 0 seconds"
            )

    @property
    def listen_at(self) -> Endpoint:
        """Where clients are served."""
        return parse_endpoint("listen", self.listen)

    @property
    def admin_at(self) -> Endpoint:
        """Where the admin pages are."""
        return parse_endpoint("admin", self.admin)
