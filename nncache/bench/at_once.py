"""Do much work of one kind, a little of it at a time."""

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any, Final

AT_ONCE: Final = 32


async def at_once(work: Iterable[Coroutine[Any, Any, object]]) -> None:
    """Await all, AT_ONCE at a time; the first error ends it."""
    waiting = iter(work)

    async def go_on() -> None:
        for each in waiting:
            await each

    async with asyncio.TaskGroup() as tasks:
        for _ in range(AT_ONCE):
            tasks.create_task(go_on())
