"""Carry out a plan of many filters in HDFS."""

from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from nncache.coordination.task_group import each_bounded
from nncache.invalidation.errors import NoSuchFilterError
from nncache.invalidation.filters.definition import Filter
from nncache.invalidation.filters.file_plan import Change, FilePlan
from nncache.invalidation.filters.hdfs_reader import Progress
from nncache.invalidation.filters.hdfs_store import FilterStore

AT_ONCE: Final = 16
"""Filters that are touched at the same time, each by one call after the other."""


@dataclass(slots=True)
class Done:
    """How many filters were touched so far."""

    added: int = 0
    changed: int = 0
    removed: int = 0


async def carry_out(plan: FilePlan, store: FilterStore, done: Done, progress: Progress | None = None) -> None:
    """Do what is planned, and count it in `done`; the first failure ends the rest and is raised.

    Each filter is touched as a whole or not at all, so that a later plan goes on where this one ended. What is
    removed goes last: a path whose filter gets another name has one all the time.
    """
    finished = 0

    def step_done() -> None:
        nonlocal finished
        finished += 1
        if progress is not None:
            progress(finished, plan.steps)

    async def write(step: Filter | Change) -> None:
        if isinstance(step, Change):
            await store.change(step.before, step.after)
            done.changed += 1
        else:
            await store.add_unseen(step)
            done.added += 1
        step_done()

    async def remove(name: str) -> None:
        with suppress(NoSuchFilterError):  # another client was faster
            await store.remove(name)
            done.removed += 1
        step_done()

    if plan.added:
        await store.prepare()
    steps: tuple[Filter | Change, ...] = (*plan.added, *plan.changed)
    await each_bounded(steps, write, at_once=AT_ONCE)
    await each_bounded(plan.removed, remove, at_once=AT_ONCE)
