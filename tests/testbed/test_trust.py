"""The KDC and the certificate authority of a cluster, laid out as its servers find them."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from nncache.testbed import KerberosError
from nncache.testbed.java import JavaRuntime
from nncache.testbed.ports import PortLease
from nncache.testbed.spec import ClusterSpec, Kerberos, Tls, ZooKeeperSecurity
from nncache.testbed.trust import Trust
from nncache.testbed.workplace import Workplace, workplace
from tests.kerberos import need_kdc


@pytest.fixture
def place() -> Iterator[Workplace]:
    """Where no server runs yet."""
    runtime = JavaRuntime(java=sys.executable, jars=())
    with workplace(runtime, "x", directory=None, user="hdfs", start_timeout_s=5) as made:
        yield made


@pytest.fixture
def ports() -> Iterator[PortLease]:
    """Ports."""
    with PortLease() as lease:
        yield lease


def test_a_cluster_without_either_has_none(place: Workplace, ports: PortLease) -> None:
    """And its shells have no tickets."""
    trust = Trust(ClusterSpec(), place, ports)
    trust.start()
    assert (trust.kdc, trust.authority, trust.jvm()) == (None, None, ())
    with trust.tickets("alice") as variables:
        assert variables == {}
    assert trust.access("nn1").headers("alice") == {}
    assert trust.access("nn1").context is None


def test_shells_have_tickets_of_their_own(place: Workplace, ports: PortLease) -> None:
    """Gone when the shell has ended; users without a principal have none."""
    need_kdc()
    trust = Trust(ClusterSpec(kerberos=Kerberos()), place, ports)
    assert trust.kdc is not None
    try:
        trust.start()
        with trust.tickets("alice") as first, trust.tickets("alice") as second:
            files = {variables["KRB5CCNAME"].removeprefix("FILE:") for variables in (first, second)}
            assert len(files) == 2
            assert all(map(os.path.exists, files))
        assert not any(map(os.path.exists, files))
        with pytest.raises(KerberosError, match="mallory"), trust.tickets("mallory"):
            pass
        assert trust.jvm() == (f"-Djava.security.krb5.conf={trust.kdc.krb5_conf}",)
        assert "hadoop.auth" in trust.access("nn1").headers("alice")["Cookie"]
    finally:
        trust.kdc.process.kill()


@pytest.mark.parametrize(
    "spec",
    [
        ClusterSpec(tls=Tls()),
        ClusterSpec(tls=Tls(http_policy="HTTPS_ONLY")),
        ClusterSpec(zookeeper_security=ZooKeeperSecurity(tls=True)),
    ],
)
def test_the_servers_have_a_certificate(spec: ClusterSpec, place: Workplace, ports: PortLease) -> None:
    """The test bed itself asks over TLS only where there is nothing else."""
    trust = Trust(spec, place, ports)
    assert trust.authority is not None
    assert Path(place.data / "tls" / "server.p12").exists()
    https_only = spec.tls is not None and spec.tls.https_only
    assert (trust.access("nn1").context is not None) == https_only


def test_a_mistaken_administrator_makes_it_believe_names(place: Workplace, ports: PortLease) -> None:
    """Then the test bed asks by `user.name`, as everybody can."""
    need_kdc()
    trust = Trust(ClusterSpec(kerberos=Kerberos(with_http_authentication=False)), place, ports)
    assert trust.access("nn1").headers("alice") == {}
