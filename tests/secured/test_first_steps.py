"""The instructions of `nncache cluster --secure` work."""

import json
import subprocess

from nncache.testbed import Cluster
from nncache.testbed.command import first_steps, kerberos_of, tls_of
from tests.kerberos import need_curl


def test_what_it_says_works(secured_cluster: Cluster) -> None:
    """A shell gets a ticket and sends a call over HTTP and HTTPS."""
    need_curl()
    reported = first_steps(secured_cluster)
    done = subprocess.run(
        ("sh", "-ec", "\n".join(reported)), capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done
    assert done.stdout == 2 * '{"Path":"/user/alice"}'
    assert [line.split(" ")[0] for line in reported] == ["export", "export", "kinit", "curl", "curl"]


def test_each_principal_has_a_keytab(secured_cluster: Cluster) -> None:
    """The facts can be written as JSON."""
    reported = json.loads(json.dumps(kerberos_of(secured_cluster)))
    assert secured_cluster.kdc is not None
    assert {"alice", "bob", "carol", "nncache/localhost", "HTTP/localhost"} < reported["keytabs"].keys()
    assert reported["kdc"] == secured_cluster.kdc.address
    for principal, keytab in reported["keytabs"].items():
        shown = subprocess.run(("klist", "-k", keytab), capture_output=True, text=True, check=True).stdout
        assert f" {principal}@TEST.LOCAL\n" in shown


def test_the_ports_with_tls_are_reported(secured_cluster: Cluster) -> None:
    """The CA file is reported, too."""
    reported = json.loads(json.dumps(tls_of(secured_cluster)))
    assert reported["namenode_https"] == [secured_cluster.namenodes[0].https]
    assert reported["zookeeper_secure"] == secured_cluster.zookeeper.secure_address
    assert reported["ca"].endswith("ca.pem")
