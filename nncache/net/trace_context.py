"""Parse the `traceparent` of a request (W3C Trace Context, level 1, section 3.2)."""

import re
from typing import Final, NamedTuple

_TRACEPARENT: Final = re.compile(
    r"(?P<version>(?!ff)[0-9a-f]{2})-(?P<trace>(?!0{32})[0-9a-f]{32})-(?P<parent>(?!0{16})[0-9a-f]{16})"
    r"-(?P<flags>[0-9a-f]{2})(?P<more>-.*)?"
)
_SAMPLED: Final = 1


class TraceParent(NamedTuple):
    """The fields of a `traceparent`.

    Attributes:
        trace_id: 32 hexadecimal digits.
        parent_id: 16 hexadecimal digits, of the client's span.
        is_sampled: whether the client may have recorded that span.
    """

    trace_id: str
    parent_id: str
    is_sampled: bool


def parse_traceparent(field: str) -> TraceParent | None:
    """Parse a `traceparent` of this version or a later one; None if it is invalid."""
    found = _TRACEPARENT.fullmatch(field)
    if found is None or (found["version"] == "00" and found["more"]):
        return None
    return TraceParent(found["trace"], found["parent"], bool(int(found["flags"], 16) & _SAMPLED))
