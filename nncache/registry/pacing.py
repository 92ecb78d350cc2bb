"""Bounds the registry's use of the event loop and of ZooKeeper.

The registry's design limits the rate of one client's changes: ZooKeeper writes each change to the disks of all its
servers, at the cost of all its users.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, Final, ParamSpec, TypeVar

from nncache.coordination.task_group import each_bounded
from nncache.net.token_bucket import TokenBucket

_P = ParamSpec("_P")
_R = TypeVar("_R")

SLICE_BYTES: Final = 16_384
"""Record bytes to parse or encode in one iteration of the event loop: a few milliseconds."""

_LEAST_BYTES: Final = 128  # least size that an entry counts: one without a record takes time as well


class Slices:
    """Yields to other tasks of the event loop after each slice of work."""

    def __init__(self) -> None:
        self._bytes = 0

    async def add(self, size: int) -> None:
        """Count an entry of `size` bytes in this slice; if the slice is full, yield to other tasks."""
        self._bytes += max(size, _LEAST_BYTES)
        if self._bytes >= SLICE_BYTES:
            self._bytes = 0
            await asyncio.sleep(0)


async def apart(size: int, work: Callable[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R:
    """Return `work(*args, **kwargs)`; run it in a thread if `size` exceeds a slice. `work` must be pure."""
    if size <= SLICE_BYTES:
        return work(*args, **kwargs)
    return await asyncio.to_thread(work, *args, **kwargs)


BURST_S: Final = 10.0  # of the rate of changes


class Pace:
    """Limits the rate of changes, which start in the order of the calls."""

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
        """Wait until one more change may start."""
        now = self._clock()
        wait_s = self._bucket.ready_at(1.0) - now
        self._bucket.charge(1.0, now)
        if wait_s > 0.0:
            await self._sleep(wait_s)


_A = TypeVar("_A")

MOST: Final = 64
"""A session's limit of concurrent calls: a further call would only wait, and its deadline starts with the call."""


async def at_once(
    call: Callable[[_A], Coroutine[Any, Any, _R]], arguments: Sequence[_A], most: int = MOST
) -> list[_R]:
    """Return the results of `call` for all arguments, in order; at most `most` calls run concurrently.

    The first error cancels the other calls, and is raised unwrapped.
    """
    returned: dict[int, _R] = {}

    async def keep(each: tuple[int, _A]) -> None:
        number, argument = each
        returned[number] = await call(argument)

    await each_bounded(enumerate(arguments), keep, at_once=min(most, len(arguments)))
    return [returned[number] for number in range(len(arguments))]
