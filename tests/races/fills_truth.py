"""The true state of the paths of the fills: counts that change as the table of footprints says."""

from collections import defaultdict

from nncache.hadoop.change import Change, Closed, Opened
from tests.model.footprints import Versions, parent_of, statuses


class Truth:
    """The truth about the current race's path and directory; it covers no earlier race.

    A version counts the changes of a path's status; a right counts the changes of the right to traverse its directory.
    `moments` has all pairs of the two so far.
    """

    def __init__(self) -> None:
        self._versions = Versions((), ())
        self._moments: dict[str, set[tuple[int, int]]] = {}
        self._proven: dict[tuple[str, str], set[int]] = defaultdict(set)
        self._open: set[str] = set()
        self._is_there = self._is_directory = True
        self._path = ""

    def begin(self, path: str, *, is_there: bool, is_directory: bool, is_open: bool) -> None:
        """Start with a path that is not cached, and its directory."""
        directory = parent_of(path)
        self._path, self._is_there, self._is_directory = path, is_there, is_directory
        self._versions = Versions((path, directory), (directory, parent_of(directory)))
        self._moments = {path: {(0, 0)}, directory: {(0, 0)}}
        self._proven.clear()
        self._open = {path} if is_open else set()

    def version(self, path: str) -> int:
        """Return the version of a path; 0 for a path of no interest."""
        return self._versions.statuses.get(path, 0)

    def inode(self, path: str) -> bytes | None:
        """Return the body of its status; None if it does not exist."""
        is_directory = self._is_directory or path != self._path
        if not self._is_there and path == self._path:
            return None
        kind = "DIRECTORY" if is_directory else "FILE"
        return (
            '{"FileStatus":{"accessTime":0,"blockSize":0,"childrenNum":0,"fileId":1,"group":"g","length":0,'
            f'"modificationTime":{self.version(path)},"owner":"o","pathSuffix":"","permission":"755",'
            f'"replication":1,"storagePolicy":0,"type":"{kind}"}}}}'
        ).encode()

    def is_open(self, path: str) -> bool:
        """Whether a file is open for writing."""
        return path in self._open and path == self._path and self._is_there and not self._is_directory

    def prove(self, user: str, path: str) -> None:
        """Record that the NameNode has answered a user."""
        directory = parent_of(path)
        while directory != "/":
            self._proven[user, directory].add(self._versions.rights.get(directory, 0))
            directory = parent_of(directory)

    def is_too_old(self, version: int, path: str, unknown: list[Change]) -> bool:
        """Whether more changes happened than the unknown ones explain."""
        if path not in self._versions.statuses:
            return False
        hidden = sum(path in statuses(each, self._versions.statuses) for each in unknown)
        return version < self._versions.statuses[path] - hidden

    def may_be_shown(self, version: int, path: str, user: str) -> bool:
        """Whether the path had that version at a moment when the user's proven right was in force.

        A 404 carries no version: it is the same at all moments.
        """
        directory = parent_of(path)
        if path not in self._moments or directory not in self._versions.rights:
            return True
        proven = self._proven[user, directory]
        is_missing = path == self._path and not self._is_there
        return any(right in proven and (is_missing or at == version) for at, right in self._moments[path])

    def change(self, change: Change) -> None:
        """Make the change."""
        self._versions.move(change)
        for path, moments in self._moments.items():
            moments.add((self._versions.statuses[path], self._versions.rights.get(parent_of(path), 0)))
        match change:
            case Opened(path):
                self._open.add(path)
            case Closed(path):
                self._open.discard(path)
            case _:
                return
