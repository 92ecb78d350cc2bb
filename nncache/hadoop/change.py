"""The changes of a path that a cache of statuses must apply.

A change names what may have become stale, not what happened. `nncache.hadoop.changes` maps events to changes,
`nncache.hadoop.effects` maps calls to them.
"""

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Appeared:
    """The path was created or replaced: its own status, all below it (outcomes, grants), the parent's own status."""

    path: str


@dataclass(frozen=True, slots=True)
class Vanished:
    """The path was removed: the same footprint as Appeared."""

    path: str


@dataclass(frozen=True, slots=True)
class Moved:
    """The source vanished and the destination appeared. The two differ, and one may lie within the other."""

    source: str
    destination: str


@dataclass(frozen=True, slots=True)
class Touched:
    """The path's own status."""

    path: str


@dataclass(frozen=True, slots=True)
class FileTouched:
    """The path's own status, if it is a file's: a read has set its access time. A directory has no access time.

    No event maps to it; the event of an access time maps to Touched.
    """

    path: str


@dataclass(frozen=True, slots=True)
class LineTouched:
    """The own statuses of the path and of its ancestors up to `top`, which is one of them or the path itself.

    No event maps to it. It stands for one Touched for each of them, in the memory of two paths.
    """

    path: str
    top: str


@dataclass(frozen=True, slots=True)
class Opened:
    """The path's own status; the file is now open for writing."""

    path: str


@dataclass(frozen=True, slots=True)
class Closed:
    """The path's own status; the file is complete, so a two-step write may be over."""

    path: str


@dataclass(frozen=True, slots=True)
class AccessChanged:
    """The path's own status, and everything below it: the right to traverse may have changed."""

    path: str


@dataclass(frozen=True, slots=True)
class SubtreeUnknown:
    """The path's own status, and everything below it."""

    path: str


@dataclass(frozen=True, slots=True)
class EverythingUnknown:
    """Everything in the cache; the reason is for logs."""

    reason: str


Change: TypeAlias = (
    Appeared
    | Vanished
    | Moved
    | Touched
    | Opened
    | Closed
    | AccessChanged
    | SubtreeUnknown
    | EverythingUnknown
)
"""The changes that an event can map to."""

Footprint: TypeAlias = Change | FileTouched | LineTouched
"""The changes that a call can map to."""
