"""Entries as they were read."""

from dataclasses import dataclass

from nncache.registry.record import ServiceRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryStatus:
    """What is known of an entry without its record (`RegistryPathStatus` of Hadoop 3.5.0).

    Attributes:
        path: below the registry's root.
        time_ms: when it was made, in milliseconds since 1970 by ZooKeeper's clock.
        size_bytes: of its data.
        children: entries right below it.
        version: counts up with each change of its record; to be given to `bind`.
    """

    path: str
    time_ms: int
    size_bytes: int
    children: int
    version: int


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry with its record."""

    status: EntryStatus
    record: ServiceRecord

    @property
    def path(self) -> str:
        """Below the registry's root."""
        return self.status.path


@dataclass(frozen=True, slots=True)
class Unreadable:
    """An entry whose record is broken, or which this client may not read."""

    path: str
    why: str
