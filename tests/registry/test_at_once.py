"""Many calls at the same time."""

import asyncio

import pytest

from nncache.registry.at_once import MOST, at_once


async def test_results_have_the_order_of_the_arguments() -> None:
    """And never more calls than allowed are under way."""
    under_way, most = 0, 0

    async def call(number: int) -> int:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0)
        under_way -= 1
        return -number

    assert await at_once(call, range(200)) == [-number for number in range(200)]
    assert most == MOST
    assert await at_once(call, []) == []


async def test_an_error_is_raised_as_it_is() -> None:
    """And ends the others."""
    ended = []

    async def call(number: int) -> None:
        if number == 3:
            raise ValueError("three")
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(number)

    with pytest.raises(ValueError, match="three"):
        await at_once(call, range(5))
    assert sorted(ended) == [0, 1, 2, 4]
