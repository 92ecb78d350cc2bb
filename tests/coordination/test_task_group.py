"""Things done together end together, and nobody loses a cancellation."""

import asyncio

import pytest

from nncache.coordination.task_group import AT_ONCE, UnaskedCancellationError, each_bounded, run_all
from tests.invalidation.virtual_time import clock


class Work:
    """Takes a while; may fail; may cling to run."""

    def __init__(self, takes_s: float, error: Exception | None = None, *, ignores: int = 0) -> None:
        self.was_cancelled = 0
        self._takes_s = takes_s
        self._error = error
        self._ignores = ignores  # cancellations that it does not heed

    async def __call__(self) -> None:
        """Do it."""
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
    """Without an error it lasts as long as the longest."""
    await run_all()
    await run_all(Work(1), Work(3), Work(2))
    assert clock() == pytest.approx(1003)


async def test_the_first_error_ends_the_others() -> None:
    """It comes as it is, not in a group."""
    slow, error = Work(10), ValueError("first")
    with pytest.raises(ValueError, match="first") as caught:
        await run_all(Work(1, error), slow, Work(2, ValueError("second")))
    assert caught.value is error
    assert clock() == pytest.approx(1001)
    assert slow.was_cancelled == 1


async def test_a_work_that_others_cancelled_is_missed() -> None:
    """Else the rest would go on without it, and no error would say so."""
    answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_later(1.0, answer.cancel)
    slow = Work(10)
    with pytest.raises(UnaskedCancellationError) as caught:
        await run_all(lambda: answer, slow)
    assert isinstance(caught.value.__cause__, asyncio.CancelledError)
    assert clock() == pytest.approx(1001)
    assert slow.was_cancelled == 1


async def test_who_does_not_end_is_cancelled_again() -> None:
    """Work that swallows its cancellation does not keep the others from going on."""
    stubborn = Work(1000, ignores=3)
    with pytest.raises(ValueError, match="first"):
        await run_all(Work(1, ValueError("first")), stubborn)
    assert stubborn.was_cancelled == 4
    assert clock() < 1010


@pytest.mark.parametrize("error_in_s", [1.0, 1.5])
async def test_a_cancellation_is_not_lost_behind_an_error(error_in_s: float) -> None:
    """Whoever is cancelled ends, whatever fails at that moment: a task group of Python 3.11 would raise the error."""

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
    """The first failure ends the others: nothing goes on in the background."""
    begun: list[int] = []

    async def act(item: int) -> None:
        begun.append(item)
        if item == 3:
            raise TimeoutError
        await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        await each_bounded(range(100), act)
    assert begun == list(range(AT_ONCE))
