"""The path, user or change that a number selects in a history."""

import unicodedata
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from tests.model.namespace import SUPERUSER
from tests.model.writes import Write, chmod, chown, delete, mkdirs, rename, replicate, touch, truncate

PATHS: Final = (
    "/a",
    "/a/f",
    "/a/b",
    "/a/b/f",
    "/a/b/g",
    "/a/b/d",
    "/a/b/d/f",
    "/a/b/d/g",
    "/c",
    "/c/f",
    "/c/g",
    "/c/e\u0301",
    "/c/\u00e9",
)
"""The last two are one name in the normalization forms D and C, which HDFS keeps apart."""

FILES: Final = ("/a/f", "/a/b/f", "/a/b/g", "/a/b/d/f", "/c/f", "/c/g", "/c/e\u0301", "/c/\u00e9")
DIRECTORIES: Final = ("/a", "/a/b", "/a/b/d", "/c")
USERS: Final = ("alice", "bob")
_MODES: Final = (0o755, 0o700, 0o711, 0o777, 0o755, 0o777, 0o750, 0o311)
_DURATIONS_S: Final = (0.002, 0.05, 0.5, 4.0)


class Follows(Enum):
    """How the client of a two-step write uses the DataNode's URL."""

    REDIRECT = auto()  # it follows the Location
    AS_IT_IS = auto()  # it takes the URL from the JSON, as browsers do
    NORMALIZED = auto()  # ... and converts it to form C, as Java's URI does


def normal(path: str) -> str:
    """Return the path in normalization form C."""
    return unicodedata.normalize("NFC", path)


@dataclass
class Draw:
    """The choices that a number encodes."""

    number: int

    def of(self, count: int) -> int:
        """Return a number below `count`."""
        self.number, choice = divmod(self.number, count)
        return choice

    def path(self) -> str:
        """Return a path."""
        return PATHS[self.of(len(PATHS))]

    def file(self) -> str:
        """Return a path that is a file in most histories."""
        return FILES[self.of(len(FILES))]

    def directory(self) -> str:
        """Return a path that is a directory in most histories."""
        return DIRECTORIES[self.of(len(DIRECTORIES))]

    def user(self) -> str:
        """Return the user who reads."""
        return USERS[self.of(2)]

    def writer(self) -> str:
        """Return the user who writes: in half of the cases the superuser."""
        return (SUPERUSER, SUPERUSER, "alice", "bob")[self.of(4)]

    def duration_s(self) -> float:
        """Return a duration in seconds."""
        return _DURATIONS_S[self.of(len(_DURATIONS_S))]

    def follows(self) -> Follows:
        """Return how the client uses a redirect: in most cases it follows the Location."""
        kinds: tuple[Follows, ...] = (*Follows, Follows.REDIRECT)
        return kinds[self.of(len(kinds))]

    def write(self) -> Write:
        """Return a change of one step, with its user."""
        user, kind = self.writer(), self.of(12)
        path, number = self.path(), self.number
        match kind:
            case 0 | 1:
                return mkdirs(path, user)
            case 2 | 3 | 4:
                return delete(path, user)
            case 5 | 6:
                return rename(path, PATHS[number % len(PATHS)], user)
            case 7:
                return touch(path, user)
            case 8:
                return replicate(path, user)
            case 9:
                return truncate(path, user)
            case _:
                return self.access()

    def access(self) -> Write:
        """Return a change of an owner or of a mode."""
        path, kind = self.directory(), self.of(4)
        return chown(path, self.user()) if kind == 0 else chmod(path, _MODES[self.of(len(_MODES))])
