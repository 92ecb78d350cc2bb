"""Settings of the DNS server for the registry."""

from dataclasses import dataclass, field
from typing import Final

from nncache.net.endpoint import ListenAddress, parse_endpoint
from nncache.net.setting_error import SettingError
from nncache.registry.names import fault_of_label

MAX_DOMAIN: Final = 126  # characters: half of a name's limit, which leaves room for the names of entries

MAX_TTL_S: Final = 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class DnsSettings:
    """One zone, and the address that serves it. Raises SettingError if a value is outside what its key allows."""

    domain: str = field(
        default="",
        metadata={
            "help": "Domain of the registry's entries, such as registry.example (hadoop.registry.dns.domain-name).",
            "default": "none; must be given",
        },
    )
    dns_listen: str = field(
        default="127.0.0.1:5335",
        metadata={
            "help": "host:port for UDP and TCP (hadoop.registry.dns.bind-address and bind-port). Give the address by "
            "which clients reach it: a host with several answers from the one on which it listens."
        },
    )
    dns_ttl_s: int = field(
        default=1,
        metadata={
            "help": "Seconds for which clients and resolvers may cache an answer, including negative ones "
            "(hadoop.registry.dns.dns-ttl). A larger value saves queries, but a removed entry stays visible longer."
        },
    )
    dns_name_server: str = field(
        default="",
        metadata={
            "help": "Host name of this server in the zone's NS and SOA records. Empty: this machine's name.",
            "default": "none",
        },
    )
    dns_queries_per_s: float = field(
        default=200.0,
        metadata={
            "help": "Maximum messages a second from one address (for IPv6, from one network of 64 bits) in the long "
            "run, over UDP and over TCP; five times as many at once. An answer of more than 512 bytes counts as "
            "several. Messages beyond that are dropped. Raise it for a resolver that asks on behalf of many clients."
        },
    )
    admin: str = field(
        default="127.0.0.1:9874", metadata={"help": "host:port of the health, readiness and metrics pages."}
    )

    def __post_init__(self) -> None:
        _ = self.listen_at, self.admin_at
        for key, name in (("domain", self.domain), ("dns_name_server", self.dns_name_server)):
            if name:
                _check_name(key, name)
        if not 0 <= self.dns_ttl_s <= MAX_TTL_S:
            raise SettingError("dns_ttl_s", self.dns_ttl_s, f"must be from 0 to {MAX_TTL_S}")
        if not 0 < self.dns_queries_per_s < float("inf"):
            raise SettingError("dns_queries_per_s", self.dns_queries_per_s, "must be more than 0")

    @property
    def listen_at(self) -> ListenAddress:
        """The address of the DNS server."""
        return parse_endpoint("dns_listen", self.dns_listen)

    @property
    def admin_at(self) -> ListenAddress:
        """The address of the admin pages."""
        return parse_endpoint("admin", self.admin)


def _check_name(key: str, name: str) -> None:
    whole = name.lower().removesuffix(".")
    if len(whole) > MAX_DOMAIN:
        raise SettingError(key, name, f"must have at most {MAX_DOMAIN} characters")
    fault = next((found for label in whole.split(".") if (found := fault_of_label(label))), None)
    if fault is not None:
        raise SettingError(key, name, f"must be a domain name such as registry.example: {fault}")
