"""Which resource records a service record becomes.

Sources: RFC 2782 for SRV, RFC 6763 for PTR and TXT of DNS-SD. Those of a component are at its own name and at that of
what it is a part of, so that one question finds all components.
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
class Service:
    """SRV: where a service is; one is as good as any other."""

    port: int
    target: Labels | str  # a name below the domain, or the name of a host anywhere


@dataclass(frozen=True, slots=True)
class Pointer:
    """PTR: another name below the domain."""

    target: Labels


@dataclass(frozen=True, slots=True)
class Text:
    """TXT: strings KEY=VALUE."""

    strings: tuple[bytes, ...]


Data: TypeAlias = Service | Pointer | Text | IPv4Address | IPv6Address
"""What a name has; an address is A or AAAA."""

ResourceRecord: TypeAlias = tuple[Labels, Data]

BROWSED: Final = ("_services", "_dns-sd", "_udp")
"""Below which DNS-SD lists the kinds of services there are (RFC 6763, section 9)."""

MAX_STRING: Final = 255  # bytes of a string of TXT (RFC 1035, section 3.3)


def records_of(path: str, record: ServiceRecord) -> tuple[ResourceRecord, ...]:
    """Return the resource records of an entry, each once; none if it has no name in DNS.

    Of an entry with more addresses than `MAX_ADDRESSES` those count that come first: no record of another client may
    hold the server up.
    """
    own = names_of(path)
    if not own:
        return ()
    found = _Found(own, names_of(service_of(path)), paths.name_of(path))
    return tuple(dict.fromkeys((*_of_container(path, own, record), *_records(found, record))))


def _of_container(path: str, own: tuple[Labels, ...], record: ServiceRecord) -> Iterator[ResourceRecord]:
    """Yield where a container of YARN is: it has no endpoint, but an attribute with its address."""
    address = ip_of(record.attributes.get(YARN_IP, ""))
    if address is None:
        return
    names = container_names_of(path, record.description or "", record.attributes.get(YARN_COMPONENT, ""))
    for name in (*own, *names):
        yield name, address


@dataclass(frozen=True, slots=True)
class _Found:
    """The names of an entry: its own, those of the service that it is a part of, its last element."""

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
    """Yield each endpoint with its places, and whether it is external."""
    left = MAX_ADDRESSES
    for number, endpoint in enumerate(islice(record.endpoints, MAX_ADDRESSES)):
        addresses = endpoint.addresses[:left]
        left -= len(addresses)
        places = tuple(place for address in addresses if (place := place_of(address)) is not None)
        yield endpoint, places, number < len(record.external)


def _of_service(
    name: Labels, label: str, names: _Found, places: tuple[ServiceAddress, ...], text: Text
) -> Iterator[ResourceRecord]:
    """Yield SRV, and what DNS-SD has beside it, at one name."""
    service = below(name, label, TCP)
    instance = below(service, names.element)
    yield below(name, *BROWSED), Pointer(service)
    yield service, Pointer(instance)
    yield instance, text
    for place in places:
        host = place.host
        found = Service(place.port, host if isinstance(host, str) else _name_of_address(names.own[0], host))
        yield service, found
        yield instance, found


def _name_of_address(own: Labels, host: IPv4Address | IPv6Address) -> Labels:
    """Return a name for an address, which has none of its own; SRV needs one."""
    return below(own, host.exploded.replace(".", "-").replace(":", "-"))


def _text(endpoint: Endpoint, places: tuple[ServiceAddress, ...]) -> Text:
    """Return what SRV cannot say: the API, and scheme and path where they are those of all addresses."""
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
    return Text(tuple(pair for pair in pairs if len(pair) <= MAX_STRING) or (b"",))
