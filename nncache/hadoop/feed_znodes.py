"""The znodes of a feed of edits: how a namespace that is in ZooKeeper says what was changed, in order.

`nncache.namenode` writes it, a transaction of HDFS's log for each edit; `nncache.invalidation.feed` follows it.
Paths are below the root of the namespace. Edits are sequential znodes, in segments; only the last segment grows, and
the last edit of every other one says nothing.
"""

from collections.abc import Iterable
from typing import Final

import msgspec

from nncache.hadoop.events import Event
from nncache.hadoop.namespace import Namespace

DEFAULT_ROOT: Final = "/nncache-namenode"
"""Below which a namespace is."""

VERSION: Final = "/version"
"""Which namespace it is."""

EDITS: Final = "/edits"
"""The parent of the segments; says which is the first that is kept."""

_EDITS: Final = msgspec.json.Decoder(tuple[Event, ...])


def segment(number: int) -> str:
    """Return where the edits of a segment are."""
    return f"{EDITS}/{number}"


def new_edit(segment_number: int) -> str:
    """Return where an edit is made; its number follows."""
    return f"{EDITS}/{segment_number}/e-"


def edit(segment_number: int, number: int) -> str:
    """Return where an edit is, numbered from 0 in its segment (PrepRequestProcessor: ten digits at least)."""
    return f"{new_edit(segment_number)}{number:010}"


def encode_edit(events: Iterable[Event]) -> bytes:
    """Return the JSON that an edit's znode keeps."""
    return msgspec.json.encode(tuple(events))


def parse_edit(data: bytes) -> tuple[Event, ...]:
    """Read the events of an edit. Raises some of `UNREADABLE_JSON`."""
    return _EDITS.decode(data)


def encode_first(segment_number: int, txid: int) -> bytes:
    """Return what EDITS says: the first segment that is kept, and the transaction of its first edit."""
    return f"{segment_number} {txid}".encode()


def parse_first(data: bytes) -> tuple[int, int]:
    """Read that. Raises ValueError."""
    number, txid = map(int, data.split())
    return number, txid


def encode_namespace(namespace: Namespace) -> bytes:
    """Return what VERSION says."""
    return msgspec.json.encode(namespace)


def parse_namespace(data: bytes) -> Namespace:
    """Read that. Raises some of `UNREADABLE_JSON`."""
    return msgspec.json.decode(data, type=Namespace)
