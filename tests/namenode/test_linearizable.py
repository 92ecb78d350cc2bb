"""Several NameNodes on one ensemble are linearizable; the checker that decides this detects violations."""

import asyncio
import itertools
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from nncache.coordination.linearizable import LinearizableZnodes
from nncache.coordination.zookeeper import Znode
from tests.namenode.ensemble import Ensemble, Member
from tests.namenode.fixture import Fixture
from tests.namenode.histories import Asked, carried_out, impossible, work
from tests.namenode.linearizable import UNKNOWN, Call

CLIENTS = 6
OPERATIONS = 30


def calls(*rows: tuple[Asked, object, float, float]) -> list[Call[Asked]]:
    """Return a history."""
    return [Call(*row) for row in rows]


GOOD = {
    "one after the other": calls((("mkdirs", "/a"), True, 0, 1), (("exists", "/a"), True, 2, 3)),
    "a read beside a write sees it": calls((("mkdirs", "/a"), True, 0, 3), (("exists", "/a"), True, 1, 2)),
    "a read beside a write does not see it": calls(
        (("mkdirs", "/a"), True, 0, 3), (("exists", "/a"), False, 1, 2)
    ),
    "two writes in either order": calls(
        (("mkdirs", "/a/b"), True, 0, 1), (("delete", "/a"), True, 2, 5),
        (("rename", "/a", "/b"), False, 3, 4), (("exists", "/b"), False, 6, 7),
    ),
    "an unknown outcome, carried out late": calls(
        (("mkdirs", "/a"), UNKNOWN, 0, 1), (("exists", "/a"), False, 2, 3), (("exists", "/a"), True, 4, 5)
    ),
    "an unknown outcome, never carried out": calls(
        (("mkdirs", "/a"), UNKNOWN, 0, 1), (("exists", "/a"), False, 2, 3)
    ),
}  # fmt: skip

BAD = {
    "a stale read": calls((("mkdirs", "/a"), True, 0, 1), (("exists", "/a"), False, 2, 3)),
    "back in time": calls(
        (("mkdirs", "/a"), True, 0, 9), (("exists", "/a"), True, 1, 2), (("exists", "/a"), False, 3, 4)
    ),
    "a torn listing": calls(
        (("mkdirs", "/a/a"), True, 0, 1), (("rename", "/a/a", "/a/b"), True, 2, 5), (("list", "/a"), (), 3, 4)
    ),
    "a write that is lost": calls(
        (("mkdirs", "/a"), True, 0, 1), (("rename", "/a", "/b"), True, 2, 3), (("exists", "/a"), True, 4, 5)
    ),
    "carried out twice": calls(
        (("mkdirs", "/a"), True, 0, 1), (("delete", "/a"), True, 2, 5), (("delete", "/a"), True, 3, 4)
    ),
    "an unknown outcome, undone": calls(
        (("mkdirs", "/a"), UNKNOWN, 0, 1), (("exists", "/a"), True, 2, 3), (("exists", "/a"), False, 4, 5)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", GOOD)
def test_an_order_is_found(name: str) -> None:
    """An order is found if one exists, whatever calls overlap."""
    assert impossible(GOOD[name]) is None


@pytest.mark.parametrize("name", BAD)
def test_a_history_without_an_order_is_found(name: str) -> None:
    """The checker returns a call that no order explains, one of the last two of the row."""
    found = impossible(BAD[name])
    assert found is not None
    assert found in BAD[name][-2:]


class WithoutSync(LinearizableZnodes):
    """A broken variant that reads its server's state without a sync."""

    async def _sync(self) -> None:
        return


class TwoReads(LinearizableZnodes):
    """A broken variant that splits a read of one moment into two."""

    async def get_many(self, paths: Sequence[str]) -> tuple[Znode | None, ...]:
        """Read the paths in two halves."""
        half = len(paths) // 2
        first = await super().get_many(paths[:half])
        for _ in range(CHANCE.choice((0, 100, 300))):
            await asyncio.sleep(0)
        return *first, *await super().get_many(paths[half:])


CHANCE = random.Random(1)
SWING: tuple[Asked, ...] = (
    ("rename", "/p", "/q"), ("rename", "/r/b", "/q/b"), ("rename", "/q/b", "/r/b"), ("rename", "/q", "/p"),
)  # fmt: skip
"""Renames of two directories after which /p/b never exists, though /q/b does at times."""


async def swung(fixtures: Sequence[Fixture], history: list[Call[Asked]], clock: Callable[[], float]) -> None:
    """Run SWING in one client while others read; append all calls to the history."""

    async def do(fixture: Fixture, steps: Sequence[Asked]) -> None:
        for asked in steps:
            begin = clock()
            answer = await carried_out(fixture, asked)
            history.append(Call(asked, answer, begin, clock()))

    await do(fixtures[0], [("mkdirs", "/p"), ("mkdirs", "/r/b")])
    looks: tuple[Asked, ...] = (("exists", "/p/b"), ("exists", "/q/b"), ("exists", "/p/b"))
    async with asyncio.TaskGroup() as group:
        group.create_task(do(fixtures[0], SWING * 10))
        for fixture in fixtures:
            group.create_task(do(fixture, looks * 25))


async def recorded(
    seed: int,
    directory: Path,
    znodes: type[LinearizableZnodes] = LinearizableZnodes,
    operations: int = OPERATIONS,
) -> list[Call[Asked]]:
    """Race clients at three NameNodes that sometimes lose a reply; return the history."""
    rng = random.Random(seed)
    ensemble = Ensemble(rng)
    fixtures: list[Fixture] = []
    for number in range(3):
        store = znodes(Member(ensemble, losses=0.02), "/nn", f"nn{number}", 60.0)
        await store.begin()
        fixtures.append(await Fixture.make(directory / f"{seed}-{number}", store))
    ticks = itertools.count()
    history: list[Call[Asked]] = []
    await swung(fixtures, history, lambda: next(ticks))
    await fixtures[0].namenode.delete(fixtures[0].root, "/p", recursive=True)
    await fixtures[0].namenode.delete(fixtures[0].root, "/r", recursive=True)
    history += [Call(("delete", path), True, next(ticks), next(ticks)) for path in ("/p", "/r")]
    async with asyncio.TaskGroup() as group:
        for number in range(CLIENTS):
            own = random.Random(f"{seed}-{number}")
            group.create_task(work(fixtures, own, operations, history, lambda: next(ticks)))
    for fixture in fixtures:
        await fixture.namenode.reclaim()
    assert await fixtures[0].orphans() == []
    return history


@pytest.mark.parametrize("seed", range(6))
async def test_many_namenodes_answer_as_one(seed: int, tmp_path: Path) -> None:
    """An order explains all reads and writes, with servers that lag behind and replies that are lost."""
    assert impossible(await recorded(seed, tmp_path)) is None


@pytest.mark.parametrize(
    ("znodes", "operations"),
    [(WithoutSync, OPERATIONS), (TwoReads, 0)],
    ids=["without sync", "two reads for one"],
)
async def test_a_broken_variant_has_no_order(
    znodes: type[LinearizableZnodes], operations: int, tmp_path: Path
) -> None:
    """The checker detects it within a few runs."""
    for seed in range(60):
        try:
            history = await recorded(seed, tmp_path, znodes, operations)
        except (AssertionError, ExceptionGroup):
            return  # the audit, or a NameNode, detected an impossible state
        if impossible(history) is not None:
            return
    pytest.fail("it is not caught")
