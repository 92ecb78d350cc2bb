"""How fast one client changes the registry."""

import asyncio

from nncache.registry.access import AccessPolicy
from nncache.registry.operations import Registry
from nncache.registry.pace import BURST_S, Pace
from tests.coordination.fake_zookeeper import FakeZooKeeper
from tests.registry.worlds import WEBHDFS


class Time:
    """A clock that goes on when someone sleeps."""

    def __init__(self) -> None:
        self.now = 1000.0

    def clock(self) -> float:
        """Return it."""
        return self.now

    async def sleep(self, seconds: float) -> None:
        """Let it go on."""
        self.now += seconds


async def test_a_burst_is_free_and_then_one_comes_after_the_other() -> None:
    """Ten a second: a hundred at once, and the next fifty in five seconds."""
    time = Time()
    pace = Pace(10.0, time.clock, time.sleep)
    for _ in range(round(10 * BURST_S)):
        await pace.turn()
    assert time.now == 1000.0
    for _ in range(50):
        await pace.turn()
    assert round(time.now - 1000.0, 6) == 5.0
    time.now += 1.0
    for _ in range(10):
        await pace.turn()
    assert round(time.now - 1006.0, 6) == 0.0


async def test_those_who_wait_keep_their_order() -> None:
    """Each waits for those before it, and not once for all."""
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(round(seconds, 6))

    pace = Pace(1.0, lambda: 0.0, sleep)
    await asyncio.gather(*(pace.turn() for _ in range(round(BURST_S) + 3)))
    assert waits == [1.0, 2.0, 3.0]


async def test_each_change_of_the_registry_is_one() -> None:
    """Reads are none; of a subtree that is deleted each entry is."""
    turns = 0

    class Counted(Pace):
        async def turn(self) -> None:
            nonlocal turns
            turns += 1

    time = Time()
    registry = Registry(
        FakeZooKeeper(time.clock).session(), "/registry", AccessPolicy(), Counted(1.0, time.clock)
    )
    await registry.make_root()
    assert turns == 0
    await registry.mknode("/services/a", create_parents=True)
    await registry.bind("/services/a/b", WEBHDFS)
    await registry.update("/services/a/b", lambda record: record)
    await registry.resolve("/services/a/b")
    assert turns == 3
    await registry.bind("/services/a/b", WEBHDFS, overwrite=True)
    assert turns == 5  # it was there
    await registry.delete("/services/a", recursive=True)
    assert turns == 8
