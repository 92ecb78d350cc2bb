"""For any bytes of other clients, each reader of records returns a value."""

import json
from contextlib import suppress
from typing import Any, Final

from hypothesis import given
from hypothesis import strategies as st

from nncache.admin.registry_page import EntryShown, PageLocation, entry_page, found_page
from nncache.registry.daemon_record import ADMIN_API, WEBHDFS_API
from nncache.registry.dns_zone import Zone
from nncache.registry.errors import InvalidRecordError, NoRecordError
from nncache.registry.limits import check_record
from nncache.registry.record import EntryStatus, RegistryEntry
from nncache.registry.record_json import encode_record, parse_record
from nncache.registry.targets import METRICS_API, targets_of

_PARTS: Final = (
    *("http://", "https://", "//", "[", "]", "::1", "%", "@", ":", "0", "65536", "x"),
    *("/", "?", "#", ".", "-", "\0", "\n", " ", "é", "\u2100", "\ud800", "\U0001f600"),
    *("10.0.0.7", "fe80::1%eth0", "\u0661"),
)
TEXTS: Final = st.one_of(
    st.lists(st.sampled_from(_PARTS), max_size=8).map("".join), st.text(max_size=20), st.just("http://[x/")
)
VALUES: Final = st.one_of(
    TEXTS, st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False)
)
ADDRESSES: Final = st.one_of(
    st.fixed_dictionaries({"uri": TEXTS}),
    st.fixed_dictionaries({"host": TEXTS, "port": VALUES}),
    st.dictionaries(
        st.one_of(st.sampled_from(["uri", "host", "hostname", "port"]), TEXTS), st.one_of(VALUES, st.none())
    ),
)
ENDPOINTS: Final = st.fixed_dictionaries(
    {
        "api": st.one_of(st.just(METRICS_API), st.sampled_from([ADMIN_API, WEBHDFS_API]), TEXTS),
        "protocolType": VALUES,
        "addressType": st.one_of(st.sampled_from(["uri", "host/port", "zookeeper"]), VALUES),
        "addresses": st.lists(ADDRESSES, min_size=1, max_size=3),
    }
)
ATTRIBUTES: Final = st.dictionaries(
    st.one_of(
        st.sampled_from(["yarn:ip", "yarn:hostname", "yarn:component", "yarn:id", "yarn:persistence"]), TEXTS
    ),
    VALUES,
    max_size=4,
)
PATHS: Final = st.sampled_from(
    [
        "/services/x",
        "/users/joe/yarn-service/a/components/ctr-1",
        "/users/joe/services/yarn-service/a",
        "/",
        "/Y z/é",
    ]
)


@st.composite
def documents(draw: st.DrawFn) -> bytes:
    """Return any document that a client may have written as a record."""
    document: dict[str, Any] = draw(ATTRIBUTES)
    document |= {
        "type": "JSONServiceRecord",
        "description": draw(VALUES),
        "external": draw(st.lists(ENDPOINTS, max_size=3)),
        "internal": draw(st.lists(ENDPOINTS, max_size=3)),
    }
    return json.dumps(document).encode("utf-8", "surrogatepass")


@given(PATHS, documents())
def test_any_record_is_a_value(path: str, data: bytes) -> None:
    """Otherwise parsing refuses it as broken: no later reader raises an error of its own."""
    try:
        record = parse_record(path, data)
    except (InvalidRecordError, NoRecordError):
        return
    status = EntryStatus(path=path, time_ms=0, size_bytes=len(data), children=0, version=0)
    entry = RegistryEntry(status, record)
    for group in targets_of(entry):
        assert group["labels"].get("__scheme__", "http") in {"http", "https"}
        json.dumps(group)
    zone = Zone(20)
    zone.take(path, record)
    zone.check()
    zone.take(path, None)
    assert (zone.entries, zone.names) == (0, 1)
    place = PageLocation(path=path, depth=0)
    assert entry_page(place, EntryShown(status=status, record=record)).startswith(b"<!doctype html>")
    assert found_page(place, [entry], query=None, is_more=False).startswith(b"<!doctype html>")
    assert parse_record(path, encode_record(record)) == record
    with suppress(InvalidRecordError):
        check_record(path, record, len(data))
