"""The address of a client: that of its connection, or the one that a trusted load balancer sends.

Pure. The rule for `X-Forwarded-For` is that of nginx's ngx_http_realip_module with `real_ip_recursive on`: each
balancer appends the address of its peer, so anything that the client itself has written precedes it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from itertools import islice
from typing import Final

from nncache.net.addresses import read_ip
from nncache.net.balancers.settings import BalancerSettings

_FIELD: Final = re.compile(rb"\r\nx-forwarded-for:([^\r\n]*)", re.IGNORECASE)
_WITH_PORT: Final = re.compile(r"\[(?P<v6>[0-9A-Fa-f:.]+)\](?::\d+)?|(?P<v4>[0-9.]+):\d+")
"""The form in which some balancers write an address (Azure's gateway, IIS)."""

_MAX_CHARS: Final = 64  # of an address with its port

MAX_HOPS: Final = 64
"""Maximum of addresses that are parsed for one request; each costs several microseconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BalancerStats:
    """PROXY protocol headers since start."""

    headers: int
    headers_refused: int


class Balancers:
    """The trusted load balancers.

    Attributes:
        send_header: they send the address in the header of a connection (PROXY protocol), not in each request.
        headers: number of PROXY headers read.
        headers_refused: number of connections of balancers that were closed because they sent none.
    """

    def __init__(self, settings: BalancerSettings) -> None:
        self.send_header = settings.real_ip_header == "proxy_protocol"
        self.headers = 0
        self.headers_refused = 0
        self._networks = settings.networks

    def trusts(self, address: str) -> bool:
        """Whether an address is a balancer's."""
        try:
            return self._is_balancer(read_ip(address))
        except ValueError:
            return False

    def speak_in_requests_of(self, address: str) -> bool:
        """Whether requests from this address may name the client's address."""
        return not self.send_header and self.trusts(address)

    def client_of(self, head: bytes, peer: str) -> str:
        """Return the address of the client whose request a balancer has sent from the address `peer`.

        It is the last address in `X-Forwarded-For` that is not a balancer's, or the first if all are, among the last
        MAX_HOPS. An unreadable part ends the search, since everything before it may be forged.
        """
        client = peer
        for text in islice(_from_the_end(head), MAX_HOPS):
            address = _read(text)
            if address is None:
                break
            client = str(address)
            if not self._is_balancer(address):
                break
        return client

    def _is_balancer(self, address: IPv4Address | IPv6Address) -> bool:
        return any(address in network for network in self._networks)

    def stats(self) -> BalancerStats:
        """Return the figures since start."""
        return BalancerStats(headers=self.headers, headers_refused=self.headers_refused)


def _from_the_end(head: bytes) -> Iterator[str]:
    """Yield the parts of the field, the last first; several fields form one list (RFC 9110, section 5.3)."""
    for value in reversed(_FIELD.findall(head)):
        rest = value
        while rest:
            rest, _, last = rest.rpartition(b",")
            yield last.strip(b" \t").decode("latin-1")


def _read(text: str) -> IPv4Address | IPv6Address | None:
    """Parse an address with or without a port; None: the text is not an address."""
    if len(text) > _MAX_CHARS or "%" in text:
        return None
    if (match := _WITH_PORT.fullmatch(text)) is not None:
        text = match["v6"] or match["v4"]
    try:
        return read_ip(text)
    except ValueError:
        return None
