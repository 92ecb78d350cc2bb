"""The listen address of a socket, as the settings write it."""

from dataclasses import dataclass

from nncache.net.addresses import MAX_PORT, is_resolvable
from nncache.net.setting_error import SettingError


@dataclass(frozen=True, slots=True)
class ListenAddress:
    """The listen address of a socket. An IPv6 host is stored without brackets."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_endpoint(key: str, value: str) -> ListenAddress:
    """Parse `host:port`; port 0 lets the system choose. Raises SettingError: the value has another form."""
    host, colon, port = value.rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    name = host[1:-1] if bracketed else host
    is_host = name and not set(name) & set("[] /@" if bracketed else ":[] /@") and is_resolvable(name)
    digits = port.isascii() and port.isdecimal()
    if not colon or not is_host or not digits or int(port) > MAX_PORT:
        raise SettingError(key, value, "must be host:port with a port from 0 to 65535")
    return ListenAddress(name, int(port))
