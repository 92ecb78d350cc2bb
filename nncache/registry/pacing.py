"""What bounds the registry's use of the event loop and of ZooKeeper.

The design bounds how fast one client changes the registry: ZooKeeper writes each change to the disks of all its
servers, for all its users.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, Final, ParamSpec, TypeVar

from nncache.coordination.task_group import each_bounded
from nncache.net.token_bucket import TokenBucket

_P = ParamSpec("_P")
_R = TypeVar("_R")

SLICE_BYTES: Final = 16_384
"""Of records that are parsed or written in one turn of the event loop: a few milliseconds."""

_LEAST_BYTES: Final = 128  # which an entry counts as at least: one without a record takes time as well


class Slices:
    """Gives way to other work of the event loop after each slice."""

    def __init__(self) -> None:
        self._bytes = 0

    async def add(self, size: int) -> None:
        """Count an entry of so many bytes, which is parsed or written in this slice; wait where that is full."""
        self._bytes += max(size, _LEAST_BYTES)
        if self._bytes >= SLICE_BYTES:
            self._bytes = 0
            await asyncio.sleep(0)


async def apart(size: int, work: Callable[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R:
    """Return what pure work returns; that on more bytes than a slice has is done in a thread, beside the event loop."""
    if size <= SLICE_BYTES:
        return work(*args, **kwargs)
    return await asyncio.to_thread(work, *args, **kwargs)


BURST_S: Final = 10.0  # how many seconds' worth of changes may come at once


class Pace:
    """Lets so many changes a second begin, in the order in which they ask."""

    def __init__(
        self,
        per_s: float,
        clock: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._bucket = TokenBucket(per_s, per_s * BURST_S, clock())
        self._clock = clock
        self._sleep = sleep

    async def wait(self) -> None:
        """Return when one more change may begin."""
        now = self._clock()
        wait_s = self._bucket.ready_at(1.0) - now
        self._bucket.charge(1.0, now)
        if wait_s > 0.0:
            await self._sleep(wait_s)


_A = TypeVar("_A")

MOST: Final = 64
"""As many as a session has under way: a call's deadline begins with it, so that one more would only wait."""


async def at_once(
    call: Callable[[_A], Coroutine[Any, Any, _R]], arguments: Sequence[_A], most: int = MOST
) -> list[_R]:
    """Return what `call` returns for each argument, in their order; at most `most` calls are under way.

    The first error ends them all, and is raised itself.
    """
    returned: dict[int, _R] = {}

    async def keep(each: tuple[int, _A]) -> None:
        number, argument = each
        returned[number] = await call(argument)

    await each_bounded(enumerate(arguments), keep, at_once=min(most, len(arguments)))
    return [returned[number] for number in range(len(arguments))]
