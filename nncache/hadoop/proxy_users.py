"""Who may act for whom, and from where: the rules `hadoop.proxyuser.NAME.*`.

Pure. Source: DefaultImpersonationProvider, AccessControlList and MachineList of Hadoop 3.5.0, against which
`tests/contracts/test_authentication_rules.py` holds this. The groups of a user are known to a NameNode alone, so a rule
by groups allows nothing here unless it is `*`.
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
    """Machines."""

    is_any: bool = False  # all of them
    addresses: frozenset[Address] = frozenset()  # by their addresses
    networks: tuple[IPv4Network, ...] = ()  # by a network that they are in
    names: tuple[str, ...] = ()  # by a name, which is still to be resolved

    def include(self, address: Address, resolved: Collection[Address]) -> bool:
        """Whether a machine is among them; `resolved` are the addresses of the names."""
        if self.is_any or address in self.addresses or address in resolved:
            return True
        return isinstance(address, IPv4Address) and any(address in network for network in self.networks)


@dataclass(frozen=True, slots=True)
class ProxyUser:
    """What one user may do for others."""

    acts_for_all: bool = False  # for everybody
    users: frozenset[str] = frozenset()  # for whom, by short name
    hosts: Hosts = field(default_factory=Hosts)  # from where

    def acts_for(self, user: str) -> bool:
        """Whether it may act for this user, from the right machine."""
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
    """Read a list of addresses, names and networks; `*` alone is all of them."""
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
    """Return a network; none where a NameNode would not know it either."""
    try:
        return (IPv4Network(text, strict=False),)
    except ValueError:
        return ()


def address_of(text: str) -> Address:
    """Read an address; an IPv4 address that is written as one of IPv6 is the same. Raises ValueError: it is invalid."""
    address = ip_address(text.partition("%")[0])
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


def _parts(text: str) -> Iterable[str]:
    return filter(None, (part.strip() for part in text.split(",")))


def not_allowed(real_user: str, user: str) -> str:
    """Return the words in which a NameNode refuses one who may not act for a user."""
    return f"User: {real_user} is not allowed to impersonate {user}"


def is_about_hosts(refusal: str) -> bool:
    """Whether a NameNode refuses the machine, and not the user."""
    return refusal.startswith("Unauthorized connection for super-user")


def whom_to_try(own: str, values: Mapping[str, str] | None) -> tuple[str, bool]:
    """Return for whom a user may try to act to see whether it may at all, and whether a refusal proves that it may not.

    Args:
        own: the short name of the user who is to act.
        values: the NameNode's configuration; None: it is not known.
    """
    if values is None or values.get(_PROVIDER, _DEFAULT_PROVIDER) != _DEFAULT_PROVIDER:
        return _ANYBODY, False
    users, groups = (values.get(f"{PREFIX}{own}.{rule}", "").strip() for rule in ("users", "groups"))
    named = next(iter(_parts(users)), "")
    if _ANY in (users, groups) or not (named or groups):
        return _ANYBODY, True
    return (named, True) if named else (_ANYBODY, False)  # who is in those groups is not known here


def not_from_here(real_user: str, address: str) -> str:
    """Return the words in which it refuses a proxy user from another machine."""
    return f"Unauthorized connection for super-user: {real_user} from IP /{address}"


def refusal(message: str) -> bytes:
    """Return the body of that refusal, as HttpExceptionUtils writes it: 403, `application/json`."""
    name = "org.apache.hadoop.security.authorize.AuthorizationException"
    remote = {"message": message, "exception": name.rpartition(".")[2], "javaClassName": name}
    text = json.dumps({"RemoteException": remote}, indent=2, separators=(",", " : "), ensure_ascii=False)
    return text.encode("utf-8", "replace")
