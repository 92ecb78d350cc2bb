"""Paths that are watched: which of them a change may have changed.

Pure. A watch is touched at least once by each change that makes its path's status, or a right to see it, stale. It may
be touched by others as well: who watches asks again, and finds that nothing has changed.
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


class Watch:
    """One path."""

    __slots__ = ("_woken", "invalidations", "path")

    def __init__(self, path: str, woken: Callable[[], None]) -> None:
        """Begin; `woken` is called at each touch that wakes, and must neither raise nor change the watches."""
        self.path = path  # canonical
        self.invalidations = 0  # how often it may have changed since the watch began
        self._woken = woken

    def invalidate(self, *, wakes: bool = True) -> None:
        """Take note that the path may have changed; unless it `wakes`, another touch for the same change follows."""
        self.invalidations += 1
        if wakes:
            self._woken()


class Watches:
    """All watches, found by their path and, for what lies above it, by its place in the order of all paths.

    A path costs one place, however deep it is.

    Invariants:
        W1  `_order` holds just the watched paths, sorted; each has a watch.
    """

    def __init__(self) -> None:
        self._at: dict[str, dict[Watch, None]] = {}
        self._order: list[str] = []

    def __len__(self) -> int:
        """Return the number of watched paths."""
        return len(self._at)

    def add(self, path: str, woken: Callable[[], None]) -> Watch:
        """Watch a canonical path until `remove`. Costs O(log n) comparisons, and moves n pointers."""
        watch = Watch(path, woken)
        if path not in self._at:
            self._at[path] = {}
            insort(self._order, path)
        self._at[path][watch] = None
        return watch

    def remove(self, watch: Watch) -> None:
        """Watch no more."""
        here = self._at[watch.path]
        del here[watch]
        if not here:
            del self._at[watch.path]
            del self._order[bisect_left(self._order, watch.path)]

    def invalidate_all(self) -> None:
        """Touch every watch: nothing is known any more."""
        for path in tuple(self._at):
            self._invalidate(path)

    def apply(self, change: Footprint, *, is_event: bool) -> None:
        """Touch what a change may have changed. Costs O(1) where nothing is watched.

        A call that came through the proxy and changes who may see a tree wakes none of those below: its event
        follows and does, so that each who waits there asks once.
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
        """Return the watched paths properly below a path: all that begin with it and a slash are neighbours."""
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
    """Yield the path and what is above it, up to `top`."""
    at: str | None = path
    while at is not None:
        yield at
        at = None if at == top else parent(at)
