"""The mount table, like that of ViewFs: it maps each path to the namespace that holds it.

Source: org.apache.hadoop.fs.viewfs.InodeTree, 3.5.0, for links whose target is the path at which they are mounted: each
namespace holds its part of one tree, under the same paths (docs/decisions/0024).
"""

from collections.abc import Mapping
from typing import Final

from nncache.hadoop.paths import ROOT, InvalidPathError, ancestors, canonical, depth, is_cacheable
from nncache.net.setting_error import SettingError

KEY: Final = "mounts"
"""The key of the table in the settings file."""

_RAW: Final = "/.reserved/raw"


class MountTable:
    """Namespaces by mount point.

    The namespace mounted at the root, if any, holds all paths below no other mount point (`linkFallback`).

    Invariants:
        M1  Only the root may lie above another mount point, so at most one mount point other than it holds a path.
        M2  `_internal` are the proper ancestors of the mount points.
    """

    def __init__(self, mounts: Mapping[str, str]) -> None:
        """Take canonical mount points, each with the name of its namespace.

        Raises SettingError: there are none, or they are invalid or nested; says what is allowed.
        """
        if not mounts:
            raise SettingError(
                KEY, "none", 'must give each namespace at least one path: "/data" = "NAMESPACE"'
            )
        for point in mounts:
            _check_mount_point(point)
        self.points = dict(mounts)  # all mount points, each with its namespace
        self._internal = frozenset(above for point in mounts for above in ancestors(point))
        self._most_levels = max(map(depth, mounts))
        for point, namespace in self.points.items():
            if point != ROOT and point in self._internal:
                inner = next(each for each in mounts if each.startswith(f"{point}/"))
                raise SettingError(
                    KEY,
                    inner,
                    f"must not lie below another mount point, {point} of {namespace}: of a directory one namespace "
                    "holds everything (only / may have mount points below it)",
                )

    @property
    def fallback(self) -> str | None:
        """The namespace mounted at the root, which also gets calls that concern no path; None if there is none."""
        return self.points.get(ROOT)

    def find(self, path: str) -> str | None:
        """Return the namespace that holds a canonical path; None if nothing is mounted there.

        A path below `/.reserved/raw` is held like the path that it shows. The cost is linear in the levels of the
        deepest mount point, and does not depend on their number.
        """
        path = _without_raw(path)
        end = 0
        for _ in range(self._most_levels):
            end = path.find(ROOT, end + 1)
            if end < 0:
                namespace = self.points.get(path)
                return self.fallback if namespace is None else namespace
            namespace = self.points.get(path[:end])
            if namespace is not None:
                return namespace
        return self.fallback

    def is_above(self, path: str) -> bool:
        """Whether a canonical path is a proper ancestor of a mount point (an internal directory of ViewFs).

        True also for that path below `/.reserved/raw`.
        """
        return _without_raw(path) in self._internal

    def is_fixed(self, path: str) -> bool:
        """Whether a canonical path is a mount point or above one: the table needs it, so no call may remove it.

        True also for that path below `/.reserved/raw`.
        """
        path = _without_raw(path)
        return path in self._internal or path in self.points

    def within(self, path: str) -> tuple[str, ...]:
        """Return the namespaces that hold a canonical path or a path below it, each once."""
        own = self.find(path)
        start = _without_raw(path).rstrip(ROOT) + ROOT
        below = (namespace for point, namespace in self.points.items() if point.startswith(start))
        return tuple(dict.fromkeys((*(() if own is None else (own,)), *below)))


def _without_raw(path: str) -> str:
    """Return the path that a canonical path below `/.reserved/raw` shows; any other path unchanged."""
    if path == _RAW or path.startswith(_RAW + ROOT):
        return path[len(_RAW) :] or ROOT
    return path


def _check_mount_point(point: str) -> None:
    try:
        is_plain = canonical(point) == point and is_cacheable(point)
    except InvalidPathError:
        is_plain = False
    if not is_plain:
        allowed = (
            "must be an absolute path with single slashes, such as /data; none of /.reserved or a snapshot"
        )
        raise SettingError(KEY, point, allowed)
