"""What can happen to a path, as far as anybody who remembers its status must know.

A change names what may have become stale, not what happened: `nncache.hadoop.changes` says which event brings which,
`nncache.hadoop.effects` which call.
"""

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Appeared:
    """The path was made or replaced: its own status, all below it (outcomes, grants), the parent's own status."""

    path: str


@dataclass(frozen=True, slots=True)
class Vanished:
    """The path is gone: the same footprint as Appeared."""

    path: str


@dataclass(frozen=True, slots=True)
class Moved:
    """The source vanished and the destination appeared. The two differ, and neither need be outside the other."""

    source: str
    destination: str


@dataclass(frozen=True, slots=True)
class Touched:
    """The path's own status."""

    path: str


@dataclass(frozen=True, slots=True)
class FileTouched:
    """The path's own status, if it is a file's: a read has set its access time. A directory has none.

    No event brings it; that of the access time is a Touched.
    """

    path: str


@dataclass(frozen=True, slots=True)
class LineTouched:
    """The own statuses of the path and of its ancestors up to `top`, which is one of them or the path itself.

    No event brings it. It stands for a Touched of each, and takes no more memory than two paths.
    """

    path: str
    top: str


@dataclass(frozen=True, slots=True)
class Opened:
    """The path's own status; the file is now being written."""

    path: str


@dataclass(frozen=True, slots=True)
class Closed:
    """The path's own status; the file is complete, so a two-step write may be over."""

    path: str


@dataclass(frozen=True, slots=True)
class AccessChanged:
    """The path's own status, and everything below it: who may traverse is another question now."""

    path: str


@dataclass(frozen=True, slots=True)
class SubtreeUnknown:
    """The path's own status, and everything below it."""

    path: str


@dataclass(frozen=True, slots=True)
class EverythingUnknown:
    """All that is known; the reason is for people."""

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
"""What an event brings."""

Footprint: TypeAlias = Change | FileTouched | LineTouched
"""What a call brings."""
