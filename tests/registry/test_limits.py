"""The limits of a record that is bound: each at its edge and one beyond."""

from collections.abc import Mapping

import pytest

from nncache.registry import limits
from nncache.registry.errors import InvalidRecordError
from nncache.registry.limits import check_record
from nncache.registry.record import Address, Endpoint, ServiceRecord
from tests.registry.samples import yarn_record


def endpoint(address: Address | None = None, **changes: object) -> Endpoint:
    """Return a valid endpoint with these changes."""
    given = {"uri": "http://h/"} if address is None else address
    fields = {"api": "a", "protocol": "REST", "address_type": "uri", "addresses": (given,)} | changes
    return Endpoint(**fields)  # type: ignore[arg-type]  # the cases say what each field is


def of(*endpoints: Endpoint) -> ServiceRecord:
    """Return a record with these external endpoints."""
    return ServiceRecord(external=endpoints)


def at_port(port: str) -> ServiceRecord:
    """Return a record with one address of the type host/port."""
    return of(endpoint({"host": "h", "port": port}, address_type="host/port"))


def quorum(address_type: str, **fields: tuple[str, ...]) -> Endpoint:
    """Return the endpoint of a ZooKeeper quorum whose servers have these fields."""
    addresses = (dict(zip(fields, values, strict=True)) for values in zip(*fields.values(), strict=True))
    servers = tuple({"port": "2181", **each} for each in addresses)
    return endpoint(addresses=servers, address_type=address_type)


ALLOWED: Mapping[str, ServiceRecord] = {
    "nothing": ServiceRecord(),
    "a description": ServiceRecord(description="x" * limits.MAX_DESCRIPTION),
    "long fields": of(endpoint(api="x" * limits.MAX_API, protocol="x" * limits.MAX_PROTOCOL)),
    "a new type": of(endpoint(address_type="x-" + "y" * 62)),
    "the other type": of(endpoint({"a": None}, address_type="")),
    "many addresses": of(endpoint(addresses=({"uri": "http://h/"},) * limits.MAX_ADDRESSES)),
    "many endpoints": of(*[endpoint()] * limits.MAX_ENDPOINTS),
    "a long address": of(
        endpoint({"uri": "x" * limits.MAX_ADDRESS_VALUE, "y" * limits.MAX_ADDRESS_FIELD: ""})
    ),
    "the last port": at_port("65535"),
    "an inetaddress": of(endpoint({"hostname": "h", "port": "1"}, address_type="inetaddress")),
    "a host": of(endpoint({"host": "h"}, address_type="hostname")),
    "a path": of(endpoint({"path": "/p"}, address_type="path")),
    "a quorum": of(quorum("zktriple", host=("a", "b", "c"), path=("/hbase",) * 3)),
    "attributes": ServiceRecord(
        attributes={f"{n:0{limits.MAX_ATTRIBUTE}}": "x" * limits.MAX_ATTRIBUTE_VALUE for n in range(60)}
    ),
    "of a container": yarn_record("container", "container_1"),
    "permanent": ServiceRecord(attributes={"yarn:persistence": "permanent"}),
}

REFUSED: Mapping[str, tuple[ServiceRecord, str]] = {
    "description": (ServiceRecord(description="ü" * 513), "description has 1026 bytes; at most 1024"),
    "api": (of(endpoint(), endpoint(api="x" * 257)), r"external\[1\].api has 257 bytes; at most 256"),
    "protocol": (of(endpoint(protocol="x" * 65)), "protocolType has 65 bytes; at most 64"),
    "address type": (of(endpoint(address_type="x-" + "y" * 63)), "addressType has 65 bytes"),
    "no URI": (
        of(endpoint(addresses=({"uri": "http://h/"}, {"uri": "http://[x/"}))),
        r"external\[0\].addresses\[1\].uri is 'http://\[x/', which is no URI",
    ),
    "unknown type": (of(endpoint(address_type="url")), "is 'url'; allowed are uri, hostname, .* or x-"),
    "addresses": (of(endpoint(addresses=({"uri": "u"},) * 129)), r"addresses has 129 addresses; at most 128"),
    "endpoints": (ServiceRecord(internal=(endpoint(),) * 65), "internal has 65 endpoints; at most 64"),
    "fields": (of(endpoint({"uri": "u"} | {str(n): "" for n in range(16)})), "has 17 fields; at most 16"),
    "field name": (of(endpoint({"uri": "u", "y" * 65: ""})), "the field 'y+' of external.* has 65 bytes"),
    "field value": (of(endpoint({"uri": "x" * 2049})), r"addresses\[0\].uri has 2049 bytes; at most 2048"),
    "no uri": (of(endpoint({"url": "u"})), "has no uri, which an address of type uri needs"),
    "empty uri": (of(endpoint({"uri": ""})), "has no uri"),
    "no host": (of(endpoint({"port": "1"}, address_type="host/port")), "has no host"),
    "no port": (of(endpoint({"host": "h"}, address_type="host/port")), "has no port"),
    "port 0": (at_port("0"), "port is '0'; it must be a number"),
    "port 65536": (at_port("65536"), "port is '65536'"),
    "a long port": (at_port("000080"), "port is '000080'"),
    "port x": (at_port("x"), "port is 'x'"),
    "port ٣": (at_port("٣"), "port is '٣'"),
    "paths": (of(quorum("zookeeper", hostname=("h", "h"), path=("/a", "/b"))), "have different paths"),
    "attributes": (
        ServiceRecord(attributes=dict.fromkeys(map(str, range(65)), "")),
        "has 65 attributes; at most 64",
    ),
    "attribute": (ServiceRecord(attributes={"x" * 129: ""}), "the name of the attribute 'x+' has 129 bytes"),
    "value": (ServiceRecord(attributes={"x": "y" * 1025}), "the attribute 'x' has 1025 bytes; at most 1024"),
    "policy": (yarn_record("session", "x"), "yarn:persistence is 'session'; allowed are"),
    "no id": (yarn_record("application", ""), "is application, which needs yarn:id"),
}


@pytest.mark.parametrize("record", ALLOWED.values(), ids=ALLOWED)
def test_a_record_within_the_limits(record: ServiceRecord) -> None:
    """Each limit is inclusive."""
    check_record("/p", record, limits.MAX_RECORD_BYTES)


@pytest.mark.parametrize(("record", "part"), REFUSED.values(), ids=REFUSED)
def test_a_record_beyond_a_limit_names_the_field(record: ServiceRecord, part: str) -> None:
    """The error has the actual size and the limit."""
    with pytest.raises(InvalidRecordError, match=part) as caught:
        check_record("/p", record, 100)
    assert caught.value.path == "/p"


def test_a_record_has_a_size() -> None:
    """The size is limited for any content."""
    with pytest.raises(InvalidRecordError, match="the record has 65537 bytes; at most 65536"):
        check_record("/p", ServiceRecord(), 65537)
