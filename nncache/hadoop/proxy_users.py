"""The proxy-user rules `hadoop.proxyuser.NAME.*`: who may impersonate whom, and from which host.

Pure. Source: DefaultImpersonationProvider, AccessControlList and MachineList of Hadoop 3.5.0;
`tests/contracts/test_authentication_rules.py` compares both. Only a NameNode knows the groups of a user, so a rule by
groups allows nothing here unless it is `*`.
"""

import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network, IPv6Address, ip_address
from typing import Final, TypeAlias

from nncache.hadoop.configuration import Configuration

PREFIX: Final = "hadoop.proxyuser."

_KEY: Final = re.compile(r"hadoop\.proxyuser\.(?P<name>.+)\.(?P<rule>users|groups|hosts)")
_ANY: Final = "*"
_ANYBODY: Final = "nobody"
_PROVIDER: Final = "hadoop.security.impersonation.provider.class"
_DEFAULT_PROVIDER: Final = "org.apache.hadoop.security.authorize.DefaultImpersonationProvider"

Address: TypeAlias = IPv4Address | IPv6Address


@dataclass(frozen=True, slots=True)
class Hosts:
    """A set of hosts."""

    is_any: bool = False  # all hosts
    addresses: frozenset[Address] = frozenset()  # the hosts with these addresses
    networks: tuple[IPv4Network, ...] = ()  # all hosts in these networks
    names: tuple[str, ...] = ()  # the hosts with these names, which the caller must resolve

    def include(self, address: Address, resolved: Collection[Address]) -> bool:
        """Whether the set has a host with this address; `resolved` are the addresses of the names."""
        if self.is_any or address in self.addresses or address in resolved:
            return True
        return isinstance(address, IPv4Address) and any(address in network for network in self.networks)


@dataclass(frozen=True, slots=True)
class ProxyUser:
    """The rules of one proxy user."""

    acts_for_all: bool = False  # it may impersonate every user
    users: frozenset[str] = frozenset()  # the users whom it may impersonate, by short name
    hosts: Hosts = field(default_factory=Hosts)  # the hosts from which it may

    def acts_for(self, user: str) -> bool:
        """Whether it may impersonate this user, provided that the host is allowed."""
        return self.acts_for_all or user in self.users


NO_PROXY_USER: Final = ProxyUser()


def parse_proxy_users(values: Configuration) -> Mapping[str, ProxyUser]:
    """Return the proxy users of a configuration, by short name."""
    rules: dict[str, dict[str, str]] = {}
    for key in sorted(values.all_names()):
        if match := _KEY.fullmatch(key):
            rules.setdefault(match["name"], {})[match["rule"]] = values.get(key) or ""
    return {name: _proxy_user(rule) for name, rule in rules.items()}


def _proxy_user(rules: Mapping[str, str]) -> ProxyUser:
    acls = rules.get("users", ""), rules.get("groups", "")
    return ProxyUser(
        acts_for_all=any(acl.strip() == _ANY for acl in acls),
        users=frozenset(_parts(acls[0])),
        hosts=parse_hosts(rules.get("hosts", "")),
    )


def parse_hosts(text: str) -> Hosts:
    """Parse a list of addresses, names and networks; a single `*` stands for all hosts."""
    parts = tuple(dict.fromkeys(_parts(text)))
    if parts == (_ANY,):
        return Hosts(is_any=True)
    addresses, networks, names = set[Address](), list[IPv4Network](), list[str]()
    for part in parts:
        if "/" in part:
            networks += _network(part)
            continue
        try:
            addresses.add(address_of(part))
        except ValueError:
            names.append(part)
    return Hosts(addresses=frozenset(addresses), networks=tuple(networks), names=tuple(names))


def _network(text: str) -> Iterable[IPv4Network]:
    """Return the network; empty if a NameNode would not accept it either."""
    try:
        return (IPv4Network(text, strict=False),)
    except ValueError:
        return ()


def address_of(text: str) -> Address:
    """Parse an address; an IPv4-mapped IPv6 address becomes the IPv4 address. Raises ValueError: it is invalid."""
    address = ip_address(text.partition("%")[0])
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


def _parts(text: str) -> Iterable[str]:
    return filter(None, (part.strip() for part in text.split(",")))


def not_allowed(real_user: str, user: str) -> str:
    """Return a NameNode's message for a user who may not impersonate another."""
    return f"User: {real_user} is not allowed to impersonate {user}"


def is_about_hosts(refusal: str) -> bool:
    """Whether a NameNode's message refuses the host, not the user."""
    return refusal.startswith("Unauthorized connection for super-user")


def whom_to_try(own: str, values: Mapping[str, str] | None) -> tuple[str, bool]:
    """Return the user to impersonate in a trial, and whether a refusal proves that no impersonation is allowed.

    Args:
        own: the short name of the proxy user.
        values: the NameNode's configuration; None: it is unknown.
    """
    if values is None or values.get(_PROVIDER, _DEFAULT_PROVIDER) != _DEFAULT_PROVIDER:
        return _ANYBODY, False
    users, groups = (values.get(f"{PREFIX}{own}.{rule}", "").strip() for rule in ("users", "groups"))
    named = next(iter(_parts(users)), "")
    if _ANY in (users, groups) or not (named or groups):
        return _ANYBODY, True
    return (named, True) if named else (_ANYBODY, False)  # the members of the groups are unknown here


def not_from_here(real_user: str, address: str) -> str:
    """Return a NameNode's message for a proxy user on a host that is not allowed."""
    return f"Unauthorized connection for super-user: {real_user} from IP /{address}"


def refusal(message: str) -> bytes:
    """Return the body of a reply with this message, as HttpExceptionUtils writes it: 403, `application/json`."""
    name = "org.apache.hadoop.security.authorize.AuthorizationException"
    remote = {"message": message, "exception": name.rpartition(".")[2], "javaClassName": name}
    text = json.dumps({"RemoteException": remote}, indent=2, separators=(",", " : "), ensure_ascii=False)
    return text.encode("utf-8", "replace")
