"""The namespace of a request, by the rules of docs/federation.md alone.

Written independently of `hadoop/mounts.py`, `federation/routing.py` and their parsers: paths are lists of names, each
mount point is compared with each path, and the standard library parses the query.
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
"""Mount tables for the paths of `draws.py`; the last one mounts nothing at the root."""

BESIDE: Final = ("/a/bx", "/a/b/dx", "/cf", "/cf/g", "/d", "/d/e", "/d/e/f", "/d/ex", "/a.b/f")
"""Paths whose names start like mount points, paths above mount points, and paths below another one."""

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
"""The writes of the model. Any other write is unknown, so it may remove a mount point."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A reply of the proxy itself, without a call to a NameNode."""

    status: int
    java_class: str


Verdict: TypeAlias = str | Refusal
"""The namespace that answers, or the proxy's own refusal."""

_Names: TypeAlias = tuple[str, ...]


class MountOracle:
    """Determines how each request of the model must be handled."""

    def __init__(self, table: Mapping[str, str]) -> None:
        self._mounts = [(_names(point), namespace) for point, namespace in table.items()]

    def holder(self, path: str) -> str | None:
        """Return the namespace of the longest mount point that contains the path; None if there is none."""
        names = _names(path)
        fitting = [(len(point), each) for point, each in self._mounts if names[: len(point)] == point]
        return max(fitting)[1] if fitting else None

    def verdict(self, method: str, target: str) -> Verdict:
        """Return the namespace that must answer a request, or the refusal."""
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
        """Whether a mount point lies below this path."""
        names = _names(path)
        return any(len(point) > len(names) and point[: len(names)] == names for point, _ in self._mounts)

    def _is_fixed(self, path: str) -> bool:
        return self._is_above(path) or any(point == _names(path) for point, _ in self._mounts)


def _names(path: str) -> _Names:
    return tuple(name for name in path.split("/") if name)
