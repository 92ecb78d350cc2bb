"""Converts service records to DNS resource records.

Sources: RFC 2782 for SRV, RFC 6763 for PTR and TXT of DNS-SD. A component's records are at its own name and at the name
of its service, so that one question finds all components.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from itertools import islice
from typing import Final, TypeAlias

from nncache.registry import paths
from nncache.registry.addresses import ServiceAddress, ip_of, place_of
from nncache.registry.dns_names import TCP, Labels, below, container_names_of, label_of, names_of, service_of
from nncache.registry.limits import MAX_ADDRESSES
from nncache.registry.record import YARN_COMPONENT, YARN_IP, Endpoint, ServiceRecord


@dataclass(frozen=True, slots=True)
class SrvRecord:
    """SRV: the port and host of a service; all have the same priority and weight."""

    port: int
    target: Labels | str  # a name below the domain, or the name of a host anywhere


@dataclass(frozen=True, slots=True)
class PtrRecord:
    """PTR: another name below the domain."""

    target: Labels


@dataclass(frozen=True, slots=True)
class TxtRecord:
    """TXT: strings of the form KEY=VALUE."""

    strings: tuple[bytes, ...]


Data: TypeAlias = SrvRecord | PtrRecord | TxtRecord | IPv4Address | IPv6Address
"""The data of a resource record; an address is A or AAAA."""

ResourceRecord: TypeAlias = tuple[Labels, Data]

BROWSED: Final = ("_services", "_dns-sd", "_udp")
"""The name below which DNS-SD lists the service types (RFC 6763, section 9)."""

MAX_STRING: Final = 255  # bytes of a string of TXT (RFC 1035, section 3.3)


def records_of(path: str, record: ServiceRecord) -> tuple[ResourceRecord, ...]:
    """Return the resource records of an entry, without duplicates; none if the entry has no DNS name.

    Only the first `MAX_ADDRESSES` addresses of an entry are read, so that no client's record can block the server for
    long.
    """
    own = names_of(path)
    if not own:
        return ()
    found = _Found(own, names_of(service_of(path)), paths.name_of(path))
    return tuple(dict.fromkeys((*_of_container(path, own, record), *_records(found, record))))


def _of_container(path: str, own: tuple[Labels, ...], record: ServiceRecord) -> Iterator[ResourceRecord]:
    """Yield the address records of a YARN container: it has no endpoint, but an attribute with its address."""
    address = ip_of(record.attributes.get(YARN_IP, ""))
    if address is None:
        return
    names = container_names_of(path, record.description or "", record.attributes.get(YARN_COMPONENT, ""))
    for name in (*own, *names):
        yield name, address


@dataclass(frozen=True, slots=True)
class _Found:
    """The names of an entry: its own names, those of its service, and its last path element."""

    own: tuple[Labels, ...]
    service: tuple[Labels, ...]
    element: str

    @property
    def all(self) -> tuple[Labels, ...]:
        return tuple(dict.fromkeys((*self.service, *self.own)))


def _records(names: _Found, record: ServiceRecord) -> Iterator[ResourceRecord]:
    for endpoint, places, is_external in _endpoints(record):
        text = _text(endpoint, places)
        for name in names.own:
            yield name, text
        label = label_of(endpoint.api)
        if label is not None and places:
            for name in names.all:
                yield from _of_service(name, label, names, places, text)
        for place in places:
            if not isinstance(place.host, str):
                yield _name_of_address(names.own[0], place.host), place.host
                for each in names.all if is_external else ():
                    yield each, place.host


def _endpoints(record: ServiceRecord) -> Iterator[tuple[Endpoint, tuple[ServiceAddress, ...], bool]]:
    """Yield the first endpoints and addresses, MAX_ADDRESSES of each; with each endpoint, whether it is external."""
    left = MAX_ADDRESSES
    for number, endpoint in enumerate(islice(record.endpoints, MAX_ADDRESSES)):
        addresses = endpoint.addresses[:left]
        left -= len(addresses)
        places = tuple(place for address in addresses if (place := place_of(address)) is not None)
        yield endpoint, places, number < len(record.external)


def _of_service(
    name: Labels, label: str, names: _Found, places: tuple[ServiceAddress, ...], text: TxtRecord
) -> Iterator[ResourceRecord]:
    """Yield SRV, and the PTR and TXT records of DNS-SD, at one name."""
    service = below(name, label, TCP)
    instance = below(service, names.element)
    yield below(name, *BROWSED), PtrRecord(service)
    yield service, PtrRecord(instance)
    yield instance, text
    for place in places:
        host = place.host
        found = SrvRecord(place.port, host if isinstance(host, str) else _name_of_address(names.own[0], host))
        yield service, found
        yield instance, found


def _name_of_address(own: Labels, host: IPv4Address | IPv6Address) -> Labels:
    """Return the name of an address's A or AAAA record: an address has no name, and SRV needs one."""
    return below(own, host.exploded.replace(".", "-").replace(":", "-"))


def _text(endpoint: Endpoint, places: tuple[ServiceAddress, ...]) -> TxtRecord:
    """Return the data that SRV lacks: the API, and the scheme and path if all addresses share them."""
    values = {
        "api": {endpoint.api},
        "scheme": {place.scheme for place in places},
        "path": {place.path for place in places},
    }
    pairs = (
        f"{key}={''.join(found)}".encode("utf-8", "replace")
        for key, found in values.items()
        if len(found) == 1 and "" not in found
    )
    return TxtRecord(tuple(pair for pair in pairs if len(pair) <= MAX_STRING) or (b"",))
