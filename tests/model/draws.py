"""What a number stands for in a history: a path, a user, a change."""

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
"""The last two are one name in the normalization forms D and C, which HDFS tells apart."""

FILES: Final = ("/a/f", "/a/b/f", "/a/b/g", "/a/b/d/f", "/c/f", "/c/g", "/c/e\u0301", "/c/\u00e9")
DIRECTORIES: Final = ("/a", "/a/b", "/a/b/d", "/c")
USERS: Final = ("alice", "bob")
_MODES: Final = (0o755, 0o700, 0o711, 0o777, 0o755, 0o777, 0o750, 0o311)
_DURATIONS_S: Final = (0.002, 0.05, 0.5, 4.0)


class Follows(Enum):
    """What a client of a two-step write makes of the DataNode's URL."""

    REDIRECT = auto()  # it follows the Location
    AS_IT_IS = auto()  # it takes the URL from the JSON, as browsers do
    NORMALIZED = auto()  # ... and puts it into form C, as Java's URI does


def normal(path: str) -> str:
    """Return the path in the normalization form C."""
    return unicodedata.normalize("NFC", path)


@dataclass
class Draw:
    """Choices that a number stands for."""

    number: int

    def of(self, count: int) -> int:
        """Choose one of so many."""
        self.number, choice = divmod(self.number, count)
        return choice

    def path(self) -> str:
        """Choose a path."""
        return PATHS[self.of(len(PATHS))]

    def file(self) -> str:
        """Choose a path that is mostly a file's."""
        return FILES[self.of(len(FILES))]

    def directory(self) -> str:
        """Choose a path that is mostly a directory's."""
        return DIRECTORIES[self.of(len(DIRECTORIES))]

    def user(self) -> str:
        """Choose who reads."""
        return USERS[self.of(2)]

    def writer(self) -> str:
        """Choose who writes: mostly somebody who may."""
        return (SUPERUSER, SUPERUSER, "alice", "bob")[self.of(4)]

    def duration_s(self) -> float:
        """Choose how long something lasts."""
        return _DURATIONS_S[self.of(len(_DURATIONS_S))]

    def follows(self) -> Follows:
        """Choose what is made of a redirect: mostly it is followed."""
        kinds: tuple[Follows, ...] = (*Follows, Follows.REDIRECT)
        return kinds[self.of(len(kinds))]

    def write(self) -> Write:
        """Choose a change of one step, and who makes it."""
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
        """Choose a change of who may do what."""
        path, kind = self.directory(), self.of(4)
        return chown(path, self.user()) if kind == 0 else chmod(path, _MODES[self.of(len(_MODES))])
