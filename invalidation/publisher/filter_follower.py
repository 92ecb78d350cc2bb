"""Know the filters as HDFS has them. (invalidation/publisher/filter_follower.py)"""

import asyncio
import logging
from collections.abc import Callable
from typing import NoReturn, Protocol

from invalidation.publisher.filter_plan import StoredFilters

MIN_PAUSE_S = 0.2
"""Seconds between two readings: adding one filter is several changes of the directory."""

RETRY_S = 2.0
"""Seconds before another try when they can't be read."""

_log = logging.getLogger(__name__)


class StoredFiltersReader(Protocol):
    """Where the filters are kept; `invalidation.filters.hdfs_store.FilterStore` has this shape."""

    @property
    def path(self) -> str:
        """The directory in HDFS; what happens at and below it may change the filters."""

    async def read_all(self) -> StoredFilters:
        """Return all filters as they are now; one that is broken costs only itself."""


class FilterFollower:
    """Reads the filters whenever they may have changed. What it knows outlives the publisher's lives.

    Invariant: `stored` holds whatever changed them before the last `touch`, or another reading is to come soon.
    """

    def __init__(self, reader: StoredFiltersReader, reread_s: float, clock: Callable[[], float]) -> None:
        self._reader = reader
        self._reread_s = reread_s
        self._clock = clock
        self._touched = asyncio.Event()  # they may be other than last read
        self._touched.set()
        self._read_at = clock()  # when the last successful reading began
        self._complaint = ""  # why they could not be read: the same is said once
        self._broken: frozenset[tuple[str, str]] = frozenset()  # names, and what was said of each
        self._pause_s = reread_s  # until they are read again untouched
        self.stored: StoredFilters | None = None
        """The filters as last read; None before the first time."""
        self.reads = 0
        self.reads_failed = 0

    @property
    def path(self) -> str:
        """The directory in HDFS."""
        return self._reader.path

    def touch(self) -> None:
        """Read them again soon."""
        self._touched.set()

    def forget(self) -> None:
        """They may have changed without a touch: what is known of them is of no more use."""
        self.stored = None
        self._touched.set()

    async def follow(self, changed: Callable[[], None]) -> NoReturn:
        """Read them now and whenever needed until cancelled; call `changed` after each reading."""
        while True:
            await self._wait_due()
            if await self._read():
                changed()
                await asyncio.sleep(MIN_PAUSE_S)
            else:
                await asyncio.sleep(RETRY_S)

    async def _read(self) -> bool:
        """Read once; whatever ends it too early leaves them touched."""
        self._touched.clear()
        began_at = self._clock()
        is_read = False
        try:
            stored = await self._reader.read_all()
            is_read = True
        except Exception as exc:  # noqa: BLE001 - whatever HDFS or we do: what is published stays in force
            self._failed(exc)
        else:
            self._read_at = began_at
            self._succeeded(stored)
        finally:
            if not is_read:
                self._touched.set()
        return is_read

    async def _wait_due(self) -> None:
        delay_s = self._read_at + self._pause_s - self._clock()
        try:
            async with asyncio.timeout(delay_s):
                await self._touched.wait()
        except TimeoutError:
            return

    def _succeeded(self, stored: StoredFilters) -> None:
        self.stored = stored
        self.reads += 1
        if self._complaint:
            _log.info("the filters in %s can be read again", self.path)
            self._complaint = ""
        self._note_broken(stored)

    def _note_broken(self, stored: StoredFilters) -> None:
        """Log what can't be used. It may only be unreadable now: look again soon, but less and less often."""
        broken = frozenset(stored.broken.items())
        for name, reason in sorted(broken - self._broken):
            _log.warning(
                "filter %s in %s can't be used, what is published of it stays: %s", name, self.path, reason
            )
        pause_s = RETRY_S if broken != self._broken else 2 * self._pause_s
        self._pause_s = min(self._reread_s, pause_s) if broken else self._reread_s
        self._broken = broken

    def _failed(self, exc: Exception) -> None:
        self.reads_failed += 1
        complaint = f"{type(exc).__name__}: {exc}"
        if complaint != self._complaint:
            self._complaint = complaint
            _log.warning(
                "the filters in %s can't be read, those published stay in force: %s", self.path, complaint
            )
