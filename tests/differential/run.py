"""Make random operations and hold every answer of the proxy against the NameNode's own."""

import time
from collections.abc import Callable

from testbed.asker import RawReply
from tests.differential.figures import Figures
from tests.differential.operations import Generator, Operation
from tests.world import MAX_STALENESS_S, USERS, Where, World, differences, was_forwarded

_OTHERS = 4  # paths looked at after each operation beside its own
GO_ON = frozenset({"TRUNCATE"})
"""After these the NameNode makes another change by itself: a cut block is recovered, then the file closed."""

_STEADY_S = 0.1  # after this long without a change, see whether there was one at all


class Differential:
    """One run of a seed below a directory of its own."""

    def __init__(self, world: World, *, seed: int, root: str) -> None:
        self._world = world
        self._generator = Generator(seed, root)
        self._seed = seed
        self.figures = Figures()
        for name, owner, mode in (
            ("", None, "777"),
            ("/a", "alice", "755"),
            ("/b", "bob", "700"),
            ("/s", None, "777"),
        ):
            world.mkdirs(root + name, owner, mode)

    def run(self, operations: int, progress: Callable[[int], None] = lambda _: None) -> Figures:
        """Make that many operations, each followed by reads as three users."""
        for step in range(operations):
            self._step(step, self._generator.next())
            progress(step + 1)
        return self.figures

    def _step(self, step: int, operation: Operation) -> None:
        figures = self.figures
        figures.operations += 1
        figures.kinds[operation.kind] = figures.kinds.get(operation.kind, 0) + 1
        paths = dict.fromkeys((*operation.paths, *(_parent(path) for path in operation.paths)))
        paths |= dict.fromkeys(self._generator.some_paths(_OTHERS))
        before = {(path, user): self._ask(path, user) for path in paths for user in USERS}
        timed = self._hits_of(operation) if operation.where is Where.NAMENODE else {}
        done = operation.carry_out(self._world)
        if done.status >= 300:
            figures.refused += 1
        else:
            self._time(timed, done.ended_at)
        for path, user in before:
            wrong = self._disagreement(operation, path, user, done.ended_at)
            if wrong:
                figures.wrong.append(
                    f"seed {self._seed}, step {step}, {operation}: {path} for {user}: {wrong}"
                )
                figures.stale_after_write += operation.where is Where.PROXY

    def _ask(self, path: str, user: str) -> RawReply:
        reply = self._world.ask(path, user)
        if reply.status in {200, 404}:
            self.figures.keepable += 1
            self.figures.hits += reply.is_hit
        return reply

    def _hits_of(self, operation: Operation) -> dict[tuple[str, str], RawReply]:
        """Return for each path of the operation a fresh hit of one user, where there is one."""
        hits = {}
        for path in dict.fromkeys((*operation.paths, _parent(operation.paths[0]))):
            for user in USERS:
                if (reply := self._world.ask(path, user)).is_hit:
                    hits[path, user] = reply
                    break
        return hits

    def _time(self, hits: dict[tuple[str, str], RawReply], since: float) -> None:
        """Ask the proxy for what was a hit until it says something new, if the operation has changed it."""
        waiting = {pair: old for pair, old in hits.items() if since - old.ended_at < 1.0}
        known_to_change: set[tuple[str, str]] = set()
        while waiting:
            for pair, old in list(waiting.items()):
                seen = self._world.ask(*pair)
                age = seen.started_at - since
                if (seen.status, seen.body) != (old.status, old.body):
                    self.figures.latencies_s.append(age)
                    del waiting[pair]
                elif age > MAX_STALENESS_S:
                    del waiting[pair]  # the comparison that follows says so
                elif age > _STEADY_S and pair not in known_to_change:
                    known_to_change.add(pair)
                    if not differences(old, self._world.truth(*pair)):
                        del waiting[pair]  # the operation changed nothing here

    def _disagreement(self, operation: Operation, path: str, user: str, since: float) -> list[str]:
        """Compare at once after a write through the proxy, within the bound after one behind its back."""
        for asked in range(1_000_000):
            seen = self._ask(path, user)
            wrong = differences(seen, self._world.truth(path, user))
            self.figures.compared += 1
            if not wrong:
                return []
            if asked < 3 and was_forwarded(seen):
                continue  # the truth itself has moved in between
            is_own = operation.where is Where.PROXY and operation.kind not in GO_ON
            if is_own or seen.started_at - since > MAX_STALENESS_S:
                return wrong
        raise AssertionError("the clock stands still")


def run_for(
    world: World, *, seed: int, operations: int, progress: Callable[[int], None] = lambda _: None
) -> Figures:
    """Run one seed in a directory of its own."""
    root = f"/differential/{seed}-{time.time_ns()}"
    return Differential(world, seed=seed, root=root).run(operations, progress)


def _parent(path: str) -> str:
    return path.rsplit("/", 1)[0] or "/"


TWO_STEP_WINDOW_S = 3.0
"""A CREATE that the DataNode refuses leaves its window open to its end; ten minutes would outlast the run."""

GLOBS = tuple("/differential" + "/*" * depth for depth in range(1, 6))
"""Filters that match every path of every run."""
