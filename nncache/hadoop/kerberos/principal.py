"""Names of Kerberos principals, with Hadoop's `_HOST`.

Pure. Source: org.apache.hadoop.security.SecurityUtil and SaslRpcClient.getServerPrincipal of Hadoop 3.4.1 and 3.5.0.
"""

import ipaddress
import re
from dataclasses import dataclass
from typing import Final

HOST: Final = "_HOST"
"""The placeholder of a host name in a configured principal."""

_PRINCIPAL: Final = re.compile(r"([^/@\s]+)(?:/([^/@\s]+))?(?:@([^/@\s]+))?")


@dataclass(frozen=True, slots=True)
class Principal:
    """`service/host@REALM`; host and realm may be absent."""

    service: str  # the first component: a service such as `nn`, or a user's name
    host: str = ""  # the second component; "" if there is none
    realm: str = ""  # "" means the realm of the host, or the default one

    def __str__(self) -> str:
        host = f"/{self.host}" if self.host else ""
        realm = f"@{self.realm}" if self.realm else ""
        return f"{self.service}{host}{realm}"


def parse_principal(text: str) -> Principal:
    """Parse the name of a principal. Raises ValueError: it is invalid; says what is allowed."""
    match = _PRINCIPAL.fullmatch(text)
    if match is None:
        raise ValueError("must be a Kerberos principal such as nncache/_HOST@EXAMPLE.COM")
    service, host, realm = match.groups(default="")
    return Principal(service, host, realm)


def on_host(principal: Principal, host: str) -> Principal:
    """Return the principal with `_HOST` replaced by the host in lower case (SecurityUtil.replacePattern)."""
    if principal.host != HOST:
        return principal
    return Principal(principal.service, host.lower(), principal.realm)


def expected_server(configured: Principal | None, address_host: str, named: Principal) -> Principal:
    """Return the principal that a ticket is requested for, given the principal `named` that the server claims.

    The claim must match the configured principal, whose `_HOST` is the host of the address. A short host name
    there matches the same name in any domain, and an IP address matches any host. The configured service and realm
    apply in each case.

    Raises ValueError: the claim does not match.
    """
    if configured is None:
        return named
    is_agreed = configured.service == named.service and _is_host(configured.host, address_host, named.host)
    if not is_agreed or (configured.realm and named.realm and configured.realm != named.realm):
        raise ValueError(f"it calls itself {named}, and {on_host(configured, address_host)} is expected")
    return Principal(named.service, named.host, configured.realm)


def _is_host(configured: str, address_host: str, host: str) -> bool:
    host = host.lower()
    if configured != HOST:
        return configured.lower() == host
    return _is_ip(address_host) or host == address_host.lower() or host.startswith(f"{address_host.lower()}.")


def _is_ip(host: str) -> bool:
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True
