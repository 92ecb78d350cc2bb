"""The order in which a HashMap of Java holds strings.

Hadoop keeps the attributes of a record in a HashMap of capacity 4 and writes them in its order: a record that is
written in the same order here is the same, byte for byte, after Hadoop has read it and written it again.

Source: java.util.HashMap and java.lang.String.hashCode, OpenJDK 17. A bin that has become a tree (eight names of one
bin in a table of 64 or more) can have another order; names that were not chosen for it do not get there.
"""

import struct
from collections.abc import Iterable
from typing import Final

CAPACITY: Final = 4
"""Of `ServiceRecord.attributes` when it is made."""


def java_hash(text: str) -> int:
    """Return String.hashCode, as 32 bits without a sign."""
    encoded = text.encode("utf-16-le", "surrogatepass")
    value = 0
    for unit in struct.unpack(f"<{len(encoded) // 2}H", encoded):
        value = (31 * value + unit) & 0xFFFFFFFF
    return value


def in_hash_map_order(names: Iterable[str]) -> list[str]:
    """Return different names in the order of a HashMap into which they were put in the order given."""
    given = list(names)
    capacity = CAPACITY
    while len(given) > capacity * 3 // 4:
        capacity *= 2
    return sorted(given, key=lambda name: _bin(name, capacity))


def _bin(name: str, capacity: int) -> int:
    value = java_hash(name)
    return (value ^ value >> 16) & (capacity - 1)
