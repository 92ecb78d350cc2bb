"""Two-step writes whose second step never passes the proxy. (cache/windows.py)

A redirected CREATE or APPEND is carried out by a DataNode, some time after the proxy has answered.
Until its end is known, nothing that it makes stale may be served or kept (guarantee OwnWrites).
"""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from typing import NamedTuple

from hadoop.globs import GlobSet
from hadoop.paths import ROOT, ancestors, parent


class _Write(NamedTuple):
    """One redirected write."""

    path: str
    after_txid: int | None  # None: unknown, so no event can end its window
    ends_at: float
    topmost_missing: str | None

    def place(self, filters: GlobSet) -> str | None:
        """Return the lowest path that it may make and that concerns the filters; its own counts most."""
        if filters.may_concern(self.path):
            return self.path
        for above in ancestors(self.path) if self.topmost_missing is not None else ():
            if filters.may_concern(above):
                return above
            if above == self.topmost_missing:
                break
        return None


class _Window:
    """A redirected write that concerns the filters."""

    __slots__ = ("after_txid", "ends_at", "ends_with", "is_armed", "names", "path", "roots", "write")

    def __init__(self, write: _Write, place: str) -> None:
        self.write = write
        self.path = write.path
        self.after_txid = write.after_txid
        self.ends_at = write.ends_at
        self.ends_with = place if place != write.path else None  # see `TwoStepWindows`
        self.is_armed = False  # its CREATE or APPEND was seen
        topmost = write.topmost_missing
        self.roots = {write.path} if topmost is None else {write.path, topmost}
        self.names = {above for root in self.roots if (above := parent(root)) is not None}


class TwoStepWindows:
    """Which paths are under a two-step write; bounded in number and in time.

    A window covers its path and all below it, its parent's own status and, where ancestors may have to
    be made, the topmost of these with all below it and that one's parent's own status.

    Where only some of these ancestors concern the filters, the write is over, as far as they go, once the
    lowest of these is there. A channel that carries what concerns the filters need not tell the path's CLOSE.

    A write that touches nothing that concerns the filters needs no window, but filters that come later may find it
    still under way. So it is set aside for as long as its window would last; of those only the latest are remembered,
    as many as there may be windows, and what was not asked about its ancestors then is not known of it later.

    Invariants:
        W1  A window ends at `ends_at`, or at a CLOSE of its path that follows a CREATE or APPEND newer
            than `after_txid` while no other window of that path is open; one that is about ancestors only
            also ends when the lowest that concerns the filters appears, later than `after_txid`.
        W2  A write that finds no room covers every path until its window would have ended.
        W3  No write that is set aside concerns the filters.
    """

    def __init__(self, *, window_s: float, max_windows: int) -> None:
        self._window_s = window_s
        self._max_windows = max_windows
        self._by_age: OrderedDict[_Window, None] = (
            OrderedDict()
        )  # all last equally long: the oldest ends first
        self._by_path: dict[str, list[_Window]] = {}
        self._by_ancestor: dict[str, list[_Window]] = {}  # by `ends_with`
        self._roots: Counter[str] = Counter()  # covered with all below
        self._names: Counter[str] = Counter()  # covered alone
        self._aside: deque[_Write] = deque(maxlen=max_windows)  # writes without a window, the oldest first
        self._full_until = float("-inf")

    def begin(
        self,
        path: str,
        *,
        after_txid: int | None,
        now: float,
        topmost_missing: str | None,
        filters: GlobSet,
    ) -> bool:
        """Open a window; false says that there was no room and that every path is covered now.

        None is opened for a write that touches nothing that concerns the filters.
        """
        self._expire(now)
        write = _Write(path, after_txid, now + self._window_s, topmost_missing)
        place = write.place(filters)
        if place is None:
            self._aside.append(write)
            return True
        return self._begin(write, place)

    def cover_all(self, now: float) -> None:
        """Cover every path for as long as a window lasts: a write is under way that could not be noted (W2)."""
        self._full_until = max(self._full_until, now + self._window_s)

    def follow(self, filters: GlobSet) -> None:
        """Take note that these are the filters now: some may concern writes that others did not."""
        aside, self._aside = self._aside, deque(maxlen=self._max_windows)
        for write in reversed(aside):  # should there be no room, the oldest are the likeliest to have ended
            place = write.place(filters)
            if place is None:
                self._aside.appendleft(write)
            else:
                self._begin(write, place)
        for window in [window for windows in self._by_ancestor.values() for window in windows]:
            place = window.write.place(filters)
            if place is not None and len(place) > len(window.ends_with or ""):
                self._set_end(window, place if place != window.path else None)
        self._by_age = OrderedDict.fromkeys(sorted(self._by_age, key=_end_of))

    def _begin(self, write: _Write, place: str) -> bool:
        if self.open >= self._max_windows:
            self._full_until = max(self._full_until, write.ends_at)
            return False
        window = _Window(write, place)
        self._by_age[window] = None
        self._by_path.setdefault(window.path, []).append(window)
        if window.ends_with is not None:
            self._by_ancestor.setdefault(window.ends_with, []).append(window)
        self._roots.update(window.roots)
        self._names.update(window.names)
        return True

    @property
    def open(self) -> int:
        """Number of windows, some of which may have ended by time since the last look."""
        return len(self._by_age)

    def is_full(self, now: float) -> bool:
        """Whether a write found no room, so that every path is covered."""
        return now < self._full_until

    def covers(self, path: str, now: float) -> bool:
        """Whether the path's status may be changed by a two-step write that is under way."""
        self._expire(now)
        if not self.open:
            return False
        if path in self._names or path in self._roots:
            return True
        return any(above in self._roots for above in ancestors(path))

    def appeared(self, path: str, txid: int) -> None:
        """Take note that an event has made the path, or moved something there."""
        for window in tuple(self._by_ancestor.get(path, ())):
            if window.after_txid is not None and txid > window.after_txid:
                self._end(window)

    def opened(self, path: str, txid: int) -> None:
        """Take note of a CREATE or APPEND event."""
        for window in self._by_path.get(path, ()):
            if window.after_txid is not None and txid > window.after_txid:
                window.is_armed = True

    def closed(self, path: str) -> None:
        """Take note of a CLOSE event."""
        windows = self._by_path.get(path, ())
        if len(windows) == 1 and windows[0].is_armed:
            self._end(windows[0])

    def _expire(self, now: float) -> None:
        while self._by_age and now >= (oldest := next(iter(self._by_age))).ends_at:
            self._end(oldest)
        while self._aside and now >= self._aside[0].ends_at:
            self._aside.popleft()

    def _set_end(self, window: _Window, ends_with: str | None) -> None:
        if window.ends_with is not None:
            _remove(self._by_ancestor, window.ends_with, window)
        window.ends_with = ends_with
        if ends_with is not None:
            self._by_ancestor.setdefault(ends_with, []).append(window)

    def _end(self, window: _Window) -> None:
        del self._by_age[window]
        _remove(self._by_path, window.path, window)
        self._set_end(window, None)
        for counter, paths in ((self._roots, window.roots), (self._names, window.names)):
            for path in paths:
                counter[path] -= 1
                if not counter[path]:
                    del counter[path]

    def check(self) -> None:
        """Assert that the indexes agree; for tests."""
        windows = [window for windows in self._by_path.values() for window in windows]
        assert set(windows) == set(self._by_age)
        assert all(self._by_ancestor.values())
        waiting = [(path, window) for path, windows in self._by_ancestor.items() for window in windows]
        assert set(waiting) == {
            (window.ends_with, window) for window in windows if window.ends_with is not None
        }
        assert len(windows) == self.open <= self._max_windows
        assert list(self._by_age) == sorted(self._by_age, key=_end_of)
        assert self._roots == Counter(path for window in windows for path in window.roots)
        assert self._names == Counter(path for window in windows for path in window.names)
        assert ROOT not in self._by_path


def _end_of(window: _Window) -> float:
    return window.ends_at


def _remove(windows: dict[str, list[_Window]], path: str, window: _Window) -> None:
    windows[path].remove(window)
    if not windows[path]:
        del windows[path]
