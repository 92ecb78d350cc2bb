"""Limits of records that this client writes.

The registry's design asks for strict limits in the client, so that records remain binding information: low limits on
addressType, protocol and api, higher ones on description and addresses, and one on the number of addresses. Its author
left the figures open, and Hadoop's own client has none. So the limits apply to records that are written here. Records
of other clients are read up to `MAX_READ_BYTES` (registry/record_json.py).
"""

from collections.abc import Iterator, Mapping
from typing import Final

from nncache.registry.addresses import MAX_PORT, port_of, split_uri
from nncache.registry.errors import InvalidRecordError
from nncache.registry.record import (
    HOST_PORT,
    HOSTNAME,
    INET_ADDRESS,
    OTHER,
    PATH,
    URI,
    YARN_ID,
    YARN_PERSISTENCE,
    ZK_TRIPLE,
    ZOOKEEPER,
    Address,
    Endpoint,
    ServiceRecord,
)

MAX_RECORD_BYTES: Final = 64 * 1024  # a sixteenth of ZooKeeper's limit of a znode (jute.maxbuffer)

MAX_DESCRIPTION: Final = 1024
MAX_API: Final = 256
MAX_PROTOCOL: Final = 64
MAX_ADDRESS_TYPE: Final = 64
MAX_ENDPOINTS: Final = 64
MAX_ADDRESSES: Final = 128
MAX_ADDRESS_FIELDS: Final = 16
MAX_ADDRESS_FIELD: Final = 64
MAX_ADDRESS_VALUE: Final = 2048
MAX_ATTRIBUTES: Final = 64
MAX_ATTRIBUTE: Final = 128
MAX_ATTRIBUTE_VALUE: Final = 1024

PERMANENT: Final = "permanent"
APPLICATION: Final = "application"
APPLICATION_ATTEMPT: Final = "application-attempt"
CONTAINER: Final = "container"
POLICIES: Final = (PERMANENT, APPLICATION, APPLICATION_ATTEMPT, CONTAINER)
"""The values of yarn:persistence (`PersistencePolicies` of Hadoop 3.5.0)."""

NEW_TYPE: Final = "x-"  # prefix of address types that the design does not define

NEEDED_FIELDS: Final[Mapping[str, tuple[tuple[str, ...], ...]]] = {
    URI: (("uri",),),
    HOSTNAME: (("hostname", "host"),),
    INET_ADDRESS: (("hostname", "host"), ("port",)),
    HOST_PORT: (("host", "hostname"), ("port",)),
    PATH: (("path",),),
    ZOOKEEPER: (("hostname", "host"), ("port",), ("path",)),
    ZK_TRIPLE: (("host", "hostname"), ("port",), ("path",)),
    OTHER: (),
}
"""The required fields of an address, by address type, each with its alternative names."""


def check_record(path: str, record: ServiceRecord, size_bytes: int) -> None:
    """Check that a record of `size_bytes` is within the limits.

    Raises InvalidRecordError if it is not; the message names the field, its value or size, and what is allowed.
    """
    fault = next(_faults(record), None)
    if fault is None and size_bytes > MAX_RECORD_BYTES:
        fault = f"the record has {size_bytes} bytes; at most {MAX_RECORD_BYTES} are allowed"
    if fault is not None:
        raise InvalidRecordError(path, fault)


def _faults(record: ServiceRecord) -> Iterator[str]:
    yield from _too_long("description", record.description or "", MAX_DESCRIPTION)
    for name, endpoints in (("external", record.external), ("internal", record.internal)):
        yield from _too_many(name, len(endpoints), MAX_ENDPOINTS, "endpoints")
        for place, endpoint in enumerate(endpoints):
            yield from _faults_of_endpoint(f"{name}[{place}]", endpoint)
    yield from _too_many("the record", len(record.attributes), MAX_ATTRIBUTES, "attributes")
    for name, value in record.attributes.items():
        yield from _too_long(f"the name of the attribute {name[:MAX_ATTRIBUTE]!r}", name, MAX_ATTRIBUTE)
        yield from _too_long(f"the attribute {name!r}", value, MAX_ATTRIBUTE_VALUE)
    yield from _faults_of_policy(record)


def _faults_of_policy(record: ServiceRecord) -> Iterator[str]:
    policy = record.attributes.get(YARN_PERSISTENCE, PERMANENT)
    if policy not in POLICIES:
        yield f"{YARN_PERSISTENCE} is {policy!r}; allowed are {', '.join(POLICIES)}"
    elif policy != PERMANENT and not record.attributes.get(YARN_ID):
        yield f"{YARN_PERSISTENCE} is {policy}, which needs {YARN_ID}: the id of the {policy} that ends it"


def _faults_of_endpoint(where: str, endpoint: Endpoint) -> Iterator[str]:
    yield from _too_long(f"{where}.api", endpoint.api, MAX_API)
    yield from _too_long(f"{where}.protocolType", endpoint.protocol, MAX_PROTOCOL)
    kind = endpoint.address_type
    yield from _too_long(f"{where}.addressType", kind, MAX_ADDRESS_TYPE)
    if kind not in NEEDED_FIELDS and not kind.startswith(NEW_TYPE):
        known = ", ".join(filter(None, NEEDED_FIELDS))
        yield f"{where}.addressType is {kind!r}; allowed are {known}, or {NEW_TYPE} and a name"
    yield from _too_many(f"{where}.addresses", len(endpoint.addresses), MAX_ADDRESSES, "addresses")
    for place, address in enumerate(endpoint.addresses):
        yield from _faults_of_address(f"{where}.addresses[{place}]", address, kind)
    paths = {address["path"] for address in endpoint.addresses if kind in {ZOOKEEPER, ZK_TRIPLE}}
    if len(paths) > 1:
        yield f"{where}.addresses have different paths; all servers of a ZooKeeper have the same"


def _faults_of_address(where: str, address: Address, kind: str) -> Iterator[str]:
    yield from _too_many(where, len(address), MAX_ADDRESS_FIELDS, "fields")
    for name, value in address.items():
        yield from _too_long(
            f"the name of the field {name[:MAX_ADDRESS_FIELD]!r} of {where}", name, MAX_ADDRESS_FIELD
        )
        yield from _too_long(f"{where}.{name}", value or "", MAX_ADDRESS_VALUE)
        if name == "uri" and value and split_uri(value) is None:
            yield f"{where}.uri is {value[:MAX_ADDRESS_FIELD]!r}, which is no URI"
    needed = NEEDED_FIELDS.get(kind, ())
    for names in needed:
        if not any(address.get(name) for name in names):
            yield f"{where} has no {names[0]}, which an address of type {kind} needs"
    if ("port",) in needed and not port_of(address.get("port") or ""):
        yield f"{where}.port is {address.get('port')!r}; it must be a number from 1 to {MAX_PORT}"


def _too_long(where: str, text: str, most: int) -> Iterator[str]:
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > most:
        yield f"{where} has {size} bytes; at most {most} are allowed"


def _too_many(where: str, number: int, most: int, what: str) -> Iterator[str]:
    if number > most:
        yield f"{where} has {number} {what}; at most {most} are allowed"
