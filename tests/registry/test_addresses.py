"""Where addresses lead that other clients have written."""

from collections.abc import Mapping
from ipaddress import IPv4Address, IPv6Address

import pytest

from nncache.registry.addresses import ServiceAddress, authorities_of, host_of, place_of, split_uri
from nncache.registry.record import Endpoint, ServiceRecord


@pytest.mark.parametrize(
    ("address", "place"),
    [
        ({"uri": "http://H.example.com/x"}, ServiceAddress("h.example.com", 80, "http", "/x")),
        ({"uri": "https://[fd00::1]"}, ServiceAddress(IPv6Address("fd00::1"), 443, "https")),
        ({"uri": "https://[fd00::1"}, None),
        ({"uri": "hdfs://h:x/"}, None),
        ({"uri": "hdfs://h/"}, None),
        ({"uri": "/path"}, None),
        ({"uri": "http://"}, None),
        ({"host": "h.", "port": "65535"}, ServiceAddress("h", 65535)),
        ({"hostname": "10.0.0.7", "port": "1"}, ServiceAddress(IPv4Address("10.0.0.7"), 1)),
        ({"host": "h", "port": "0"}, None),
        ({"host": "h", "port": "65536"}, None),
        ({"host": "h", "port": "100000"}, None),
        ({"host": "h", "port": None}, None),
        ({"host": "h", "port": "x"}, None),
        ({"host": None, "port": "1"}, None),
        ({"host": "a b", "port": "1"}, None),
        ({"host": "a..b", "port": "1"}, None),
        ({"host": "é", "port": "1"}, None),
        ({"host": "a" * 64, "port": "1"}, None),
        ({"host": ".".join(["a" * 63] * 4), "port": "1"}, None),
        ({"host": "fe80::1%eth0", "port": "1"}, None),
    ],
)
def test_an_address_is_a_host_and_a_port(
    address: Mapping[str, str | None], place: ServiceAddress | None
) -> None:
    """All other values have no place in DNS."""
    assert place_of(address) == place


def test_a_place_has_an_authority() -> None:
    """An IPv6 address is in brackets."""
    assert ServiceAddress("h", 1).authority == "h:1"
    assert ServiceAddress(IPv6Address("fd00::1"), 443).authority == "[fd00::1]:443"


def test_a_record_has_the_authorities_of_its_addresses() -> None:
    """Those that lead somewhere."""
    addresses = ({"uri": "http://h/x"}, {"uri": "/path"}, {"host": "::1", "port": "2"})
    endpoint = Endpoint(api="a", protocol="REST", address_type="uri", addresses=addresses)
    assert list(authorities_of(ServiceRecord(internal=(endpoint,)))) == ["h:80", "[::1]:2"]


@pytest.mark.parametrize("uri", ["http://[x/", "http://[oops", "http://h:x/", "http://h:65536/"])
def test_what_is_no_uri_is_none(uri: str) -> None:
    """Python's own functions raise errors for them."""
    assert split_uri(uri) is None
    parts = split_uri("http://h:1/x")
    assert parts is not None
    assert (parts.hostname, parts.port) == ("h", 1)


def test_a_host_has_no_port() -> None:
    """It is a name or an address alone."""
    assert host_of("Proxy1.example.com") == "proxy1.example.com"
    assert host_of("10.0.0.7") == IPv4Address("10.0.0.7")
    assert (host_of("h:1"), host_of("[::1]"), host_of("")) == (None, None, None)
