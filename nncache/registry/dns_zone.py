"""The registry's entries as a DNS zone.

Sources: RFC 1034 for zones, RFC 8020 for names without records above other names. dns_answers.py handles messages.
"""

from collections import Counter
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from nncache.registry.dns_names import Labels
from nncache.registry.dns_records import Data, PtrRecord, ResourceRecord, SrvRecord, records_of
from nncache.registry.record import ServiceRecord

MAX_NAME_BYTES: Final = 255  # of a whole name, including the domain (RFC 1035, section 2.3.4)


@dataclass(slots=True)
class _Node:
    """A name: its records by type, each with the number of its entries, and the number of names directly below."""

    data: dict[type[Data], dict[Data, int]] = field(default_factory=dict)
    below: int = 0


class Zone:
    """The names below one domain.

    Invariants:
        Z1  The records of a name are those of all entries as last taken, each counted once per entry.
        Z2  A name exists if and only if it is the domain, has records, or has names below it.
    """

    def __init__(self, domain_bytes: int) -> None:
        """Begin with an empty zone; `domain_bytes` is the size of the domain's name in a message."""
        self.is_loaded = False  # every registered entry has been taken once
        self.changes = 0  # incremented by each change
        self._most = MAX_NAME_BYTES - domain_bytes
        self._nodes: dict[Labels, _Node] = {(): _Node()}
        self._entries: dict[str, tuple[ResourceRecord, ...]] = {}  # by path; only entries with records

    @property
    def entries(self) -> int:
        """Number of entries with records in the zone."""
        return len(self._entries)

    @property
    def names(self) -> int:
        """Number of names in the zone, including the domain."""
        return len(self._nodes)

    def take(self, path: str, record: ServiceRecord | None) -> None:
        """Take the current record of an entry; None if it has no record or was removed."""
        found = () if record is None else records_of(path, record)
        records = tuple(each for each in found if self._fits(each))
        before = self._entries.pop(path, ())
        if records:
            self._entries[path] = records
        if records == before:
            return
        for name, data in records:
            self._add(name, data)
        for name, data in before:
            self._remove(name, data)
        self.changes += 1

    def others(self, paths: AbstractSet[str]) -> list[str]:
        """Return the paths of all entries except these."""
        return [path for path in self._entries if path not in paths]

    def has(self, name: Labels) -> bool:
        """Return whether a name exists."""
        return name in self._nodes

    def kinds(self, name: Labels) -> tuple[type[Data], ...]:
        """Return the types of a name's records."""
        node = self._nodes.get(name)
        return () if node is None else tuple(node.data)

    def find(self, name: Labels, kind: type[Data], most: int) -> tuple[Data, ...]:
        """Return a name's records of one type, the oldest first, at most `most`."""
        node = self._nodes.get(name)
        return () if node is None else tuple(islice(node.data.get(kind, ()), most))

    def check(self) -> None:
        """Assert the invariants."""
        wanted = Counter(record for records in self._entries.values() for record in records)
        held = {
            (name, data): times
            for name, node in self._nodes.items()
            for by_data in node.data.values()
            for data, times in by_data.items()
        }
        assert held == wanted, "Z1"
        below = Counter(name[1:] for name in self._nodes if name)
        for name, node in self._nodes.items():
            assert node.below == below[name], "Z2"
            assert not name or node.data or node.below, "Z2"
            assert all(node.data.values()), "Z2"

    def _fits(self, record: ResourceRecord) -> bool:
        """Return whether all names of a record are within the size limit."""
        name, data = record
        if isinstance(data, SrvRecord | PtrRecord) and isinstance(data.target, tuple):
            return max(_size(name), _size(data.target)) <= self._most
        return _size(name) <= self._most

    def _add(self, name: Labels, data: Data) -> None:
        node = self._nodes.get(name) or self._made(name)
        by_data = node.data.setdefault(type(data), {})
        by_data[data] = by_data.get(data, 0) + 1

    def _made(self, name: Labels) -> _Node:
        """Create a name and its missing ancestors."""
        node = self._nodes[name] = _Node()
        above = name[1:]
        (self._nodes.get(above) or self._made(above)).below += 1
        return node

    def _remove(self, name: Labels, data: Data) -> None:
        node = self._nodes[name]
        by_data = node.data[type(data)]
        by_data[data] -= 1
        if not by_data[data]:
            del by_data[data]
        if not by_data:
            del node.data[type(data)]
        while name and not node.data and not node.below:
            del self._nodes[name]
            name = name[1:]
            node = self._nodes[name]
            node.below -= 1


def _size(name: Labels) -> int:
    return sum(map(len, name)) + len(name)
