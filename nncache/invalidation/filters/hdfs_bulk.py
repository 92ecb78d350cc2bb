"""Carry out a plan of many filters in HDFS."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Final, Protocol

from nncache.coordination.task_group import each_bounded
from nncache.invalidation.errors import NoSuchFilterError
from nncache.invalidation.filters.definition import Filter
from nncache.invalidation.filters.file_plan import FilePlan
from nncache.invalidation.filters.hdfs_reader import Progress

AT_ONCE: Final = 16
"""Filters that are touched at the same time, each by one call after the other."""


class Store(Protocol):
    """Where the filters are; `hdfs_store.FilterStore` has this shape and says what is raised."""

    async def prepare(self) -> None:
        """Make ready for additions."""

    async def add_unseen(self, new: Filter) -> None:
        """Add a filter of which none was seen."""

    async def change(self, before: Filter, after: Filter) -> None:
        """Make a filter another one of the same name."""

    async def remove(self, name: str) -> None:
        """Remove a filter."""


@dataclass(slots=True)
class Done:
    """How many filters were touched so far."""

    added: int = 0
    changed: int = 0
    removed: int = 0


async def carry_out(plan: FilePlan, store: Store, done: Done, progress: Progress | None = None) -> None:
    """Do what is planned, and count it in `done`; the first failure ends the rest and is raised.

    Each filter is touched as a whole or not at all, so that a later plan goes on where this one ended. What is
    removed goes last: a path whose filter gets another name has one all the time.
    """
    steps = [
        *(partial(_add, store, done, new) for new in plan.added),
        *(partial(_change, store, done, each.before, each.after) for each in plan.changed),
    ]
    removals = [partial(_remove, store, done, name) for name in plan.removed]
    finished = 0

    async def take(step: Callable[[], Awaitable[None]]) -> None:
        nonlocal finished
        await step()
        finished += 1
        if progress is not None:
            progress(finished, plan.steps)

    if plan.added:
        await store.prepare()
    await each_bounded(steps, take, at_once=AT_ONCE)
    await each_bounded(removals, take, at_once=AT_ONCE)


async def _add(store: Store, done: Done, new: Filter) -> None:
    await store.add_unseen(new)
    done.added += 1


async def _change(store: Store, done: Done, before: Filter, after: Filter) -> None:
    await store.change(before, after)
    done.changed += 1


async def _remove(store: Store, done: Done, name: str) -> None:
    try:
        await store.remove(name)
    except NoSuchFilterError:  # somebody else was faster
        return
    done.removed += 1
