"""A workload: who polls what how often, and what changes meanwhile.

A value without behaviour, so that a run can be repeated and compared: `bench/workloads/*.toml` has the ready ones,
`bench/shared/workload_files.py` reads them, `bench/shared/plan.py` makes of one what each poller and the changer do.
Needs nothing but the standard library: Spark's executors import it.
"""

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final


class Callers(StrEnum):
    """Who the pollers are for the NameNode (`user.name`)."""

    PER_GLOB = "per_glob"  # all pollers of a glob's paths are one user
    PER_POLLER = "per_poller"  # each is a user of its own


class ChangeKind(StrEnum):
    """What happens to a path. Each needs a path that exists, or one that does not, see `NEEDS`."""

    CREATE = "create"  # an empty file is created and closed, by way of a DataNode
    RENAME = "rename"  # a file that lies ready is renamed to the path
    COMMIT = (
        "commit"  # a directory `_temporary` that has the path's name in it is renamed to the path's parent
    )
    DELETE = "delete"
    RETRACT = "retract"  # the path's parent, with all in it, is renamed out of the way
    TOUCH = "touch"  # its modification time is set
    FORBID = "forbid"  # its parent can't be traversed by others any more (mode 700)
    ALLOW = "allow"  # it can again (mode 755)


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
"""Whether the path must exist before; None: either way, but FORBID and ALLOW only in turns."""

OF_A_DIRECTORY: Final = frozenset(
    {ChangeKind.COMMIT, ChangeKind.RETRACT, ChangeKind.FORBID, ChangeKind.ALLOW}
)
"""What happens to all paths of a parent at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One change at a set time, beside those that come at random."""

    at: float  # when, as a share of the measured time (0 to 1)
    kind: ChangeKind  # what happens
    share: float = 0.0  # of the paths that it happens to, evenly spread; 0: only the first


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """What is polled and changed."""

    name: str  # as in the file's name
    description: str  # one sentence for the report
    pollers: int  # how many clients poll, each over a connection of its own
    period_s: float  # seconds between two polls of one path by one poller
    globs: int  # filters; path i belongs to glob i mod `globs`
    paths: int  # all in all
    paths_per_poller: int = 1  # how many paths each polls, one after the other within the period
    paths_per_directory: int = 1  # how many share a parent
    callers: Callers = Callers.PER_GLOB  # who asks
    exist_share: float = 0.5  # share of the paths that exist at the start
    changes_per_s: float = 0.0  # random changes a second, over all paths
    # how often each kind is drawn among those that fit the path, by weight
    kinds: dict[ChangeKind, float] = field(default_factory=dict)
    events: tuple[Event, ...] = ()  # changes at set times

    def scaled(self, *, pollers: int) -> "Workload":
        """Return the same with fewer or more pollers, and everything else in proportion (at least one of each)."""
        share = pollers / self.pollers
        globs = max(1, round(self.globs * share))
        paths = max(globs, round(self.paths * share))
        return replace(
            self, pollers=pollers, globs=globs, paths=paths, changes_per_s=self.changes_per_s * share
        )
