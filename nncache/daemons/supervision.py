"""Keep background work going, whatever happens to it."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import NoReturn, TypeAlias

Work: TypeAlias = tuple[str, Callable[[], Awaitable[object]]]
"""What it is, for the log, and how to begin it."""

PAUSE_S = 1.0
"""Before work that failed is begun again."""

_log = logging.getLogger(__name__)


async def keep_running(
    what: str, work: Callable[[], Awaitable[object]], pause_s: float = PAUSE_S
) -> NoReturn:
    """Run the work, and again when it ends or fails, until cancelled.

    An internal error must cost cached answers, not the process (FailToNameNode): the gate closes by time alone
    when nothing watches the NameNodes or reads their changes.
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
    """Keep all this work running while the block lasts; an error of the block leaves as a group."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(keep_running(what, work), name=what) for what, work in works]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
