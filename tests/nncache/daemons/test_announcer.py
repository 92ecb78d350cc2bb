"""The log says what changes, once per change."""

import asyncio
import logging

import pytest

from nncache.daemons.announcer import about_active, announce
from nncache.hadoop.election_view import Active, NameNode
from tests.patience import HANG_S

ACTIVE = Active(namenode=NameNode("nn1:9870", "nn1:8020"), started_ms=1, transition_ms=1, term=3)
RESTARTED = Active(namenode=ACTIVE.namenode, started_ms=2, transition_ms=2, term=4)


@pytest.mark.parametrize(
    ("before", "now", "is_first", "said"),
    [
        (None, ACTIVE, True, ("NameNode nn1:9870 is active (term 3)",)),
        (None, None, True, ("no active NameNode is known; wait",)),
        (None, None, False, ()),
        (ACTIVE, ACTIVE, False, ()),
        (ACTIVE, RESTARTED, False, ("NameNode nn1:9870 is active (term 4)",)),
        (ACTIVE, None, False, ("no active NameNode is known; wait",)),
        (None, ACTIVE, False, ("NameNode nn1:9870 is active (term 3)",)),
    ],
)
def test_who_is_active_is_said_when_it_is_news(
    before: Active | None, now: Active | None, is_first: bool, said: tuple[str, ...]
) -> None:
    """At first the state itself is; a restarted NameNode has the same address and another term."""
    assert about_active(before, now, is_first=is_first, without="wait") == said


async def test_changes_reach_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """One line each, at info; the first look has nothing before it."""
    caplog.set_level(logging.INFO)
    situations = ["closed", "closed", "open"]
    seen: list[tuple[str | None, str]] = []
    enough = asyncio.Event()

    def look() -> str:
        if len(seen) >= 3:
            enough.set()
        return situations[min(len(seen), 2)]

    def lines(before: str | None, now: str) -> tuple[str, ...]:
        seen.append((before, now))
        return () if before == now else ("news:", now)

    async with asyncio.timeout(HANG_S), asyncio.TaskGroup() as group:
        task = group.create_task(announce(look, lines, look_every_s=0.0))
        await enough.wait()
        task.cancel()
    assert seen[:3] == [(None, "closed"), ("closed", "closed"), ("closed", "open")]
    assert caplog.messages == ["news:", "closed", "news:", "open"]
    assert {record.levelname for record in caplog.records} == {"INFO"}
