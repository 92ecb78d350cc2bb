"""Hadoop's own RegistryDNS on the same registry: it answers for containers of YARN what we answer."""

import asyncio
from ipaddress import IPv4Address
from typing import Any

import dns.asyncquery
import dns.message
import dns.rcode
import dns.rdatatype
import pytest

from nncache.registry import paths
from nncache.registry.dns_zone import Zone
from nncache.registry.operations import Registry
from nncache.testbed import Cluster
from tests.patience import HANG_S
from tests.processes import free_address
from tests.registry.test_dns_records import container, labels

DOMAIN = "registry.example"
NAMES = (
    *("sleeper-0.sleep1.joe", "sleeper-1.sleep1.joe", "sleeper.sleep1.joe"),
    *("ctr-e01-1408631738011-0028-01-000002", "ctr-e01-1408631738011-0028-01-000003"),
    *("sleeper-9.sleep1.joe", "other.sleep1.joe", "ctr-e01-1408631738011-0028-01-000009"),
)

pytestmark = pytest.mark.long  # the first time, about 60 MB come from Maven


@pytest.fixture
def server(hadoop: Any, registry: Registry, cluster: Cluster) -> int:
    """Return the port of Hadoop's server of the same registry.

    It ends with its JVM: its `stop` waits for a lock that the thread which reads UDP never releases (Hadoop 3.5.0).
    """
    assert cluster.zookeeper is not None
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
    """Return the addresses that a server has for a name below the domain."""
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
    """Of containers, their components, and their ids."""
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
            await asyncio.sleep(0.1)  # asked again until the deadline
    for name in NAMES:
        ours = frozenset(zone.find(labels(name), IPv4Address, 9))
        assert (name, await answered(server, name)) == (name, ours)
