"""The log says what changes, once per change, and does not flood."""

import asyncio
import logging
from collections.abc import Iterator
from itertools import chain, repeat

import pytest

from nncache.daemons.state_change import StateChange
from nncache.daemons.state_log import BURST, log_changes
from tests.patience import HANG_S


def about(before: str | None, now: str) -> tuple[StateChange, ...]:
    """Say each change."""
    return () if before == now else (StateChange(now, is_bad=now.startswith("closed")),)


async def announced(situations: Iterator[str], looks: int, starts_within_s: float = 0.0) -> None:
    """Announce these situations, until there were so many looks."""
    enough = asyncio.Event()
    left = looks

    def look() -> str:
        nonlocal left
        left -= 1
        if left < 0:
            enough.set()
        return next(situations)

    async with asyncio.timeout(HANG_S), asyncio.TaskGroup() as group:
        task = group.create_task(log_changes(look, about, look_every_s=0.0, starts_within_s=starts_within_s))
        await enough.wait()
        task.cancel()


async def test_changes_reach_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """A bad state begins at WARNING, for whom nothing else is logged; it ends at INFO."""
    caplog.set_level(logging.INFO)
    await announced(chain(("open", "open", "closed", "closed"), repeat("open")), 5)
    said = [(record.levelname, record.getMessage()) for record in caplog.records]
    assert said == [("INFO", "open"), ("WARNING", "closed"), ("INFO", "open")]


async def test_what_is_bad_at_the_start_has_a_while(caplog: pytest.LogCaptureFixture) -> None:
    """A daemon that has just begun knows nothing yet; what stays bad is said."""
    caplog.set_level(logging.INFO)
    await announced(chain(repeat("closed", 3), repeat("open")), 5, starts_within_s=HANG_S)
    assert caplog.messages == ["open"]
    caplog.clear()
    await announced(repeat("closed"), 2)
    assert caplog.messages == ["closed"]


async def test_a_state_that_comes_and_goes_does_not_flood_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """What is said in the end is what holds, whenever there is room for a line again."""
    caplog.set_level(logging.INFO)
    await announced((f"closed {number}" for number in range(1_000)), 500)
    assert BURST <= len(caplog.messages) <= BURST + HANG_S / 10
