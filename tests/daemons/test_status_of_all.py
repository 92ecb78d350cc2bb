"""The pages about several namespaces together: sums, the worst gate, and each namespace."""

from dataclasses import replace

from nncache.admin.proxy_pages import ProxyReadiness
from nncache.cache.settings import CacheSettings
from nncache.cache.stats import CacheStats
from nncache.cache.store import Forgotten
from nncache.daemons.history import History, Totals
from nncache.daemons.namenodes_view import about_namenode, namenodes_view
from nncache.daemons.status_of_all import gate_of, readiness_of, status_of_all, total_of
from nncache.hadoop.election_view import NameNode
from nncache.hadoop.namenode_settings import NameNodeSettings
from nncache.hadoop.namenodes.pool import NameNodePool
from nncache.hadoop.namespace import Namespace, NamespaceCheck
from nncache.invalidation.stats import ChannelStats
from nncache.settings.commands import SettingsOfProxy
from tests.daemons.test_proxy_status import SEEN, TOTALS

SETTINGS = SettingsOfProxy()
WELL = ProxyReadiness(is_listening=True, active="a:1", is_gate_open=True, gate="open")
DEAD = ProxyReadiness(is_listening=True, active=None, is_gate_open=False, gate="closed: it is too long")
SHUT = ProxyReadiness(is_listening=True, active="b:1", is_gate_open=False, gate="closed: no stream")


def test_it_is_ready_while_one_namespace_is() -> None:
    """The reason is the worst one. The gate is open only if all gates are."""
    both = readiness_of({"one": WELL, "two": DEAD})
    assert (both.is_ready, both.reason, both.is_gate_open) == (True, "no-active-namenode", False)
    assert both.gate == "closed: two: it is too long"
    assert (
        both.state
        == "one: active NameNode: a:1; gate: open; two: active NameNode: none known; gate: closed: it is too long"
    )
    well = readiness_of({"one": WELL, "two": WELL})
    assert (well.is_ready, well.reason, well.gate) == (True, "", "open")
    assert readiness_of({"one": SHUT, "two": DEAD}).reason == "no-active-namenode"
    assert readiness_of({"one": SHUT, "two": WELL}).reason == "gate-closed"
    assert not readiness_of({"one": DEAD, "two": DEAD}).is_ready


def test_the_gates_that_are_closed_are_named() -> None:
    """Each has its reason."""
    assert gate_of({}) == "open"
    assert gate_of({"one": "closed: x", "two": "closed: y"}) == "closed: one: x; two: y"


def test_totals_are_summed() -> None:
    """Counts by reason are summed, too."""
    assert total_of([TOTALS, Totals(requests=1, forwarded={"miss": 2, "new": 1})]) == replace(
        TOTALS, requests=1_001, forwarded={"miss": 62, "no-filter": 30, "method": 5, "new": 1}
    )


def test_the_document_has_the_sums_and_each_namespace() -> None:
    """It has the keys of one namespace's document, for the page and `nncache top`. Other requests count as refused."""
    two = replace(
        SEEN,
        gate="closed: it is too long",
        is_ready=False,
        ready_reason="no-active-namenode",
        cache=CacheStats(entries=3, bytes=50, gate_age_s=9.0),
        globs={"f1": "/b/*"},
        filter_names={},
        channel=ChannelStats(),
        changes=(Forgotten("/b/a", "Touched", 9, 455.0),),
        namenodes=({"http": "nn2:9870"},),
        settings=replace(SETTINGS, cache=CacheSettings(glob=("/b/*",))),
    )
    document = status_of_all(
        {"one": replace(SEEN, settings=SETTINGS), "two": two},
        {"/": "one", "/b": "two", "/c": "two"},
        5,
        History(100.0, Totals()),
    )
    saved, gate, cache = (document[each] for each in ("saved", "gate", "cache"))
    assert isinstance(saved, dict)
    assert saved["since_start"]["requests"] == 2 * TOTALS.requests + 5
    assert saved["since_start"]["refused"] == 2 * TOTALS.refused + 5
    assert isinstance(gate, dict)
    assert (gate["is_open"], gate["state"], gate["age_s"], gate["covered_txid"]) == (
        False,
        "closed: two: it is too long",
        9.0,
        None,
    )
    assert gate["forwarded"] == "every call for two goes to the NameNode"
    assert isinstance(cache, dict)
    assert (cache["entries"], cache["bytes"], cache["max_bytes"], cache["evictions"]) == (10, 300, 2_000, 2)
    assert document["filters"] == {
        "in_force": 3,
        "shown": [
            {"name": "one: f2", "glob": "/v/*"},
            {"name": "one: ours", "glob": "/w/*"},
            {"name": "two: f1", "glob": "/b/*"},
        ],
    }
    assert isinstance(document["changes"], list)
    assert [each["path"] for each in document["changes"]] == ["/w", "/b/a", "/w/a"]
    assert isinstance(document["namenodes"], tuple)
    assert len(document["namenodes"]) == len(SEEN.namenodes) + 1
    namespaces = document["namespaces"]
    assert isinstance(namespaces, list)
    assert [(each["name"], each["mounts"], each["is_ready"], each["reason"]) for each in namespaces] == [
        ("one", ["/"], True, ""),
        ("two", ["/b", "/c"], False, "no-active-namenode"),
    ]
    assert document["edits"] is None
    assert [each["edits"]["source"] for each in namespaces] == ["journalnodes", None]
    assert document["is_ready"]
    assert document["reason"] == "no-active-namenode"
    assert [each["settings"] for each in namespaces] == [{"glob": ()}, {"glob": ("/b/*",)}]
    assert isinstance(document["settings"], dict)
    assert "listen" in document["settings"]
    assert "glob" not in document["settings"]
    assert namespaces[0]["saved"]["since_start"]["requests"] == TOTALS.requests


def test_only_where_all_gates_are_closed_is_every_call_forwarded() -> None:
    """The freshness line of the page: the other namespaces still have hits."""
    shut = replace(SEEN, gate="closed: x", cache=CacheStats(is_open=False), settings=SETTINGS)
    well = replace(SEEN, settings=SETTINGS)
    forwarded = []
    for two in (shut, well):
        for one in (shut, well):
            document = status_of_all({"one": one, "two": two}, {}, 0, History(100.0, Totals()))
            assert isinstance(document["gate"], dict)
            forwarded.append(document["gate"]["forwarded"])
    assert forwarded == [
        "every call goes to the NameNode",
        "every call for two goes to the NameNode",
        "every call for one goes to the NameNode",
        "",
    ]


def test_each_namenode_address_shows_its_namespace() -> None:
    """Both are null until the NameNode has answered."""
    check = NamespaceCheck("nn1:9870", "nn1:8020")
    addresses = {"http": "nn1:9870", "rpc": "nn1:8020"}
    assert about_namenode(NameNode("nn1:9870", "nn1:8020"), check) == addresses | {
        "namespace_over_http": None,
        "namespace_over_rpc": None,
    }
    namespace = Namespace("CID-1", "BP-1")
    check.note_over_http(namespace)
    check.admit(namespace)
    assert about_namenode(NameNode("nn1:9870", "nn1:8020"), check) == addresses | {
        "namespace_over_http": "BP-1 of cluster CID-1",
        "namespace_over_rpc": "BP-1 of cluster CID-1",
    }


def test_each_configured_namenode_is_shown() -> None:
    """A NameNode that has never answered is included."""
    settings = NameNodeSettings(namenode_http=("nn1:9870", "nn2:9870"), namenode_rpc=("nn1:8020", "nn2:8020"))
    shown = namenodes_view(NameNodePool(settings, lambda: 0.0))
    assert [(each["http"], each["rpc"], each["state"]) for each in shown] == [
        ("nn1:9870", "nn1:8020", "unreachable"),
        ("nn2:9870", "nn2:8020", "unreachable"),
    ]
