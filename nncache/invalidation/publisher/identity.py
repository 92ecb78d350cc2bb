"""The identity of a publisher, for other publishers and for people."""

from dataclasses import asdict, dataclass

import msgspec

from nncache.hadoop.unreadable_json import UNREADABLE_JSON


@dataclass(frozen=True, slots=True, kw_only=True)
class PublisherIdentity:
    """One process, from its start to its end."""

    id: str  # random for each start: process ids and addresses are reused
    host: str
    pid: int
    admin: str  # host:port of its admin pages, as it listens

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host} (its pages are at {self.admin})"


def encode_identity(identity: PublisherIdentity) -> bytes:
    """Return the identity as the data of a znode."""
    return msgspec.json.encode(asdict(identity))


def parse_identity(data: bytes) -> PublisherIdentity | None:
    """Return the identity that a znode holds, or None if no publisher wrote it."""
    try:
        return msgspec.json.decode(data, type=PublisherIdentity)
    except UNREADABLE_JSON:
        return None
