"""The resource records of a service record."""

from ipaddress import IPv4Address, IPv6Address

import pytest

from nncache.registry.daemon_record import PROXY, RegisteredDaemon
from nncache.registry.dns_records import Data, PtrRecord, SrvRecord, TxtRecord, records_of
from nncache.registry.dns_zone import Zone
from nncache.registry.limits import MAX_ADDRESSES
from nncache.registry.record import Endpoint, ServiceRecord, host_port_endpoint, uri_endpoint

PATH = "/services/nncache/components/p1"
OWN = "p1.components.nncache.services"


def shown(path: str, record: ServiceRecord) -> dict[str, list[Data]]:
    """Return the records by name."""
    found: dict[str, list[Data]] = {}
    for name, data in records_of(path, record):
        found.setdefault(b".".join(name).decode(), []).append(data)
    return found


def external(*endpoints: Endpoint) -> ServiceRecord:
    """Return a record with these external endpoints."""
    return ServiceRecord(external=endpoints)


def labels(name: str) -> tuple[bytes, ...]:
    """Return a name in its internal form."""
    return tuple(name.encode().split(b"."))


def test_a_component_is_found_at_its_service_and_at_its_own_name() -> None:
    """The records are SRV and those of DNS-SD; a host name is not resolved."""
    url = "http://proxy1.example.com:9870/webhdfs/v1"
    record = external(uri_endpoint("org.apache.hadoop.webhdfs", "REST", url))
    service = SrvRecord(9870, "proxy1.example.com")
    text = TxtRecord((b"api=org.apache.hadoop.webhdfs", b"scheme=http", b"path=/webhdfs/v1"))
    expected: dict[str, list[Data]] = {OWN: [text]}
    for name in ("nncache.services", OWN):
        kind = f"_webhdfs._tcp.{name}"
        expected |= {
            f"_services._dns-sd._udp.{name}": [PtrRecord(labels(kind))],
            kind: [PtrRecord(labels(f"p1.{kind}")), service],
            f"p1.{kind}": [text, service],
        }
    assert shown(PATH, record) == expected


def test_an_address_gets_a_name_of_its_own() -> None:
    """SRV can only name hosts; addresses of external endpoints also belong to the entry and its service."""
    record = ServiceRecord(
        external=(host_port_endpoint("x", "IPC", ("10.0.0.7", 1), ("fd00::7", 2)),),
        internal=(host_port_endpoint("y", "IPC", ("10.0.0.8", 3)),),
    )
    found = shown("/services/s/components/c", record)
    own = "c.components.s.services"
    v6 = f"fd00-0000-0000-0000-0000-0000-0000-0007.{own}"
    assert found["_x._tcp.s.services"][1:] == [
        SrvRecord(1, labels(f"10-0-0-7.{own}")),
        SrvRecord(2, labels(v6)),
    ]
    assert found[f"10-0-0-7.{own}"] == [IPv4Address("10.0.0.7")]
    assert found[v6] == found["s.services"][1:] == [IPv6Address("fd00::7")]
    assert found["s.services"][0] == IPv4Address("10.0.0.7")
    assert [each for each in found[own] if not isinstance(each, TxtRecord)] == [
        IPv4Address("10.0.0.7"),
        IPv6Address("fd00::7"),
    ]
    assert found[f"10-0-0-8.{own}"] == [IPv4Address("10.0.0.8")]


def test_our_own_daemons_are_found_by_each_of_their_apis() -> None:
    """The APIs are WebHDFS, pages and metrics."""
    daemon = RegisteredDaemon(
        kind=PROXY, host="h", port=1, webhdfs=("https://h:1/webhdfs/v1",), admin="http://h:2/"
    )
    found = shown(daemon.path, daemon.record)
    for kind, port in (("_webhdfs", 1), ("_nncache-admin", 2), ("_prometheus", 2)):
        assert SrvRecord(port, "h") in found[f"{kind}._tcp.nncache.services"]


def test_each_record_is_there_once() -> None:
    """Repeated endpoints and addresses have no effect."""
    endpoint = host_port_endpoint("x", "IPC", ("h", 1), ("h", 1))
    found = records_of("/services/s", external(endpoint, endpoint))
    assert len(found) == len(set(found)) == 6


def test_an_endpoint_without_a_port_has_text_alone() -> None:
    """The same holds for an API without a valid label; a text that is too long is omitted."""
    nowhere = Endpoint(api="x", protocol="p", address_type="path", addresses=({"path": "/x"},))
    unnamed = host_port_endpoint("//", "IPC", ("h", 1))
    assert shown("/services/s", external(nowhere, unnamed)) == {
        "s.services": [TxtRecord((b"api=x",)), TxtRecord((b"api=//",))]
    }
    assert shown("/services/s", external(uri_endpoint("é" * 200, "REST"))) == {
        "s.services": [TxtRecord((b"",))]
    }


def test_text_says_what_is_so_of_all_addresses() -> None:
    """Schemes and paths that differ are only in the registry itself."""
    endpoint = uri_endpoint("x", "REST", "http://a/1", "http://b/2")
    assert shown("/services/s", external(endpoint))["s.services"] == [TxtRecord((b"api=x", b"scheme=http"))]


def test_an_entry_without_a_name_has_no_records() -> None:
    """Other clients may have created one."""
    assert records_of("/services/A", external(host_port_endpoint("x", "IPC", ("h", 1)))) == ()


def test_a_record_of_another_client_is_bounded() -> None:
    """The number of its addresses is limited, and therefore that of its records."""
    endpoint = host_port_endpoint("x", "IPC", *(("h", port + 1) for port in range(1000)))
    found = records_of("/services/s", external(*(endpoint,) * 1000))
    assert sum(isinstance(data, SrvRecord) for _, data in found) == 2 * MAX_ADDRESSES


CONTAINER = "ctr-e01-1408631738011-0028-01-000002"


def container(number: int, **attributes: str) -> tuple[str, ServiceRecord]:
    """Return the path and the record of a container, as YARN's service framework writes them."""
    name = f"{CONTAINER[:-1]}{number + 2}"
    ours = {"yarn:id": name, "yarn:persistence": "container", "yarn:ip": f"172.17.0.{number + 2}"}
    record = ServiceRecord(
        description=f"sleeper-{number}", attributes={**ours, "yarn:component": "sleeper", **attributes}
    )
    return f"/users/joe/services/yarn-service/sleep1/components/{name}", record


def test_a_container_of_yarn_has_the_names_of_hadoops_server() -> None:
    """It has no endpoint, but an address; Hadoop's documentation "Service Discovery" defines the names (YARN-5218)."""
    path, record = container(0)
    own = f"{CONTAINER}.components.sleep1.yarn-service.services.joe.users"
    address = IPv4Address("172.17.0.2")
    assert shown(path, record) == {
        own: [address],
        f"{CONTAINER}.sleep1.joe": [address],
        "sleeper-0.sleep1.joe": [address],
        "sleeper.sleep1.joe": [address],
        CONTAINER: [address],
    }
    zone = Zone(20)
    for number in range(3):
        zone.take(*container(number))
    assert len(zone.find(labels("sleeper.sleep1.joe"), IPv4Address, 9)) == 3
    assert zone.find(labels("sleeper-2.sleep1.joe"), IPv4Address, 9) == (IPv4Address("172.17.0.4"),)
    path, record = container(0, **{"yarn:ip": "fd00::1"})
    assert shown(path, record)["sleeper-0.sleep1.joe"] == [IPv6Address("fd00::1")]


@pytest.mark.parametrize("address", ["", "host1", "fe80::1%eth0", "172.17.0.2,172.17.0.3"])
def test_a_container_without_an_address_has_no_names(address: str) -> None:
    """Clients resolve host names, not the registry."""
    assert shown(*container(0, **{"yarn:ip": address})) == {}


def test_a_users_record_takes_no_name_beyond_the_users() -> None:
    """Directly below the domain there are only ids of containers; an invalid label is omitted."""
    _, record = container(0, **{"yarn:component": "a.b"})
    for path, extra in {
        "/users/joe/x/y/components/services": ["services.y.joe", "sleeper-0.y.joe"],
        "/users/joe/x/y/components/ctr-services": ["ctr-services.y.joe", "sleeper-0.y.joe"],
        "/users/services/x/y/components/ctr-1-2-3-4": [],
        "/users/joe/x/ctr-1-2-3-4": ["ctr-1-2-3-4.joe"],
        "/services/x/components/ctr-1-2-3-4": [],
    }.items():
        own = ".".join(reversed(path.strip("/").split("/")))
        assert [*shown(path, record)] == [own, *extra]
