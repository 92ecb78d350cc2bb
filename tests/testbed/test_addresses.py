"""Which addresses a cluster has."""

from dataclasses import asdict

import pytest

from nncache.testbed.addresses import Addresses
from nncache.testbed.errors import PortError
from nncache.testbed.ports import PortLease
from nncache.testbed.spec import ClusterSpec, Kerberos, Ports, Tls, ZooKeeperSecurity


def leased(spec: ClusterSpec) -> Addresses:
    """Take the addresses of such a cluster, for as long as that lasts."""
    with PortLease() as ports:
        return Addresses.leased(spec, ports)


def named(addresses: Addresses) -> set[str]:
    """Return what is there beside the NameNodes."""
    return {name for name, value in asdict(addresses).items() if value and name != "namenodes"}


def test_what_a_cluster_does_not_have_is_empty() -> None:
    """And every address is another."""
    alone = leased(ClusterSpec(with_datanode=False))
    assert named(alone) == set()
    assert [namenode.id for namenode in alone.namenodes] == ["nn1"]
    assert not alone.namenodes[0].https
    pair = leased(ClusterSpec(ha=True, with_zookeeper=True))
    assert [namenode.id for namenode in pair.namenodes] == ["nn1", "nn2"]
    assert named(pair) == {
        "datanode_data",
        "datanode_ipc",
        "datanode_http",
        "journalnode_rpc",
        "journalnode_http",
        "zookeeper",
    }
    flat = [pair.namenodes[0].http, pair.namenodes[1].http, *(getattr(pair, name) for name in named(pair))]
    assert len(set(flat)) == len(flat)


def test_https_is_beside_http_or_in_its_place() -> None:
    """As dfs.http.policy says."""
    both = leased(ClusterSpec(tls=Tls(), ha=True))
    assert all(namenode.http and namenode.https for namenode in both.namenodes)
    assert {"datanode_http", "datanode_https", "journalnode_http", "journalnode_https"} < named(both)
    alone = leased(ClusterSpec(tls=Tls(http_policy="HTTPS_ONLY"), ha=True))
    assert all(namenode.https and not namenode.http for namenode in alone.namenodes)
    assert not {"datanode_http", "journalnode_http"} & named(alone)


@pytest.mark.parametrize(
    ("spec", "host"),
    [
        (ClusterSpec(), "127.0.0.1"),
        (ClusterSpec(kerberos=Kerberos()), "localhost"),
        (ClusterSpec(tls=Tls()), "localhost"),
        (ClusterSpec(with_zookeeper=True, zookeeper_security=ZooKeeperSecurity(tls=True)), "localhost"),
    ],
)
def test_what_carries_a_name_is_asked_by_it(spec: ClusterSpec, host: str) -> None:
    """Principals and certificates do."""
    addresses = leased(spec)
    shown = [addresses.namenodes[0].rpc, *(getattr(addresses, name) for name in named(addresses))]
    assert {address.rpartition(":")[0] for address in shown} == {host}
    assert bool(addresses.zookeeper_secure) == spec.zookeeper_security.tls


def test_a_port_that_is_asked_for_is_had_or_refused() -> None:
    """With its number."""
    with PortLease() as other:
        free = other.take()
        with pytest.raises(PortError, match=str(free)):
            leased(ClusterSpec(ports=Ports(namenode_rpc=free)))
    assert leased(ClusterSpec(ports=Ports(namenode_rpc=free))).namenodes[0].rpc == f"127.0.0.1:{free}"
