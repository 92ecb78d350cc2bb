"""Judge the servers at the addresses of the settings.

Pure.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from nncache.checks.facts import CheckFacts, Contact, Trouble
from nncache.checks.finding import Finding, failed, ok, skipped, warning
from nncache.hadoop.server_kind import ServerKind
from nncache.net.addresses import split_address
from nncache.net.endpoint import ListenAddress

_RIGHT: Final[Mapping[str, str]] = {
    "namenode_http": "the NameNode's HTTP address (dfs.namenode.http-address, port 9870 by default)",
    "namenode_rpc": "the NameNode's RPC address (dfs.namenode.rpc-address, port 8020 by default)",
    "zookeeper": "the client address of a ZooKeeper server (clientPort, 2181 by default)",
}
_WANTED: Final[Mapping[str, frozenset[ServerKind]]] = {
    "namenode_http": frozenset({ServerKind.NAMENODE_HTTP, ServerKind.LOCKED_HTTP}),
    "namenode_rpc": frozenset({ServerKind.HADOOP_RPC}),
    "zookeeper": frozenset({ServerKind.ZOOKEEPER}),
}
_HTTPS: Final = "the NameNode's HTTPS address (dfs.namenode.https-address, port 9871 by default)"
"""The right address for `namenode_http` with `namenode_tls`."""

_NO_TLS: Final = "the server must also have a plain port, as with dfs.http.policy HTTP_AND_HTTPS"
_SECURE_PORT: Final = frozenset({ServerKind.TLS})
"""The kind wanted in `zookeeper` with `zookeeper_tls`; the protocol inside TLS shows in the check of the session."""

_WILDCARDS: Final = frozenset({"0.0.0.0", "::"})  # noqa: S104 - recognised, not listened on
_LOOPBACK: Final = frozenset({"127.0.0.1", "::1"})


def addresses(facts: CheckFacts) -> Iterator[Finding]:
    """Judge each address: it resolves, a server answers, and the server is of the wanted kind."""
    names = facts.subject.names
    if exchange := _exchanged(facts):
        yield exchange
    yield from _list(facts, "namenode_http", names.namenode_http, is_exchanged=exchange is not None)
    yield from _list(facts, "namenode_rpc", names.namenode_rpc, is_exchanged=exchange is not None)
    if facts.subject.asked_zookeeper is not None:
        yield from _list(facts, "zookeeper", facts.subject.asked_zookeeper.zookeeper)


def _exchanged(facts: CheckFacts) -> Finding | None:
    """Return a finding if the two lists of NameNodes are swapped."""
    names, at = facts.subject.names, facts.subject.at
    if not all(facts.has_kind(each, ServerKind.HADOOP_RPC) for each in names.namenode_http):
        return None
    if not all(facts.has_kind(each, ServerKind.NAMENODE_HTTP) for each in names.namenode_rpc):
        return None
    http, rpc = ",".join(names.namenode_rpc), ",".join(names.namenode_http)
    return failed(
        f"namenode_http {rpc} is a Hadoop RPC port, namenode_rpc {http} is the HTTP port of a NameNode: they are "
        "swapped",
        f"set {at('namenode_http')} to {http} and {at('namenode_rpc')} to {rpc}",
    )


def _list(
    facts: CheckFacts, key: str, listed: tuple[str, ...], *, is_exchanged: bool = False
) -> Iterator[Finding]:
    works = any(facts.has_kind(address, *_wanted(facts, key)) for address in listed)
    for address in listed:
        contact = facts.contacts.get(address)
        if contact is None:
            yield skipped(f"{key} {address} was not looked at in time")
        elif not is_exchanged:
            yield _one(facts, key, contact, has_others=works)


def _wanted(facts: CheckFacts, key: str) -> frozenset[ServerKind]:
    """Return the kinds of servers that may answer at the addresses of this key."""
    return _SECURE_PORT if key == "zookeeper" and _is_secure(facts) else _WANTED[key]


def _is_secure(facts: CheckFacts) -> bool:
    settings = facts.subject.asked_zookeeper
    return settings is not None and settings.zookeeper_tls


def _one(facts: CheckFacts, key: str, contact: Contact, *, has_others: bool) -> Finding:
    """Judge one address; `has_others`: another address of the same list is right."""
    subject, address = facts.subject, contact.address
    is_https = key == "namenode_http" and subject.settings.namenode_tls.namenode_tls
    replace = f"in {subject.at(key)}, replace {address} by {_HTTPS if is_https else _RIGHT[key]}"
    if key == "namenode_http" and _is_own(contact, subject.endpoints.get("listen")):
        return failed(f"{key} {address} is the address on which this proxy itself listens", replace)
    if contact.trouble is not None:
        text = f"{key} {address} {contact.trouble.value}: {contact.why}"
        if contact.trouble is Trouble.UNTRUSTED:
            return failed(
                text,
                f"correct {subject.at('namenode_ca')}, the certificate, or the name in {subject.at(key)}",
            )
        if has_others and contact.trouble is not Trouble.UNRESOLVED:
            return warning(f"{text}; others of the list answer", f"start that server, or {replace}")
        if contact.trouble is Trouble.UNRESOLVED:
            return failed(text, replace)
        return failed(text, f"start that server, open the way to it, or {replace}")
    return _of_kind(facts, key, contact, replace)


def _of_kind(facts: CheckFacts, key: str, contact: Contact, replace: str) -> Finding:
    """Judge the kind of the server; `replace` is the remedy that names another server."""
    subject = facts.subject
    is_https = key == "namenode_http" and subject.settings.namenode_tls.namenode_tls
    assert contact.kind is not None, "connected, and not recognised"
    text = f"{key} {contact.address} {contact.kind.value}" + (f" ({contact.name})" if contact.name else "")
    if contact.kind in _wanted(facts, key):
        return ok(text)
    if key == "zookeeper" and contact.kind in {ServerKind.TLS, ServerKind.ZOOKEEPER}:
        return failed(text, _other_port(facts, contact.address))
    if contact.kind is ServerKind.TLS:
        if key == "namenode_http" and not is_https:
            return failed(
                text,
                f"set {subject.at('namenode_tls')} to true, and {subject.at('namenode_ca')} to the PEM file of the "
                f"authority that signed its certificate; or {replace}; {_NO_TLS}",
            )
        return failed(text, replace)
    if contact.kind is ServerKind.PLAIN_HTTP:
        return failed(text, f"{replace}, or set {subject.at('namenode_tls')} to false")
    match contact.kind:
        case ServerKind.PROXY:
            remedy = f"{replace}: the NameNode itself, not a proxy in front of it"
        case ServerKind.SILENT:
            remedy = f"see whether that server hangs, or {replace}"
        case _:
            remedy = replace
    return failed(text, remedy)


def _other_port(facts: CheckFacts, address: str) -> str:
    """Return the remedy for a plain port of ZooKeeper where a secure one is wanted, or the other way round."""
    at = facts.subject.at
    if _is_secure(facts):
        return (
            f"in {at('zookeeper')}, replace {address} by that server's secureClientPort, or set {at('zookeeper_tls')} "
            "to false"
        )
    return (
        f"if that is a secureClientPort of ZooKeeper, set {at('zookeeper_tls')} to true and {at('zookeeper_ca')} to "
        f"the PEM file of the authority that signed its certificate; else, in {at('zookeeper')}, replace {address} by "
        f"{_RIGHT['zookeeper']}"
    )


def _is_own(contact: Contact, endpoint: ListenAddress | None) -> bool:
    """Tell whether a connection to this address reaches this daemon itself."""
    if endpoint is None or endpoint.port == 0:
        return False
    host, port = split_address(contact.address)
    hosts = {host, *contact.hosts}
    is_ours = endpoint.host in hosts or (endpoint.host in _WILDCARDS and bool(hosts & _LOOPBACK))
    return port == endpoint.port and is_ours
