"""Parse the header with which a load balancer begins a connection: PROXY protocol, versions 1 and 2.

Pure. Source: HAProxy's doc/proxy-protocol.txt, sections 2.1 and 2.2. TLVs are skipped.
"""

import re
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final

from nncache.net.addresses import MAX_PORT, read_ip

MAX_HEADER_BYTES: Final = 4_096
"""The limit of nginx (NGX_PROXY_PROTOCOL_MAX_HEADER)."""

_MAX_LINE_BYTES: Final = 107  # of version 1, with its CRLF
_WORD: Final = b"PROXY "
_LINE: Final = re.compile(
    rb"PROXY (?:(TCP[46]) ([0-9A-Fa-f:.]+) ([0-9A-Fa-f:.]+) (\d{1,5}) (\d{1,5})|UNKNOWN(?: .*)?)"
)

_SIGNATURE: Final = b"\r\n\r\n\x00\r\nQUIT\n"
_START_BYTES: Final = 16
_VERSION_2: Final = 2
_LOCAL: Final = 0
_PROXY: Final = 1
_ADDRESSES: Final[dict[int, tuple[int, int]]] = {0x00: (0, 0), 0x11: (4, 12), 0x21: (16, 36), 0x31: (0, 216)}
"""By transport and family: bytes of the client's address, and of the whole address block. Without an address:
unspecified (0x00), and a UNIX socket on the balancer's host (0x31)."""


class ProxyHeaderError(ValueError):
    """A connection does not begin with a PROXY protocol header."""


@dataclass(frozen=True, slots=True)
class ProxyHeader:
    """A complete header.

    Attributes:
        client: the client's address; "": the connection is the balancer's own, or the address is unknown.
        length: length of the header in bytes.
    """

    client: str
    length: int


def read_proxy_header(data: bytes) -> ProxyHeader | None:
    """Parse the header at the beginning of these bytes; None: it is incomplete, and all bytes belong to it.

    Raises:
        ProxyHeaderError: the bytes do not begin with a header.
    """
    if data[: len(_SIGNATURE)] == _SIGNATURE[: len(data)]:
        return _read_version_2(data)
    if data[: len(_WORD)] == _WORD[: len(data)]:
        return _read_version_1(data)
    raise ProxyHeaderError("it begins with other bytes")


def _read_version_1(data: bytes) -> ProxyHeader | None:
    line, end, _ = data[:_MAX_LINE_BYTES].partition(b"\r\n")
    if not end:
        if len(data) >= _MAX_LINE_BYTES:
            raise ProxyHeaderError(f"the line of version 1 has no end within {_MAX_LINE_BYTES} bytes")
        return None
    match = _LINE.fullmatch(line)
    if match is None or any(int(port) > MAX_PORT for port in match.group(4, 5) if port):
        raise ProxyHeaderError("the line of version 1 is malformed")
    family, *texts = match.group(1, 2, 3)
    length = len(line) + len(end)
    if family is None:
        return ProxyHeader("", length)
    try:
        addresses = [ip_address(text.decode("ascii")) for text in texts]
    except ValueError:
        addresses = []
    if {address.version for address in addresses} != {int(family[-1:])}:
        raise ProxyHeaderError(f"the addresses of {family.decode()} are malformed")
    return ProxyHeader(str(read_ip(str(addresses[0]))), length)


def _read_version_2(data: bytes) -> ProxyHeader | None:
    if len(data) < _START_BYTES:
        return None
    version, command = divmod(data[12], 16)
    length = _START_BYTES + int.from_bytes(data[14:16])
    if version != _VERSION_2 or command not in {_LOCAL, _PROXY}:
        raise ProxyHeaderError(f"version and command are {data[12]:#04x}")
    if length > MAX_HEADER_BYTES:
        raise ProxyHeaderError(f"it has {length} bytes, more than {MAX_HEADER_BYTES}")
    if command == _LOCAL:
        return ProxyHeader("", length) if len(data) >= length else None
    found = _ADDRESSES.get(data[13])
    if found is None or length - _START_BYTES < found[1]:
        raise ProxyHeaderError(f"address family {data[13]:#04x} with {length - _START_BYTES} bytes")
    if len(data) < length:
        return None
    address = data[_START_BYTES : _START_BYTES + found[0]]
    return ProxyHeader(str(read_ip(address)) if address else "", length)
