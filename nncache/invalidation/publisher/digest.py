"""Say the changes of many transactions in few words.

Sans-I/O. What a digest says makes at least that stale which was added to it, and no more while it is within its limit;
a job that commits ten thousand files becomes one change of their directory.

Why Appeared, Opened and Closed may be left out, but never moved: they end the windows of two-step writes
(`cache/windows.py`). A window that misses one ends later, by another or by time; one that was given a later transaction
id, or a Closed after what it preceded, would end too early (guarantee OwnWrites).
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
"""How many times its limit a digest may hold before it shrinks, so that each change bears little of the cost."""

_Stamped: TypeAlias = tuple[int, int, Change]  # transaction id, order of arrival, change


@dataclass(slots=True)
class _About:
    """What is to be published of one path.

    Of all its Opened and Closed three do the same to any window: the last Closed, the last Opened before it, and the
    last Opened after it.
    """

    footprint: _Stamped | None = None  # the largest
    opened: _Stamped | None = None
    closed: _Stamped | None = None
    reopened: _Stamped | None = None

    def all(self) -> tuple[_Stamped, ...]:
        """Give what is to be published; an opening or closing says, too, that the path was touched."""
        windows = tuple(each for each in (self.opened, self.closed, self.reopened) if each is not None)
        if self.footprint is None or (windows and isinstance(self.footprint[2], Touched)):
            return windows
        return (self.footprint, *windows)

    def add(self, stamped: _Stamped) -> None:
        """Take note of a change."""
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
        """Say without a word about windows what is stale."""
        for txid, arrival, _ in filter(None, (self.opened, self.closed, self.reopened)):
            self.footprint = _larger(self.footprint, (txid, arrival, Touched(path)))
        self.opened = self.closed = self.reopened = None


class Digest:
    """Changes that wait to be published.

    Invariants:
        D1  What is taken makes stale at least what the added changes do and, if they were within the limit, no more.
        D2  The Appeared, Opened and Closed of a path that are taken are some of those added, in their order, each with
            its own transaction id; if all were within the limit, they do the same to every window.
    """

    def __init__(self, max_changes: int) -> None:
        """Give at most `max_changes` (at least 1) at once."""
        assert max_changes >= 1
        self._max = max_changes
        self._about: dict[str, _About] = {}
        self._everything: _Stamped | None = None  # then no path has a footprint of its own
        self._size = 0  # changes that would be published without a limit
        self._arrivals = 0
        self.collapsed = 0
        """Changes, ever, that gave way to a larger one, or that a window should have heard of."""

    def __len__(self) -> int:
        """Return how many changes wait; may be more than the limit until they are taken."""
        return self._size

    def add(self, txid: int, change: Change) -> None:
        """Take note of a change; transaction ids never go back."""
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
        """Give what waits, ordered by transaction id, and start again."""
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
        """Leave out what lies below a path of which everything below is stale."""
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
        """Let windows end by time, first where most is published: that costs no entry."""
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
        """Say of the largest groups of siblings that their directory is unknown; without any, come nearer to some.

        Each path has one change by now.
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
        """Say of some paths of a directory that it is unknown."""
        about = self._about.setdefault(directory, _About())
        for path in paths:
            for txid, arrival, _ in self._about.pop(path).all():
                about.footprint = _larger(about.footprint, (txid, arrival, SubtreeUnknown(directory)))

    def _siblings(self) -> dict[str, list[str]]:
        """Return the paths by their directory: the largest groups first, of these the deepest."""
        groups: dict[str, list[str]] = {}
        for path in self._about:
            groups.setdefault(parent(path) or ROOT, []).append(path)
        return dict(sorted(groups.items(), key=lambda group: (-len(group[1]), -group[0].count("/"))))


def _by_place(path: str) -> str:
    """Sort what lies below a path right behind it: no name holds a NUL."""
    return path.replace(ROOT, "\0")


def _stamp(stamped: _Stamped) -> tuple[int, int]:
    return stamped[:2]


def _larger(first: _Stamped | None, second: _Stamped) -> _Stamped:
    """Give the change of the larger footprint; it keeps its own transaction id."""
    return second if first is None else max(first, second, key=_extent)


def _extent(stamped: _Stamped) -> tuple[int, int, int]:
    """Compare footprints at one path. Of equal ones windows need the Appeared, and else the later will do."""
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
