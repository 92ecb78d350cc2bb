"""Scenarios: acts of several steps that random draws rarely produce, each against one rule.

A scenario runs concurrently with the other acts; its replies are judged like all others.
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Final

from nncache.hadoop.namespace import Namespace
from nncache.hadoop.paths import ROOT, parent
from tests.invalidation.fakes import FakeNameNode
from tests.model import operations
from tests.model.acts import Simulation
from tests.model.credential_scenarios import steal
from tests.model.draws import FILES, PATHS, USERS, Draw
from tests.model.namespace import SUPERUSER
from tests.model.scenario_setup import GAPS_S, SETTLED_S, behind, in_sight
from tests.model.termination_scenarios import terminate
from tests.model.unprivileged_requests import pester
from tests.model.upstream import ODD_ANSWERS
from tests.model.write_scenarios import WRITE_SCENARIOS
from tests.model.writes import chmod


async def hide(simulation: Simulation, number: int) -> None:
    """Close a directory, then change its contents: an old grant must not show the new contents."""
    draw, system = Draw(number), simulation.system
    path, gap_s, is_fresh = draw.file(), GAPS_S[draw.of(4)], draw.of(2)
    directory = parent(path) or ROOT
    simulation.features.add("permission change")
    owner, other = in_sight(system, directory, 0o755)
    await asyncio.sleep(gap_s)
    await system.read(f"{directory}/g" if path.endswith("f") else f"{directory}/f", other)
    if is_fresh:
        await system.read(path, other)
    await asyncio.sleep(gap_s)
    behind(system, operations.set_permission, directory, 0o700)
    behind(system, operations.create, path)
    behind(system, operations.close, path)
    await system.read(path, owner, refresh=True)
    await system.read(path, other)


async def reveal(simulation: Simulation, number: int) -> None:
    """Change a closed directory's contents, then open it: a new grant must not show old or reopened files."""
    draw, system = Draw(number), simulation.system
    path, gap_s, is_first = draw.file(), GAPS_S[draw.of(4)], draw.of(2)
    changes = (operations.set_times, operations.append)[draw.of(2)]
    directory = parent(path) or ROOT
    simulation.features.add("permission change")
    owner, other = in_sight(system, directory, 0o700)
    behind(system, operations.create, path)
    behind(system, operations.close, path)
    await asyncio.sleep(SETTLED_S)
    await system.read(path, owner)
    await asyncio.sleep(gap_s)
    behind(system, changes, path)
    behind(system, operations.set_permission, directory, 0o755)
    await system.read(path if is_first else f"{directory}/h", other)
    await system.read(path, other)


async def answer_late(simulation: Simulation, number: int) -> None:
    """Delay a reply while no edits arrive: a request that starts late must not get it."""
    draw, system = Draw(number), simulation.system
    path, user = draw.path(), draw.user()
    active, before_s = system.cluster.active, system.call_takes_s
    behind(system, operations.mkdirs, parent(path) or ROOT)
    active.cut()
    active.is_reachable, system.call_takes_s = False, 8.0
    first = system.come(system.read(path, user))
    await asyncio.sleep(2.0)
    system.call_takes_s = before_s
    for act in (operations.create, operations.close, operations.set_times):
        behind(system, act, path)
    await asyncio.sleep(3.5)
    await system.read(path, user)
    await asyncio.wait((first,))
    active.is_reachable = True


async def change_filters(simulation: Simulation, number: int) -> None:
    """Remove a filter or its glob while its paths are cached, change those paths, and put it back."""
    draw, system = Draw(number), simulation.system
    trouble = (
        12 * draw.of(60) + 9 + draw.of(2)
    )  # the channel's fault that removes a filter, or its glob, and restores it
    is_watch_lost, gap_s = draw.of(2), GAPS_S[draw.of(4)]

    async def read_all() -> None:
        for path in PATHS:
            await system.read(path, USERS[0])

    await read_all()
    if is_watch_lost:
        system.channel.befall(7)
    system.channel.befall(trouble)
    await asyncio.sleep(0.4)
    for path in FILES:
        behind(system, operations.set_times, path)
        behind(system, operations.create, path)
    await asyncio.sleep(gap_s)
    await read_all()
    system.channel.befall(trouble)
    await asyncio.sleep(0.4)
    await read_all()


async def miss_records(simulation: Simulation, number: int) -> None:
    """Disconnect the proxy from its channel until the records it missed are trimmed."""
    draw, system = Draw(number), simulation.system
    path, user = draw.path(), draw.user()
    await system.read(path, user)
    system.channel.befall(3)
    behind(system, operations.delete, path)
    for step in range(12):
        await asyncio.sleep(0.2)
        behind(system, operations.create if step % 2 else operations.delete, FILES[step % 3])
    system.channel.befall(5)
    await asyncio.sleep(SETTLED_S)
    await system.read(path, user)


async def shut_out(simulation: Simulation, number: int) -> None:
    """Close a directory through the proxy: later reads are refused."""
    draw, system = Draw(number), simulation.system
    path, gap_s = draw.file(), GAPS_S[draw.of(4)]
    directory = parent(path) or ROOT
    simulation.features.add("permission change")
    _, other = in_sight(system, directory, 0o755)
    await asyncio.sleep(SETTLED_S)
    await system.read(path, other)
    await asyncio.sleep(gap_s)
    await system.write(chmod(directory, 0o700))
    await system.read(path, other)


async def shut_the_root(simulation: Simulation, number: int) -> None:
    """Close the root: everyone still sees its own status; only users who may traverse it see its contents."""
    draw, system = Draw(number), simulation.system
    gap_s, is_shut_through = GAPS_S[draw.of(4)], draw.of(2)

    async def read_all() -> None:
        for path in (ROOT, "/a"):
            for user in (SUPERUSER, *USERS):
                await system.read(path, user)

    simulation.features.add("permission change")
    await read_all()
    if is_shut_through:
        await system.write(chmod(ROOT, 0o700))
    else:
        behind(system, operations.set_permission, ROOT, 0o700)
    await read_all()
    await asyncio.sleep(gap_s)
    await read_all()
    for change in (operations.mkdirs, operations.delete):  # each changes the root's own status
        behind(system, change, "/x")
        await asyncio.sleep(gap_s)
        await read_all()
    behind(system, operations.set_permission, ROOT, 0o755)
    await read_all()


async def lose_what_was_seen(simulation: Simulation, number: int) -> None:
    """Read changes that are not durable, and lose them in a crash."""
    draw, system = Draw(number), simulation.system
    path, kind = draw.file(), draw.of(3)
    cluster = system.cluster
    simulation.features.add("crash")
    cluster.hold_sync()
    behind(system, operations.set_times, path)
    behind(system, operations.delete, path)
    for user in USERS:
        await system.read(path, user, refresh=True)
    await asyncio.sleep(0.2)
    (cluster.restart if kind == 0 else cluster.fail_over)()
    if kind == 1:
        cluster.fail_over()  # active again before any probe
    behind(system, operations.create, path)
    for _ in range(12):
        await system.read(path, USERS[number % 2])
        await asyncio.sleep(0.4)


async def lead_elsewhere(simulation: Simulation, number: int) -> None:
    """Connect the RPC address to another healthy cluster for a while: its edits prove nothing here."""
    draw, system = Draw(number), simulation.system
    path, user, longer = draw.path(), draw.user(), draw.of(3)
    simulation.features.add("another cluster")
    active = system.cluster.active
    active.rpc_leads_to = elsewhere = FakeNameNode("elsewhere")
    elsewhere.namespace = Namespace("CID-elsewhere", "BP-elsewhere")
    for _ in range(active.log.end - 1 + longer):
        elsewhere.write()
    active.cut()
    await asyncio.sleep(SETTLED_S)
    for _ in range(2):
        await system.read(path, user)
    behind(system, operations.delete, path)
    for _ in range(12):
        await asyncio.sleep(0.4)
        await system.read(path, user)
    active.rpc_leads_to = None
    active.cut()


async def answer_oddly(simulation: Simulation, number: int) -> None:
    """Answer as a starting or overloaded NameNode does: such a reply says nothing about the path."""
    draw, system = Draw(number), simulation.system
    path, odd = draw.path(), ODD_ANSWERS[draw.of(len(ODD_ANSWERS))]
    system.upstream.bad_znodes.append(odd)
    for user in USERS:
        await system.read(path, user, refresh=user == USERS[0])
    await system.read(path, USERS[0])


async def spell(simulation: Simulation, number: int) -> None:
    """Read a path in several spellings."""
    draw, system = Draw(number), simulation.system
    path, user = draw.path(), draw.user()
    for spelled in (path.replace("/", "//"), path, f"{path}/", path.replace("/", "//")):
        await system.read(path, user, spelled=spelled)


async def send_pages_late(simulation: Simulation, number: int) -> None:
    """Delay pages of edits, and change the namespace while they are in flight."""
    draw, system = Draw(number), simulation.system
    active, path = system.cluster.active, draw.file()
    active.page_takes_s = 0.4
    for step in range(6):
        await system.read(path, USERS[number % 2])
        await asyncio.sleep(0.17)
        behind(
            system, (operations.delete, operations.create, operations.set_times)[(number + step) % 3], path
        )
    active.page_takes_s = 0.0


SCENARIOS: Final[Mapping[str, Callable[[Simulation, int], Coroutine[Any, Any, None]]]] = {
    **WRITE_SCENARIOS,
    "steal": steal,
    "terminate": terminate,
    "hide": hide,
    "reveal": reveal,
    "answer late": answer_late,
    "change filters": change_filters,
    "miss records": miss_records,
    "shut out": shut_out,
    "shut the root": shut_the_root,
    "lose what was seen": lose_what_was_seen,
    "lead elsewhere": lead_elsewhere,
    "answer oddly": answer_oddly,
    "spell": spell,
    "send pages late": send_pages_late,
    "pester": pester,
}
"""By name."""
