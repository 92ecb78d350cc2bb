"""Judge this host's limits and files, and settings that contradict each other.

Pure.
"""

from collections.abc import Iterator
from typing import Final

from nncache.admin.access import is_loopback
from nncache.checks.facts import CheckFacts
from nncache.checks.finding import Finding, failed, ok, skipped, warning
from nncache.hadoop.kerberos.advice import is_about_kdc
from nncache.hadoop.kerberos.principal import HOST
from nncache.hadoop.server_kind import ServerKind
from nncache.settings.commands import SettingsOfProxy

_OWN: Final = {
    ("proxy", "listen"): ServerKind.PROXY,
    ("proxy", "tls_listen"): ServerKind.TLS,
    ("proxy", "admin"): ServerKind.PROXY_ADMIN,
    ("publisher", "admin"): ServerKind.PUBLISHER_ADMIN,
}
"""The kind of server at an address of a daemon that is already running."""

_MINUTE_S: Final = 60.0
_DAY_S: Final = 86_400.0
_TICKET_ENDS_S: Final = 3_600.0
_CERTIFICATE_ENDS_DAYS: Final = 14  # as the alert NncacheCertificateEnds

_PROXIES_STALENESS_S: Final = 3.0
"""The default of max_staleness_s."""


def limits(facts: CheckFacts) -> Iterator[Finding]:
    """Judge whether the limit of open files fits the connections."""
    if not isinstance(facts.subject.settings, SettingsOfProxy):
        yield skipped("a publisher has few connections")
    elif facts.host.limits:
        yield failed(
            facts.host.limits,
            "raise LimitNOFILE= of its systemd unit (ulimit -Hn), or set what is named here",
        )
    else:
        yield ok(
            f"{facts.subject.settings.limits.max_connections} client connections fit the limit of open files"
        )


def listen(facts: CheckFacts) -> Iterator[Finding]:
    """Judge whether the addresses on which the daemon listens are free."""
    subject = facts.subject
    for key, endpoint in subject.endpoints.items():
        why = facts.host.bound.get(key, "")
        user = facts.host.users.get(key)
        own = _OWN[subject.command, key]
        is_own = user is not None and user.kind is own
        if key == "tls_listen":  # whose TLS port it is, the port beside it says
            plain = facts.host.users.get("listen")
            is_own = is_own and plain is not None and plain.kind is ServerKind.PROXY
        text = f"{key} {endpoint}"
        if not why:
            yield ok(f"{text} is free")
        elif is_own:
            yield ok(f"{text} {own.value} that is running: stop it before another one starts there")
        elif user is not None and user.kind is not None:
            yield failed(
                f"{text} is taken: it {user.kind.value}" + (f" ({user.name})" if user.name else ""),
                f"set {subject.at(key)} to another port, or stop that server",
            )
        else:
            yield failed(
                f"{text} cannot be listened on: {why}",
                f"set {subject.at(key)} to an address of this host and a port that this user may open",
            )


def access(facts: CheckFacts) -> Iterator[Finding]:
    """Judge the token files of the admin port, the files of logs, and a class that is not part of nncache."""
    admin = facts.subject.settings.admin
    where = " and ".join(filter(None, (admin.admin_token_file, admin.admin_reader_token_file)))
    if facts.host.token:
        key = facts.host.token.partition(":")[0]
        yield failed(facts.host.token, f"correct {facts.subject.at(key)}")
    else:
        yield ok(
            f"the tokens in {where} can be read"
            if where
            else "operators' pages answer this host only (no token)"
        )
    yield from _in_clear(facts)
    if facts.host.logs:
        yield failed(facts.host.logs, f"correct {facts.subject.at(facts.host.logs.partition(':')[0])}")
    for key, trouble in facts.host.classes.items():
        yield (
            failed(trouble, f"correct {facts.subject.at(key)}")
            if trouble
            else ok(f"the class of {key} can be loaded")
        )


def _in_clear(facts: CheckFacts) -> Iterator[Finding]:
    """Judge whether the token crosses the network in the clear."""
    subject = facts.subject
    admin, at = subject.settings.admin, subject.endpoints["admin"]
    is_this_host = at.host == "localhost" or is_loopback(at.host)
    if (
        (admin.admin_token_file or admin.admin_reader_token_file)
        and not admin.admin_tls_certificate
        and not is_this_host
    ):
        yield warning(
            f"the admin port {at} takes the token in plain HTTP: who sees one request on the network can use it",
            f"set {subject.at('admin_tls_certificate')} and {subject.at('admin_tls_key')}, or "
            f"{subject.at('admin')} to a loopback address",
        )


def identity(facts: CheckFacts) -> Iterator[Finding]:
    """Judge the service's own Kerberos identity: its settings, its ticket, and whether servers require one."""
    subject = facts.subject
    if facts.host.identity:
        key = facts.host.identity.partition(":")[0]
        yield failed(facts.host.identity, f"correct {subject.at(key)}")
    elif facts.lacks_login or facts.silent_kdc():
        yield failed(facts.host.login or facts.silent_kdc(), _how_to_log_in(facts))
    elif lacking := tuple(_lacking_identity(facts)):
        yield failed(
            f"no Kerberos identity is given, and {' and '.join(lacking)}",
            "give nncache an identity of its own: --principal and --keytab (docs/security.md)",
        )
    elif others := [found.rpc_silence for found in facts.namenodes.values() if found.is_another]:
        yield failed(
            others[0],
            f"correct {subject.at('namenode_principal')}: dfs.namenode.kerberos.principal of that NameNode is right",
        )
    elif (left_s := facts.host.ticket_left_s) is not None and left_s < _TICKET_ENDS_S:
        yield warning(
            f"the ticket in {subject.kerberos.ticket_cache} ends in {left_s / _MINUTE_S:.0f} minutes, and is renewed "
            "by another program, or not at all",
            f"see that one does (k5start -a -K 60), or set {subject.at('keytab')} in place of ticket_cache",
        )
    elif subject.kerberos.has_identity:
        yield ok(f"there is a ticket: NameNodes are asked as {subject.who}")
    else:
        yield ok(f"no Kerberos identity is given: NameNodes are asked as user {subject.user} (SIMPLE)")
    if facts.host.services:
        key = facts.host.services.partition(":")[0]
        yield failed(facts.host.services, f"correct {subject.at(key)}")


def _how_to_log_in(facts: CheckFacts) -> str:
    """Return the login command that must succeed on this host first, and the keys that may be wrong."""
    kerberos, at = facts.subject.kerberos, facts.subject.at
    if kerberos.ticket_cache:
        return f"klist -c {kerberos.ticket_cache} must show a ticket that holds; else correct {at('ticket_cache')}"
    principal = kerberos.principal.replace(HOST, "$(hostname -f)")
    tried = f"kinit -k -t {kerberos.keytab} {principal} must succeed on this host"
    if is_about_kdc(facts.host.login or facts.silent_kdc()):
        return f"{tried}: until then see to the KDC and to krb5.conf, not to the settings"
    return f"correct {at('principal')}, or {at('keytab')}: {tried}"


def _lacking_identity(facts: CheckFacts) -> Iterator[str]:
    """Yield the servers that require Kerberos, if this service has no identity."""
    for each, found in facts.namenodes.items():
        if facts.web_wants_kerberos(each):
            yield f"{each.http} asks for Kerberos (WWW-Authenticate: {found.challenge})"
        if facts.rpc_wants_kerberos(each):
            yield f"{each.rpc} takes no SIMPLE authentication"


def certificates(facts: CheckFacts) -> Iterator[Finding]:
    """Judge this daemon's server certificates."""
    if not facts.host.certificates:
        yield skipped("no certificate is given: this daemon serves plain HTTP")
    for key, found in facts.host.certificates.items():
        days = found.left_s / _DAY_S
        if found.fault:
            wrong = found.fault.partition(":")[0]
            yield failed(found.fault, f"correct {facts.subject.at(wrong)}")
        elif days < _CERTIFICATE_ENDS_DAYS:
            yield warning(
                f"the certificate of {key} ends in {days:.0f} days",
                f"put a new one in place of {facts.subject.at(key)}: a running daemon takes it up",
            )
        else:
            yield ok(f"the certificate of {key} holds for {days:.0f} days")


def staleness(facts: CheckFacts) -> Iterator[Finding]:
    """Judge whether the intervals let changes arrive within `max_staleness_s`."""
    settings, subject = facts.subject.settings, facts.subject
    if not isinstance(settings, SettingsOfProxy):
        interval_s = settings.publisher.coverage_interval_s
        if 2 * interval_s > _PROXIES_STALENESS_S:
            yield warning(
                f"coverage_interval_s is {interval_s:g}: proxies whose max_staleness_s is {_PROXIES_STALENESS_S:g} "
                "(the default) forward all calls most of the time",
                f"set {subject.at('coverage_interval_s')} to 0.5, its default",
            )
        else:
            yield ok(f"coverage is published every {interval_s:g} s")
        return
    bound_s = settings.cache.max_staleness_s
    steps = {"poll_interval_s": settings.polling.poll_interval_s} if subject.reads_edits else {}
    if len(subject.namenodes) > 1 or subject.zookeeper is not None:
        steps["namenode_probe_interval_s"] = settings.namenodes.namenode_probe_interval_s
    slow = {key: value for key, value in steps.items() if 2 * value > bound_s}
    for key, value in slow.items():
        yield warning(
            f"max_staleness_s is {bound_s:g} and {key} is {value:g}: between two of these the gate is closed, and "
            "calls are forwarded",
            f"set {subject.at('max_staleness_s')} to {max(3.0, 3 * value):g}, or {subject.at(key)} to "
            f"{bound_s / 3:.3g}",
        )
    if not slow:
        yield ok(f"changes can be known within max_staleness_s, {bound_s:g} s")
