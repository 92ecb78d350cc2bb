"""Wait for an event of asyncio for a limited time."""

import asyncio


async def wait_set(event: asyncio.Event, timeout_s: float | None) -> bool:
    """Wait until the event is set; return False after `timeout_s` seconds (None: no limit), as threading.Event.wait."""
    try:
        async with asyncio.timeout(timeout_s):
            await event.wait()
    except TimeoutError:
        return False
    return True
