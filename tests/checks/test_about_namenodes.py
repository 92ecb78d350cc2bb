"""Faults of NameNodes that keep a daemon from working."""

from dataclasses import replace

import pytest

from nncache.checks.about_namenodes import (
    authentication,
    clock,
    edits,
    impersonation,
    jmx,
    namespaces,
    read,
    rpc,
    states,
    through,
    user,
)
from nncache.checks.facts import NameNodeFound, RootStatus
from nncache.hadoop.doas_trial import Trial
from nncache.hadoop.election_view import HaState
from nncache.hadoop.server_kind import ServerKind
from tests.checks.samples import (
    ON_ZOOKEEPER,
    ONE,
    OURS,
    PAIR,
    THEIRS,
    TWO,
    answer,
    contacts,
    namenode,
    of_proxy,
    reported,
)

ACTIVE, STANDBY = HaState.ACTIVE, HaState.STANDBY
IDENTITY = {"principal": "nncache/h@R", "keytab": "/k"}
TERMINATES = IDENTITY | {
    "spnego_principal": ("HTTP/h@R",),
    "spnego_keytab": "/k",
    "cookie_secret_file": "/s",
}
HEALTHY = {ONE: namenode(), TWO: namenode(STANDBY, STANDBY)}


def test_without_a_namenode_nothing_is_judged() -> None:
    """Each check is skipped with a reason; none passes."""
    judges = (authentication, jmx, states, rpc, namespaces, user, edits, clock, read, through, impersonation)
    for judge in judges:
        assert [line.split(":")[0] for line in reported(judge(of_proxy()))] == ["skipped"], judge


@pytest.mark.parametrize(
    ("status", "challenge", "line"),
    [
        (200, "", "ok: nn1:9870 takes user.name=hdfs by its word (SIMPLE)"),
        (401, "Negotiate", "skipped: because of identity"),
        (401, "", "failed: nn1:9870 answers 401 and asks for: nothing known"),
        (403, "", "failed: nn1:9870 refuses /jmx to hdfs (403)"),
        (302, "https://sso/", "failed: nn1:9870 sends callers to https://sso/: a filter for single sign-on"),
        (500, "", "failed: /jmx of nn1:9870 answers 500"),
    ],
)
def test_authentication_is_named(status: int, challenge: str, line: str) -> None:
    """Only SIMPLE is accepted, and any other method is named."""
    found = NameNodeFound(named_status=status, challenge=challenge)
    (seen,) = reported(authentication(of_proxy(namenodes={ONE: found})))
    assert seen.startswith(line)


SIMPLE_REFUSED = (
    "nn1:8020 refuses the connection: SIMPLE authentication is not enabled.  Available:[TOKEN, KERBEROS]"
)


def test_kerberos_over_rpc_is_a_matter_of_identity() -> None:
    """The NameNode's web server may still be open, and is judged."""
    facts = of_proxy(namenodes={ONE: NameNodeFound(rpc_silence=SIMPLE_REFUSED)}, contacts=RPC_ONLY)
    assert reported(authentication(facts)) == reported(rpc(facts)) == ["skipped: because of identity | "]
    half = NameNodeFound(rpc_silence=SIMPLE_REFUSED, named_status=200)
    assert reported(authentication(of_proxy(namenodes={ONE: half})))[0].startswith(
        "ok: nn1:9870 takes user.name"
    )


RPC_ONLY = contacts({"nn1:8020": ServerKind.HADOOP_RPC})
SILENT_KDC = "no Kerberos context with HTTP/nn1: the KDC has not answered in 2 s"


@pytest.mark.parametrize(
    "found",
    [
        NameNodeFound(named_status=401, challenge="Negotiate", silence=SILENT_KDC, rpc_silence=SILENT_KDC),
        NameNodeFound(named_status=401, challenge="Negotiate", rpc_silence="it is nn/x", is_another=True),
    ],
)
def test_what_identity_says_no_other_check_says(found: NameNodeFound) -> None:
    """In particular, no check blames a correct address."""
    facts = of_proxy(IDENTITY, namenodes={ONE: found}, contacts=RPC_ONLY)
    assert reported(rpc(facts)) == ["skipped: because of identity | "]
    if found.silence:
        for judge in (authentication, jmx, states):
            assert reported(judge(facts)) == ["skipped: because of identity | "], judge


@pytest.mark.parametrize(
    ("trial", "line"),
    [
        (Trial("nncache", "nobody", "", is_proof=True), "ok: nn1:9870 lets nncache act for nobody"),
        (
            Trial("nncache", "alice", "User: nncache is not", is_proof=True),
            "failed: nncache is not allowed to impersonate alice at nn1:9870 (User: nncache is not): calls of all",
        ),
        (
            Trial("nncache", "nobody", "User: nncache is not", is_proof=False),
            "skipped: because nn1:9870 lets nncache act for some users only",
        ),
        (None, "skipped: because no NameNode says whether"),
    ],
)
def test_who_acts_for_clients_must_be_allowed_to(trial: Trial | None, line: str) -> None:
    """One attempt proves it, unless its user is outside the rule."""
    found = namenode(trial=trial)
    (seen,) = reported(impersonation(of_proxy(TERMINATES, namenodes={ONE: found})))
    assert seen.startswith(line)


def test_who_passes_credentials_on_acts_for_no_one() -> None:
    """There is no proxy-user rule to try."""
    (seen,) = reported(impersonation(of_proxy(namenodes=HEALTHY)))
    assert seen.startswith("skipped: because the NameNodes authenticate the clients")


def test_a_slow_read_is_no_matter_of_rights() -> None:
    """The first read of a NameNode that has just started takes seconds."""
    slow = RootStatus(says="no answer in 4.5 s", is_slow=True)
    (seen,) = reported(read(of_proxy(namenodes={ONE: namenode(read=slow)})))
    assert seen.startswith(
        "warning: GETFILESTATUS of / at nn1:9870 is slow: no answer in 4.5 s | check again"
    )
    (seen,) = reported(through(of_proxy(through=slow)))
    assert seen.startswith("warning: GETFILESTATUS of / through the running proxy is slow")


def test_a_proxy_that_asks_who_is_there_is_no_fault() -> None:
    """Without an identity the check is skipped. A 403 for the service itself belongs to another check."""
    refused = RootStatus(status=401)
    wants = NameNodeFound(named_status=401, challenge="Negotiate")
    (seen,) = reported(through(of_proxy(namenodes={ONE: wants}, through=refused)))
    assert seen.startswith("skipped: because of identity")
    assert reported(through(of_proxy(IDENTITY, namenodes=HEALTHY, through=refused)))[0].startswith("failed: ")
    not_itself = RootStatus(status=403, says="User: nncache is not allowed to impersonate nncache")
    (seen,) = reported(through(of_proxy(TERMINATES, namenodes=HEALTHY, through=not_itself)))
    assert seen.startswith("skipped: because the running proxy knows nncache/h@R")


@pytest.mark.parametrize(
    ("found", "line"),
    [
        (
            NameNodeFound(named_status=401, challenge="Negotiate", answer=answer()),
            "ok: nn1:9870 asks for Kerberos and accepts nncache/h@R",
        ),
        (
            NameNodeFound(named_status=401, challenge="Negotiate", silence="no ticket"),
            "failed: nn1:9870 does not answer nncache/h@R over HTTP: no ticket",
        ),
        (
            NameNodeFound(named_status=401, challenge=""),
            "failed: nn1:9870 answers 401 and asks for: nothing known",
        ),
        (
            NameNodeFound(named_status=200, answer=answer()),
            "failed: nn1:9870 believes user.name=hdfs without Kerberos, and so any other name | set hadoop.http.",
        ),
    ],
)
def test_with_an_identity_the_web_server_must_ask_for_it(found: NameNodeFound, line: str) -> None:
    """A server that trusts any name proves nobody's permissions."""
    (seen,) = reported(authentication(of_proxy(IDENTITY, namenodes={ONE: found})))
    assert seen.startswith(line)


def test_while_a_cluster_is_being_secured_it_may_believe_names() -> None:
    """This holds if RPC may fall back to SIMPLE."""
    found = NameNodeFound(named_status=200, answer=answer())
    flags = IDENTITY | {"fallback_to_simple_auth_allowed": True}
    (seen,) = reported(authentication(of_proxy(flags, namenodes={ONE: found})))
    assert seen.startswith("ok:")


def test_what_a_principal_is_called_is_not_asked() -> None:
    """Only the NameNode knows."""
    (seen,) = reported(user(of_proxy(IDENTITY, namenodes=HEALTHY)))
    assert seen.startswith(
        "skipped: because the NameNodes make a user of nncache/h@R by hadoop.security.auth_to_local"
    )


def test_one_active_is_right() -> None:
    """The other one is standby."""
    assert reported(states(of_proxy(PAIR, namenodes=HEALTHY))) == [
        "ok: nn1:9870 is active, nn2:9870 is standby | "
    ]


def test_no_active_says_what_to_do() -> None:
    """A pair needs a failover; with a single NameNode, the other is missing in the lists."""
    standbys = {ONE: namenode(STANDBY, STANDBY), TWO: namenode(STANDBY, STANDBY)}
    (line,) = reported(states(of_proxy(PAIR, namenodes=standbys)))
    assert line.startswith(
        "failed: no NameNode is active: nn1:9870 is standby, nn2:9870 is standby | make one active"
    )
    (line,) = reported(states(of_proxy(namenodes={ONE: namenode(STANDBY, STANDBY)})))
    assert "| name all NameNodes of the nameservice in --namenode-http and --namenode-rpc" in line


def test_two_actives_are_two_clusters_or_not_fenced() -> None:
    """Their namespaces tell the two cases apart."""
    (line,) = reported(states(of_proxy(PAIR, namenodes={ONE: namenode(), TWO: namenode()})))
    assert "several NameNodes are active" in line
    assert "| let HDFS fence the old one" in line
    other = namenode(answer=answer(namespace=THEIRS))
    (line,) = reported(states(of_proxy(PAIR, namenodes={ONE: namenode(), TWO: other})))
    assert "| name the NameNodes of one nameservice only" in line


def test_lists_in_another_order_are_seen_by_the_states() -> None:
    """The right value is given where it is known."""
    crossed = {ONE: namenode(ACTIVE, STANDBY), TWO: namenode(STANDBY, ACTIVE)}
    first, _ = reported(states(of_proxy(PAIR, namenodes=crossed)))
    assert first.startswith(
        "failed: the lists are not in the same order: nn1:9870 is active over HTTP, nn1:8020 is stand"
    )
    assert first.endswith("| set --namenode-rpc to nn2:8020,nn1:8020, the order of namenode_http")
    half = {ONE: namenode(ACTIVE, STANDBY), TWO: namenode(STANDBY, None)}
    first, _ = reported(states(of_proxy(PAIR, namenodes=half)))
    assert first.endswith("| name in --namenode-rpc the NameNodes in the order of namenode_http")


def test_observers_and_starting_ones_do_not_count_for_the_order() -> None:
    """Over RPC an observer serves reads like an active NameNode."""
    observing = {ONE: namenode(), TWO: namenode(HaState.OBSERVER, ACTIVE)}
    assert [line[:3] for line in reported(states(of_proxy(PAIR, namenodes=observing)))] == ["ok:"]


def test_silence_over_http_is_reported_as_the_reason() -> None:
    """The error of /jmx explains why the states are unknown."""
    silent = {ONE: NameNodeFound(silence="no answer in 3 s")}
    assert reported(states(of_proxy(namenodes=silent))) == ["skipped: because no answer in 3 s | "]


def test_one_namespace_is_right_and_two_are_named() -> None:
    """One NameNode is compared over both addresses, and several with each other."""
    assert reported(namespaces(of_proxy(namenodes={ONE: namenode()}))) == [
        f"ok: nn1:9870 and nn1:8020 serve namespace {OURS} | "
    ]
    (line,) = reported(namespaces(of_proxy(namenodes={ONE: namenode(rpc_namespace=THEIRS)})))
    assert line == (
        f"failed: nn1:9870 serves namespace {OURS}, but nn1:8020 serves {THEIRS} | "
        "name in --namenode-http and --namenode-rpc both addresses of the same NameNode"
    )
    other = namenode(answer=answer(STANDBY, THEIRS), rpc_namespace=THEIRS)
    *_, line = reported(namespaces(of_proxy(PAIR, namenodes={ONE: namenode(), TWO: other})))
    assert line.startswith(f"failed: the NameNodes serve {OURS} and {THEIRS} | ")


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (namenode(rpc=None, rpc_silence="cut"), "cut"),
        (namenode(http=None, silence="mute"), "mute"),
        (namenode(http=None), "it was not asked"),
    ],
)
def test_half_a_namespace_proves_nothing(found: NameNodeFound, why: str) -> None:
    """A single address may lead to any NameNode."""
    (line,) = reported(namespaces(of_proxy(namenodes={ONE: found})))
    assert line.startswith("skipped: because one address of nn1:9870, nn1:8020 does not say")
    assert f": {why} |" in line


def test_who_says_nothing_is_left_out() -> None:
    """The other one of a pair is still judged."""
    assert len(reported(namespaces(of_proxy(PAIR, namenodes={ONE: namenode(), TWO: NameNodeFound()})))) == 1


def test_an_rpc_port_must_be_a_namenodes() -> None:
    """DataNodes and JournalNodes have RPC ports, too."""
    there = contacts({"nn1:8020": ServerKind.HADOOP_RPC})
    assert reported(rpc(of_proxy(contacts=there, namenodes={ONE: namenode()}))) == [
        "ok: nn1:8020 answers hdfs as a NameNode (active) | "
    ]
    strange = {ONE: namenode(rpc=None, rpc_silence="Unknown protocol")}
    (line,) = reported(rpc(of_proxy(contacts=there, namenodes=strange)))
    assert line.startswith(
        "failed: nn1:8020 does not answer as a NameNode: Unknown protocol | in --namenode-rpc, replace"
    )
    (line,) = reported(rpc(of_proxy(contacts=there)))
    assert "does not answer as a NameNode: not in time" in line


def test_a_user_without_a_group_is_not_known() -> None:
    """A NameNode accepts any name, so a typo shows only in the missing groups."""
    assert reported(user(of_proxy(namenodes={ONE: namenode(groups=("a", "b"))}))) == [
        "ok: nn1:8020 finds hdfs in a, b | "
    ]
    (line,) = reported(user(of_proxy(namenodes={ONE: namenode(groups=())})))
    assert line.startswith(
        "warning: nn1:8020 finds hdfs in no group: it does not know this user | set --user to"
    )


def test_the_right_to_read_edits() -> None:
    """Only a daemon that reads edits needs it. A refusal and a failure have different remedies."""
    assert reported(edits(of_proxy(namenodes={ONE: namenode(edits_txid=9)}))) == [
        "ok: hdfs may read the edits of nn1:8020; the last transaction is 9 | "
    ]
    refused = namenode(
        edits_refusal="Access denied", is_refused=True, conf={"dfs.permissions.superusergroup": "admins"}
    )
    (line,) = reported(edits(of_proxy(namenodes={ONE: refused})))
    assert line.endswith(
        "| set --user to the user whom the NameNode runs as, or add hdfs to its group admins"
    )
    (line,) = reported(edits(of_proxy(namenodes={ONE: namenode(edits_refusal="IOException: x")})))
    assert (
        line == "failed: the edits of nn1:8020 cannot be read: IOException: x | see the log of that NameNode"
    )
    (line,) = reported(edits(of_proxy(ON_ZOOKEEPER, namenodes={ONE: refused})))
    assert line.startswith("skipped: because a proxy that follows a publisher")


def test_jmx_with_and_without_a_name() -> None:
    """The daemons send a name, so a NameNode may refuse anonymous callers."""
    assert (
        "with and without a name"
        in reported(jmx(of_proxy(namenodes={ONE: namenode(anonymous_status=200)})))[0]
    )
    (line,) = reported(jmx(of_proxy(namenodes={ONE: namenode(anonymous_status=401)})))
    assert line == "ok: /jmx of nn1:9870 answers hdfs, as nncache asks; without a name it answers 401 | "
    assert "it answers nothing" in reported(jmx(of_proxy(namenodes={ONE: namenode()})))[0]


def test_a_namenode_whose_jmx_says_nothing_of_use() -> None:
    """The NameNode is starting, or has an unknown release."""
    silent = {ONE: NameNodeFound(silence="no bean")}
    there = contacts({"nn1:9870": ServerKind.NAMENODE_HTTP})
    (line,) = reported(jmx(of_proxy(contacts=there, namenodes=silent)))
    assert line.startswith(
        "failed: /jmx of nn1:9870 does not say what nncache asks for: no bean | wait until"
    )
    assert reported(jmx(of_proxy(namenodes=silent)))[0].startswith(
        "skipped: because nn1:9870 is not the HTTP port"
    )


@pytest.mark.parametrize(("ahead_s", "shown"), [(3601.2, "3601 s ahead of"), (-2.0, "2 s behind")])
def test_clocks_are_reported_and_never_judged(ahead_s: float, shown: str) -> None:
    """Nothing depends on clocks, and the line says so."""
    (line,) = reported(clock(of_proxy(namenodes={ONE: namenode(clock_ahead_s=ahead_s)})))
    assert line.startswith(f"ok: the clock of nn1:9870 is {shown} ours")
    assert "the gate compares no two clocks" in line


def test_reads_must_answer_200() -> None:
    """The read goes to the active NameNode, and through a running proxy."""
    good, bad = RootStatus(status=200, cache_status="nncache; fwd=bypass"), RootStatus(says="cut")
    assert reported(read(of_proxy(namenodes={ONE: namenode(read=good)})))[0].startswith(
        "ok: GETFILESTATUS of / as hdfs at"
    )
    (line,) = reported(read(of_proxy(namenodes={ONE: namenode(read=bad)})))
    assert line.startswith(
        "failed: GETFILESTATUS of / as hdfs at nn1:9870 answers nothing: cut | see that hdfs may read"
    )
    assert reported(through(of_proxy(through=good))) == [
        "ok: GETFILESTATUS of / through the running proxy answers 200 (Cache-Status: nncache; fwd=bypass) | "
    ]
    (line,) = reported(through(of_proxy(through=RootStatus(status=503, says="no active"))))
    assert line.startswith(
        "failed: GETFILESTATUS of / through the running proxy answers 503: no active | see its /ready"
    )


def test_a_mount_point_that_is_not_there_is_a_warning() -> None:
    """With several namespaces, each is read at its first mount point."""
    absent = RootStatus(status=404, says="FileNotFoundException: /data")
    facts = of_proxy(through=absent)
    mounted = replace(facts, subject=replace(facts.subject, mount="/data"))
    (line,) = reported(through(mounted))
    assert line.startswith(
        "warning: /data is mounted and does not exist: GETFILESTATUS through the running proxy"
    )
    assert "hdfs dfs -mkdir /data" in line
    (line,) = reported(through(facts))
    assert line.startswith("failed: GETFILESTATUS of / through")
