"""What a user types first at a cluster with Kerberos or TLS."""

import shlex
from typing import Any

from nncache.testbed import kdc, secured
from nncache.testbed.cluster import Cluster
from nncache.testbed.https import STORE_PASSWORD
from nncache.testbed.spec import REALM


def kerberos(cluster: Cluster) -> dict[str, Any] | None:
    """Return where the KDC, the principals and their keytabs are, ready for JSON; None without Kerberos."""
    realm, kerberos = cluster.kdc, cluster.spec.kerberos
    if realm is None or kerberos is None:
        return None
    keytabs = {name: name for name in secured.principals(cluster.spec, kerberos)}
    keytabs |= {secured.SERVICE: secured.SERVICE_KEYTAB, secured.PROXY: secured.PROXY_KEYTAB}
    return {
        "realm": REALM,
        "kdc": realm.address,
        "krb5_conf": str(realm.krb5_conf),
        "keytabs": {principal: str(kdc.keytab(realm.directory, name)) for principal, name in keytabs.items()},
        "environment": realm.environ(realm.directory / "tickets" / "yours"),
    }


def tls(cluster: Cluster) -> dict[str, Any] | None:
    """Return where the certificates and the HTTPS ports are, ready for JSON; None without TLS."""
    authority = cluster.authority
    if authority is None:
        return None
    datanode, zookeeper = cluster.datanode, cluster.zookeeper
    return {
        "ca": str(authority.ca),
        "truststore": str(authority.truststore),
        "store_password": STORE_PASSWORD,
        "namenode_https": [namenode.https for namenode in cluster.namenodes],
        "datanode_https": datanode.https if datanode else None,
        "zookeeper_secure": (zookeeper.secure_address or None) if zookeeper else None,
    }


def lines(cluster: Cluster) -> tuple[str, ...]:
    """Return lines for a shell, in their order: the environment, a ticket, and a call; none for another cluster."""
    realm, authority = kerberos(cluster), cluster.authority
    if realm is None and authority is None:
        return ()
    found: list[str] = []
    asking = ["curl"]
    if realm is not None:
        found += [f"export {name}={shlex.quote(value)}" for name, value in realm["environment"].items()]
        found.append(f"kinit -kt {shlex.quote(realm['keytabs']['alice'])} alice")
        asking += ["--negotiate", "-u", ":"]
    webs = {f"http://{namenode.http}" for namenode in cluster.namenodes[:1] if namenode.http}
    webs |= {f"https://{namenode.https}" for namenode in cluster.namenodes[:1] if namenode.https}
    for web in sorted(webs):
        trusting = (
            ["--cacert", str(authority.ca)] if authority is not None and web.startswith("https") else []
        )
        found.append(shlex.join([*asking, *trusting, f"{web}/webhdfs/v1/?op=GETHOMEDIRECTORY"]))
    return tuple(found)
