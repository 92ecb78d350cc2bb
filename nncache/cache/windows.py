"""Two-step writes, whose second step bypasses the proxy.

A DataNode carries out a redirected CREATE or APPEND, some time after the proxy has answered. Until it has ended, no
status that it makes stale may be served or kept (guarantee OwnWrites).
"""

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import replace
from heapq import heapify, heappop, heappush
from itertools import count

from nncache.cache.deferred_writes import DeferredWrites, TwoStepWrite
from nncache.cache.subtrees import Subtrees
from nncache.hadoop.globs import GlobSet
from nncache.hadoop.paths import ROOT, ancestors, depth, parent

_SHARES = 16  # one caller, and one client address, may have one of so many parts of all windows

_SLACK = 64  # so many ends of windows that are over may be remembered, beside as many as there are windows


class _Window:
    """A redirected write that concerns the filters, or a directory in place of several of them."""

    __slots__ = (
        "after_txid",
        "directory",
        "ends_at",
        "ends_with",
        "is_armed",
        "names",
        "path",
        "roots",
        "write",
    )

    def __init__(self, write: TwoStepWrite, place: str, directory: str | None) -> None:
        self.write = write
        self.path = write.path
        self.after_txid = write.after_txid
        self.ends_at = write.ends_at
        self.ends_with = place if place != write.path else None  # see `TwoStepWindows`
        self.directory = directory  # all that can be made is in it
        self.is_armed = False  # its CREATE or APPEND was seen
        self.roots = tuple(dict.fromkeys((write.topmost, write.path)))  # all below the first goes at once
        self.names = {above for root in self.roots if (above := parent(root)) is not None}


class TwoStepWindows:
    """The paths that two-step writes may change; bounded in number and in time.

    A window covers its path with everything below, and its parent's own status. If the write may create ancestors, it
    also covers the topmost of these with everything below, and the own status of that one's parent.

    If only such ancestors concern the filters, the window ends once the lowest of these exists: a channel that
    carries what concerns the filters does not carry the path's CLOSE.

    A write that changes nothing that concerns the filters needs no window. Nor does a write whose caller has no right
    to the second step. But a later filter may match the first kind while it is in progress, and a change at or
    above the path may give the second kind its right. So both are set aside for the length of a window. Only the
    latest are kept: in total as many as there may be windows, and of each caller and address their share. What the
    NameNode was not asked about their ancestors then stays unknown.

    Each caller and each address has a share of the windows. Once it is used up, one window for the directory that
    contains most of their writes replaces these, so that only the greedy lose.

    Invariants:
        W1  A window ends at `ends_at`, or at a CLOSE of its path that follows a CREATE or APPEND newer
            than `after_txid` while no other window of that path is open; one that is about ancestors only
            also ends when the lowest that concerns the filters appears, later than `after_txid`. With it ends
            the window of an alternative, where that is of one write for certain.
        W2  A write for which there is no room covers every path until its window would have ended.
        W3  No write that is set aside concerns the filters, unless its caller had no right to it.
        W4  No owner has more windows than their share, but where these lie in different top directories.
        W5  A window in place of others covers all that they cover, for at least as long.
    """

    def __init__(self, *, window_s: float, max_windows: int) -> None:
        self._window_s = window_s
        self._max_windows = max_windows
        self._windows: dict[TwoStepWrite, _Window] = {}
        self._ends: list[tuple[float, int, _Window]] = []  # a heap; some of these have ended by an event
        self._numbers = count()  # tell apart what ends at one time
        self._by_path: dict[str, list[_Window]] = {}
        self._by_ancestor: dict[str, list[_Window]] = {}  # by `ends_with`
        self._roots = Subtrees()  # covered with all below
        self._names: Counter[str] = Counter()  # covered alone
        self._share = max(1, max_windows // _SHARES)
        self._by_owner: dict[str, OrderedDict[_Window, None]] = {}
        self._aside = DeferredWrites(max_writes=max_windows, share=self._share)
        self._recheck_queue: dict[TwoStepWrite, None] = {}  # in the order in which they came
        self.on_recheck: Callable[[], None] = lambda: None  # called when a NameNode must be asked again
        self._full_until = float("-inf")

    def begin(self, write: TwoStepWrite, *, now: float, filters: GlobSet) -> tuple[str, ...] | None:
        """Open a window; return the tops of the subtrees that it covers, () if the write needs no window.

        None: there was no room, and every path is covered now. A write needs no window if it changes nothing that
        concerns the filters, or if its caller has no right to it.
        """
        self._expire(now)
        return self._place(write, filters)

    def answer(
        self, write: TwoStepWrite, known: TwoStepWrite, *, now: float, filters: GlobSet
    ) -> tuple[str, ...] | None:
        """Replace a doubtful write by what a NameNode reports of it; return as `begin` does.

        Its window shrinks to what the write can create. A write that was set aside gets a window once its caller has
        the right.
        """
        if not self.is_pending(write, now):
            return ()
        window = self._windows.get(write)
        if window is not None:
            self._end(window)
        elif known.writer.has_right or write.writer.has_right:
            self._aside.remove(write)
        else:
            return ()
        covered = self._place(known, filters)
        if window is not None and known in self._windows:
            self._windows[known].is_armed = window.is_armed
        return covered

    def is_pending(self, write: TwoStepWrite, now: float) -> bool:
        """Whether the write has a window of its own, or may get one."""
        self._expire(now)
        return write in self._windows or write in self._aside

    def ends_at(self, now: float) -> float:
        """Return the expiry time of a window that begins now."""
        return now + self._window_s

    def block_all(self, now: float) -> None:
        """Cover every path for the length of a window: a write could not be recorded (W2)."""
        self._full_until = max(self._full_until, now + self._window_s)

    def follow(self, filters: GlobSet) -> None:
        """Replace the filters: they may concern writes that were set aside."""
        for write in reversed(tuple(self._aside)):  # without room, the oldest are the likeliest to have ended
            place = write.place(filters)
            if place is not None and write.writer.has_right:
                self._aside.remove(write)
                self._begin(write, place)
        for window in [window for windows in self._by_ancestor.values() for window in windows]:
            place = window.write.place(filters)
            if place is not None and len(place) > len(window.ends_with or ""):
                self._set_end(window, place if place != window.path else None)

    def _place(self, write: TwoStepWrite, filters: GlobSet) -> tuple[str, ...] | None:
        place = write.place(filters)
        if place is None or not write.writer.has_right:
            self._aside.add(write)
            return ()
        return self._begin(write, place)

    def _begin(self, write: TwoStepWrite, place: str) -> tuple[str, ...] | None:
        covered: tuple[str, ...] = ()
        for owner in write.writer.owners:
            theirs = self._by_owner.get(owner, ())
            places = [window.directory for window in theirs] if len(theirs) >= self._share else []
            if (directory := shared_directory_of(places)) is not None:
                covered += self._merge(write, theirs, directory)
        if any(_is_inside(write, root) for root in covered):
            return covered
        if self.open >= self._max_windows:
            self._full_until = max(self._full_until, write.ends_at)
            return None
        return covered + self._open(_Window(write, place, parent(write.topmost)))

    def _merge(self, write: TwoStepWrite, theirs: Iterable[_Window], directory: str) -> tuple[str, ...]:
        """Replace the owner's windows in a directory, and that of `write`, by one that only time ends."""
        inside = [window for window in theirs if _is_inside(window.write, directory)]
        for window in inside:
            self._end(window)
        ends_at = max(write.ends_at, *(window.ends_at for window in inside))
        merged = replace(write, path=directory, after_txid=None, topmost_missing=None, ends_at=ends_at)
        return self._open(_Window(merged, directory, directory))

    def _open(self, window: _Window) -> tuple[str, ...]:
        self._windows[window.write] = window
        heappush(self._ends, (window.ends_at, next(self._numbers), window))
        self._by_path.setdefault(window.path, []).append(window)
        if window.ends_with is not None:
            self._by_ancestor.setdefault(window.ends_with, []).append(window)
        for owner in window.write.writer.owners:
            self._by_owner.setdefault(owner, OrderedDict())[window] = None
        for root in window.roots:
            self._roots.add(root)
        self._names.update(window.names)
        return window.roots

    @property
    def open(self) -> int:
        """Number of windows, including those that expired since the last check."""
        return len(self._windows)

    def is_full(self, now: float) -> bool:
        """Whether there was no room for a write, so that every path is covered."""
        return now < self._full_until

    def is_blocked(self, path: str, now: float) -> bool:
        """Whether a two-step write in progress may change the path's status."""
        self._expire(now)
        if not self.open:
            return False
        return path in self._names or self._roots.cover(path)

    def appeared(self, path: str, txid: int) -> None:
        """Process an event that created the path, or moved something to it."""
        for window in tuple(self._by_ancestor.get(path, ())):
            if window.after_txid is not None and txid > window.after_txid:
                self._end(window)

    def opened(self, path: str, txid: int) -> None:
        """Process a CREATE or APPEND event."""
        for window in self._by_path.get(path, ()):
            if window.after_txid is not None and txid > window.after_txid:
                window.is_armed = True

    def closed(self, path: str) -> None:
        """Process a CLOSE event."""
        windows = self._by_path.get(path, ())
        if len(windows) == 1 and windows[0].is_armed:
            written = windows[0]
            self._end(written)
            self._end_alternatives(written.write.writer.alternatives)

    def _end_alternatives(self, alternatives: tuple[str, ...]) -> None:
        """End the windows of the other paths that the same write might have written."""
        for path in alternatives:
            windows = self._by_path.get(path, ())
            unwritten = [each for each in windows if each.write.writer.alternatives == alternatives]
            if len(unwritten) == 1:
                self._end(unwritten[0])

    def take_recheck_queue(self) -> list[TwoStepWrite]:
        """Return, and clear, the writes about which a NameNode must be asked again."""
        recheck_queue, self._recheck_queue = self._recheck_queue, {}
        return list(recheck_queue)

    def recheck(self, write: TwoStepWrite) -> None:
        """Queue the write: a NameNode must be asked again what it can do."""
        if len(self._recheck_queue) >= 4 * self._max_windows:  # at least half of them are over
            pending = [each for each in self._recheck_queue if each in self._windows or each in self._aside]
            self._recheck_queue = dict.fromkeys(pending)
        self._recheck_queue[write] = None
        self.on_recheck()

    def may_be_granted(self, path: str) -> None:
        """Process a change after which callers may have more rights at or below a path."""
        for write in self._aside.denied_at(path):
            self.recheck(write)

    def _expire(self, now: float) -> None:
        while self._ends and now >= self._ends[0][0]:
            window = heappop(self._ends)[-1]
            if window.write in self._windows:
                self._end(window)
        self._aside.expire(now)

    def _set_end(self, window: _Window, ends_with: str | None) -> None:
        if window.ends_with is not None:
            _remove(self._by_ancestor, window.ends_with, window)
        window.ends_with = ends_with
        if ends_with is not None:
            self._by_ancestor.setdefault(ends_with, []).append(window)

    def _end(self, window: _Window) -> None:
        del self._windows[window.write]
        if len(self._ends) > 2 * self.open + _SLACK:
            self._ends = [each for each in self._ends if each[-1].write in self._windows]
            heapify(self._ends)
        _remove(self._by_path, window.path, window)
        self._set_end(window, None)
        for owner in window.write.writer.owners:
            theirs = self._by_owner[owner]
            del theirs[window]
            if not theirs:
                del self._by_owner[owner]
        for root in window.roots:
            self._roots.remove(root)
        for path in window.names:
            self._names[path] -= 1
            if not self._names[path]:
                del self._names[path]

    def check(self) -> None:
        """Assert that the indexes agree; for tests."""
        windows = [window for windows in self._by_path.values() for window in windows]
        assert {window.write: window for window in windows} == self._windows
        assert set(windows) <= {window for _, _, window in self._ends}
        assert len(self._ends) <= 2 * self.open + _SLACK + 1
        assert all(self._by_ancestor.values())
        waiting = [(path, window) for path, windows in self._by_ancestor.items() for window in windows]
        assert set(waiting) == {
            (window.ends_with, window) for window in windows if window.ends_with is not None
        }
        assert len(windows) == self.open <= self._max_windows
        assert self._roots.counted() == Counter(path for window in windows for path in window.roots)
        assert self._names == Counter(path for window in windows for path in window.names)
        assert ROOT not in self._by_path
        for owner, theirs in self._by_owner.items():
            assert (
                set(theirs) == {window for window in windows if owner in window.write.writer.owners} != set()
            )
        assert {owner for window in windows for owner in window.write.writer.owners} == self._by_owner.keys()
        self._aside.check()


def shared_directory_of(places: Iterable[str | None]) -> str | None:
    """Return the directory in which most writes of one owner create something; None if they share no top directory.

    `places` is the directory of each write, None for the root. If no two writes share a directory, the result is the
    deepest directory that contains several.
    """
    inner = [place for place in places if place is not None and place != ROOT]
    ((directory, writes),) = Counter(inner).most_common(1) or [(ROOT, 0)]
    if writes > 1:
        return directory
    held = Counter(each for place in inner for each in (place, *ancestors(place)[:-1]))
    return max((each for each, writes in held.items() if writes > 1), key=depth, default=None)


def _is_inside(write: TwoStepWrite, directory: str) -> bool:
    """Return whether all that a write can create is in a directory or below it."""
    return f"{write.topmost}/".startswith(f"{directory}/")


def _remove(windows: dict[str, list[_Window]], path: str, window: _Window) -> None:
    windows[path].remove(window)
    if not windows[path]:
        del windows[path]
