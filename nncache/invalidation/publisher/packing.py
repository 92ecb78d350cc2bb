"""Put operations into as few transactions of ZooKeeper as they fit into.

Sans-I/O.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeAlias

from nncache.coordination.zookeeper import Create, Operation, SetData

Multi: TypeAlias = Sequence[Operation]

MAX_OPERATIONS: Final = 2000
"""Of one multi."""

MAX_BYTES: Final = 900 * 1024
"""Of one multi; a packet may have 1 MiB (jute.maxbuffer)."""

_OVERHEAD_BYTES: Final = 100  # of an operation in a packet, beside path and data: more than it is


def pack(
    units: Iterable[Sequence[Operation]],
    *,
    reserved: Sequence[Operation] = (),
    acl_bytes: Callable[[str], int] = lambda _: 0,
) -> list[list[Operation]]:
    """Put units, each of which must stay whole, into as few multis as their order allows.

    `reserved` is what will be added to each; a znode that is made brings its ACL with it.
    """
    packed: list[list[Operation]] = []
    base = sum(map(_size, reserved))
    size = 0
    for unit in units:
        unit_size = sum(map(_size, unit))
        unit_size += sum(acl_bytes(each.path) for each in unit if isinstance(each, Create))
        if (
            not packed
            or base + size + unit_size > MAX_BYTES
            or len(reserved) + len(packed[-1]) + len(unit) > MAX_OPERATIONS
        ):
            packed.append([])
            size = 0
        packed[-1] += unit
        size += unit_size
    return packed


def _size(operation: Operation) -> int:
    data = operation.data if isinstance(operation, Create | SetData) else b""
    return len(operation.path.encode()) + len(data) + _OVERHEAD_BYTES
