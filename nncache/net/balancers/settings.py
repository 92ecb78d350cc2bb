"""Settings: the trusted load balancers."""

from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Literal, TypeAlias

from nncache.net.setting_error import SettingError

Network: TypeAlias = IPv4Network | IPv6Network


@dataclass(frozen=True, slots=True, kw_only=True)
class BalancerSettings:
    """The load balancers that may name a client's address, and how they do; the names are nginx's.

    Raises:
        SettingError: a value is not a network, or contains every address; or the header is set without a network.
    """

    real_ip_from: tuple[str, ...] = field(
        default=(),
        metadata={
            "help": "Addresses and networks (10.0.0.0/8) of load balancers that are trusted to send the address of "
            "their client. Limits, logs, doas rules and X-Forwarded-For to the NameNode then use that address. Empty: "
            "the client is the peer of the connection."
        },
    )
    real_ip_header: Literal["X-Forwarded-For", "proxy_protocol"] = field(
        default="X-Forwarded-For",
        metadata={
            "help": "How the balancers of real_ip_from send their client's address. X-Forwarded-For: in each request; "
            "the last address that is not in real_ip_from counts. proxy_protocol: once for each connection, in a "
            "header (PROXY protocol, version 1 or 2) with which each of their connections to listen or tls_listen must "
            "then begin."
        },
    )

    def __post_init__(self) -> None:
        for text in self.real_ip_from:
            _network_of(text)
        if self.real_ip_header == "proxy_protocol" and not self.real_ip_from:
            raise SettingError(
                "real_ip_header",
                self.real_ip_header,
                "needs real_ip_from: the addresses of the load balancers that send it",
            )

    @property
    def networks(self) -> tuple[Network, ...]:
        """The networks of the balancers."""
        return tuple(map(_network_of, self.real_ip_from))


def _network_of(text: str) -> Network:
    try:
        network = ip_network(text)
    except ValueError as error:
        allowed = "must be an IP address, or a network such as 10.0.0.0/8 or fd00::/8"
        raise SettingError("real_ip_from", text, f"{allowed} ({error})") from None
    if not network.prefixlen:
        raise SettingError("real_ip_from", text, "must not be every address: it names load balancers")
    return network
