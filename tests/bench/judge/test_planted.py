"""Errors that caches make, found from the Parquet alone.

Each cache is simulated over one world of paths, changes and pollers. The simulation knows of each reply which state
of the path it was, and so what the judge must find; the judge has only the tables.
"""

import random
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from nncache.bench.figures import ModeFigures
from nncache.bench.judge import reduce
from nncache.bench.judge.reduction import NAMED
from tests.bench.recorded import BEFORE_S, Row, change, initial, poll, record

pytestmark = pytest.mark.timeout(300)  # Spark compiles each of its queries

PATHS = 12
POLLERS = 30
PERIOD_S = 1.0
DURATION_S = 30.0
BOUND_S = 2.0
FLIGHT_S = 0.004
"""From a change's sending to its acknowledgement; it comes into force half way."""

REPLY_S = 0.002
"""From a poll's sending to its reply; its answer is made up half way."""


@dataclass(frozen=True)
class World:
    """What went on, whatever the cache.

    Attributes:
        forced_s: by path, when each of its states came into force.
    """

    forced_s: list[list[float]]

    @classmethod
    def drawn(cls, seed: int) -> "World":
        """Let each path change every five seconds or so."""
        chance = random.Random(seed)
        forced_s = []
        for _ in range(PATHS):
            moments = [BEFORE_S]
            at_s = chance.expovariate(1 / 5)
            while at_s < DURATION_S:
                moments.append(at_s)
                at_s += FLIGHT_S + chance.expovariate(1 / 5)
            forced_s.append(moments)
        return cls(forced_s)

    def state_at(self, path: int, at_s: float) -> int:
        """Return the number of the state that is true at a moment, from 0."""
        return bisect_right(self.forced_s[path], at_s) - 1

    def acked_s(self, path: int, state: int) -> float:
        """Return when the change that brought a state was acknowledged."""
        return self.forced_s[path][state] + FLIGHT_S / 2

    @staticmethod
    def digest(path: int, state: int) -> int:
        """Return what a state says, which is never said again."""
        return 1_000 * path + state + 1

    def changes(self) -> list[Row]:
        """Return the rows of `changes`."""
        rows = [initial(path, digest=self.digest(path, 0)) for path in range(PATHS)]
        for path, moments in enumerate(self.forced_s):
            rows += [
                change(
                    at_s - FLIGHT_S / 2,
                    at_s + FLIGHT_S / 2,
                    change_id=1_000 * path + state,
                    path_id=path,
                    digest=self.digest(path, state),
                )
                for state, at_s in enumerate(moments[1:], 1)
            ]
        return rows


Cache = Callable[[World, int, float], int]
"""Returns the number of the state that it says a path has at a moment; asked in order of time."""


def correct(world: World, path: int, at_s: float) -> int:
    """Learn of each change 20 ms after it came into force."""
    return world.state_at(path, at_s - 0.020)


@dataclass
class TimeLimited:
    """Keeps what it has read for a set time, whatever happens."""

    valid_s: float
    _kept: dict[int, tuple[float, int]] = field(default_factory=dict)

    def __call__(self, world: World, path: int, at_s: float) -> int:
        """Read again only what has lasted its time."""
        if path not in self._kept or at_s - self._kept[path][0] > self.valid_s:
            self._kept[path] = at_s, world.state_at(path, at_s)
        return self._kept[path][1]


@dataclass(frozen=True)
class Deaf:
    """Learns of nothing any more from a moment on, and goes on answering."""

    from_s: float

    def __call__(self, world: World, path: int, at_s: float) -> int:
        """Be correct until then, and stay at that."""
        return correct(world, path, min(at_s, self.from_s))


def replies(world: World, cache: Cache) -> list[tuple[int, Row]]:
    """Let every poller ask for its path once a period; return which state each was told, and its row."""
    chance = random.Random(5)
    due = sorted(
        (phase_s + PERIOD_S * step, poller)
        for poller in range(POLLERS)
        for phase_s in (chance.uniform(0, PERIOD_S),)
        for step in range(int(DURATION_S / PERIOD_S))
    )
    found = []
    for at_s, poller in due:
        path = poller % PATHS
        state = cache(world, path, at_s + REPLY_S / 2)
        row = poll(
            at_s, at_s + REPLY_S, poller=poller, path_id=path, digest=world.digest(path, state), served="hit"
        )
        found.append((state, row))
    return found


def ages(world: World, told: list[tuple[int, Row]]) -> dict[tuple[int, int, float], float]:
    """Return for how long each reply had not been true any more, by (poller, path, when it was sent)."""
    return {
        (row["poller"], row["path_id"], row["sent_s"]): row["sent_s"]
        - world.acked_s(row["path_id"], state + 1)
        for state, row in told
        if state + 1 < len(world.forced_s[row["path_id"]])
    }


def judge(spark: SparkSession, directory: Path, world: World, told: list[tuple[int, Row]]) -> ModeFigures:
    """Write the tables and judge them."""
    record(directory, polls=[row for _, row in told], changes=world.changes())
    return reduce(spark, directory, "cache", duration_s=DURATION_S, bound_s=BOUND_S, period_s=PERIOD_S)


def test_a_correct_cache_is_not_accused(spark: SparkSession, tmp_path: Path) -> None:
    """One that learns of each change within 20 ms has no wrong answer, and is late by no more than a period."""
    world = World.drawn(1)
    told = replies(world, correct)
    found = judge(spark, tmp_path, world, told)
    assert (found.due, found.wrong_count, found.wrong) == (POLLERS * 30, 0, ())
    assert found.stale == sum(age_s > 0.001 for age_s in ages(world, told).values())
    assert found.oldest_s < 0.020
    assert found.lateness_s.count > 100
    assert 0.5 < found.lateness_s.max < PERIOD_S + 0.020 + REPLY_S


@pytest.mark.parametrize(
    ("cache", "since_s"),
    [
        pytest.param(TimeLimited(valid_s=8.0), BOUND_S, id="a time limit far above the bound"),
        pytest.param(Deaf(from_s=15.0), 15.0, id="invalidation that stops half way"),
    ],
)
def test_each_answer_that_was_too_old_is_named(
    spark: SparkSession, tmp_path: Path, cache: Cache, since_s: float
) -> None:
    """Exactly those, with poller, path, moment and age; nothing from before the error could show."""
    world = World.drawn(2)
    told = replies(world, cache)
    wrong = {key: age_s for key, age_s in ages(world, told).items() if age_s > BOUND_S + 0.001}
    assert len(wrong) > 50
    found = judge(spark, tmp_path, world, told)
    assert found.wrong_count == len(wrong)
    first = sorted(wrong, key=lambda key: (key[2], key[0]))[:NAMED]
    named = {(answer.poller, answer.path_id, answer.sent_s): answer.age_s for answer in found.wrong}
    assert list(named) == first
    assert named == {key: pytest.approx(wrong[key]) for key in first}
    assert min(answer.sent_s for answer in found.wrong) > since_s
    assert {answer.served for answer in found.wrong} == {"hit"}
    assert found.lateness_s.max > BOUND_S + PERIOD_S
