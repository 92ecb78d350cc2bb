"""Do several things at the same time, and end together."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Final, TypeVar

_ItemT = TypeVar("_ItemT")

AT_ONCE: Final = 16
"""Works of `each_bounded` at the same time, unless it is given another number."""

AGAIN_S: Final = 1.0
"""Seconds after which work that did not end when it was cancelled is cancelled again."""


class UnaskedCancellationError(Exception):
    """A work ended by a cancellation that was not meant for it, such as that of a future for which it waited."""


async def run_all(*works: Callable[[], Awaitable[object]]) -> None:
    """Run all; return when all have ended. The first error ends the others, and is raised.

    Three things differ from a bare asyncio.TaskGroup of Python 3.11: the error comes as it is, not in a group; a
    cancellation that meets an error is not lost (the group would raise the error, and its task live on); and where
    one work ends by a cancellation that came from elsewhere the others do not go on without it.

    Raises:
        UnaskedCancellationError: such a cancellation; its cause is where it came.
    """
    failures: list[Exception] = []
    try:
        await _run(works, failures)
        if failures:
            raise failures[0]
    except asyncio.CancelledError as exc:
        exc.__traceback__ = None  # its frames lead to it, by the group and its task: all would stay
        raise
    finally:
        failures.clear()  # and an error's frames to this list


async def _run(works: Iterable[Callable[[], Awaitable[object]]], failures: list[Exception]) -> None:
    """Run all until all have ended; the first that is added to `failures` ends the others."""
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
    """One of several works has ended."""


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
    items: Iterable[_ItemT], act: Callable[[_ItemT], Awaitable[None]], *, at_once: int = AT_ONCE
) -> None:
    """Act on all items, `at_once` of them at a time; the first failure ends the others and is raised."""
    waiting = iter(items)

    async def work() -> None:
        for item in waiting:
            await act(item)

    await run_all(*[work] * at_once)
