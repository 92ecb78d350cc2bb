"""Concurrent work ends together, and no cancellation is lost."""

import asyncio

import pytest

from nncache.coordination.task_group import AT_ONCE, UnaskedCancellationError, each_bounded, run_all
from tests.invalidation.virtual_time import clock


class Work:
    """Work that takes time, and may fail or ignore cancellations."""

    def __init__(self, takes_s: float, error: Exception | None = None, *, ignores: int = 0) -> None:
        self.was_cancelled = 0
        self._takes_s = takes_s
        self._error = error
        self._ignores = ignores  # number of cancellations that it ignores

    async def __call__(self) -> None:
        """Do the work."""
        while True:
            try:
                await asyncio.sleep(self._takes_s)
            except asyncio.CancelledError:
                self.was_cancelled += 1
                if self.was_cancelled > self._ignores:
                    raise
            else:
                break
        if self._error is not None:
            raise self._error


async def test_all_are_waited_for() -> None:
    """Without an error the group takes as long as its longest work."""
    await run_all()
    await run_all(Work(1), Work(3), Work(2))
    assert clock() == pytest.approx(1003)


async def test_the_first_error_ends_the_others() -> None:
    """The error is raised itself, not in an exception group."""
    slow, error = Work(10), ValueError("first")
    with pytest.raises(ValueError, match="first") as caught:
        await run_all(Work(1, error), slow, Work(2, ValueError("second")))
    assert caught.value is error
    assert clock() == pytest.approx(1001)
    assert slow.was_cancelled == 1


async def test_a_work_that_others_cancelled_is_missed() -> None:
    """Otherwise the rest would continue without it, and without an error."""
    answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_later(1.0, answer.cancel)
    slow = Work(10)
    with pytest.raises(UnaskedCancellationError) as caught:
        await run_all(lambda: answer, slow)
    assert isinstance(caught.value.__cause__, asyncio.CancelledError)
    assert clock() == pytest.approx(1001)
    assert slow.was_cancelled == 1


async def test_who_does_not_end_is_cancelled_again() -> None:
    """Work that swallows cancellations does not keep the others running."""
    stubborn = Work(1000, ignores=3)
    with pytest.raises(ValueError, match="first"):
        await run_all(Work(1, ValueError("first")), stubborn)
    assert stubborn.was_cancelled == 4
    assert clock() < 1010


@pytest.mark.parametrize("error_in_s", [1.0, 1.5])
async def test_a_cancellation_is_not_lost_behind_an_error(error_in_s: float) -> None:
    """A cancelled group ends as cancelled whatever fails then; a task group of Python 3.11 raises the error."""

    async def fail_when_cancelled() -> None:
        try:
            await asyncio.sleep(10)
        finally:
            raise ValueError("at the end")

    async with asyncio.TaskGroup() as tasks:
        works = (fail_when_cancelled, Work(error_in_s, ValueError("meanwhile")))
        task = tasks.create_task(run_all(*works))
        asyncio.get_running_loop().call_later(1.0, task.cancel)
        await asyncio.wait([task])
    assert task.cancelled()


async def test_of_many_items_some_are_acted_on_at_a_time() -> None:
    """The first failure cancels the others: nothing continues in the background."""
    begun: list[int] = []

    async def act(item: int) -> None:
        begun.append(item)
        if item == 3:
            raise TimeoutError
        await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        await each_bounded(range(100), act)
    assert begun == list(range(AT_ONCE))


async def test_no_more_than_wanted_are_under_way() -> None:
    """Each item is handled once."""
    seen: list[int] = []
    under_way = most = 0

    async def act(number: int) -> None:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        seen.append(number)
        await asyncio.sleep(0)
        under_way -= 1

    await each_bounded(range(10), act, at_once=3)
    assert sorted(seen) == list(range(10))
    assert most == 3
