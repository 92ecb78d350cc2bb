"""Keep the zone of DNS as the registry is."""

import asyncio
from collections.abc import AsyncIterator
from typing import Final

from nncache.registry import paths
from nncache.registry.dns_zone import Zone
from nncache.registry.tree_watch import Change, Current, Gap, Present, Removed

AT_ONCE: Final = 16
"""Entries that are taken in before questions are answered again."""


class DnsFollowing:
    """Carries the changes of the registry into the zone; what was known stays while there are none."""

    def __init__(self, zone: Zone) -> None:
        self._zone = zone
        self.is_current = False  # all that was there when it was last read has been taken in
        self.has_root = False  # the registry itself is there

    async def follow(self, changes: AsyncIterator[Change]) -> None:
        """Take in the changes of a new watch until they end. What it does not find is gone."""
        seen: set[str] | None = set()
        taken = 0
        self.is_current = self.has_root = False
        try:
            async for change in changes:
                match change:
                    case Present(status, record):
                        self.has_root |= status.path == paths.ROOT
                        self._zone.take(status.path, record)
                        if seen is not None:
                            seen.add(status.path)
                    case Removed(path):
                        self.has_root &= path != paths.ROOT
                        self._zone.take(path, None)
                        if seen is not None:
                            seen.discard(path)
                    case Gap():
                        self.is_current = False
                    case Current():
                        if seen is not None:
                            for number, path in enumerate(self._zone.others(seen), 1):
                                self._zone.take(path, None)
                                if number % AT_ONCE == 0:
                                    await asyncio.sleep(0)
                            seen = None
                        self._zone.is_loaded = self.is_current = True
                taken += 1
                if taken % AT_ONCE == 0:
                    await asyncio.sleep(0)  # a registry that is read at once must not hold up answers
        finally:
            self.is_current = False
