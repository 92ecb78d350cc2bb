"""The targets that Prometheus is to scrape."""

import pytest

from nncache.registry.limits import MAX_ADDRESSES
from nncache.registry.record import (
    Endpoint,
    EntryStatus,
    RegistryEntry,
    ServiceRecord,
    host_port_endpoint,
    uri_endpoint,
)
from nncache.registry.targets import METRICS_API, targets_of


def entry(*endpoints: Endpoint) -> RegistryEntry:
    """Return an entry with these endpoints."""
    status = EntryStatus(path="/services/x", time_ms=0, size_bytes=0, children=0, version=0)
    return RegistryEntry(status, ServiceRecord(internal=endpoints))


def test_uris_say_where_and_how() -> None:
    """Scheme and path become labels of Prometheus."""
    labels = {"__meta_registry_path": "/services/x", "__meta_registry_name": "x"}
    found = targets_of(
        entry(uri_endpoint(METRICS_API, "http", "https://a:1/m?x=y", "http://b", "/no-host", ""))
    )
    assert list(found) == [
        {"targets": ["a:1"], "labels": {**labels, "__scheme__": "https", "__metrics_path__": "/m"}},
        {"targets": ["b:80"], "labels": {**labels, "__scheme__": "http", "__metrics_path__": "/metrics"}},
    ]


def test_hosts_with_ports_are_targets_as_they_are() -> None:
    """Incomplete addresses are no targets, and other APIs are ignored."""
    found = targets_of(
        entry(
            host_port_endpoint(METRICS_API, "http", ("a", 1)),
            Endpoint(
                api=METRICS_API,
                protocol="http",
                address_type="inetaddress",
                addresses=({"hostname": "b", "port": "2"}, {"hostname": "c"}, {"port": "3"}),
            ),
            host_port_endpoint("other", "http", ("d", 4)),
        )
    )
    assert [group["targets"] for group in found] == [["a:1"], ["b:2"]]


@pytest.mark.parametrize(
    "uri",
    [
        "http://[x/",
        "http://[oops]:1/metrics",
        "http://h:x/",
        "file:///etc/passwd",
        "ftp://h/",
        "gopher://h:1/",
    ],
)
def test_what_prometheus_cannot_scrape_is_no_target(uri: str) -> None:
    """Such a record does not affect other targets; user information is removed."""
    good = "http://user:secret@h:1/"
    (found,) = targets_of(entry(uri_endpoint(METRICS_API, "http", uri, good)))
    assert found["targets"] == ["h:1"]


def test_of_one_record_so_many_addresses_are_targets() -> None:
    """A record with ten thousand of them must not delay the scraping of others."""
    many = host_port_endpoint(METRICS_API, "http", *(("h", port) for port in range(1, 10_000)))
    assert len([*targets_of(entry(many))]) == MAX_ADDRESSES
