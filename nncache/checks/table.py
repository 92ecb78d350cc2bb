"""The checks, one row each. `nncache check` and the page check.md, which only the site has, are made from them."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias

from nncache.checks import (
    about_addresses,
    about_configuration,
    about_host,
    about_journal,
    about_namenodes,
    about_paths,
    about_registry,
    about_zookeeper,
)
from nncache.checks.facts import CheckFacts
from nncache.checks.finding import CheckVerdict, Finding, skipped

Judge: TypeAlias = Callable[[CheckFacts], Iterable[Finding]]

SETTINGS: Final = "settings"
"""The check before all others: without valid settings there is nothing to check."""


@dataclass(frozen=True, slots=True)
class Check:
    """One check.

    Attributes:
        name: the printed name.
        meaning: what the check requires, and what it covers.
        judge: makes the findings from the facts.
        needs_login: whether the check is skipped if the Kerberos identity cannot be used, which `identity` reports.
    """

    name: str
    meaning: str
    judge: Judge
    needs_login: bool = False


CHECKS: Final = (
    Check(
        "limits",
        "The process may open as many files as `max_connections` and `upstream_connections` need (proxy).",
        about_host.limits,
    ),
    Check(
        "listen",
        "`listen`, `tls_listen` and `admin` are free. A daemon that runs at its own address already is no fault; "
        "any other server there is named.",
        about_host.listen,
    ),
    Check(
        "access",
        "`admin_token_file` can be read, and its token does not cross a network in the clear; `access_log` and "
        "`audit_log` can be appended to; a class that `channel` or `output_stream` names can be loaded.",
        about_host.access,
    ),
    Check(
        "identity",
        "The KDC gives a ticket, if a Kerberos identity is given; a NameNode that asks for Kerberos where none is "
        "given, or is another than `namenode_principal`, is named. gssapi is installed, `keytab` is readable for its "
        "owner alone, a ticket in `ticket_cache` holds for an hour or more, `spnego_keytab` has the key of each "
        "`spnego_principal`, `cookie_secret_file` has secrets, and `zookeeper_sasl` has what it needs. `namenode_ca` "
        "and `zookeeper_ca` hold certificates. Where this fails, the checks that need a login are skipped.",
        about_host.identity,
    ),
    Check(
        "certificates",
        "The certificates of `tls_certificate` and `admin_tls_certificate` can be used with their keys, which only "
        "this process's user may read, and hold for 14 days or more.",
        about_host.certificates,
    ),
    Check(
        "staleness",
        "Changes can become known within `max_staleness_s`: the intervals of polls, probes and coverage fit into it.",
        about_host.staleness,
    ),
    Check(
        "addresses",
        "Each address resolves, something answers there, and it is the kind of server that the key wants: a "
        "NameNode's HTTP port (HTTPS with `namenode_tls`, with a certificate that is trusted), a Hadoop RPC port, a "
        "ZooKeeper (a secure port with `zookeeper_tls`). Swapped ports, TLS ports, plain ports where TLS is wanted, an "
        "nncache proxy or admin port are named.",
        about_addresses.addresses,
    ),
    Check(
        "authentication",
        "The NameNodes' web and RPC servers accept the service as it shows who it is: by `user` (SIMPLE), or by "
        "`principal` (Kerberos). With a principal, a web server that believes any name is named with the key to set.",
        about_namenodes.authentication,
        needs_login=True,
    ),
    Check(
        "jmx",
        "`/jmx` says what nncache asks for. Whether it also answers without a name is for information only.",
        about_namenodes.jmx,
        needs_login=True,
    ),
    Check(
        "states",
        "Exactly one NameNode is active, and `namenode_http` and `namenode_rpc` name the NameNodes in one order, by "
        "the state that each gives over HTTP and over RPC.",
        about_namenodes.states,
        needs_login=True,
    ),
    Check("rpc", "The RPC addresses answer as NameNodes do.", about_namenodes.rpc, needs_login=True),
    Check(
        "namespace",
        "All addresses lead to one namespace (block pool and cluster id), over HTTP and over RPC.",
        about_namenodes.namespaces,
        needs_login=True,
    ),
    Check(
        "impersonation",
        "With `spnego_principal`: the NameNodes let `principal` act for others (`hadoop.proxyuser.NAME.hosts`, "
        "`.groups` and `.users`), as one call with `doas` shows.",
        about_namenodes.impersonation,
        needs_login=True,
    ),
    Check(
        "user",
        "The NameNodes know `user`: they find it in a group, as `hdfs groups` shows.",
        about_namenodes.user,
        needs_login=True,
    ),
    Check(
        "edits",
        "`user` may read the edits (`getEditsFromTxid`), which needs a superuser of HDFS. A proxy that follows a "
        "publisher needs no such right.",
        about_namenodes.edits,
        needs_login=True,
    ),
    Check(
        "retention",
        "The NameNodes keep edits long enough for a reader that was stopped (`dfs.namenode.num.extra.edits.retained`, "
        "as `/conf` gives it).",
        about_configuration.retention,
        needs_login=True,
    ),
    Check(
        "proxyservers",
        "The NameNodes list this host in `hadoop.proxyservers`, so that their audit log and `doas` rules see "
        "the client's address. Whether a running NameNode believes it cannot be asked; its audit log shows it (proxy).",
        about_configuration.proxy_servers,
        needs_login=True,
    ),
    Check(
        "clock",
        "How far the clocks of the NameNodes are from ours. For information only: the gate uses the "
        "proxy's own clock alone.",
        about_namenodes.clock,
        needs_login=True,
    ),
    Check(
        "zookeeper",
        "ZooKeeper grants a session and lets `zookeeper_root` be read.",
        about_zookeeper.session,
    ),
    Check(
        "acls",
        "With `zookeeper_sasl` or `zookeeper_certificate`: clients that have not logged in can neither change nor read "
        "what is published in ZooKeeper.",
        about_zookeeper.acls,
    ),
    Check(
        "nameservice",
        "The nameservice is published in ZooKeeper, for the namespace of these NameNodes; else those that exist are "
        "listed.",
        about_zookeeper.nameservice,
    ),
    Check(
        "publisher",
        "A publisher is running, and `.cache` keeps up with the NameNode (proxy); or whether another one is "
        "running (publisher).",
        about_zookeeper.publisher,
    ),
    Check(
        "journalnodes",
        "With `edits_source` journalnodes or auto: a majority of the JournalNodes of `shared_edits_dir` answers, "
        "keeps this journal of this namespace, lets this service read, and has `dfs.ha.tail-edits.in-progress` on. "
        "Their caches of edits hold 16 MiB or more.",
        about_journal.journalnodes,
        needs_login=True,
    ),
    Check(
        "directory",
        "With `edits_source` directory or auto: `edits_dir` is of this namespace, and this OS user may read it.",
        about_journal.directory,
    ),
    Check(
        "registry",
        "With `registry`: ZooKeeper answers, `registry_root` is there, and its ACLs let this daemon make its entry and "
        "others change nothing.",
        about_registry.registry,
    ),
    Check(
        "registered",
        "The host that is registered can be reached by other hosts. The entry of this daemon is its own; it is there "
        "while the daemon runs, and else it is not.",
        about_registry.registered,
    ),
    Check(
        "stale",
        "A daemon answers at each address that others have registered for daemons of nncache.",
        about_registry.stale,
    ),
    Check(
        "globs",
        "Globs are given, and none matches less than it seems to (`**` is one level in Hadoop). Proxy "
        "without ZooKeeper.",
        about_paths.globs,
    ),
    Check(
        "filters",
        "Filters can be read and there are some; broken ones and globs with `**` are named.",
        about_paths.filters,
    ),
    Check(
        "read",
        "One GETFILESTATUS of `/` as `user` at the active NameNode answers 200.",
        about_namenodes.read,
        needs_login=True,
    ),
    Check(
        "through",
        "The same through a proxy that already runs at `listen`; it leaves no trace in its cache.",
        about_namenodes.through,
        needs_login=True,
    ),
)
"""In the order in which they are printed: a check that explains failures of others precedes them."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The findings of one check; `namespace` names its subject if there are several namespaces."""

    check: str
    findings: tuple[Finding, ...]
    namespace: str = ""


def judged(facts: CheckFacts, namespace: str = "") -> tuple[CheckResult, ...]:
    """Return the result of each check; `namespace` names the subject if there are several namespaces."""
    return tuple(CheckResult(check.name, _findings(check, facts), namespace) for check in CHECKS)


def _findings(check: Check, facts: CheckFacts) -> tuple[Finding, ...]:
    if check.needs_login and facts.lacks_login:
        return (skipped("of identity"),)
    return tuple(check.judge(facts))


def exit_code(results: Iterable[CheckResult], *, strict: bool) -> int:
    """Return 1 if a finding failed (with `strict` also for a warning), else 0."""
    bad = {CheckVerdict.FAILED, CheckVerdict.WARNING} if strict else {CheckVerdict.FAILED}
    return int(any(finding.verdict in bad for result in results for finding in result.findings))
