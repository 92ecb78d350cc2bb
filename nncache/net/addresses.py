"""Parse "host:port", the form of every NameNode address in the settings."""

from ipaddress import IPv4Address, IPv6Address, ip_address

MAX_PORT = 65535


def split_address(address: str) -> tuple[str, int]:
    """Split "host:port" or "[IPv6]:port".

    Raises ValueError: it has neither form; the message says what is missing.
    """
    scheme, is_url, rest = address.partition("://")
    if is_url:
        raise ValueError(
            f"must be host:port, without {scheme}:// and without a path: {rest.partition('/')[0]}"
        )
    host, colon, digits = address.rpartition(":")
    if not colon or not host:
        raise ValueError("must be host:port")
    if not (digits.isascii() and digits.isdigit()) or not 0 < int(digits) <= MAX_PORT:
        raise ValueError(f"must end in a port from 1 to {MAX_PORT}")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise ValueError("must have an IPv6 address in brackets: [host]:port")
    if not host or any(character.isspace() or character in "/@[]" for character in host):
        raise ValueError("must be a plain host name or address, then a port")
    if not is_resolvable(host):
        raise ValueError("must have a host name of parts of 1 to 63 characters")
    return host, int(digits)


def read_ip(text: str | bytes) -> IPv4Address | IPv6Address:
    """Parse an address, as text or packed; an IPv4-mapped IPv6 address becomes the IPv4 address.

    Raises ValueError: it is not an address.
    """
    address = ip_address(text)
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def is_resolvable(host: str) -> bool:
    """Whether a resolver accepts the host name; for `nn..example` Python's raises a UnicodeError."""
    try:
        host.encode("idna")
    except UnicodeError:
        return False
    return True
