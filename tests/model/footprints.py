"""The effects of a change, found by a walk over all paths: the naive twin of the table of footprints."""

from collections.abc import Iterable

from nncache.hadoop.change import (
    AccessChanged,
    Appeared,
    Change,
    Closed,
    EverythingUnknown,
    Moved,
    Opened,
    SubtreeUnknown,
    Touched,
    Vanished,
)


class Versions:
    """Counts the changes of each path's status, and of the right to traverse each directory.

    The directory "" means the right to see the root's own status, which proves nothing about the root's children.
    """

    def __init__(self, paths: Iterable[str], directories: Iterable[str]) -> None:
        self.statuses = dict.fromkeys(paths, 0)
        self.rights = dict.fromkeys(directories, 0)

    def move(self, change: Change) -> None:
        """Apply a change."""
        for path in statuses(change, self.statuses):
            self.statuses[path] += 1
        for directory in self.rights:
            self.rights[directory] += _moves_right(change, directory or "/")


def statuses(change: Change, paths: Iterable[str]) -> list[str]:
    """Return the paths among these whose status the change may have changed."""
    return [path for path in paths if _moves_status(change, path)]


def _moves_status(change: Change, path: str) -> bool:
    match change:
        case Moved(source, destination):
            return _moves_status(Vanished(source), path) or _moves_status(Appeared(destination), path)
        case Appeared(changed) | Vanished(changed):
            return is_at_or_below(path, changed) or path == parent_of(changed)
        case AccessChanged(changed) | SubtreeUnknown(changed):
            return is_at_or_below(path, changed)
        case Touched(changed) | Opened(changed) | Closed(changed):
            return path == changed
        case EverythingUnknown():
            return True


def _moves_right(change: Change, directory: str) -> bool:
    match change:
        case Moved(source, destination):
            return is_at_or_below(directory, source) or is_at_or_below(directory, destination)
        case Appeared(path) | Vanished(path) | AccessChanged(path) | SubtreeUnknown(path):
            return is_at_or_below(directory, path)
        case EverythingUnknown():
            return True
        case _:
            return False


def parent_of(path: str) -> str:
    """Return the parent directory of a path."""
    return path.rpartition("/")[0] or "/"


def is_at_or_below(path: str, top: str) -> bool:
    """Whether a path is the top of a subtree or below it."""
    return path == top or path.startswith(top.rstrip("/") + "/")
