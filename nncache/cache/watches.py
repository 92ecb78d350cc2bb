"""Watched paths, and which of them a change affects.

Pure. Each change that makes a path's status, or a right to see it, stale invalidates the path's watch at least once.
Other changes may invalidate it too: the watcher then asks again, and finds the same status.
"""

from bisect import bisect_left, insort
from collections.abc import Callable, Iterator
from typing import assert_never

from nncache.hadoop.change import (
    AccessChanged,
    Appeared,
    Closed,
    EverythingUnknown,
    FileTouched,
    Footprint,
    LineTouched,
    Moved,
    Opened,
    SubtreeUnknown,
    Touched,
    Vanished,
)
from nncache.hadoop.paths import ROOT, parent


class PathWatch:
    """A watch on one path."""

    __slots__ = ("_woken", "invalidations", "path")

    def __init__(self, path: str, woken: Callable[[], None]) -> None:
        """Begin. Each waking invalidation calls `woken`, which must neither raise nor change the watches."""
        self.path = path  # canonical
        self.invalidations = 0  # how often it may have changed since the watch began
        self._woken = woken

    def invalidate(self, *, wakes: bool = True) -> None:
        """Record that the path may have changed. Without `wakes` another invalidation by the same change follows."""
        self.invalidations += 1
        if wakes:
            self._woken()


class PathWatches:
    """All watches, by path and in the order of the paths, in which a directory's descendants are neighbours.

    A path takes one place, whatever its depth.

    Invariants:
        W1  `_order` holds exactly the watched paths, sorted; each has a watch.
    """

    def __init__(self) -> None:
        self._at: dict[str, dict[PathWatch, None]] = {}
        self._order: list[str] = []

    def __len__(self) -> int:
        """Return the number of watched paths."""
        return len(self._at)

    def add(self, path: str, woken: Callable[[], None]) -> PathWatch:
        """Watch a canonical path until `remove`. Costs O(log n) comparisons, and moves up to n pointers."""
        watch = PathWatch(path, woken)
        if path not in self._at:
            self._at[path] = {}
            insort(self._order, path)
        self._at[path][watch] = None
        return watch

    def remove(self, watch: PathWatch) -> None:
        """End a watch."""
        here = self._at[watch.path]
        del here[watch]
        if not here:
            del self._at[watch.path]
            del self._order[bisect_left(self._order, watch.path)]

    def invalidate_all(self) -> None:
        """Invalidate every watch: the cache has lost all it knew."""
        for path in tuple(self._at):
            self._invalidate(path)

    def apply(self, change: Footprint, *, is_event: bool) -> None:
        """Invalidate the watches that a change affects. Costs O(1) if nothing is watched.

        A call through the proxy that changes the access to a tree wakes no watch below its top. Its event follows and
        wakes them, so that each waiter there asks once.
        """
        if not self._at:
            return
        match change:
            case Appeared(path) | Vanished(path):
                self._invalidate_place(path)
            case Moved(source, path):
                self._invalidate_place(source)
                self._invalidate_place(path)
            case Touched(path) | Opened(path) | Closed(path) | FileTouched(path):
                self._invalidate(path)
            case LineTouched(path, top):
                for each in _line(path, top):
                    self._invalidate(each)
            case AccessChanged(path):
                self._invalidate_subtree(path, wakes_below=is_event)
            case SubtreeUnknown(path):
                self._invalidate_subtree(path)
            case EverythingUnknown():
                self.invalidate_all()
            case _:
                assert_never(change)

    def _invalidate_place(self, path: str) -> None:
        self._invalidate_subtree(path)
        self._invalidate(parent(path) or ROOT)

    def _invalidate_subtree(self, path: str, *, wakes_below: bool = True) -> None:
        self._invalidate(path)
        for each in self._below(path):
            self._invalidate(each, wakes=wakes_below)

    def _below(self, path: str) -> list[str]:
        """Return the watched paths below a path, without it: paths with this prefix and a slash are neighbours."""
        above = path if path == ROOT else f"{path}/"
        first = bisect_left(self._order, above)
        last = first
        while last < len(self._order) and self._order[last].startswith(above):
            last += 1
        return [each for each in self._order[first:last] if each != path]

    def _invalidate(self, path: str, *, wakes: bool = True) -> None:
        for watch in tuple(self._at.get(path, ())):
            watch.invalidate(wakes=wakes)

    def check(self) -> None:
        """Assert the invariants; for tests."""
        assert self._order == sorted(self._at), "W1"
        assert all(self._at.values()), "W1"


def _line(path: str, top: str) -> Iterator[str]:
    """Yield the path and its ancestors, up to `top`."""
    at: str | None = path
    while at is not None:
        yield at
        at = None if at == top else parent(at)
