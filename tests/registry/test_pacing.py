"""The limits on the use of the event loop and of ZooKeeper."""

import asyncio

import pytest

from nncache.registry.access import AccessPolicy
from nncache.registry.operations import Registry
from nncache.registry.pacing import BURST_S, MOST, SLICE_BYTES, Pace, Slices, at_once
from tests.coordination.fake_zookeeper import FakeZooKeeper
from tests.registry.samples import WEBHDFS


@pytest.mark.parametrize(
    ("sizes", "iterations"),
    [
        ([SLICE_BYTES - 1], 0),
        ([SLICE_BYTES - 1, 1], 1),
        ([SLICE_BYTES, SLICE_BYTES], 2),
        ([1_000] * 100, 5),
        ([0] * SLICE_BYTES, SLICE_BYTES // 128),  # entries without data take time as well
    ],
)
async def test_others_run_after_each_slice(sizes: list[int], iterations: int) -> None:
    """The number of entries has no influence, and a slice does not end earlier."""
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
        assert had - before == iterations
        task.cancel()


class Time:
    """A clock that advances when a task sleeps."""

    def __init__(self) -> None:
        self.now = 1000.0

    def clock(self) -> float:
        """Return the time."""
        return self.now

    async def sleep(self, seconds: float) -> None:
        """Advance the clock."""
        self.now += seconds


async def test_a_burst_is_free_and_then_one_comes_after_the_other() -> None:
    """Ten per second: a hundred immediately, and the next fifty in five seconds."""
    time = Time()
    pace = Pace(10.0, time.clock, time.sleep)
    for _ in range(round(10 * BURST_S)):
        await pace.wait()
    assert time.now == 1000.0
    for _ in range(50):
        await pace.wait()
    assert round(time.now - 1000.0, 6) == 5.0
    time.now += 1.0
    for _ in range(10):
        await pace.wait()
    assert round(time.now - 1006.0, 6) == 0.0


async def test_those_who_wait_keep_their_order() -> None:
    """Each caller waits for those before it, with one delay of its own."""
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(round(seconds, 6))

    pace = Pace(1.0, lambda: 0.0, sleep)
    await asyncio.gather(*(pace.wait() for _ in range(round(BURST_S) + 3)))
    assert waits == [1.0, 2.0, 3.0]


async def test_each_change_of_the_registry_is_one() -> None:
    """Reads do not count; of a deleted subtree each entry counts."""
    waits = 0

    class Counted(Pace):
        async def wait(self) -> None:
            nonlocal waits
            waits += 1

    time = Time()
    registry = Registry(
        FakeZooKeeper(time.clock).session(), "/registry", AccessPolicy(), Counted(1.0, time.clock)
    )
    await registry.make_root()
    assert waits == 0
    await registry.mknode("/services/a", create_parents=True)
    await registry.bind("/services/a/b", WEBHDFS)
    await registry.update("/services/a/b", lambda record: record)
    await registry.resolve("/services/a/b")
    assert waits == 3
    await registry.bind("/services/a/b", WEBHDFS, overwrite=True)
    assert waits == 5  # it was there
    await registry.delete("/services/a", recursive=True)
    assert waits == 8


async def test_results_have_the_order_of_the_arguments() -> None:
    """The limit of concurrent calls is never exceeded."""
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
    """It also cancels the other calls."""
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
