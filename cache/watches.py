"""Paths that are watched: which of them a change may have changed. (cache/watches.py)

Pure. A watch is touched at least once by each change that makes its path's status, or a right to see it, stale. It may
be touched by others as well: who watches asks again, and finds that nothing has changed.
"""

from __future__ import annotations

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
from nncache.hadoop.paths import ROOT, ancestors, parent


class Watch:
    """One path.

    Attributes:
        path: canonical.
        touches: how often it may have changed since the watch began.
    """

    __slots__ = ("_woken", "path", "touches")

    def __init__(self, path: str, woken: Callable[[], None]) -> None:
        """Begin; `woken` is called at each touch and must neither raise nor change the watches."""
        self.path = path
        self.touches = 0
        self._woken = woken

    def touch(self) -> None:
        """Take note that the path may have changed."""
        self.touches += 1
        self._woken()


class Watches:
    """All watches, found by their path and by each path above it.

    Invariants:
        W1  `_below[p]` holds just the watched paths that lie properly below `p`; no set is empty.
    """

    def __init__(self) -> None:
        self._at: dict[str, dict[Watch, None]] = {}
        self._below: dict[str, set[str]] = {}

    def __len__(self) -> int:
        """Return the number of watched paths."""
        return len(self._at)

    def add(self, path: str, woken: Callable[[], None]) -> Watch:
        """Watch a canonical path until `remove`. Costs O(levels of the path)."""
        watch = Watch(path, woken)
        if path not in self._at:
            self._at[path] = {}
            for above in ancestors(path):
                self._below.setdefault(above, set()).add(path)
        self._at[path][watch] = None
        return watch

    def remove(self, watch: Watch) -> None:
        """Watch no more."""
        here = self._at[watch.path]
        del here[watch]
        if here:
            return
        del self._at[watch.path]
        for above in ancestors(watch.path):
            below = self._below[above]
            below.discard(watch.path)
            if not below:
                del self._below[above]

    def touch_all(self) -> None:
        """Touch every watch: nothing is known any more."""
        for path in tuple(self._at):
            self._touch(path)

    def apply(self, change: Footprint) -> None:
        """Touch what a change may have changed. Costs O(1) where nothing is watched."""
        if not self._at:
            return
        match change:
            case Appeared(path) | Vanished(path):
                self._touch_place(path)
            case Moved(source, path):
                self._touch_place(source)
                self._touch_place(path)
            case Touched(path) | Opened(path) | Closed(path) | FileTouched(path):
                self._touch(path)
            case LineTouched(path, top):
                for each in _line(path, top):
                    self._touch(each)
            case AccessChanged(path) | SubtreeUnknown(path):
                self._touch_subtree(path)
            case EverythingUnknown():
                self.touch_all()
            case _:
                assert_never(change)

    def _touch_place(self, path: str) -> None:
        self._touch_subtree(path)
        self._touch(parent(path) or ROOT)

    def _touch_subtree(self, path: str) -> None:
        self._touch(path)
        for each in tuple(self._below.get(path, ())):
            self._touch(each)

    def _touch(self, path: str) -> None:
        for watch in tuple(self._at.get(path, ())):
            watch.touch()

    def check(self) -> None:
        """Assert the invariants; for tests."""
        below: dict[str, set[str]] = {}
        for path in self._at:
            for above in ancestors(path):
                below.setdefault(above, set()).add(path)
        assert below == self._below, "W1"


def _line(path: str, top: str) -> Iterator[str]:
    """Yield the path and what is above it, up to `top`."""
    at: str | None = path
    while at is not None:
        yield at
        at = None if at == top else parent(at)
