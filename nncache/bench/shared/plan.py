"""The actions of each poller and of the changer, computed from a workload and a seed.

Pure and fast, so that each process computes it: driver, executors and changer get the same plan.
Uses only the standard library: Spark's executors import it.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from nncache.bench.shared.workload import NEEDS, OF_A_DIRECTORY, Callers, ChangeKind, Workload

ROOT: Final = "/bench"


@dataclass(frozen=True, slots=True)
class Poller:
    """One poller: it requests the status of each of its paths once in a period, in sequence."""

    number: int
    caller: str  # its `user.name`
    path_ids: tuple[int, ...]  # the polled paths
    phase_s: float  # offset of the first poll in the period; the others follow evenly


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """One planned change."""

    # due time in seconds from the start of the measured time; negative in the warm-up
    at_s: float
    kind: ChangeKind
    path_id: int


class WorkloadPlan:
    """The paths of a workload, their pollers and their changes."""

    def __init__(self, workload: Workload, seed: int, root: str = ROOT) -> None:
        self.workload = workload  # the source of the plan
        self.seed = seed  # of all random choices
        self.root = root  # the directory above all paths, so that runs do not interfere

    @property
    def globs(self) -> tuple[str, ...]:
        """The filters, in Hadoop's glob syntax."""
        return tuple(
            f"{self.root}/{self._user(number)}/*/*/_SUCCESS*" for number in range(self.workload.globs)
        )

    def path(self, path_id: int) -> str:
        """Return a path that is polled: `/bench/u0007/workflow/d0002/_SUCCESS`."""
        return f"{self.directory(path_id)}/{self.name(path_id)}"

    def name(self, path_id: int) -> str:
        """Return the path's last component."""
        number = path_id // self.workload.globs % self.workload.paths_per_directory
        return f"_SUCCESS-{number}" if number else "_SUCCESS"

    def directory(self, path_id: int) -> str:
        """Return the path's parent."""
        number = path_id // self.workload.globs // self.workload.paths_per_directory
        return f"{self.root}/{self._user(path_id % self.workload.globs)}/workflow/d{number:04}"

    def in_directory(self, path_id: int) -> tuple[int, ...]:
        """Return all paths of the same directory: a rename or mode change of the directory changes all of them."""
        globs = self.workload.globs
        per_directory = self.workload.paths_per_directory
        first = path_id % globs + path_id // globs // per_directory * per_directory * globs
        return tuple(range(first, min(first + globs * per_directory, self.workload.paths), globs))

    def touched(self, kind: ChangeKind, path_id: int) -> tuple[int, ...]:
        """Return the paths that a change of this path may affect."""
        return self.in_directory(path_id) if kind in OF_A_DIRECTORY else (path_id,)

    def caller_of(self, path_id: int) -> str:
        """Return a user who may poll this path; all such users get the same answers."""
        return self._user(path_id % self.workload.globs)

    def poller(self, number: int) -> Poller:
        """Return the poller with this number."""
        workload = self.workload
        chance = random.Random(f"{self.seed}:poller:{number}")
        count = min(workload.paths_per_poller, workload.paths)
        glob = number % workload.globs
        if workload.callers is Callers.PER_GLOB:  # all its paths match one glob, and it is that glob's user
            of_glob = range(glob, workload.paths, workload.globs)
            first = number // workload.globs
            path_ids = tuple(
                of_glob[(first + step) % len(of_glob)] for step in range(min(count, len(of_glob)))
            )
            caller = self._user(glob)
        else:
            path_ids = tuple((number + step * workload.globs) % workload.paths for step in range(count))
            caller = f"p{number:05}"
        return Poller(number, caller, path_ids, chance.random() * workload.period_s)

    def existing(self) -> frozenset[int]:
        """Return the paths that exist at the start: all or none of a directory, since a change may move it whole."""
        chance = random.Random(f"{self.seed}:existing")
        there: set[int] = set()
        for path_id in range(self.workload.paths):
            if self.in_directory(path_id)[0] == path_id and chance.random() < self.workload.exist_share:
                there.update(self.in_directory(path_id))
        return frozenset(there)

    def changes(self, existing: frozenset[int], from_s: float, duration_s: float) -> Iterator[PlannedChange]:
        """Yield the changes from `from_s` (0: start of the measured time; negative: warm-up) to `duration_s`, in order.

        `existing` are the paths that exist at `from_s`.
        """
        chance = random.Random(f"{self.seed}:changes")
        state = _State(self, existing)
        rate = self.workload.changes_per_s
        events = [(event.at * duration_s, event) for event in self.workload.events]
        at_s = from_s
        while True:
            at_s = at_s + chance.expovariate(rate) if rate else duration_s
            while events and events[0][0] <= at_s:
                event_at_s, event = events.pop(0)
                for path_id in self._chosen(event.share):
                    if state.take(event.kind, path_id):
                        yield PlannedChange(event_at_s, event.kind, path_id)
            if at_s >= duration_s:
                return
            path_id = chance.randrange(self.workload.paths)
            fitting = [kind for kind in self.workload.kinds if state.fits(kind, path_id)]
            if fitting:
                (kind,) = chance.choices(fitting, [self.workload.kinds[kind] for kind in fitting])
                state.take(kind, path_id)
                yield PlannedChange(at_s, kind, path_id)

    def _chosen(self, share: float) -> range:
        count = max(1, round(self.workload.paths * share))
        return range(0, self.workload.paths, max(1, self.workload.paths // count))

    @staticmethod
    def _user(number: int) -> str:
        return f"u{number:04}"


class _State:
    """The paths that exist and the directories closed to others, during the sequence of changes."""

    def __init__(self, plan: WorkloadPlan, existing: frozenset[int]) -> None:
        self._plan = plan
        self._there = set(existing)
        self._closed: set[str] = set()

    def fits(self, kind: ChangeKind, path_id: int) -> bool:
        """Return whether this change is possible now."""
        directory = self._plan.directory(path_id)
        match kind:
            case ChangeKind.FORBID:
                return directory not in self._closed
            case ChangeKind.ALLOW:
                return directory in self._closed
            case ChangeKind.COMMIT:
                return not self._there.intersection(self._plan.in_directory(path_id))
            case _:
                return (path_id in self._there) is NEEDS[kind]

    def take(self, kind: ChangeKind, path_id: int) -> bool:
        """Apply the change; return False if it is not possible."""
        if not self.fits(kind, path_id):
            return False
        match kind:
            case ChangeKind.CREATE | ChangeKind.RENAME | ChangeKind.COMMIT:
                self._there.update(self._plan.touched(kind, path_id))
            case ChangeKind.DELETE | ChangeKind.RETRACT:
                self._there.difference_update(self._plan.touched(kind, path_id))
            case ChangeKind.FORBID:
                self._closed.add(self._plan.directory(path_id))
            case ChangeKind.ALLOW:
                self._closed.remove(self._plan.directory(path_id))
        return True
