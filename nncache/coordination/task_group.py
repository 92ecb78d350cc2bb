"""Runs several coroutines concurrently, and ends them together."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Final, TypeVar

_ItemT = TypeVar("_ItemT")

AT_ONCE: Final = 16
"""Default of the concurrent calls of `each_bounded`."""

AGAIN_S: Final = 1.0
"""Interval in seconds at which a coroutine that survives its cancellation is cancelled again."""


class UnaskedCancellationError(Exception):
    """A coroutine was cancelled from elsewhere, for example because a future that it awaited was cancelled."""


async def run_all(*works: Callable[[], Awaitable[object]]) -> None:
    """Run all concurrently; return when all have ended. The first error cancels the others, and is raised.

    It differs from asyncio.TaskGroup of Python 3.11 in three ways. The error is raised itself, not in a group. A
    cancellation that coincides with an error is not lost: the group would raise the error, and its task would continue.
    If one coroutine ends by a cancellation from elsewhere, the others are cancelled too.

    Raises:
        UnaskedCancellationError: a coroutine was cancelled from elsewhere; its cause is that cancellation.
    """
    failures: list[Exception] = []
    try:
        await _run(works, failures)
        if failures:
            raise failures[0]
    except asyncio.CancelledError as exc:
        exc.__traceback__ = None  # its frames refer to it, through the group and its task: a cycle
        raise
    finally:
        failures.clear()  # its frames refer to this list


async def _run(works: Iterable[Callable[[], Awaitable[object]]], failures: list[Exception]) -> None:
    """Run all until all have ended; the first failure, added to `failures`, cancels the others."""
    is_ending = False

    async def guarded(work: Callable[[], Awaitable[object]]) -> None:
        try:
            await work()
        except asyncio.CancelledError as exc:
            if not is_ending:
                failures.append(
                    UnaskedCancellationError(f"{work} was cancelled by something that it waited for")
                )
                failures[-1].__cause__ = exc
            raise
        except Exception as exc:  # noqa: BLE001 - raised by `run_all`
            failures.append(exc)

    async with asyncio.TaskGroup() as tasks:
        running = {tasks.create_task(guarded(work)) for work in works}
        try:
            while running and not failures:
                _, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
        finally:
            is_ending = True
            while running:
                for task in running:
                    task.cancel()
                _, running = await asyncio.wait(running, timeout=AGAIN_S)


class _EndedError(Exception):
    """One of several coroutines has ended."""


async def run_until_first(*works: Callable[[], Awaitable[object]]) -> None:
    """Run all until one of them has ended, and cancel the others; errors and cancellation as in `run_all`."""

    async def ending(work: Callable[[], Awaitable[object]]) -> None:
        await work()
        raise _EndedError

    try:
        await run_all(*(partial(ending, work) for work in works))
    except _EndedError:
        return


async def each_bounded(
    items: Iterable[_ItemT], act: Callable[[_ItemT], Awaitable[object]], *, at_once: int = AT_ONCE
) -> None:
    """Call `act` on all items, at most `at_once` concurrently; the first failure cancels the others and is raised."""
    waiting = iter(items)

    async def work() -> None:
        for item in waiting:
            await act(item)

    await run_all(*[work] * at_once)
