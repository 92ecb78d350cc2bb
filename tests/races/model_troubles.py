"""The faults that affect all lanes, by name."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, TypeAlias

from nncache.hadoop.election_view import HaState
from tests.model.system import ModelSystem
from tests.model.writes import delete, mkdirs, touch
from tests.races.model_changes import behind

Trouble: TypeAlias = Callable[[ModelSystem, random.Random], Awaitable[None]]


def _change(system: ModelSystem) -> None:
    """Change each lane behind the proxy's back, enough for the consumer to yield to other tasks."""
    tops = [path for path in system.cluster.present.namespace if path.count("/") == 1 and path != "/"]
    for number, top in enumerate(tops):
        makes = (
            (touch(f"{top}/d/f"),),
            (delete(f"{top}/d/f"), mkdirs(f"{top}/d/x")),
            (delete(f"{top}/d"),),
            (mkdirs(f"{top}/m/x"), delete(f"{top}/d/f")),
        )
        behind(system, (touch(f"{top}/d/g"), touch(f"{top}/e/f"), *makes[number % len(makes)]))


async def _fail_over(system: ModelSystem, _: random.Random) -> None:
    system.cluster.fail_over()


async def _restart(system: ModelSystem, _: random.Random) -> None:
    system.cluster.restart()


async def _lose_unsynced(system: ModelSystem, chance: random.Random) -> None:
    """Show changes that are not durable, then lose them."""
    system.cluster.hold_sync()
    _change(system)
    await asyncio.sleep(chance.choice((0.0, 0.003, 0.05)))
    (system.cluster.restart if chance.random() < 0.5 else system.cluster.fail_over)()


async def _cut(system: ModelSystem, _: random.Random) -> None:
    system.cluster.active.cut()
    _change(system)


async def _cut_under_a_poll(system: ModelSystem, _: random.Random) -> None:
    _change(system)
    active = system.cluster.active
    active.during_call = active.cut
    system.consumer.request_probe()
    await asyncio.sleep(0.01)


async def _lose_under_a_poll(system: ModelSystem, chance: random.Random) -> None:
    """Let the reply to a poll come from a NameNode that lost its latest edits, or from the other one."""
    cluster = system.cluster
    cluster.hold_sync()
    _change(system)
    cluster.active.during_call = cluster.restart if chance.random() < 0.5 else cluster.fail_over
    system.consumer.request_probe()
    await asyncio.sleep(0.01)


async def _change_under_a_poll(system: ModelSystem, _: random.Random) -> None:
    system.cluster.active.during_call = lambda: _change(system)
    system.consumer.request_probe()
    await asyncio.sleep(0.01)


async def _be_unreachable(system: ModelSystem, chance: random.Random) -> None:
    _change(system)
    system.cluster.active.cut()
    system.cluster.active.is_reachable = False
    await asyncio.sleep(chance.choice((0.05, 0.5, 3.5)))


async def _lose_edits(system: ModelSystem, _: random.Random) -> None:
    """Change something while the edits cannot be read, and purge them."""
    system.cluster.active.cut()
    _change(system)
    system.cluster.write_nothing()
    system.cluster.active.log.first_kept = system.cluster.active.log.end


async def _break_cache(system: ModelSystem, _: random.Random) -> None:
    """Make the cache fail on the next change."""
    system.cache.faults["apply"] = 1
    _change(system)
    system.consumer.request_probe()
    await asyncio.sleep(0.1)
    system.cache.faults["apply"] = 0


async def _fail_conclusion(system: ModelSystem, _: random.Random) -> None:
    """Make the cache fail on the next reply."""
    system.cache.faults["conclude"] = 1
    await asyncio.sleep(0.01)
    _change(system)
    system.cache.faults["conclude"] = 0


async def _be_silent(system: ModelSystem, _: random.Random) -> None:
    """Make the NameNodes' web pages unresponsive: the active one is unknown for a while."""
    for namenode in system.cluster.namenodes:
        namenode.answers_jmx = False
    system.cluster.active.cut()
    _change(system)
    await asyncio.sleep(1.5)


async def _befall(system: ModelSystem, chance: random.Random) -> None:
    """Cause a fault of the channel."""
    _change(system)
    system.channel.befall(chance.randrange(1 << 12))
    await asyncio.sleep(chance.choice((0.0, 0.01, 0.3)))


async def _have_no_active(system: ModelSystem, chance: random.Random) -> None:
    """End the stream, with no active NameNode when the next one is to start."""
    system.cache.faults["apply"] = 1
    _change(system)
    system.consumer.request_probe()
    for _ in range(3000):
        if not system.cache.faults["apply"]:
            break
        await asyncio.sleep(0.001)
    system.cluster.active.state = HaState.STANDBY
    system.pool.probe()
    system.cluster.active.cut()
    await asyncio.sleep(chance.choice((0.5, 7.0)))


async def _be_old(system: ModelSystem, _: random.Random) -> None:
    """Wait until calls in flight are too old to be joined."""
    _change(system)
    await asyncio.sleep(3.5)


TROUBLES: Final[Mapping[str, Trouble]] = {
    "fail over": _fail_over,
    "restart": _restart,
    "lose what was shown": _lose_unsynced,
    "cut": _cut,
    "cut under a poll": _cut_under_a_poll,
    "change under a poll": _change_under_a_poll,
    "lose under a poll": _lose_under_a_poll,
    "unreachable": _be_unreachable,
    "lose edits": _lose_edits,
    "break the cache": _break_cache,
    "break a conclusion": _fail_conclusion,
    "silent pages": _be_silent,
    "befall the channel": _befall,
    "nobody active": _have_no_active,
    "a long time": _be_old,
}
