"""The order in which queries of subtrees are answered."""

import asyncio

import pytest

from nncache.proxy.errors import RegistryUnavailableError, TooManyRequestsError
from nncache.registry.rest.fair_limiter import MOST, OF_ONE, READINGS, FairLimiter


class Questions:
    """Queries that are answered when the test says so."""

    def __init__(self) -> None:
        self.limiter = FairLimiter()
        self.begun: list[str] = []
        self.may_end = asyncio.Event()

    async def ask(self, holder: str) -> None:
        """Send one query."""
        async with self.limiter.slot(holder):
            self.begun.append(holder)
            await self.may_end.wait()


async def test_one_address_does_not_keep_others_from_theirs() -> None:
    """One is answered and a few wait; further ones are refused, while other addresses are answered."""
    questions = Questions()
    async with asyncio.TaskGroup() as tasks:
        for _ in range(OF_ONE):
            tasks.create_task(questions.ask("flood"))
        await asyncio.sleep(0)
        for _ in range(3):
            with pytest.raises(TooManyRequestsError, match="of one address"):
                await questions.ask("flood")
        tasks.create_task(questions.ask("other"))
        await asyncio.sleep(0)
        assert questions.begun == ["flood", "other"]  # its own others wait for its first
        questions.may_end.set()
    await questions.ask("flood")  # it may again


async def test_those_beyond_wait_in_their_order() -> None:
    """A few are answered concurrently, the rest in order of arrival."""
    questions = Questions()
    names = [f"client-{number}" for number in range(READINGS + 3)]
    async with asyncio.TaskGroup() as tasks:
        for name in names:
            tasks.create_task(questions.ask(name))
        await asyncio.sleep(0)
        assert questions.begun == names[:READINGS]
        questions.may_end.set()
    assert questions.begun == names


async def test_one_that_goes_away_leaves_its_place() -> None:
    """Whether it is waiting or being answered."""
    questions = Questions()
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(questions.ask(f"client-{number}")) for number in range(READINGS + 2)]
        await asyncio.sleep(0)
        tasks[READINGS].cancel()
        tasks[0].cancel()
        for _ in range(5):
            await asyncio.sleep(0)
        assert questions.begun[READINGS] == f"client-{READINGS + 1}"
        questions.may_end.set()
    for _ in range(OF_ONE):
        await questions.ask("client-0")


async def test_there_is_an_end_to_those_who_wait() -> None:
    """The bound is for all addresses together."""
    questions = Questions()
    async with asyncio.TaskGroup() as tasks:
        for number in range(MOST):
            tasks.create_task(questions.ask(f"client-{number}"))
        await asyncio.sleep(0)
        with pytest.raises(RegistryUnavailableError, match="ask again"):
            await questions.ask("one more")
        questions.may_end.set()
