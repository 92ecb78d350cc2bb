"""Service records: how clients reach a service.

Sources: the design of Hadoop's registry (YARN-913) and org.apache.hadoop.registry.client.types of Hadoop 3.5.0.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

RECORD_TYPE: Final = "JSONServiceRecord"

YARN_ID: Final = "yarn:id"
YARN_PERSISTENCE: Final = "yarn:persistence"
YARN_IP: Final = "yarn:ip"
YARN_COMPONENT: Final = "yarn:component"

URI: Final = "uri"
HOST_PORT: Final = "host/port"
HOSTNAME: Final = "hostname"
INET_ADDRESS: Final = "inetaddress"
PATH: Final = "path"
ZOOKEEPER: Final = "zookeeper"
ZK_TRIPLE: Final = "zktriple"
OTHER: Final = ""

Address: TypeAlias = Mapping[str, str | None]
"""One address, by field. A value is None only in records of other clients."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One means of access to a service.

    Attributes:
        api: a URI that names the API.
        protocol: REST, webui, hadoop/IPC and so on; Hadoop calls it protocolType.
        address_type: the format of an address: uri, host/port and so on, or x- and a name.
        addresses: alternatives; any one of them reaches the endpoint.
    """

    api: str
    protocol: str
    address_type: str
    addresses: tuple[Address, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceRecord:
    """The record that is bound to a name.

    Attributes:
        description: text for people; None if there is none.
        external: endpoints for callers of the service.
        internal: endpoints for the service's own parts. This is a convention, not an access restriction.
        attributes: all other fields, including yarn:id and yarn:persistence.
    """

    description: str | None = None
    external: tuple[Endpoint, ...] = ()
    internal: tuple[Endpoint, ...] = ()
    attributes: Mapping[str, str] = field(default_factory=dict)

    @property
    def endpoints(self) -> Iterator[Endpoint]:
        """All endpoints, external ones first."""
        yield from self.external
        yield from self.internal

    def external_endpoint(self, api: str) -> Endpoint | None:
        """Return the first external endpoint of an API, None if there is none."""
        return next((endpoint for endpoint in self.external if endpoint.api == api), None)

    def internal_endpoint(self, api: str) -> Endpoint | None:
        """Return the first internal endpoint of an API, None if there is none."""
        return next((endpoint for endpoint in self.internal if endpoint.api == api), None)


def uri_endpoint(api: str, protocol: str, *uris: str) -> Endpoint:
    """Return an endpoint whose addresses are URIs."""
    addresses = tuple({"uri": uri} for uri in uris)
    return Endpoint(api=api, protocol=protocol, address_type=URI, addresses=addresses)


def host_port_endpoint(api: str, protocol: str, *addresses: tuple[str, int]) -> Endpoint:
    """Return an endpoint whose addresses are hosts with ports, as Hadoop's own endpoints are."""
    return Endpoint(
        api=api,
        protocol=protocol,
        address_type=HOST_PORT,
        addresses=tuple({"host": host, "port": str(port)} for host, port in addresses),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryStatus:
    """An entry's status without its record (`RegistryPathStatus` of Hadoop 3.5.0).

    Attributes:
        path: below the registry's root.
        time_ms: creation time, in milliseconds since 1970 by ZooKeeper's clock.
        size_bytes: size of its data.
        children: entries right below it.
        version: incremented by each change of the record; an argument of `bind`.
    """

    path: str
    time_ms: int
    size_bytes: int
    children: int
    version: int

    def as_json(self) -> dict[str, str | int]:
        """Return the status as commands and proxies show it."""
        return {
            "path": self.path,
            "time": self.time_ms,
            "size": self.size_bytes,
            "children": self.children,
            "version": self.version,
        }


@dataclass(frozen=True, slots=True)
class RegistryEntry:
    """An entry with its record."""

    status: EntryStatus
    record: ServiceRecord

    @property
    def path(self) -> str:
        """The entry's path, below the registry's root."""
        return self.status.path


@dataclass(frozen=True, slots=True)
class Unreadable:
    """An entry whose record is broken, or which this client has no permission to read."""

    path: str
    why: str
