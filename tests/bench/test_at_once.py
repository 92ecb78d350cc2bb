"""Much work is done a little at a time."""

import asyncio

import pytest

from nncache.bench.at_once import AT_ONCE, at_once


async def test_all_is_done_and_never_too_much_at_the_same_time() -> None:
    """As much as is allowed, and no more."""
    under_way, most, done = 0, 0, []

    async def work(number: int) -> None:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0)
        under_way -= 1
        done.append(number)

    await at_once(work(number) for number in range(3 * AT_ONCE + 1))
    assert sorted(done) == list(range(3 * AT_ONCE + 1))
    assert most == AT_ONCE


async def test_the_first_error_ends_it() -> None:
    """What was not begun is not begun any more, what was under way is given up."""
    begun, done = [], []

    async def work(number: int) -> None:
        begun.append(number)
        await asyncio.sleep(0)
        if number == 1:
            raise ValueError("the second one")
        await asyncio.sleep(0)
        done.append(number)

    with pytest.raises(ExceptionGroup) as raised:
        await at_once(work(number) for number in range(3 * AT_ONCE))
    (error,) = raised.value.exceptions
    assert str(error) == "the second one"
    assert len(begun) < 2 * AT_ONCE
    assert len(done) < AT_ONCE
