"""The paths of the model's races: a few for each lane, recreated in one transaction.

A lane is a directory of the model's namespace with one race at a time; many lanes race concurrently, so that they
share the polls and the judging.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from nncache.hadoop.events import Create, Event, Unlink
from nncache.hadoop.filestatus import FileType
from nncache.hadoop.paths import ROOT
from tests.model.namespace import SUPERUSER, Inode, Namespace, Step
from tests.model.operations import Operation

GLOBS: Final = ("/r*", "/r*/*", "/r*/*/*", "/r*/*/*/*")
"""The globs of the paths that may be answered from memory: all paths."""

USERS: Final = ("alice", "bob")

_INODES_OF_A_LANE: Final = 16


@dataclass(frozen=True, slots=True)
class Lane:
    """The paths of one lane.

    Attributes:
        top: a directory that contains all others.
        directory: a directory.
        file: a closed file in it; `sibling` is another one.
        missing: a path in it that does not exist.
        deep: a path whose parent does not exist either.
        other: another directory; `spare` is a file in it.
        elsewhere: the destination of renames.
    """

    number: int
    top: str
    directory: str
    file: str
    sibling: str
    missing: str
    deep: str
    other: str
    spare: str
    elsewhere: str

    @classmethod
    def of(cls, number: int) -> "Lane":
        """Return the lane with that number."""
        top = f"/r{number:02}"
        return cls(
            number=number,
            top=top,
            directory=f"{top}/d",
            file=f"{top}/d/f",
            sibling=f"{top}/d/g",
            missing=f"{top}/d/x",
            deep=f"{top}/m/x",
            other=f"{top}/e",
            spare=f"{top}/e/f",
            elsewhere=f"{top}/w",
        )

    def path(self, kind: str) -> str:
        """Return a path by the name of its attribute."""
        path: str = getattr(self, kind)
        return path

    def namespace(self, number: int) -> Namespace:
        """Return its initial namespace; `number` is that of its first inode."""
        directory, file = FileType.DIRECTORY, FileType.FILE
        return {
            self.top: Inode(directory, "alice", 0o755, number, number, children=2),
            self.directory: Inode(directory, "alice", 0o755, number + 1, number, children=2),
            self.file: Inode(file, "alice", 0o644, number + 2, number, length=1),
            self.sibling: Inode(file, "alice", 0o644, number + 3, number, length=1),
            self.other: Inode(directory, "alice", 0o755, number + 4, number, children=1),
            self.spare: Inode(file, "alice", 0o644, number + 5, number, length=1),
        }


LAYOUT: Final[Mapping[str, tuple[bool, str, int]]] = {}
"""The initial namespace of a system: empty; `anew` creates the lanes."""


def anew(lanes: tuple[Lane, ...]) -> Operation:
    """Return the transaction that removes everything and creates the lanes again, with other inodes."""

    def operation(before: Namespace, number: int) -> list[Step]:
        root = before[ROOT]
        now: dict[str, Inode] = {}
        events: list[Event] = [Unlink(path) for path in before if path.count("/") == 1 and path != ROOT]
        for lane in lanes:
            first = 20_000 + (number * len(lanes) + lane.number) * _INODES_OF_A_LANE
            now |= lane.namespace(first)
            events.append(Create(kind=FileType.DIRECTORY, path=lane.top))
        now[ROOT] = Inode(root.kind, SUPERUSER, 0o755, root.number, number, children=len(lanes))
        return [Step(now, tuple(events))]

    return operation
