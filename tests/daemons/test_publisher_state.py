"""The state of a publisher in words: the active NameNode, and the reason for not publishing."""

from dataclasses import replace
from typing import Any

import pytest

from nncache.daemons.publisher_state import PublisherState, lines
from nncache.daemons.state_change import StateLine
from nncache.hadoop.election_view import Active, NameNode

ACTIVE = Active(namenode=NameNode("nn1:9870", "nn1:8020"), started_ms=1, transition_ms=1, term=3)
PUBLISHING = PublisherState(active=ACTIVE, is_zookeeper_connected=True, trouble="")


@pytest.mark.parametrize(
    ("changed", "why_not"),
    [
        ({}, ""),
        ({"is_zookeeper_connected": None}, ""),
        (
            {"is_zookeeper_connected": False, "active": None, "trouble": "x"},
            "there is no connection to ZooKeeper (x)",
        ),
        ({"active": None, "trouble": "x"}, "no active NameNode is known (x)"),
        ({"active": None}, "no active NameNode is known"),
        (
            {"trouble": "another publisher leads: process 7 on b"},
            "another publisher leads: process 7 on b",
        ),
        ({"is_zookeeper_connected": None, "trouble": "x"}, "x"),
    ],
)
def test_the_first_thing_that_is_out_of_order_is_reported(changed: dict[str, Any], why_not: str) -> None:
    """The checks start with ZooKeeper; later faults are often consequences."""
    state = replace(PUBLISHING, **changed)
    assert state.why_not == why_not
    assert state.is_publishing == (why_not == "")


FOLLOWS = "proxies forward calls to the NameNode, and watchers get no events"
LOOK_AT_ZOOKEEPER = "see that the servers of zookeeper run and that this host reaches them"
ACTIVE_LINE = StateLine("NameNode nn1:9870 is active (term 3)")


def test_whether_it_publishes_is_logged_when_that_changes() -> None:
    """A new reason is not logged, because the publisher logs its own faults."""
    stuck = replace(PUBLISHING, trouble="the edits have not been read for 6 s")
    text = (
        f"changes are not published: the edits have not been read for 6 s; {FOLLOWS}; "
        "the warnings of nncache.invalidation say more"
    )
    assert lines(None, stuck) == (ACTIVE_LINE, StateLine(text, is_bad=True))
    assert lines(stuck, replace(stuck, trouble="the edits have not been read for 7 s")) == ()
    assert lines(stuck, PUBLISHING) == (StateLine("changes are published"),)
    assert lines(PUBLISHING, PUBLISHING) == ()


def test_a_standby_is_no_bad_state() -> None:
    """Another publisher is active. When that one ends and this one does not take over, the log says so."""
    trouble = "another publisher leads: process 7 on b"
    standby = replace(PUBLISHING, trouble=trouble, is_standby=True)
    assert lines(None, standby) == (ACTIVE_LINE, StateLine(f"standing by: {trouble}"))
    (news,) = lines(standby, replace(standby, trouble="x", is_standby=False))
    assert news.is_bad


@pytest.mark.parametrize(
    ("changed", "end"),
    [
        (
            {"is_zookeeper_connected": False},
            f"there is no connection to ZooKeeper; {FOLLOWS}; {LOOK_AT_ZOOKEEPER}",
        ),
        ({"trouble": "x"}, f"x; {FOLLOWS}; the warnings of nncache.invalidation say more"),
    ],
)
def test_what_is_bad_says_what_to_do(changed: dict[str, Any], end: str) -> None:
    """The advice belongs to the first fault."""
    assert lines(PUBLISHING, replace(PUBLISHING, **changed)) == (
        StateLine(f"changes are not published: {end}", is_bad=True),
    )


def test_a_lost_namenode_is_news() -> None:
    """The log also says that nothing is published without one."""
    lost = replace(PUBLISHING, active=None, namenodes="nn1:9870 is standby")
    first, second = lines(PUBLISHING, lost)
    assert first.text.startswith(
        "no active NameNode is known: nn1:9870 is standby; its edits are read as soon as "
    )
    assert second == StateLine(
        f"changes are not published: no active NameNode is known; {FOLLOWS}; see that one NameNode is active",
        is_bad=True,
    )
    assert first.is_bad
