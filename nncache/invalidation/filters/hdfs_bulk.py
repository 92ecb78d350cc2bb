"""Carry out a plan of many filters in HDFS."""

from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from nncache.coordination.task_group import each_bounded
from nncache.invalidation.errors import NoSuchFilterError
from nncache.invalidation.filters.definition import Filter
from nncache.invalidation.filters.file_plan import FilePlan, FilterUpdate
from nncache.invalidation.filters.hdfs_reader import ReadProgress
from nncache.invalidation.filters.hdfs_store import FilterStore

AT_ONCE: Final = 16
"""Filters changed at the same time; the calls for one filter follow each other."""


@dataclass(slots=True)
class Done:
    """The number of filters changed so far."""

    added: int = 0
    changed: int = 0
    removed: int = 0


async def carry_out(
    plan: FilePlan, store: FilterStore, done: Done, progress: ReadProgress | None = None
) -> None:
    """Carry out the plan, and count the changes in `done`; the first failure stops the rest and is raised.

    Each filter is changed as a whole or not at all, so a later plan continues where this one stopped. Filters are
    removed last: a path whose filter gets another name has a filter all the time.
    """
    finished = 0

    def step_done() -> None:
        nonlocal finished
        finished += 1
        if progress is not None:
            progress(finished, plan.steps)

    async def write(step: Filter | FilterUpdate) -> None:
        if isinstance(step, FilterUpdate):
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
    steps: tuple[Filter | FilterUpdate, ...] = (*plan.added, *plan.changed)
    await each_bounded(steps, write, at_once=AT_ONCE)
    await each_bounded(plan.removed, remove, at_once=AT_ONCE)
