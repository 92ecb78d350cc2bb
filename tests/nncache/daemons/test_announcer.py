"""The log says what changes, once per change."""

import asyncio
import logging

import pytest

from nncache.daemons.announcer import announce
from tests.patience import HANG_S


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
