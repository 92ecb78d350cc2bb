"""Scenarios of writes through the proxy, mostly two-step writes, whose second step bypasses it."""

import asyncio
from dataclasses import replace
from typing import Final

from nncache.hadoop.paths import ROOT, parent
from tests.model import operations
from tests.model.acts import Simulation
from tests.model.draws import PATHS, USERS, Draw, normal
from tests.model.namespace import SUPERUSER
from tests.model.scenario_setup import GAPS_S, SETTLED_S, behind, in_sight
from tests.model.system import ModelSystem
from tests.model.writes import CREATE, chmod

_PLACES: Final = (("/a", "/a/b/f"), ("/a/b", "/a/b/d/f"), ("/c", "/c/f"), ("/c", "/c/f"))
"""Directories, each with a file below it whose parent may be missing."""


async def overwrite(simulation: Simulation, number: int) -> None:
    """Write a file in two steps just after it was written behind the proxy's back, with concurrent reads."""
    draw, system = Draw(number), simulation.system
    path, takes_s, gap_s, kind = (
        draw.file(),
        (0.05, 0.5, 4.0, 4.0)[draw.of(4)],
        GAPS_S[draw.of(4)],
        draw.of(4),
    )
    above, follows = parent(path) or ROOT, draw.follows()

    async def read_all() -> None:
        for each in dict.fromkeys((path, normal(path), above, parent(above) or ROOT)):
            for user in USERS:
                if each != ROOT:
                    await system.read(each, user)

    async def read_meanwhile() -> None:
        for _ in range(5):
            await asyncio.sleep(takes_s / 6)
            await read_all()

    simulation.features.add("open file")
    if kind == 0:
        behind(system, operations.delete, above)
    elif kind == 1:
        behind(system, operations.create, path)
        await asyncio.sleep(SETTLED_S)
    await asyncio.sleep(gap_s)
    await read_all()
    if kind == 2:  # in the other cases it is missing or already open
        behind(system, operations.create, path)
    if kind in {1, 2}:
        behind(system, operations.close, path)
    reading = system.come(read_meanwhile())
    await system.write_in_two_steps(CREATE, path, takes_s=takes_s, follows=follows)
    await read_all()
    await asyncio.wait((reading,))


async def write_side_by_side(simulation: Simulation, number: int) -> None:
    """Write two files in two steps concurrently."""
    for each in (number, number // 7):
        simulation.system.come(overwrite(simulation, each))


async def cut_a_write(simulation: Simulation, number: int) -> None:
    """Cut the connection during a write: its outcome is unknown."""
    draw, system = Draw(number), simulation.system
    write = replace(draw.write(), user=SUPERUSER)
    user, paths = USERS[number % 2], [path for path in PATHS if f"{path}/".startswith(f"{write.path}/")]
    for each in paths:
        await system.read(each, user)
    await asyncio.sleep(SETTLED_S)
    for each in paths:
        await system.read(each, user)
    before_s, system.call_takes_s = system.call_takes_s, 0.1
    writing = system.come(system.write(write))
    await asyncio.sleep(0.08)
    system.call_takes_s = before_s
    system.cluster.active.cut()
    await asyncio.wait((writing,))
    for each in paths:
        await system.read(each, user)


async def move_in(simulation: Simulation, number: int) -> None:
    """Rename a file from a path that no filter matches to a path whose absence is cached."""
    draw, system = Draw(number), simulation.system
    path, user = draw.file(), draw.user()
    behind(system, operations.mkdirs, "/x")
    behind(system, operations.create, "/x/f")
    behind(system, operations.close, "/x/f")
    behind(system, operations.mkdirs, parent(path) or ROOT)
    behind(system, operations.delete, path)
    await asyncio.sleep(SETTLED_S)
    await system.read(path, user)
    behind(system, operations.rename, "/x/f", path)
    await asyncio.sleep(SETTLED_S)
    await system.read(path, user)


async def give_the_right(simulation: Simulation, number: int) -> None:
    """Start a write without the right to it, and give the right through the proxy between its two steps.

    A user who sees that reply may write, and the write must be seen. A change that gives no right precedes it,
    concurrently or before.
    """
    draw, system = Draw(number), simulation.system
    (directory, path), before, takes_s = _PLACES[draw.of(4)], draw.of(3), (0.0, 0.0, 0.02, 0.5)[draw.of(4)]
    (owner, other), is_broken = USERS, draw.of(5) == 0

    async def give() -> None:
        earlier = system.come(system.write(chmod(directory, 0o745, owner))) if before else None
        if earlier is not None and before == 2:
            await asyncio.wait((earlier,))
        if is_broken:  # a fault of the proxy empties the cache; the right is given nevertheless
            system.cache.faults["apply"] += 1
            simulation.features.add("fault of the cache")
        await system.write(chmod(directory, 0o777, owner))
        if earlier is not None:
            await asyncio.wait((earlier,))
        await system.read(path, owner)  # proves the right again; the entry may become stale from here on

    simulation.features.add("permission change")
    await _read_what_is_missing(system, directory, path, owner)
    await system.write_in_two_steps(CREATE.by(other), path, takes_s=takes_s, between=give)
    for each in (path, parent(path) or ROOT):
        await system.read(each, owner)


async def give_the_right_meanwhile(simulation: Simulation, number: int) -> None:
    """Start a write without the right, and give it through the proxy while the proxy queries that right."""
    draw, system = Draw(number), simulation.system
    (directory, path), later_s, takes_s = _PLACES[draw.of(4)], 0.002 * draw.of(10), (0.03, 0.1)[draw.of(2)]
    owner, other = USERS

    async def give() -> None:
        await asyncio.sleep(later_s)
        await system.write(chmod(directory, 0o777, owner))
        await system.read(path, owner)  # proves the right again; the entry may become stale from here on

    simulation.features.add("permission change")
    await _read_what_is_missing(system, directory, path, owner)
    before_s, system.call_takes_s = system.call_takes_s, 0.01
    giving = system.come(give())
    await system.write_in_two_steps(CREATE.by(other), path, takes_s=takes_s)
    system.call_takes_s = before_s
    for each in (path, parent(path) or ROOT):
        await system.read(each, owner)
    await asyncio.wait((giving,))


async def give_the_right_unseen(simulation: Simulation, number: int) -> None:
    """Give the right to a write by a change whose event is purged before it is read.

    The proxy knows only that the stream ended and began again. The first step of the write comes before or after
    that; the proxy knew a moment earlier that its caller had no right.
    """
    draw, system = Draw(number), simulation.system
    (directory, path), is_through, is_begun = _PLACES[draw.of(4)], draw.of(2), draw.of(3)
    takes_s, settled_s = (0.0, 0.02, 0.5)[draw.of(3)], (0.1, 0.3, 0.6)[draw.of(3)]
    owner, other = USERS

    async def give() -> None:
        before_s, system.call_takes_s = system.call_takes_s, 0.02
        giving = system.come(system.write(chmod(directory, 0o777, owner))) if is_through else None
        await asyncio.sleep(0.02)  # it is applied, and its reply is in flight
        system.call_takes_s = before_s
        if giving is None:
            behind(system, operations.set_permission, directory, 0o777)
        system.cluster.active.cut()
        system.cluster.write_nothing()
        system.cluster.active.log.first_kept = system.cluster.active.log.end
        if giving is not None:
            await asyncio.wait((giving,))
        await asyncio.sleep(settled_s)
        await system.read(path, owner)  # the entry may become stale from here on

    simulation.features.add("permission change")
    await _read_what_is_missing(system, directory, path, owner)
    if is_begun:
        await system.write_in_two_steps(CREATE.by(other), path, takes_s=takes_s, between=give)
    else:
        await system.write_in_two_steps(CREATE.by(other), path, takes_s=0.0)
        await give()
        await system.write_in_two_steps(CREATE.by(other), path, takes_s=takes_s)
    for each in (path, parent(path) or ROOT):
        await system.read(each, owner)


async def _read_what_is_missing(system: ModelSystem, directory: str, path: str, owner: str) -> None:
    """Read a missing path as the owner of a directory above it; the path's own parent may be missing too."""
    in_sight(system, directory, 0o755)
    behind(system, operations.delete, path if directory == parent(path) else parent(path) or ROOT)
    await asyncio.sleep(SETTLED_S)
    await system.read(path, owner)


WRITE_SCENARIOS: Final = {
    "overwrite": overwrite,
    "write side by side": write_side_by_side,
    "cut a write": cut_a_write,
    "move in": move_in,
    "give the right": give_the_right,
    "give the right meanwhile": give_the_right_meanwhile,
    "give the right unseen": give_the_right_unseen,
}
