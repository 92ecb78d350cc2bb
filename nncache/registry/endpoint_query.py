"""Selects the records that a search finds, by a field of an endpoint."""

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
"""The attribute of an endpoint, by the field's name in a query."""

ANY_END: Final = "*"


@dataclass(frozen=True, slots=True)
class EndpointQuery:
    """A field of an endpoint and its value; a value that ends in * matches by prefix."""

    field: str  # a key of FIELDS
    value: str  # the exact value, or a prefix and *

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse FIELD=VALUE. Raises ValueError if it is invalid; the message says what is allowed."""
        name, separator, value = text.partition("=")
        if not separator or name not in FIELDS or not value:
            raise ValueError(
                f"must be FIELD=VALUE with FIELD one of {', '.join(FIELDS)}, such as api=org.apache.hbase"
            )
        return cls(name, value)

    def is_possible_in(self, data: bytes) -> bool:
        """Return False if an entry's data cannot match; a quick test without parsing, which excludes most entries."""
        start = _spelled(self.value)
        return start is None or start in data or b"\\" in data

    def matches(self, endpoint: Endpoint) -> bool:
        """Return whether an endpoint matches."""
        found: str = getattr(endpoint, FIELDS[self.field])
        if self.value.endswith(ANY_END):
            return found.startswith(self.value.removesuffix(ANY_END))
        return found == self.value

    def matches_record(self, record: ServiceRecord) -> bool:
        """Return whether one of a record's endpoints matches."""
        return any(map(self.matches, record.endpoints))


@lru_cache(maxsize=1)  # a search evaluates this for all its entries, and a value may have 64 KiB
def _spelled(value: str) -> bytes | None:
    """Return the value's prefix as JSON without escapes spells it; None if JSON may spell it in another way."""
    start = value.removesuffix(ANY_END)
    if not start.isascii() or not start.isprintable() or '"' in start or "\\" in start:
        return None
    return start.encode()
