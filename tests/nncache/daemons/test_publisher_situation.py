"""What is said of a publisher: who is active, and what keeps it from publishing."""

from dataclasses import replace
from typing import Any

import pytest

from nncache.daemons.publisher_situation import PublisherSituation, lines
from nncache.hadoop.election_view import Active, NameNode

ACTIVE = Active(namenode=NameNode("nn1:9870", "nn1:8020"), started_ms=1, transition_ms=1, term=3)
PUBLISHING = PublisherSituation(active=ACTIVE, is_zookeeper_connected=True, trouble="")


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
            {"trouble": "another publisher is running: process 7 on b"},
            "another publisher is running: process 7 on b",
        ),
        ({"is_zookeeper_connected": None, "trouble": "x"}, "x"),
    ],
)
def test_the_first_thing_that_is_out_of_order_is_told(changed: dict[str, Any], why_not: str) -> None:
    """From ZooKeeper on; what follows is often its consequence."""
    situation = replace(PUBLISHING, **changed)
    assert situation.why_not == why_not
    assert situation.is_publishing == (why_not == "")


def test_whether_it_publishes_is_said_when_that_changes() -> None:
    """Another reason is none to say so again: the publisher itself logs what it meets."""
    stuck = replace(PUBLISHING, trouble="the edits have not been read for 6 s")
    assert lines(None, stuck) == (
        "NameNode nn1:9870 is active (term 3)",
        "changes are not published: the edits have not been read for 6 s",
    )
    assert lines(stuck, replace(stuck, trouble="the edits have not been read for 7 s")) == ()
    assert lines(stuck, PUBLISHING) == ("changes are published",)
    assert lines(PUBLISHING, PUBLISHING) == ()


def test_a_lost_namenode_is_news() -> None:
    """And so is that nothing is published without one."""
    assert lines(PUBLISHING, replace(PUBLISHING, active=None)) == (
        "no active NameNode is known; its edits are read as soon as there is one",
        "changes are not published: no active NameNode is known",
    )
