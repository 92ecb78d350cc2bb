"""Which records a search finds: by a field of an endpoint."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Self

from nncache.registry.record import Endpoint, ServiceRecord

FIELDS: Final[Mapping[str, str]] = {
    "api": "api",
    "protocol": "protocol",
    "protocolType": "protocol",
    "addressType": "address_type",
}
"""By the name that is asked for: the attribute of an endpoint."""

ANY_END: Final = "*"


@dataclass(frozen=True, slots=True)
class EndpointQuery:
    """A field of an endpoint and its value; the value may end in * for all that begin so."""

    field: str  # a key of FIELDS
    value: str  # what it must be, exactly

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read FIELD=VALUE. Raises ValueError if it is invalid; says what is allowed."""
        name, separator, value = text.partition("=")
        if not separator or name not in FIELDS or not value:
            raise ValueError(
                f"must be FIELD=VALUE with FIELD one of {', '.join(FIELDS)}, such as api=org.apache.hbase"
            )
        return cls(name, value)

    def is_possible_in(self, data: bytes) -> bool:
        """Tell, without parsing it, whether the data of an entry may match; a quick no for most of them."""
        start = _spelled(self.value)
        return start is None or start in data or b"\\" in data

    def matches(self, endpoint: Endpoint) -> bool:
        """Tell whether an endpoint is meant."""
        found: str = getattr(endpoint, FIELDS[self.field])
        if self.value.endswith(ANY_END):
            return found.startswith(self.value.removesuffix(ANY_END))
        return found == self.value

    def matches_record(self, record: ServiceRecord) -> bool:
        """Tell whether one of a record's endpoints is meant."""
        return any(map(self.matches, record.endpoints))


@lru_cache(maxsize=1)  # a search asks for all its entries, and a value may have 64 KiB
def _spelled(value: str) -> bytes | None:
    """Return how JSON without escapes spells the beginning of what is wanted; None where it may spell it otherwise."""
    start = value.removesuffix(ANY_END)
    if not start.isascii() or not start.isprintable() or '"' in start or "\\" in start:
        return None
    return start.encode()
