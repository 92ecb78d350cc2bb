"""Judge the NameNodes' answers about themselves.

Pure.
"""

from collections.abc import Iterator
from http import HTTPStatus
from typing import Final

from nncache.checks.facts import CheckFacts, NameNodeFound, RootStatus
from nncache.checks.finding import Finding, failed, ok, skipped, warning
from nncache.hadoop.election_view import HaState, NameNode
from nncache.hadoop.kerberos.advice import is_about_kdc
from nncache.hadoop.paths import ROOT
from nncache.hadoop.server_kind import ServerKind

_NOT_ASKED: Final = "no NameNode answers over HTTP"
_IDENTITY: Final = "of identity"
"""The reason to skip a check whose fault the check `identity` reports."""

_REDIRECTS: Final = frozenset({HTTPStatus.FOUND, HTTPStatus.SEE_OTHER, HTTPStatus.TEMPORARY_REDIRECT})


def authentication(facts: CheckFacts) -> Iterator[Finding]:
    """Judge whether the web servers and the RPC servers accept the identity of this service."""
    asked = is_blamed = False
    for namenode in facts.subject.namenodes:
        found = facts.found(namenode)
        is_of_login = facts.web_wants_kerberos(namenode) or is_about_kdc(found.silence)
        is_blamed |= is_of_login or facts.rpc_wants_kerberos(namenode)
        if found.named_status and not is_of_login:
            asked = True
            if facts.subject.kerberos.has_identity:
                yield _kerberized_web(facts, namenode, found)
            else:
                yield _simple_web(namenode, found, facts.subject.user)
    if not asked:
        yield skipped(_IDENTITY if is_blamed else _NOT_ASKED)


def _kerberized_web(facts: CheckFacts, namenode: NameNode, found: NameNodeFound) -> Finding:
    """Judge a web server that should require Kerberos: otherwise it trusts any user name."""
    challenge = found.challenge.lower()
    if found.named_status == HTTPStatus.OK and not facts.subject.kerberos.fallback_to_simple_auth_allowed:
        return failed(
            f"{namenode.http} believes user.name={facts.subject.user} without Kerberos, and so any other name",
            "set hadoop.http.authentication.type=kerberos in core-site.xml of that NameNode, with "
            "hadoop.http.authentication.kerberos.principal and .keytab; until then nothing is answered from memory",
        )
    if found.named_status == HTTPStatus.UNAUTHORIZED and "negotiate" not in challenge:
        return failed(
            f"{namenode.http} answers 401 and asks for: {found.challenge or 'nothing known'}",
            "let it ask for Kerberos: hadoop.http.authentication.type=kerberos",
        )
    if found.answer is None:
        return failed(
            f"{namenode.http} does not answer {facts.subject.who} over HTTP: {found.silence}",
            "see that its principal HTTP/HOST has the host name by which namenode_http calls it",
        )
    return ok(f"{namenode.http} asks for Kerberos and accepts {facts.subject.who}")


def _simple_web(namenode: NameNode, found: NameNodeFound, user: str) -> Finding:
    simple = (
        "set hadoop.http.authentication.type=simple or kerberos on that NameNode; nncache supports no other"
    )
    match found.named_status:
        case HTTPStatus.OK:
            return ok(f"{namenode.http} takes user.name={user} by its word (SIMPLE)")
        case HTTPStatus.UNAUTHORIZED:
            return failed(
                f"{namenode.http} answers 401 and asks for: {found.challenge or 'nothing known'}", simple
            )
        case HTTPStatus.FORBIDDEN:
            return failed(
                f"{namenode.http} refuses /jmx to {user} (403)",
                "name a user who may see it: dfs.cluster.administrators, where "
                "hadoop.security.instrumentation.requires.admin is set",
            )
        case status if status in _REDIRECTS:
            return failed(
                f"{namenode.http} sends callers to {found.challenge}: a filter for single sign-on", simple
            )
        case status:
            return failed(f"/jmx of {namenode.http} answers {status}", "see the log of that NameNode")


def states(facts: CheckFacts) -> Iterator[Finding]:
    """Judge whether exactly one NameNode is active, and whether both lists have the same order."""
    seen = [(each, found.answer.state) for each, found in facts.namenodes.items() if found.answer is not None]
    at = facts.subject.at
    if not seen:
        silences = [found.silence for found in facts.namenodes.values() if found.silence]
        is_blamed = facts.silent_kdc() or any(map(facts.web_wants_kerberos, facts.namenodes))
        yield skipped(_IDENTITY if is_blamed else "; ".join(silences) or _NOT_ASKED)
        return
    shown = ", ".join(f"{each.http} is {state.name.lower()}" for each, state in seen)
    if wrong := _order(facts):
        yield wrong
    match facts.active:
        case ():
            yield failed(f"no NameNode is active: {shown}", _how_to_find_active(facts))
        case (_,):
            yield ok(shown)
        case _:
            answers = (facts.found(each).answer for each in facts.active)
            spaces = {answer.namespace for answer in answers if answer is not None}
            mixed = f"name the NameNodes of one nameservice only in {at('namenode_http')} and {at('namenode_rpc')}"
            fence = "let HDFS fence the old one: hdfs haadmin -getAllServiceState"
            yield failed(f"several NameNodes are active: {shown}", mixed if len(spaces) > 1 else fence)


def _how_to_find_active(facts: CheckFacts) -> str:
    if len(facts.subject.namenodes) > 1:
        return "make one active: hdfs haadmin -getAllServiceState shows them, hdfs haadmin -failover changes them"
    at = facts.subject.at
    return f"name all NameNodes of the nameservice in {at('namenode_http')} and {at('namenode_rpc')}, in the same order"


def _order(facts: CheckFacts) -> Finding | None:
    """Return a finding if a NameNode has different states over its two addresses."""
    both = [
        (each, found.answer.state, found.rpc_state)
        for each, found in facts.namenodes.items()
        if found.answer is not None and found.rpc_state is not None
    ]
    crossed = [
        (each, http, rpc)
        for each, http, rpc in both
        if http in {HaState.ACTIVE, HaState.STANDBY} and http is not rpc
    ]
    if not crossed:
        return None
    shown = "; ".join(
        f"{each.http} is {http.name.lower()} over HTTP, {each.rpc} is {rpc.name.lower()} over RPC"
        for each, http, rpc in crossed
    )
    where = facts.subject.at("namenode_rpc")
    remedy = f"name in {where} the NameNodes in the order of namenode_http"
    if len(both) == len(facts.subject.namenodes) == 2 == len(crossed):  # noqa: PLR2004 - a pair
        remedy = f"set {where} to {','.join(reversed(facts.subject.names.namenode_rpc))}, the order of namenode_http"
    return failed(f"the lists are not in the same order: {shown}", remedy)


def namespaces(facts: CheckFacts) -> Iterator[Finding]:
    """Judge whether all addresses lead to the same namespace."""
    at, known = facts.subject.at, set()
    both = f"name in {at('namenode_http')} and {at('namenode_rpc')} both addresses of the same NameNode"
    for each, found in facts.namenodes.items():
        over_http = None if found.answer is None else found.answer.namespace
        over_rpc = found.rpc_namespace
        known |= {over_http, over_rpc} - {None}
        if over_http is not None and over_rpc is not None and over_http != over_rpc:
            yield failed(f"{each.http} serves namespace {over_http}, but {each.rpc} serves {over_rpc}", both)
        elif over_http is not None and over_rpc is not None:
            yield ok(f"{each.http} and {each.rpc} serve namespace {over_http}")
        elif over_http is not None or over_rpc is not None:
            why = _IDENTITY.removeprefix("of ") if _is_of_login(facts, each) else ""
            yield skipped(
                f"one address of {each.http}, {each.rpc} does not say which namespace it serves: "
                f"{why or found.rpc_silence or found.silence or 'it was not asked'}"
            )
    served = {
        found.answer.namespace
        for found in facts.namenodes.values()
        if found.answer and found.answer.namespace
    }
    if len(served) > 1:
        named = " and ".join(sorted(map(str, served)))
        yield failed(
            f"the NameNodes serve {named}",
            f"name the NameNodes of one nameservice only in {at('namenode_http')}",
        )
    if not known:
        yield skipped("no NameNode says which namespace it serves")


def rpc(facts: CheckFacts) -> Iterator[Finding]:
    """Judge whether NameNodes answer at the RPC addresses."""
    for each in facts.subject.namenodes:
        found = facts.found(each)
        if not facts.has_kind(each.rpc, ServerKind.HADOOP_RPC):
            yield skipped(f"{each.rpc} is no Hadoop RPC port")
        elif _is_of_login(facts, each):
            yield skipped(_IDENTITY)
        elif found.rpc_state is not None:
            yield ok(f"{each.rpc} answers {facts.subject.who} as a NameNode ({found.rpc_state.name.lower()})")
        else:
            where = facts.subject.at("namenode_rpc")
            yield failed(
                f"{each.rpc} does not answer as a NameNode: {found.rpc_silence or 'not in time'}",
                f"in {where}, replace {each.rpc} by the NameNode's RPC address (dfs.namenode.rpc-address)",
            )


def _is_of_login(facts: CheckFacts, namenode: NameNode) -> bool:
    """Tell whether the identity is the reason for the lack of answers over RPC."""
    found = facts.found(namenode)
    return found.is_another or facts.rpc_wants_kerberos(namenode) or is_about_kdc(found.rpc_silence)


def impersonation(facts: CheckFacts) -> Iterator[Finding]:
    """Judge whether a proxy that authenticates its clients may impersonate them."""
    if not facts.subject.authenticates:
        yield skipped("the NameNodes authenticate the clients (no spnego_principal)")
        return
    asked = [(each, found.trial) for each, found in facts.namenodes.items() if found.trial is not None]
    for each, trial in asked:
        if not trial.refusal:
            yield ok(f"{each.http} lets {trial.name} act for {trial.user}")
        elif trial.is_proof:
            yield failed(
                f"{trial.name} is not allowed to impersonate {trial.user} at {each.http} ({trial.refusal}): calls of "
                "all clients are answered with 403",
                trial.to_do,
            )
        else:
            yield skipped(
                f"{each.http} lets {trial.name} act for some users only, and not for {trial.user}, for whom it was "
                f"tried: see that hadoop.proxyuser.{trial.name}.groups or .users there are those of the clients"
            )
    if not asked:
        yield skipped("no NameNode says whether it lets this service act for others")


def user(facts: CheckFacts) -> Iterator[Finding]:
    """Judge whether the NameNodes know the service's user: a user without groups is often a typing error."""
    name, asked = facts.subject.user, False
    if facts.subject.kerberos.has_identity:
        yield skipped(f"the NameNodes make a user of {facts.subject.who} by hadoop.security.auth_to_local")
        return
    for each, found in facts.namenodes.items():
        if found.groups:
            asked = True
            yield ok(f"{each.rpc} finds {name} in {', '.join(found.groups)}")
        elif found.groups is not None:
            asked = True
            yield warning(
                f"{each.rpc} finds {name} in no group: it does not know this user",
                f"set {facts.subject.at('user')} to a user for whom hdfs groups shows some",
            )
    if not asked:
        yield skipped("no NameNode answers over RPC")


def edits(facts: CheckFacts) -> Iterator[Finding]:
    """Judge whether the service's user may read the edits (getEditsFromTxid), which only a superuser may."""
    if not facts.subject.reads_edits:
        yield skipped("a proxy that follows a publisher reads no edits, and needs no superuser")
        return
    user = facts.subject.who
    where = facts.subject.at("principal" if facts.subject.kerberos.has_identity else "user")
    asked = [
        (each, found)
        for each, found in facts.namenodes.items()
        if found.edits_txid is not None or found.edits_refusal
    ]
    if not asked:
        yield skipped("no NameNode is active over RPC")
    for each, found in asked:
        if found.edits_txid is not None:
            yield ok(f"{user} may read the edits of {each.rpc}; the last transaction is {found.edits_txid}")
        elif found.is_refused:
            group = (found.conf or {}).get("dfs.permissions.superusergroup", "supergroup")
            yield failed(
                f"{user} may not read the edits of {each.rpc}: {found.edits_refusal}",
                f"set {where} to the user whom the NameNode runs as, or add {user} to its group {group}",
            )
        else:
            yield failed(
                f"the edits of {each.rpc} cannot be read: {found.edits_refusal}",
                "see the log of that NameNode",
            )


def jmx(facts: CheckFacts) -> Iterator[Finding]:
    """Judge the answers of /jmx. Report also whether callers without a name get one; nncache sends a name."""
    for each, found in facts.namenodes.items():
        if found.answer is None:
            yield _no_jmx(facts, each, found)
        elif found.anonymous_status == HTTPStatus.OK:
            yield ok(f"/jmx of {each.http} answers callers with and without a name")
        else:
            yield ok(
                f"/jmx of {each.http} answers {facts.subject.who}, as nncache asks; without a name it answers "
                f"{found.anonymous_status or 'nothing'}"
            )
    if not facts.namenodes:
        yield skipped(_NOT_ASKED)


def _no_jmx(facts: CheckFacts, namenode: NameNode, found: NameNodeFound) -> Finding:
    if facts.web_wants_kerberos(namenode) or is_about_kdc(found.silence):
        return skipped(_IDENTITY)
    if not facts.has_kind(namenode.http, ServerKind.NAMENODE_HTTP):
        return skipped(f"{namenode.http} is not the HTTP port of a NameNode that answers")
    return failed(
        f"/jmx of {namenode.http} does not say what nncache asks for: {found.silence}",
        "wait until that NameNode has started",
    )


def clock(facts: CheckFacts) -> Iterator[Finding]:
    """Report the difference of the clocks; nothing depends on it."""
    known = [
        (each, found.clock_ahead_s)
        for each, found in facts.namenodes.items()
        if found.clock_ahead_s is not None
    ]
    for each, ahead_s in known:
        shown = f"{abs(ahead_s):.0f} s {'ahead of' if ahead_s > 0 else 'behind'}"
        yield ok(
            f"the clock of {each.http} is {shown} ours by its Date header (whole seconds); nothing depends on it: "
            "the gate compares no two clocks"
        )
    if not known:
        yield skipped("no NameNode says what time it is (Date of an answer over HTTP)")


def read(facts: CheckFacts) -> Iterator[Finding]:
    """Judge one read as the service's user at each active NameNode."""
    active = facts.active
    if not active:
        yield skipped("no NameNode is active")
    for each in active:
        found = facts.found(each).read
        if found.status == HTTPStatus.OK:
            yield ok(f"GETFILESTATUS of / as {facts.subject.who} at {each.http} answers 200")
        elif found.is_slow:
            yield warning(
                f"GETFILESTATUS of / at {each.http} is slow: {found.says}",
                "check again: the first call of a NameNode that has just started takes seconds; if it stays slow, see "
                "the load and the log of that NameNode",
            )
        else:
            yield failed(
                f"GETFILESTATUS of / as {facts.subject.who} at {each.http} answers {found.status or 'nothing'}: "
                f"{found.says}",
                f"see that {facts.subject.who} may read / (set {facts.subject.at('user')}), and that no filter of the "
                "web server is in the way",
            )


def _asks_for_more(facts: CheckFacts, found: RootStatus) -> bool:
    """Tell whether a proxy's refusal is only about the caller's identity, which other checks judge."""
    if found.status == HTTPStatus.UNAUTHORIZED:
        return any(map(facts.web_wants_kerberos, facts.namenodes))
    is_refused = found.status == HTTPStatus.FORBIDDEN and "impersonate" in found.says
    return is_refused and facts.subject.authenticates


def through(facts: CheckFacts) -> Iterator[Finding]:
    """Judge one read through the proxy that is running at `listen`."""
    found, path = facts.through, facts.subject.mount
    if found is None:
        yield skipped("no nncache proxy runs at listen")
    elif found.status == HTTPStatus.OK:
        yield ok(
            f"GETFILESTATUS of {path} through the running proxy answers 200 (Cache-Status: {found.cache_status})"
        )
    elif _asks_for_more(facts, found):
        yield skipped(
            f"{_IDENTITY}: the running proxy answers 401"
            if found.status == HTTPStatus.UNAUTHORIZED
            else f"the running proxy knows {facts.subject.who}, and cannot ask the NameNode for it: see impersonation"
        )
    elif found.is_slow:
        yield warning(
            f"GETFILESTATUS of {path} through the running proxy is slow: {found.says}",
            "check again; if it stays slow, see its /ready, its log, and the load of the NameNode",
        )
    elif found.status == HTTPStatus.NOT_FOUND and path != ROOT:
        yield warning(
            f"{path} is mounted and does not exist: GETFILESTATUS through the running proxy answers 404: {found.says}",
            f"make it (hdfs dfs -mkdir {path}), or correct [mounts]",
        )
    else:
        yield failed(
            f"GETFILESTATUS of {path} through the running proxy answers {found.status or 'nothing'}: {found.says}",
            "see its /ready and its log; restart it if it runs with other settings",
        )
