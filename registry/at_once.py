"""Many calls of ZooKeeper at the same time, but not too many. (registry/at_once.py)"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final, TypeVar

_A = TypeVar("_A")
_R = TypeVar("_R")

MOST: Final = 64
"""As many as a session has under way: a call's deadline begins with it, so that one more would only wait."""


async def at_once(
    call: Callable[[_A], Coroutine[Any, Any, _R]], arguments: Sequence[_A], most: int = MOST
) -> list[_R]:
    """Return what `call` returns for each argument, in their order; at most `most` calls are under way.

    The first error ends them all, and is raised itself.
    """
    limit = asyncio.Semaphore(most)

    async def limited(argument: _A) -> _R:
        async with limit:
            return await call(argument)

    try:
        async with asyncio.TaskGroup() as tasks:
            made = [tasks.create_task(limited(argument)) for argument in arguments]
    except ExceptionGroup as group:
        raise group.exceptions[0] from None
    return [task.result() for task in made]
