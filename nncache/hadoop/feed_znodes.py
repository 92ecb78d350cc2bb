"""The znodes of a feed: the edits of a namespace in ZooKeeper, in order.

`nncache.namenode` writes it, with one edit for each transaction of HDFS's log; `nncache.invalidation.feed` follows it.
Paths are below the root of the namespace. Edits are sequential znodes, in segments. Only the last segment grows; every
other one ends with an empty edit.
"""

from collections.abc import Iterable
from typing import Final

import msgspec

from nncache.hadoop.events import Event
from nncache.hadoop.namespace import Namespace

DEFAULT_ROOT: Final = "/nncache-namenode"
"""The default root of a namespace's znodes."""

VERSION: Final = "/version"
"""The znode that identifies the namespace."""

EDITS: Final = "/edits"
"""The parent of the segments; its data names the oldest segment that is kept."""

_EDITS: Final = msgspec.json.Decoder(tuple[Event, ...])


def segment(number: int) -> str:
    """Return the path of a segment."""
    return f"{EDITS}/{number}"


def new_edit(segment_number: int) -> str:
    """Return the path prefix that creates a sequential edit; ZooKeeper appends its number."""
    return f"{EDITS}/{segment_number}/e-"


def edit(segment_number: int, number: int) -> str:
    """Return the path of an edit, numbered from 0 in its segment (PrepRequestProcessor: ten digits at least)."""
    return f"{new_edit(segment_number)}{number:010}"


def encode_edit(events: Iterable[Event]) -> bytes:
    """Return the data of an edit's znode: JSON."""
    return msgspec.json.encode(tuple(events))


def parse_edit(data: bytes) -> tuple[Event, ...]:
    """Parse the events of an edit. Raises some of `UNREADABLE_JSON`: the data is invalid."""
    return _EDITS.decode(data)


def encode_first(segment_number: int, txid: int) -> bytes:
    """Return the data of EDITS: the first segment that is kept, and the transaction of its first edit."""
    return f"{segment_number} {txid}".encode()


def parse_first(data: bytes) -> tuple[int, int]:
    """Parse the data of EDITS. Raises ValueError: it is invalid."""
    number, txid = map(int, data.split())
    return number, txid


def encode_namespace(namespace: Namespace) -> bytes:
    """Return the data of VERSION."""
    return msgspec.json.encode(namespace)


def parse_namespace(data: bytes) -> Namespace:
    """Parse the data of VERSION. Raises some of `UNREADABLE_JSON`: it is invalid."""
    return msgspec.json.decode(data, type=Namespace)
