"""Judge the entries of a daemon and of others in the service registry.

Pure.
"""

from collections.abc import Callable, Iterator
from functools import wraps
from ipaddress import ip_address
from typing import Final

from nncache.checks.about_zookeeper import rights_of_strangers
from nncache.checks.facts import CheckFacts, RegistryFound
from nncache.checks.finding import Finding, failed, ok, skipped, warning
from nncache.coordination.acl import CHANGES, ZnodePerms
from nncache.hadoop.server_kind import ServerKind
from nncache.net.some_names import some_names
from nncache.registry.addresses import authorities_of, place_of

_OURS: Final = frozenset(
    {ServerKind.PROXY, ServerKind.PROXY_ADMIN, ServerKind.PUBLISHER_ADMIN, ServerKind.TLS}
)
"""The kinds of servers at a daemon of nncache; a TLS port is not identified further."""


def _if_asked(
    judge: Callable[[CheckFacts, RegistryFound], Iterator[Finding]],
) -> Callable[[CheckFacts], Iterator[Finding]]:
    """Skip the check if the daemon does not register, or if no ZooKeeper answers."""

    @wraps(judge)
    def judged(facts: CheckFacts) -> Iterator[Finding]:
        if not facts.subject.registers:
            yield skipped("this daemon does not register (registry)")
        elif facts.registry is None:
            yield skipped("no ZooKeeper answers")
        else:
            yield from judge(facts, facts.registry)

    return judged


@_if_asked
def registry(facts: CheckFacts, found: RegistryFound) -> Iterator[Finding]:
    """Judge whether the registry exists, and whether this daemon may write it and strangers may not."""
    root = facts.subject.settings.registry.registry_root
    if found.silence:
        yield failed(
            f"the registry could not be read: {found.silence}",
            "see that the ensemble has a leader (srvr), and that its ACLs let this host read "
            f"{root} ({facts.subject.at('registry_root')})",
        )
        return
    if not found.acls:
        yield warning(
            f"there is no {root} in ZooKeeper: this daemon would make it, and clients that look elsewhere miss it",
            f"set {facts.subject.at('registry_root')} to the registry's root (hadoop.registry.zk.root), or make it: "
            "nncache registry mknode --parents /services",
        )
        return
    wrong = tuple(_wrong_acls(facts, found))
    yield from wrong
    if not wrong:
        yield ok(f"{root} can be read; {len(found.acls)} entries from there to this daemon's seen")


def _wrong_acls(facts: CheckFacts, found: RegistryFound) -> Iterator[Finding]:
    settings, at = facts.subject.settings, facts.subject.at
    if not settings.registry.registry_secure:
        lowest = [*found.acls][-1]
        may_write = (
            settings.zookeeper.has_identity or rights_of_strangers(found.acls[lowest]) & ZnodePerms.CREATE
        )
        if lowest != found.path and not may_write:
            yield failed(
                f"the ACL of {lowest} lets no client make entries that has not logged in: this daemon cannot register",
                f"set {at('registry_secure')} and {at('zookeeper_sasl')}",
            )
        return
    for path, acl in found.acls.items():
        faults = [*settings.registry.access.faults(path, acl)]
        if faults and rights_of_strangers(acl) & CHANGES:
            yield failed(
                f"{path}: {'; '.join(faults)}: strangers can send clients elsewhere",
                f"set its ACL as a system account (setAcl of ZooKeeper's zkCli.sh), or correct "
                f"{at('registry_system_accounts')}",
            )
        elif faults:
            yield warning(
                f"{path}: {'; '.join(faults)}",
                f"set its ACL, or correct {at('registry_system_accounts')}; nncache registry check names all such",
            )


@_if_asked
def registered(facts: CheckFacts, found: RegistryFound) -> Iterator[Finding]:
    """Judge the registered host of this daemon, and its entry."""
    yield from _host(facts, found)
    if found.silence:
        yield skipped("the registry could not be read")
    elif not found.path:
        yield skipped("the port, and with it the name of the entry, is chosen at the start")
    else:
        yield _entry(facts, found)


def _host(facts: CheckFacts, found: RegistryFound) -> Iterator[Finding]:
    at = facts.subject.at("registry_host")
    if not found.hosts:
        yield failed(
            f"{found.host} is registered, and cannot be resolved",
            f"set {at} to a name or an address by which clients reach this host",
        )
    elif all(ip_address(each.partition("%")[0]).is_loopback for each in found.hosts):
        yield warning(
            f"{found.host} is registered, which is {', '.join(found.hosts)}: no other host can reach it",
            f"set {at} to a name or an address by which clients reach this host",
        )


def _entry(facts: CheckFacts, found: RegistryFound) -> Finding:
    key, kind = (
        ("listen", ServerKind.PROXY)
        if facts.subject.command == "proxy"
        else ("admin", ServerKind.PUBLISHER_ADMIN)
    )
    running = facts.host.users.get(key)
    is_running = running is not None and running.kind is kind
    if found.fault:
        return warning(
            f"{found.path} holds no record that can be read: {found.fault}",
            "this daemon replaces it when it starts; see who wrote it",
        )
    if found.record is not None and _spelled(found.at) not in authorities_of(found.record):
        what = found.record.description or "no description"
        return failed(
            f"{found.path} is bound to another service ({what}), not to {found.at}: the two replace each other's entry",
            f"give one of them another {facts.subject.at('registry_host')} or port, or remove the entry: "
            f"nncache registry rm {found.path}",
        )
    if is_running and found.record is None:
        return failed(
            f"a {facts.subject.command} runs at {key}, but there is no {found.path}: clients do not find it",
            "see its log for `not registered`; it registers only if it was started with registry",
        )
    if not is_running and found.record is not None:
        return warning(
            f"{found.path} is registered, but no {facts.subject.command} runs at {key}: clients try it in vain",
            f"start it, which replaces the entry, or remove it: nncache registry rm {found.path}",
        )
    if found.record is None:
        return ok(f"{found.path} is free")
    return ok(f"{found.path} leads to {found.at}")


def _spelled(at: str) -> str:
    """Return host:port in the form that a record's address has."""
    place = place_of({"uri": f"http://{at}/"})
    return at if place is None else place.authority


@_if_asked
def stale(_: CheckFacts, found: RegistryFound) -> Iterator[Finding]:
    """Judge the entries of other daemons by the servers that answer there."""
    gone = [
        f"{path} ({contact.address}{_instead(contact.kind)})"
        for path, contact in found.others.items()
        if contact.kind not in _OURS
    ]
    if gone:
        yield warning(
            f"no daemon of nncache answers from here for {some_names(gone)}: clients try them in vain",
            "start them again, or remove what is not coming back: nncache registry rm PATH",
        )
    else:
        yield ok(f"{len(found.others)} other daemons are registered, and all answer")


def _instead(kind: ServerKind | None) -> str:
    return "" if kind is None else f", which {kind.value}"
