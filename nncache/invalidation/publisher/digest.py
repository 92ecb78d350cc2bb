"""Condense the changes of many transactions.

Sans-I/O. A digest makes stale at least what the added changes make stale, and no more while it is within its limit.
A job that commits ten thousand files becomes one change of their directory.

Appeared, Opened and Closed may be left out, but never moved, because they end the windows of two-step writes
(`cache/windows.py`). A window that misses one ends later, by another change or by timeout. A window that got a later
transaction id, or a Closed after a change that it preceded, would end too early (guarantee OwnWrites).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias

from nncache.hadoop.change import (
    AccessChanged,
    Appeared,
    Change,
    Closed,
    EverythingUnknown,
    Moved,
    Opened,
    SubtreeUnknown,
    Touched,
    Vanished,
)
from nncache.hadoop.paths import ROOT, parent

SLACK: Final = 2
"""The multiple of its limit that a digest may hold before it shrinks: this spreads the cost over many changes."""

_Stamped: TypeAlias = tuple[int, int, Change]  # transaction id, order of arrival, change


@dataclass(slots=True)
class _About:
    """The changes of one path that are to be published.

    Three of its Opened and Closed have the same effect on any window as all of them: the last Closed, the last Opened
    before it, and the last Opened after it.
    """

    footprint: _Stamped | None = None  # the largest
    opened: _Stamped | None = None
    closed: _Stamped | None = None
    reopened: _Stamped | None = None

    def all(self) -> tuple[_Stamped, ...]:
        """Return the changes to be published. Opened and Closed imply Touched."""
        windows = tuple(each for each in (self.opened, self.closed, self.reopened) if each is not None)
        if self.footprint is None or (windows and isinstance(self.footprint[2], Touched)):
            return windows
        return (self.footprint, *windows)

    def add(self, stamped: _Stamped) -> None:
        """Add a change."""
        match stamped[2]:
            case Opened() if self.closed is None:
                self.opened = stamped
            case Opened():
                self.reopened = stamped
            case Closed():
                self.opened, self.closed, self.reopened = self.reopened or self.opened, stamped, None
            case _:
                self.footprint = _larger(self.footprint, stamped)

    def forget_windows(self, path: str) -> None:
        """Replace Opened and Closed, which windows need, by Touched."""
        for txid, arrival, _ in filter(None, (self.opened, self.closed, self.reopened)):
            self.footprint = _larger(self.footprint, (txid, arrival, Touched(path)))
        self.opened = self.closed = self.reopened = None


class Digest:
    """The changes that wait to be published.

    Invariants:
        D1  The changes taken make stale at least what the added ones do, and no more if these were within the limit.
        D2  The Appeared, Opened and Closed taken for a path are some of those added, in their order, each with its
            own transaction id. If all were within the limit, their effect on every window is that of those added.
    """

    def __init__(self, max_changes: int) -> None:
        """Create a digest that returns at most `max_changes` (at least 1) at a time."""
        assert max_changes >= 1
        self._max = max_changes
        self._about: dict[str, _About] = {}
        self._everything: _Stamped | None = None  # if set, no path has a footprint of its own
        self._size = 0  # number of changes that would be published without a limit
        self._arrivals = 0
        self.collapsed = 0
        """The number of changes since start that were merged into a larger one or withheld from a window."""

    def __len__(self) -> int:
        """Return the number of pending changes; it may exceed the limit until they are taken."""
        return self._size

    def add(self, txid: int, change: Change) -> None:
        """Add a change; transaction ids never decrease."""
        self._arrivals += 1
        match change:
            case Moved(source, destination):  # the same footprint, and each half may be known already
                self._add(source, (txid, self._arrivals, Vanished(source)))
                self._add(destination, (txid, self._arrivals, Appeared(destination)))
            case EverythingUnknown():
                self._everything = (txid, self._arrivals, change)
                self._absorb()
            case Opened(path) | Closed(path):
                self._add(path, (txid, self._arrivals, change))
            case _ if self._everything is None:
                self._add(change.path, (txid, self._arrivals, change))
        if self._size > SLACK * self._max:
            self._shrink()

    def take(self) -> tuple[tuple[int, Change], ...]:
        """Return the pending changes, ordered by transaction id, and start again without any."""
        self._shrink()
        stamped = [each for about in self._about.values() for each in about.all()]
        if self._everything is not None:
            stamped.append(self._everything)
        self._about, self._everything, self._size = {}, None, 0
        return tuple((txid, change) for txid, _, change in sorted(stamped, key=_stamp))

    def _add(self, path: str, stamped: _Stamped) -> None:
        about = self._about.get(path)
        if about is None:
            about = self._about[path] = _About()
        self._size -= len(about.all())
        about.add(stamped)
        self._size += len(about.all())

    # -- becoming smaller ---------------------------------------------------------------------------------

    def _shrink(self) -> None:
        if self._size <= self._max:
            return
        self._absorb()
        before = self._size
        if self._size > self._max:
            self._drop_windows()
        while self._size > self._max:
            self._collapse()
        self.collapsed += before - self._size

    def _absorb(self) -> None:
        """Drop the footprints of paths below a path whose whole subtree is stale."""
        top: str | None = "" if self._everything is not None else None  # the latest, with its slash
        for path in sorted(self._about, key=_by_place):
            about = self._about[path]
            if top is not None and path.startswith(top):
                about.footprint = None
            elif about.footprint is not None and not isinstance(about.footprint[2], Touched):
                top = path.rstrip(ROOT) + ROOT
        self._about = {path: about for path, about in self._about.items() if about.all()}
        self._size = sum(len(about.all()) for about in self._about.values()) + (self._everything is not None)

    def _drop_windows(self) -> None:
        """Drop Opened and Closed, largest groups of siblings first: windows end by timeout, and no entry is lost."""
        for paths in self._siblings().values():
            for path in paths:
                about = self._about[path]
                self._size -= len(about.all())
                about.forget_windows(path)
                self._size += len(about.all())
            if self._size <= self._max:
                break
        self._absorb()

    def _collapse(self) -> None:
        """Replace the largest groups of siblings by their directory; without any, the deepest paths by their parents.

        Each path has one change at this point.
        """
        excess = self._size - self._max
        groups = {
            directory: paths
            for directory, paths in self._siblings().items()
            if directory != ROOT and len(paths) > 1
        }
        for directory, paths in groups.items():
            self._replace(paths, directory)
            excess -= len(paths) - 1
            if excess <= 0:
                break
        deepest = max(path.count("/") for path in self._about)
        if not groups and deepest == 1:
            txid, arrival, _ = max(
                (each for about in self._about.values() for each in about.all()), key=_stamp
            )
            self._everything = (txid, arrival, EverythingUnknown("more has changed than can be said"))
        elif not groups:
            for path in [path for path in self._about if path.count("/") == deepest]:
                self._replace([path], parent(path) or ROOT)
        self._absorb()

    def _replace(self, paths: Iterable[str], directory: str) -> None:
        """Replace some paths of a directory by a SubtreeUnknown of the directory."""
        about = self._about.setdefault(directory, _About())
        for path in paths:
            for txid, arrival, _ in self._about.pop(path).all():
                about.footprint = _larger(about.footprint, (txid, arrival, SubtreeUnknown(directory)))

    def _siblings(self) -> dict[str, list[str]]:
        """Return the paths by directory: the largest groups first, the deepest first among equals."""
        groups: dict[str, list[str]] = {}
        for path in self._about:
            groups.setdefault(parent(path) or ROOT, []).append(path)
        return dict(sorted(groups.items(), key=lambda group: (-len(group[1]), -group[0].count("/"))))


def _by_place(path: str) -> str:
    """Return a sort key that puts the paths below a path directly after it: no name contains a NUL."""
    return path.replace(ROOT, "\0")


def _stamp(stamped: _Stamped) -> tuple[int, int]:
    return stamped[:2]


def _larger(first: _Stamped | None, second: _Stamped) -> _Stamped:
    """Return the change with the larger footprint, with its own transaction id."""
    return second if first is None else max(first, second, key=_extent)


def _extent(stamped: _Stamped) -> tuple[int, int, int]:
    """Return a sort key of footprints at one path. Among equal ones an Appeared, which windows need, is the largest."""
    match stamped[2]:
        case Appeared():
            extent = 3
        case Vanished():
            extent = 2
        case AccessChanged() | SubtreeUnknown():
            extent = 1
        case _:
            extent = 0
    return extent, *stamped[:2]
