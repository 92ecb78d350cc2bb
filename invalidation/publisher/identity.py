"""Who publishes, as the others see it. (invalidation/publisher/identity.py)"""

from dataclasses import asdict, dataclass

import msgspec


@dataclass(frozen=True, slots=True, kw_only=True)
class PublisherIdentity:
    """One process. The process that holds the admin port of a host is that host's publisher of this nameservice."""

    host: str
    pid: int
    admin: str  # host:port of its pages, as it listens

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host} (its pages are at {self.admin})"

    def is_successor_of(self, other: "PublisherIdentity") -> bool:
        """Whether the other one can't be alive any more: we listen where it listened."""
        return (self.host, self.admin) == (other.host, other.admin)


def encode_identity(identity: PublisherIdentity) -> bytes:
    """Return it as the data of a znode."""
    return msgspec.json.encode(asdict(identity))


def parse_identity(data: bytes) -> PublisherIdentity | None:
    """Return who wrote this, None if it was none of ours."""
    try:
        return msgspec.json.decode(data, type=PublisherIdentity)
    except msgspec.MsgspecError:
        return None
