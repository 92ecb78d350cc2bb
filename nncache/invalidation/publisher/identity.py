"""Who publishes, as the others see it."""

from dataclasses import asdict, dataclass

import msgspec

from nncache.hadoop.unreadable_json import UNREADABLE_JSON


@dataclass(frozen=True, slots=True, kw_only=True)
class PublisherIdentity:
    """One process, in one of its lives."""

    id: str  # drawn when the process starts: process ids and addresses come back
    host: str
    pid: int
    admin: str  # host:port of its pages, as it listens

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host} (its pages are at {self.admin})"


def encode_identity(identity: PublisherIdentity) -> bytes:
    """Return it as the data of a znode."""
    return msgspec.json.encode(asdict(identity))


def parse_identity(data: bytes) -> PublisherIdentity | None:
    """Return who wrote this, None if it was none of ours."""
    try:
        return msgspec.json.decode(data, type=PublisherIdentity)
    except UNREADABLE_JSON:
        return None
