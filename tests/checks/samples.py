"""Facts as the probes would find them, with the changes of a test."""

from collections.abc import Mapping
from typing import Any

from nncache.checks.facts import CheckFacts, Contact, NameNodeFound, ZooKeeperFound
from nncache.checks.finding import Finding
from nncache.checks.subject import CheckSubject
from nncache.hadoop.election_view import HaState, Journal, NameNode, ProbeReply
from nncache.hadoop.namespace import Namespace
from nncache.hadoop.server_kind import ServerKind
from nncache.settings.commands import KEYS, PROXY, PUBLISHER
from nncache.settings.forms import Form

OURS = Namespace("CID-1", "BP-1")
THEIRS = Namespace("CID-2", "BP-2")
ONE = NameNode("nn1:9870", "nn1:8020")
TWO = NameNode("nn2:9870", "nn2:8020")
PAIR = {"namenode_http": ("nn1:9870,nn2:9870",), "namenode_rpc": ("nn1:8020,nn2:8020",)}
SINGLE = {"namenode_http": ("nn1:9870",), "namenode_rpc": ("nn1:8020",)}
ON_ZOOKEEPER = {"zookeeper": ("zk1:2181",), "nameservice": "ns1"}


def subject(form: Form[Any], flags: Mapping[str, object]) -> CheckSubject:
    """Return the subject of a check, with only flags given."""
    filled = form.fill_in(None, {"user": "hdfs"} | SINGLE | dict(flags), KEYS)
    return CheckSubject(filled.settings, filled.places)


def of_proxy(flags: Mapping[str, object] | None = None, **found: Any) -> CheckFacts:
    """Return facts about a proxy."""
    return CheckFacts(subject=subject(PROXY, flags or {}), **found)


def of_publisher(flags: Mapping[str, object] | None = None, **found: Any) -> CheckFacts:
    """Return facts about a publisher."""
    return CheckFacts(subject=subject(PUBLISHER, ON_ZOOKEEPER | dict(flags or {})), **found)


def answer(
    state: HaState = HaState.ACTIVE, namespace: Namespace | None = OURS, last_txid: int | None = None
) -> ProbeReply:
    """Return a NameNode's report of itself."""
    journal = None if last_txid is None else Journal(last_txid=last_txid, asked_at=0.0)
    return ProbeReply(state=state, started_ms=1, transition_ms=0, namespace=namespace, journal=journal)


def namenode(
    http: HaState | None = HaState.ACTIVE, rpc: HaState | None = HaState.ACTIVE, **found: Any
) -> NameNodeFound:
    """Return a NameNode with these states over HTTP and RPC."""
    known: dict[str, Any] = {
        "answer": None if http is None else answer(http),
        "rpc_state": rpc,
        "rpc_namespace": None if rpc is None else OURS,
    }
    return NameNodeFound(**(known | found))


def contacts(kinds: Mapping[str, ServerKind]) -> Mapping[str, Contact]:
    """Return the kind of server at each address."""
    return {address: Contact(address=address, kind=kind) for address, kind in kinds.items()}


def reported(findings: Any) -> list[str]:
    """Return each finding as one text: verdict, text, remedy."""
    shown: list[Finding] = list(findings)
    return [f"{each.verdict.value}: {each.text} | {each.remedy}" for each in shown]


def published(**found: Any) -> ZooKeeperFound:
    """Return a ZooKeeper in which ns1 is published."""
    known: dict[str, Any] = {"has_root": True, "nameservices": ("ns1",), "block_pool": "BP-1", "txid": 7}
    return ZooKeeperFound(**(known | found))
