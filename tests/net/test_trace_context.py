"""W3C Trace Context: which `traceparent` fields are valid, and what they contain."""

import pytest

from nncache.net.trace_context import TraceParent, parse_traceparent

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


@pytest.mark.parametrize(
    ("field", "is_sampled"),
    [
        (f"00-{TRACE}-{PARENT}-01", True),
        (f"00-{TRACE}-{PARENT}-00", False),
        (f"00-{TRACE}-{PARENT}-02", False),
        (f"00-{TRACE}-{PARENT}-ff", True),
        (f"cc-{TRACE}-{PARENT}-01", True),
        (f"cc-{TRACE}-{PARENT}-01-x y", True),
    ],
)
def test_a_valid_field_names_trace_and_span(field: str, *, is_sampled: bool) -> None:
    """Of a later version only the known part counts, and of the flags only the known one."""
    assert parse_traceparent(field) == TraceParent(TRACE, PARENT, is_sampled)


@pytest.mark.parametrize(
    "field",
    [
        "",
        "1",
        f"00-{TRACE}-{PARENT}",
        f"00-{TRACE}-{PARENT}-01-x",
        f"ff-{TRACE}-{PARENT}-01",
        f"00-{TRACE.upper()}-{PARENT}-01",
        f"00-{'0' * 32}-{PARENT}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE}-{PARENT}-01\n",
        f"cc-{TRACE}-{PARENT}-01x",
    ],
)
def test_any_other_field_names_none(field: str) -> None:
    """No part of it is used."""
    assert parse_traceparent(field) is None
