"""Hadoop's registry client and nncache's: each reads the other's records, byte for byte after a round trip.

The client is `RegistryOperationsService` of hadoop-registry, of the release under test, from Maven.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterator
from ipaddress import IPv4Address
from typing import Any

import dns.asyncquery
import dns.message
import dns.rcode
import dns.rdatatype
import pytest
from py4j.java_gateway import get_field
from py4j.protocol import Py4JJavaError

from nncache.registry import paths
from nncache.registry.dns_zone import Zone
from nncache.registry.errors import RegistryError
from nncache.registry.operations import Registry
from nncache.registry.purge_plan import selects
from nncache.registry.record import ServiceRecord, host_port_endpoint, uri_endpoint
from nncache.registry.record_json import encode_record
from nncache.registry.tree_reading import read_tree
from nncache.testbed import Cluster
from tests.patience import HANG_S
from tests.processes import free_address
from tests.registry.drawn import DRAWN, drawn_record, in_java, sorted_attributes
from tests.registry.test_dns_records import container, labels

OVERWRITE = 1
"""BindFlags.OVERWRITE of Hadoop."""

pytestmark = pytest.mark.long  # the first run downloads about 60 MB from Maven


@pytest.fixture
def client(hadoop: Any, registry: Registry, cluster: Cluster) -> Iterator[Any]:
    """Yield Hadoop's client of the same registry."""
    configuration = hadoop.conf.Configuration(False)
    configuration.set("hadoop.registry.zk.quorum", cluster.zookeeper.address)
    configuration.set("hadoop.registry.zk.root", registry.root)
    service = hadoop.registry.client.impl.zk.RegistryOperationsService()
    service.init(configuration)
    service.start()
    yield service
    service.stop()


@pytest.fixture(scope="module")
def marshal(hadoop: Any) -> Any:
    """Return the marshaller of Hadoop's records."""
    return hadoop.registry.client.binding.RegistryUtils.ServiceRecordMarshal()


async def test_drawn_records_are_resolved_by_the_other_client(
    hadoop: Any, registry: Registry, client: Any, marshal: Any
) -> None:
    """Each writes the record that it read as the same bytes, except for the order of attributes."""
    chance, path = random.Random(1), "/services/drawn"
    for number in range(DRAWN):
        record = drawn_record(chance)
        await registry.bind(path, record, overwrite=True)
        resolved = client.resolve(path)
        where = f"record {number} of seed 1: {record}"
        assert sorted_attributes(bytes(marshal.toBytes(resolved))) == encode_record(record), where
        for theirs in (resolved, in_java(hadoop, record)):
            client.bind(path, theirs, OVERWRITE)
            found = await registry.zookeeper.get(registry.znode(path))
            read = await registry.resolve(path)
            assert read == record, where
            assert encode_record(read) == sorted_attributes(found.data), where


async def test_what_hadoops_own_tests_write(hadoop: Any, registry: Registry, client: Any) -> None:
    """The example entry and names of `RegistryTestHelper` (Hadoop 3.5.0), built as its tests build them."""
    utils, types = hadoop.registry.client.binding.RegistryTypeUtils, hadoop.registry.client.types
    record = types.ServiceRecord()
    record.set("yarn:id", "example-0001")
    record.set("yarn:persistence", "application-attempt")
    record.addInternalEndpoint(utils.inetAddrEndpoint("uuid:423C2B93", "thrift", "localhost", 8050))
    record.addExternalEndpoint(types.Endpoint("http://", "uri", "webui", utils.uri("http://namenode:80/")))
    client.mknode("/users/devteam/org-apache-hadoop", True)
    client.bind("/users/devteam/org-apache-hadoop/hdfs", record, 0)
    read = await registry.resolve("/users/devteam/org-apache-hadoop/hdfs")
    assert read == ServiceRecord(
        external=(uri_endpoint("http://", "webui", "http://namenode:80/"),),
        internal=(host_port_endpoint("uuid:423C2B93", "thrift", ("localhost", 8050)),),
        attributes={"yarn:id": "example-0001", "yarn:persistence": "application-attempt"},
    )
    assert selects(read, "example-0001", "application-attempt")
    for name in ("user with spaces", "user-with_underscores", "000000", "-storm", "windows\\ user"):
        client.mknode(f"/users/{name}", True)
        assert await registry.exists(f"/users/{name}")
    assert len((await read_tree(registry, "/users")).bare) == 8
    assert sorted(client.list("/users")) == list(await registry.list("/users"))


async def test_the_operations_mean_the_same(hadoop: Any, registry: Registry, client: Any) -> None:
    """Each client's operation has the same result, and raises the corresponding exception."""
    await registry.mknode("/users/joe/hbase", create_parents=True)
    assert not client.mknode("/users/joe/hbase", False)
    await registry.bind("/users/joe/hbase/demo1", ServiceRecord(description="a"))
    status, theirs = await registry.stat("/users/joe/hbase/demo1"), client.stat("/users/joe/hbase/demo1")
    assert tuple(get_field(theirs, name) for name in ("path", "time", "size", "children")) == (
        paths.name_of(status.path),
        status.time_ms,
        status.size_bytes,
        status.children,
    )
    record = hadoop.registry.client.types.ServiceRecord()
    attempts: tuple[tuple[Awaitable[object], Callable[[], object]], ...] = (
        (
            registry.bind("/users/joe/hbase/demo1", ServiceRecord()),
            lambda: client.bind("/users/joe/hbase/demo1", record, 0),
        ),
        (registry.bind("/users/ann/x", ServiceRecord()), lambda: client.bind("/users/ann/x", record, 0)),
        (registry.mknode("/users/ann/x"), lambda: client.mknode("/users/ann/x", False)),
        (registry.resolve("/users/joe"), lambda: client.resolve("/users/joe")),
        (registry.resolve("/users/ann"), lambda: client.resolve("/users/ann")),
        (registry.stat("/users/ann"), lambda: client.stat("/users/ann")),
        (registry.list("/users/ann"), lambda: client.list("/users/ann")),
        (registry.delete("/users/joe"), lambda: client.delete("/users/joe", False)),
        (registry.resolve("/users/../x"), lambda: client.resolve("/users/../x")),
    )
    for ours, java in attempts:
        with pytest.raises(RegistryError) as here:
            await ours
        with pytest.raises(Py4JJavaError) as there:
            java()
        assert here.value.java_class == there.value.java_exception.getClass().getName()
    assert not await registry.delete("/users/ann")
    client.delete("/users/ann", False)
    client.delete("/users/joe", True)
    assert not await registry.exists("/users/joe")


DOMAIN = "registry.example"
NAMES = (
    *("sleeper-0.sleep1.joe", "sleeper-1.sleep1.joe", "sleeper.sleep1.joe"),
    *("ctr-e01-1408631738011-0028-01-000002", "ctr-e01-1408631738011-0028-01-000003"),
    *("sleeper-9.sleep1.joe", "other.sleep1.joe", "ctr-e01-1408631738011-0028-01-000009"),
)


@pytest.fixture
def server(hadoop: Any, registry: Registry, cluster: Cluster) -> int:
    """Return the port of Hadoop's DNS server for the same registry.

    It ends with its JVM: `stop` waits for a lock that the UDP thread never releases (Hadoop 3.5.0).
    """
    _, _, port = free_address().rpartition(":")
    configuration = hadoop.conf.Configuration(False)
    for key, value in {
        "hadoop.registry.zk.quorum": cluster.zookeeper.address,
        "hadoop.registry.zk.root": registry.root,
        "hadoop.registry.dns.enabled": "true",
        "hadoop.registry.dns.domain-name": DOMAIN,
        "hadoop.registry.dns.bind-address": "127.0.0.1",
        "hadoop.registry.dns.bind-port": port,
    }.items():
        configuration.set(key, value)
    service = hadoop.registry.server.dns.RegistryDNSServer("RegistryDNSServer", None)
    service.init(configuration)
    service.start()
    return int(port)


async def answered(port: int, name: str) -> frozenset[IPv4Address]:
    """Return a server's addresses for a name below the domain."""
    question = dns.message.make_query(f"{name}.{DOMAIN}.", dns.rdatatype.A)
    reply = await dns.asyncquery.udp(question, "127.0.0.1", port=port, timeout=HANG_S)
    assert reply.rcode() in {dns.rcode.NOERROR, dns.rcode.NXDOMAIN}
    return frozenset(
        IPv4Address(each.address)
        for answer in reply.answer
        if answer.rdtype == dns.rdatatype.A
        for each in answer
    )


async def test_hadoops_server_has_the_same_names(registry: Registry, server: int) -> None:
    """The names are those of containers, components, and ids."""
    zone = Zone(len(DOMAIN) + 2)
    for number in range(2):
        path, record = container(number)
        await registry.mknode(paths.parent_of(path), create_parents=True)
        await registry.bind(path, record)
        zone.take(path, record)
    async with asyncio.timeout(HANG_S):
        while True:
            if len(await answered(server, "sleeper.sleep1.joe")) == 2:  # it follows ZooKeeper
                break
            await asyncio.sleep(0.1)  # repeated until the deadline
    for name in NAMES:
        ours = frozenset(zone.find(labels(name), IPv4Address, 9))
        assert (name, await answered(server, name)) == (name, ours)
