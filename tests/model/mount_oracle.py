"""Which namespace a request is about, by the rules of docs/federation.md alone.

Written apart from `hadoop/mounts.py`, `federation/routing.py` and what they read targets with: paths are lists of names
here, each mount point is compared with each path, and the query is the standard library's to read.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias
from urllib.parse import parse_qs, unquote

MAIN: Final = "main"
LAKE: Final = "lake"
NAMESPACES: Final = (MAIN, LAKE)

TABLES: Final[tuple[Mapping[str, str], ...]] = (
    {"/": MAIN, "/a/b": LAKE, "/d/e": LAKE},
    {"/": LAKE, "/a/b/d": MAIN, "/c": MAIN},
    {"/a": MAIN, "/c": LAKE, "/d/e": LAKE},
)
"""Mount tables for the paths of `draws.py`; nothing is mounted at the root of the last."""

BESIDE: Final = ("/a/bx", "/a/b/dx", "/cf", "/cf/g", "/d", "/d/e", "/d/e/f", "/d/ex", "/a.b/f")
"""Paths whose names begin as mount points do, or that lie above some, and those of another mount point."""

ACROSS: Final = (403, "java.io.IOException")
NOT_MOUNTED: Final = (404, "java.io.FileNotFoundException")
FIXED: Final = (403, "org.apache.hadoop.security.AccessControlException")

_PREFIX: Final = "/webhdfs/v1"
_TAKES_AWAY: Final = frozenset({("DELETE", "DELETE"), ("PUT", "RENAME")})
_LEAVES_IN_PLACE: Final = frozenset(
    {
        *(("PUT", op) for op in ("CREATE", "MKDIRS", "SETOWNER", "SETPERMISSION", "SETREPLICATION", "SETTIMES")),
        *(("POST", op) for op in ("APPEND", "CONCAT", "TRUNCATE")),
        ("PUT", "SETSTORAGEPOLICY"),
    }
)  # fmt: skip
"""The writes of the model; of any other nothing is known, so it may take a mount point away."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """The proxy's own answer, which no NameNode is asked for."""

    status: int
    java_class: str


Verdict: TypeAlias = str | Refusal
"""The namespace that answers, or what the proxy says instead."""

_Names: TypeAlias = tuple[str, ...]


class MountOracle:
    """Says what must become of each request of the model."""

    def __init__(self, table: Mapping[str, str]) -> None:
        self._mounts = [(_names(point), namespace) for point, namespace in table.items()]

    def holder(self, path: str) -> str | None:
        """Return the namespace of the longest mount point whose names the path begins with; None: there is none."""
        names = _names(path)
        fitting = [(len(point), each) for point, each in self._mounts if names[: len(point)] == point]
        return max(fitting)[1] if fitting else None

    def verdict(self, method: str, target: str) -> Verdict:
        """Say what must become of a request."""
        spelled, _, query = target.removeprefix(_PREFIX).partition("?")
        path, asked = unquote(spelled), parse_qs(query)
        holder = self.holder(path)
        if holder is None:
            return Refusal(*(FIXED if self._is_above(path) else NOT_MOUNTED))
        if method == "GET":
            return holder
        others = [
            *asked.get("destination", []),
            *(each for sources in asked.get("sources", []) for each in sources.split(",")),
        ]
        kind = method, asked["op"][0]
        may_take_away = kind in _TAKES_AWAY or kind not in _LEAVES_IN_PLACE
        if may_take_away and any(map(self._is_fixed, (path, *others))):
            return Refusal(*FIXED)
        if any(self.holder(each) != holder for each in others):
            return Refusal(*ACROSS)
        return holder

    def _is_above(self, path: str) -> bool:
        """Whether a mount point lies below that path."""
        names = _names(path)
        return any(len(point) > len(names) and point[: len(names)] == names for point, _ in self._mounts)

    def _is_fixed(self, path: str) -> bool:
        return self._is_above(path) or any(point == _names(path) for point, _ in self._mounts)


def _names(path: str) -> _Names:
    return tuple(name for name in path.split("/") if name)
