"""Read the filters from HDFS, and leave out those that are refused.

The shell over `pacing.py`, which decides when to read which filter. The rules of admission are in
`nncache.invalidation.filters.admission`. A refused filter is treated like a broken definition: its published state
stays. A filter that others may have written (`nncache.invalidation.filters.trust`) is refused as well, and its
published state is removed: caches forget it, and calls are forwarded.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final, NoReturn, Protocol, TypeVar

from nncache.invalidation.channel.published_filters import PublishedFilter
from nncache.invalidation.filters.admission import refusals
from nncache.invalidation.filters.settings import FilterSettings
from nncache.invalidation.filters.stored_filters import StoredFilters
from nncache.invalidation.publisher.pacing import ALL, MAX_PAUSE_S, RETRY_S, FilterPacer
from nncache.net.event_wait import wait_set

_log = logging.getLogger(__name__)

_T = TypeVar("_T")


class StoredFiltersReader(Protocol):
    """Reads the filters; `nncache.invalidation.filters.hdfs_reader.FilterReader` has this shape."""

    @property
    def path(self) -> str:
        """The directory in HDFS; any change at or below it may change the filters."""

    async def read_all(self) -> StoredFilters:
        """Return all filters as they are now; a broken one affects only itself."""

    async def read(self, names: Collection[str]) -> StoredFilters:
        """Return the filters of these names as they are now; missing ones are left out."""


class FilterFollower:
    """Reads the filters whenever they may have changed. Its state outlasts the publisher's runs.

    Invariant: `stored` includes every change of a filter before its last `invalidate`, or another read of it is
    scheduled.
    """

    def __init__(self, reader: StoredFiltersReader, reread_s: float, clock: Callable[[], float]) -> None:
        self._reader = reader
        self._clock = clock
        self._pacer = FilterPacer(reread_s)
        self._stale = asyncio.Event()  # the next read may be due earlier
        self._complaint = ""  # why the last read failed; a repeated reason is logged once
        self._broken: frozenset[tuple[str, str]] = frozenset()  # names, each with the reason that was logged
        self.stored: StoredFilters | None = None
        """The filters as last read; None before the first read."""
        self.reads = 0
        self.filters_read = 0  # by these reads
        self.reads_failed = 0

    @property
    def path(self) -> str:
        """The directory in HDFS."""
        return self._reader.path

    def invalidate(self, names: Iterable[str]) -> None:
        """Schedule a read of these filters; `pacing.ALL` for all of them."""
        if self._pacer.invalidate(names):
            self._stale.set()

    def forget(self) -> None:
        """Discard what is known of the filters: they may have changed without an `invalidate`."""
        self.stored = None
        self._pacer.forget()
        self._stale.set()

    async def follow(self, changed: Callable[[], None]) -> NoReturn:
        """Read the filters now and whenever needed, until cancelled; call `changed` after each successful read."""
        while True:
            await self._wait_due()
            if await self._read():
                changed()
            else:
                await asyncio.sleep(RETRY_S)

    async def _wait_due(self) -> None:
        while (delay_s := self._pacer.due_at() - self._clock()) > 0:
            self._stale.clear()
            await wait_set(self._stale, delay_s)

    async def _read(self) -> bool:
        """Read the filters that are due; return whether that succeeded. If it did not, they stay stale."""
        began_at = self._clock()
        known = () if self.stored is None else {*self.stored.filters, *self.stored.broken}
        names = self._pacer.take(began_at, known)
        is_read = False
        try:
            if names == (ALL,):
                read = await self._reader.read_all()
            else:
                read = await self._reader.read(names)
            is_read = True
        except Exception as exc:  # noqa: BLE001 - whatever fails, the published filters stay in force
            self._failed(exc)
        else:
            self._succeeded(names, read)
            slowed = self._pacer.read(names, began_at, read.broken.keys())
            self._note_slowed(slowed)
        finally:
            if not is_read:
                self._pacer.failed(names, began_at)
        return is_read

    def _succeeded(self, names: tuple[str, ...], read: StoredFilters) -> None:
        self.stored = self._with(names, read)
        self.reads += 1
        self.filters_read += len(read.filters) + len(read.broken)
        if self._complaint:
            _log.info("reading the filters in %s again", self.path)
            self._complaint = ""
        broken = frozenset(
            (name, why) for name, why in self.stored.broken.items() if name not in self.stored.untrusted
        )
        for name, reason in sorted(broken - self._broken):
            _log.warning(
                "filter %s in %s can't be used, what is published of it stays: %s", name, self.path, reason
            )
        self._broken = broken

    def _with(self, names: tuple[str, ...], read: StoredFilters) -> StoredFilters:
        """Return all known filters after a read of these names."""
        if names == (ALL,):
            return read
        assert self.stored is not None, "all are read before any single one"
        known, again = self.stored, frozenset(names)

        def others(part: Mapping[str, _T]) -> dict[str, _T]:
            return {name: each for name, each in part.items() if name not in again}

        return StoredFilters(
            filters=others(known.filters) | {**read.filters},
            broken=others(known.broken) | {**read.broken},
            untrusted=others(known.untrusted) | {**read.untrusted},
        )

    def _note_slowed(self, names: tuple[str, ...]) -> None:
        for name in names:
            _log.warning(
                "filter %s in %s keeps changing: it is read every %g s from now on; find out who changes its "
                "definition or subscribers",
                name,
                self.path,
                MAX_PAUSE_S,
            )

    def _failed(self, exc: Exception) -> None:
        self.reads_failed += 1
        complaint = f"{type(exc).__name__}: {exc}"
        if complaint != self._complaint:
            self._complaint = complaint
            _log.warning(
                "the filters in %s can't be read, those published stay in force: %s", self.path, complaint
            )


MAX_LOGGED: Final = 20
"""Newly refused filters that the log names at a time."""


class FilterAdmission:
    """Decides which filters may be published. It outlasts the publisher's runs, and logs each refusal once."""

    def __init__(self, limits: FilterSettings) -> None:
        self._limits = limits
        self.refused: Mapping[str, str] = {}
        """The reason of each refusal by the last `admit`, by name."""

    def admit(self, stored: StoredFilters, in_force: Mapping[str, PublishedFilter]) -> StoredFilters:
        """Return the filters without the refused ones; filters in force keep their place under stricter limits."""
        untrusted = {name: str(why) for name, why in stored.untrusted.items()}
        trusted = {name: each for name, each in stored.filters.items() if name not in untrusted}
        placed = in_force.keys() & ((trusted.keys() | stored.broken.keys()) - untrusted.keys())
        beyond = refusals(
            trusted,
            self._limits,
            globs={name: each.path_glob for name, each in in_force.items()},
            placed=placed,
            owned=placed,
        )
        refused = {**beyond, **untrusted}
        news = sorted(refused.items() - self.refused.items())
        self.refused = refused
        for name, reason in news[:MAX_LOGGED]:
            kept = "it is not published"
            if name in in_force:
                kept = f"what is published of it {'is removed' if name in untrusted else 'stays'}"
            _log.warning("filter %s is refused, %s: %s", name, kept, reason)
        if len(news) > MAX_LOGGED:
            _log.warning("%d more filters are refused; the status page names them", len(news) - MAX_LOGGED)
        return StoredFilters(
            filters={name: each for name, each in trusted.items() if name not in beyond},
            broken={name: why for name, why in {**stored.broken, **beyond}.items() if name not in untrusted},
        )
