"""The log says who is active and whether answers come from memory, once per change."""

import asyncio
import logging

import pytest

from hadoop.election_view import Active, NameNode
from nncache.announcer import Situation, announce, lines

ACTIVE = Active(namenode=NameNode("nn1:9870", "nn1:8020"), started_ms=1, transition_ms=1, term=3)
RESTARTED = Active(namenode=ACTIVE.namenode, started_ms=2, transition_ms=2, term=4)


def test_the_first_look_says_both() -> None:
    """At the start the state itself is the news."""
    assert lines(None, Situation(ACTIVE, is_gate_open=False)) == (
        "NameNode nn1:9870 is active (term 3)",
        "the gate is closed: every call goes to the NameNode",
    )


def test_only_what_changed_is_said() -> None:
    """A gate that opens says nothing new of the NameNode, and the same again says nothing."""
    closed, opened = Situation(ACTIVE, is_gate_open=False), Situation(ACTIVE, is_gate_open=True)
    assert lines(closed, opened) == ("the gate is open: what is cached may be answered from memory",)
    assert lines(opened, opened) == ()


def test_a_restarted_namenode_is_news() -> None:
    """Same address, another term."""
    assert lines(Situation(ACTIVE, is_gate_open=True), Situation(RESTARTED, is_gate_open=True)) == (
        "NameNode nn1:9870 is active (term 4)",
    )


def test_a_lost_namenode_is_news() -> None:
    """What callers get meanwhile is said."""
    assert lines(Situation(ACTIVE, is_gate_open=False), Situation(None, is_gate_open=False)) == (
        "no active NameNode is known; calls wait for one, then get 503",
    )


async def test_changes_reach_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """One line each, at info."""
    caplog.set_level(logging.INFO)
    looks = 0
    enough = asyncio.Event()

    def look() -> Situation:
        nonlocal looks
        looks += 1
        if looks == 3:
            enough.set()
        return Situation(ACTIVE, is_gate_open=True)

    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        task = group.create_task(announce(look, look_every_s=0.0))
        await enough.wait()
        task.cancel()
    assert [record.levelname for record in caplog.records] == ["INFO", "INFO"]
