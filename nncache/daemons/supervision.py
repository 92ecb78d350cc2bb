"""Keep background work running, even if it fails."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import NoReturn, TypeAlias

Work: TypeAlias = tuple[str, Callable[[], Awaitable[object]]]
"""The name of the work, for the log, and the function that starts it."""

PAUSE_S = 1.0
"""Seconds before failed work is restarted."""

_log = logging.getLogger(__name__)


async def keep_running(
    what: str, work: Callable[[], Awaitable[object]], pause_s: float = PAUSE_S
) -> NoReturn:
    """Run the work until cancelled. Restart it when it ends or fails.

    An internal error must cost cached answers, not the process (FailToNameNode): the gate closes by time alone
    if the NameNodes are not probed or their changes are not read.
    """
    while True:
        try:
            await work()
        except Exception:  # noqa: BLE001 - supervised: see the docstring
            _log.exception("%s failed, restarting in %g s", what, pause_s)
        else:
            _log.error("%s ended by itself, restarting in %g s", what, pause_s)
        await asyncio.sleep(pause_s)


@asynccontextmanager
async def background(works: Iterable[Work]) -> AsyncIterator[None]:
    """Keep the given work running inside the block. An error of the block leaves it as an exception group."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(keep_running(what, work), name=what) for what, work in works]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
