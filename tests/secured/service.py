"""The settings of nncache's programs in front of the secured cluster."""

import subprocess
import sys
import time
from pathlib import Path

from nncache.hadoop.kerberos.identity import KerberosIdentity, identity_of
from nncache.hadoop.kerberos.settings import KerberosSettings
from nncache.testbed import Cluster, Kdc
from nncache.testbed.kdc import keytab
from nncache.testbed.secured import SERVICE as SERVICE_PRINCIPAL
from nncache.testbed.secured import SERVICE_KEYTAB
from nncache.testbed.spec import REALM

SERVICE = f"nncache/_HOST@{REALM}"
NAMENODES = f"nn/_HOST@{REALM}"


def keytab_of(kdc: Kdc, name: str) -> str:
    """Return the path of a keytab that only its owner may read."""
    return str(keytab(kdc.directory, name))


def identity_flags(
    cluster: Cluster, kdc: Kdc, principal: str = SERVICE, keytab_name: str = "nncache"
) -> tuple[str, ...]:
    """Return the flags of the NameNodes' addresses and of the service's principal."""
    return (
        *("--namenode-http", ",".join(each.http for each in cluster.namenodes)),
        *("--namenode-rpc", ",".join(each.rpc for each in cluster.namenodes)),
        *principal_flags(kdc, principal, keytab_name),
    )


def principal_flags(kdc: Kdc, principal: str = SERVICE, keytab_name: str = "nncache") -> tuple[str, ...]:
    """Return the flags of the service's principal and the NameNodes' principal."""
    own = ("--principal", principal, "--keytab", keytab_of(kdc, keytab_name))
    return (*own, "--namenode-principal", NAMENODES)


def own_identity(cluster: Cluster) -> KerberosIdentity | None:
    """Return the service's principal, a superuser, for one event loop; None on a cluster without Kerberos.

    It needs `tests.kerberos.clients_of` the KDC.
    """
    if cluster.kdc is None:
        return None
    principal = f"{SERVICE_PRINCIPAL}@{REALM}"
    settings = KerberosSettings(principal=principal, keytab=keytab_of(cluster.kdc, SERVICE_KEYTAB))
    return identity_of(settings, time.monotonic)


def zookeeper_flags(cluster: Cluster, root: str) -> tuple[str, ...]:
    """Return the flags of ZooKeeper's address and root."""
    return ("--zookeeper", cluster.zookeeper.address, "--zookeeper-root", root)


def tls_flags(cluster: Cluster, name: str, port: int) -> tuple[str, ...]:
    """Return the flags of a proxy's TLS port, with a certificate of the cluster's authority."""
    assert cluster.authority is not None
    issued = cluster.authority.issue(name)
    certificate = ("--tls-certificate", str(issued.chain), "--tls-key", str(issued.key))
    return ("--tls-listen", f"127.0.0.1:{port}", *certificate)


def run(*words: str) -> str:
    """Run a command of nncache; return its standard output."""
    program = str(Path(sys.executable).with_name("nncache"))
    done = subprocess.run((program, *words), capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def without(flags: tuple[str, ...], name: str) -> tuple[str, ...]:
    """Return the flags without one of them and its value."""
    at = flags.index(name)
    return flags[:at] + flags[at + 2 :]
