"""The state of a proxy in words: the active NameNode, and the reason for a closed gate."""

from dataclasses import replace
from typing import Any

import pytest

from nncache.coordination.zookeeper import SessionStats
from nncache.daemons.proxy_state import Gate, ProxyState, gate_text, lines
from nncache.daemons.state_change import StateLine
from nncache.hadoop.election_view import Active, NameNode, Probe

ACTIVE = Active(namenode=NameNode("nn1:9870", "nn1:8020"), started_ms=1, transition_ms=1, term=3)
CLOSED = ProxyState(active=ACTIVE, gate="closed: <why>", not_taken_s=15.0, silent_s=60.0)
OPENED = replace(CLOSED, gate="open")

POLLING = Gate(
    is_open=False,
    is_stream_open=True,
    trouble="",
    applied_txid=90,
    last_probe=Probe(as_of=1.0, txid=100, asked_at=1.0, term=3),
    session=None,
)
FOLLOWING = replace(POLLING, session=SessionStats(is_connected=True))


@pytest.mark.parametrize(
    ("gate", "changed", "text"),
    [
        (POLLING, {"is_open": True}, "open"),
        (FOLLOWING, {"is_open": True}, "open"),
        (
            POLLING,
            {"is_stream_open": False},
            "closed: the NameNode's changes are not being read",
        ),
        (
            POLLING,
            {"is_stream_open": False, "trouble": "Superuser privilege is required"},
            "closed: the NameNode's changes are not being read (Superuser privilege is required)",
        ),
        (POLLING, {}, "closed: it is too long since all changes were known to be applied"),
        (FOLLOWING, {"session": SessionStats()}, "closed: there is no connection to ZooKeeper"),
        (
            FOLLOWING,
            {"is_stream_open": False, "session": SessionStats(), "trouble": "x"},
            "closed: there is no connection to ZooKeeper",
        ),
        (
            FOLLOWING,
            {"is_stream_open": False, "trouble": "no publisher has published yet"},
            "closed: the NameNode's changes are not being read (no publisher has published yet)",
        ),
        (
            FOLLOWING,
            {"last_probe": None},
            "closed: the active NameNode does not say how far its log has come",
        ),
        (FOLLOWING, {}, "closed: behind the NameNode by 10 transactions: is a publisher running?"),
        (
            FOLLOWING,
            {"applied_txid": 100},
            "closed: it is too long since all changes were known to be applied",
        ),
    ],
)
def test_a_closed_gate_says_what_closes_it(gate: Gate, changed: dict[str, Any], text: str) -> None:
    """It is the first fault on the way from the NameNode's log to the cache."""
    assert gate_text(replace(gate, **changed)) == text


def test_the_first_look_says_both() -> None:
    """At the start, the NameNode and the gate are both news."""
    assert lines(None, CLOSED) == (
        StateLine("NameNode nn1:9870 is active (term 3)"),
        StateLine(
            "the gate is closed: <why>; every call goes to the NameNode; nncache explain PATH says what it waits for",
            is_bad=True,
        ),
    )


def test_only_what_changed_is_logged() -> None:
    """An opening gate repeats nothing about the NameNode. A new reason for a closed gate is not logged."""
    assert lines(CLOSED, OPENED) == (
        StateLine("the gate is open: what is cached may be answered from memory"),
    )
    assert lines(OPENED, OPENED) == ()
    assert lines(CLOSED, replace(CLOSED, gate="closed: behind by 7")) == ()


def test_a_lost_namenode_is_news() -> None:
    """The line says what callers get. `tests/proxy/upstream/test_failover.py` checks that it is true."""
    assert lines(CLOSED, replace(CLOSED, active=None, namenodes="nn1:9870 cannot be asked (refused)")) == (
        StateLine(
            "no active NameNode is known: nn1:9870 cannot be asked (refused); each NameNode is tried all the same: "
            "calls get 503 where none takes them for 15 s, 504 where one takes them and is silent for 60 s; "
            "see that one NameNode is active and that namenode_http names them all",
            is_bad=True,
        ),
    )
