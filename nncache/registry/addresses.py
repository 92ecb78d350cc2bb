"""Parses the addresses of endpoints, which other clients write.

Any text is possible: a text that is no address yields None, never an error.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final
from urllib.parse import SplitResult, urlsplit

from nncache.net.endpoint import ListenAddress
from nncache.registry.names import MAX_LABEL_BYTES
from nncache.registry.record import Address, ServiceRecord

MAX_PORT: Final = 65535

_PORTS: Final = {"http": 80, "https": 443}
_MAX_HOST: Final = 253
_HOST: Final = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_")


@dataclass(frozen=True, slots=True)
class ServiceAddress:
    """The host and port of an endpoint's address."""

    host: str | IPv4Address | IPv6Address
    port: int
    scheme: str = ""  # of a URI
    path: str = ""  # of a URI

    @property
    def authority(self) -> str:
        """The text host:port."""
        return str(ListenAddress(str(self.host), self.port))


def split_uri(uri: str) -> SplitResult | None:
    """Return the parts of a URI; None if the URI or its port is invalid."""
    try:
        parts = urlsplit(uri)
        _ = parts.port
    except ValueError:
        return None
    return parts


def place_of(address: Address) -> ServiceAddress | None:
    """Return the host and port of an address; None if DNS cannot name the host, or the port is missing."""
    uri = address.get("uri")
    if uri:
        parts = split_uri(uri)
        if parts is None:
            return None
        host, port = parts.hostname or "", parts.port or _PORTS.get(parts.scheme, 0)
        scheme, path = parts.scheme, parts.path
    else:
        host = address.get("host") or address.get("hostname") or ""
        port = port_of(address.get("port") or "")
        scheme = path = ""
    named = host_of(host)
    return ServiceAddress(named, port, scheme, path) if named is not None and port else None


def authorities_of(record: ServiceRecord) -> Iterator[str]:
    """Yield the host:port of each address of a record that has one."""
    for endpoint in record.endpoints:
        for place in map(place_of, endpoint.addresses):
            if place is not None:
                yield place.authority


def port_of(text: str) -> int:
    """Return the port in a text; 0 if it is not a valid port."""
    port = int(text) if text.isascii() and text.isdigit() and len(text) < len("100000") else 0
    return port if port <= MAX_PORT else 0


def host_of(text: str) -> str | IPv4Address | IPv6Address | None:
    """Return the host name or IP address in a text; None if it is neither."""
    address = ip_of(text)
    if address is not None:
        return address
    name = text.lower().removesuffix(".")
    labels = name.split(".")
    is_name = len(name) <= _MAX_HOST and all(0 < len(label) <= MAX_LABEL_BYTES for label in labels)
    return name if is_name and all(_HOST.issuperset(label) for label in labels) else None


def ip_of(text: str) -> IPv4Address | IPv6Address | None:
    """Return the IP address in a text; None if it is invalid, or has a scope and so means nothing to other hosts."""
    try:
        address = ip_address(text)
    except ValueError:
        return None
    is_scoped = isinstance(address, IPv6Address) and address.scope_id is not None
    return None if is_scoped else address  # its link is that of another host
