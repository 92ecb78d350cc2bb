"""What a number stands for in a history: a path, a user, a change."""

import unicodedata
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from tests.model import operations
from tests.model.cluster import Operation
from tests.model.namespace import SUPERUSER

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


@dataclass(frozen=True, slots=True)
class Write:
    """A change: how WebHDFS spells it, and what it does."""

    method: str
    path: str
    query: str
    operation: Operation


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

    def write(self) -> tuple[str, Write]:
        """Choose a change of one step, and who makes it."""
        user, kind = self.writer(), self.of(12)
        path, number = self.path(), self.number
        match kind:
            case 0 | 1:
                return user, Write(
                    "PUT", path, "op=MKDIRS", lambda now, txid: operations.mkdirs(now, user, path, txid)
                )
            case 2 | 3 | 4:
                query = "op=DELETE&recursive=true"
                return user, Write(
                    "DELETE", path, query, lambda now, txid: operations.delete(now, user, path, txid)
                )
            case 5 | 6:
                to = PATHS[number % len(PATHS)]
                return user, Write(
                    "PUT",
                    path,
                    f"op=RENAME&destination={to}",
                    lambda now, txid: operations.rename(now, user, path, to, txid),
                )
            case 7:
                return user, Write(
                    "PUT", path, "op=SETTIMES", lambda now, txid: operations.set_times(now, user, path, txid)
                )
            case 8:
                query = "op=SETREPLICATION"
                return user, Write(
                    "PUT", path, query, lambda now, txid: operations.set_replication(now, user, path, txid)
                )
            case 9:
                return user, Write(
                    "POST",
                    path,
                    "op=TRUNCATE&newlength=0",
                    lambda now, txid: operations.truncate(now, user, path, txid),
                )
            case _:
                return self.access()

    def access(self) -> tuple[str, Write]:
        """Choose a change of who may do what, and who makes it."""
        path, kind = self.directory(), self.of(4)
        if kind == 0:
            owner = self.user()
            return SUPERUSER, Write(
                "PUT",
                path,
                f"op=SETOWNER&owner={owner}",
                lambda now, _: operations.set_owner(now, SUPERUSER, path, owner),
            )
        mode = _MODES[self.of(len(_MODES))]
        return SUPERUSER, Write(
            "PUT",
            path,
            f"op=SETPERMISSION&permission={mode:o}",
            lambda now, _: operations.set_permission(now, SUPERUSER, path, mode),
        )
