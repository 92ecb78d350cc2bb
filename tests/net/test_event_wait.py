"""Waiting for an event for a limited time."""

import asyncio

from nncache.net.event_wait import wait_set


async def test_it_ends_with_the_event_or_the_time() -> None:
    """It tells which of the two came first; without a limit only the event ends it."""
    event = asyncio.Event()
    assert not await wait_set(event, 0.001)
    async with asyncio.TaskGroup() as tasks:
        waiting = [tasks.create_task(wait_set(event, timeout_s)) for timeout_s in (60.0, None)]
        await asyncio.sleep(0)
        event.set()
    assert [task.result() for task in waiting] == [True, True]
    assert await wait_set(event, 0.0)
