"""Long work gives way."""

import asyncio

import pytest

from nncache.registry.slices import SLICE_BYTES, Slices


@pytest.mark.parametrize(
    ("sizes", "turns"),
    [
        ([SLICE_BYTES - 1], 0),
        ([SLICE_BYTES - 1, 1], 1),
        ([SLICE_BYTES, SLICE_BYTES], 2),
        ([1_000] * 100, 5),
        ([0] * SLICE_BYTES, SLICE_BYTES // 128),  # entries without data take time as well
    ],
)
async def test_others_have_their_turn_after_each_slice(sizes: list[int], turns: int) -> None:
    """However many entries it is made of, and no sooner."""
    had = 0

    async def other() -> None:
        nonlocal had
        while True:
            had += 1
            await asyncio.sleep(0)

    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(other())
        await asyncio.sleep(0)
        before, slices = had, Slices()
        for size in sizes:
            await slices.add(size)
        assert had - before == turns
        task.cancel()
