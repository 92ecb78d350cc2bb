"""A workload: the polls of clients, and the changes during them.

A value without behaviour, so that a run can be repeated and compared. `bench/workloads/*.toml` holds the ready-made
ones, `bench/shared/workload_files.py` reads them, and `bench/shared/plan.py` computes the actions of each poller and of
the changer. Uses only the standard library: Spark's executors import it.
"""

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final


class Callers(StrEnum):
    """The users of the pollers (`user.name`)."""

    PER_GLOB = "per_glob"  # all pollers of a glob's paths are one user
    PER_POLLER = "per_poller"  # each poller is a different user


class ChangeKind(StrEnum):
    """A kind of change of a path. It needs an existing or a missing path; see `NEEDS`."""

    CREATE = "create"  # an empty file is created and closed, through a DataNode
    RENAME = "rename"  # a prepared file is renamed to the path
    COMMIT = (
        "commit"  # a directory `_temporary` with a file of the path's name is renamed to the path's parent
    )
    DELETE = "delete"
    RETRACT = "retract"  # the path's parent, with its contents, is renamed to another place
    TOUCH = "touch"  # its modification time is set
    FORBID = "forbid"  # other users may no longer traverse its parent (mode 700)
    ALLOW = "allow"  # other users may traverse its parent again (mode 755)


NEEDS: Final[dict[ChangeKind, bool | None]] = {
    ChangeKind.CREATE: False,
    ChangeKind.RENAME: False,
    ChangeKind.COMMIT: False,
    ChangeKind.DELETE: True,
    ChangeKind.RETRACT: True,
    ChangeKind.TOUCH: True,
    ChangeKind.FORBID: None,
    ChangeKind.ALLOW: None,
}
"""Whether the path must exist before; None: no matter, but FORBID and ALLOW must alternate."""

OF_A_DIRECTORY: Final = frozenset(
    {ChangeKind.COMMIT, ChangeKind.RETRACT, ChangeKind.FORBID, ChangeKind.ALLOW}
)
"""The kinds that change all paths of a directory together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedChange:
    """A change at a fixed time, in addition to the random ones."""

    at: float  # time, as a share of the measured time (0 to 1)
    kind: ChangeKind
    share: float = 0.0  # share of the paths that change, evenly spread; 0: only the first


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """The polls and the changes of a run."""

    name: str  # as in the file's name
    description: str  # one sentence for the report
    pollers: int  # number of polling clients, each with its own connection
    period_s: float  # seconds between two polls of one path by one poller
    globs: int  # number of filters; path i belongs to glob i mod `globs`
    paths: int  # total number of paths
    paths_per_poller: int = 1  # number of paths that each poller polls in sequence within the period
    paths_per_directory: int = 1  # number of paths with the same parent
    callers: Callers = Callers.PER_GLOB  # the pollers' users
    exist_share: float = 0.5  # share of the paths that exist at the start
    changes_per_s: float = 0.0  # random changes per second, over all paths
    # weight of each kind in the random choice among those that are possible for the path
    kinds: dict[ChangeKind, float] = field(default_factory=dict)
    events: tuple[TimedChange, ...] = ()  # changes at set times

    def scaled(self, *, pollers: int) -> "Workload":
        """Return the workload with another number of pollers; globs, paths (at least 1) and changes in proportion."""
        share = pollers / self.pollers
        globs = max(1, round(self.globs * share))
        paths = max(globs, round(self.paths * share))
        return replace(
            self, pollers=pollers, globs=globs, paths=paths, changes_per_s=self.changes_per_s * share
        )
