"""What a cluster with Kerberos has beside others: configuration keys, principals, secrets."""

import secrets
from pathlib import Path
from typing import Final

from nncache.testbed import kdc
from nncache.testbed.kdc import Kdc
from nncache.testbed.spec import GROUPS_OF_USERS, HOST_NAME, REALM, ClusterSpec, Kerberos, group_mapping

SERVICE: Final = "nncache/localhost"
"""The principal of a publisher or a proxy on the direct channel; a superuser of HDFS, as they have to be."""

PROXY: Final = "proxy/localhost"
"""The principal of a proxy that needs no rights of its own: whom it may act for, `Kerberos.proxy_users` says."""

SERVICE_KEYTAB: Final = "nncache"
PROXY_KEYTAB: Final = "proxy"
"""Names of keytabs with which a proxy has its own principal and accepts its clients' tickets too."""

KDC: Final = "kdc"  # where the KDC keeps all that is its own, within a cluster's data directory

_SERVERS = tuple(f"{name}/{HOST_NAME}" for name in ("nn", "dn", "jn", "HTTP"))
_ZOOKEEPER = f"zookeeper/{HOST_NAME}"
# The second is what a client asks for that takes the proxy's name from its own configuration.
_PROXY_HTTP = (f"HTTP/{HOST_NAME}", "HTTP/proxyhost")
_SERVERS_KEYTAB = "servers"
_GROUPS = {**GROUPS_OF_USERS, "nncache": ("nncache", "supergroup"), "proxy": ("proxy",)}
SECRET_FILE = "hadoop.http.authentication.signature.secret.file"  # noqa: S105 - a key, not a secret


def principals(spec: ClusterSpec) -> tuple[str, ...]:
    """Return all principals of a cluster; each of its users has one of the same name."""
    users = (*(user for user, groups in GROUPS_OF_USERS.items() if groups), spec.superuser)
    services = (*_SERVERS, *_PROXY_HTTP, _ZOOKEEPER, SERVICE, PROXY)
    return tuple(dict.fromkeys((*users, *services)))


def add_principals(realm: Kdc, spec: ClusterSpec) -> None:
    """Make the principals and keytabs of a cluster that the KDC does not have yet.

    Each principal has a keytab of its own name; SERVICE_KEYTAB and PROXY_KEYTAB hold the keys of HTTP/localhost and
    HTTP/proxyhost as well.
    """
    wanted = principals(spec)
    there = realm.principals()
    realm.add(*(name for name in wanted if name not in there))
    keytabs = {name: (name,) for name in wanted}
    for name, held in (
        (_SERVERS_KEYTAB, (*_SERVERS, *_PROXY_HTTP[1:])),
        (SERVICE_KEYTAB, (SERVICE, *_PROXY_HTTP)),
        (PROXY_KEYTAB, (PROXY, *_PROXY_HTTP)),
    ):
        keytabs[name] = (*keytabs.get(name, ()), *held)  # a user may be called like that
    realm.keytabs(keytabs)


def http_secret(data: Path, namenode: str) -> Path:
    """Return the file of the secret that signs the cookies of this NameNode."""
    return data / f"http-secret-{namenode}"


def write_http_secret(data: Path, namenode: str, kerberos: Kerberos) -> bytes:
    """Write the secret of this NameNode, unless it is there from an earlier run, and return it."""
    file = http_secret(data, namenode)
    if not file.exists():
        written = sorted(data.glob(http_secret(data, "*").name)) if kerberos.one_http_secret else []
        file.touch(mode=0o600)
        file.write_bytes(written[0].read_bytes() if written else secrets.token_hex(32).encode())
    return file.read_bytes()


def properties(spec: ClusterSpec, kerberos: Kerberos, data: Path, secret: Path) -> dict[str, str]:
    """Return the keys that a cluster with Kerberos adds to those of another, or sets otherwise."""
    keytab = str(kdc.keytab(data / KDC, _SERVERS_KEYTAB))
    settings = {
        "hadoop.security.authentication": "kerberos",
        "hadoop.security.authorization": "true",
        "hadoop.rpc.protection": kerberos.protection,
        # All servers act as the superuser. A JournalNode gives its edits to requestors of its own short name alone, a
        # NameNode whose full principal it does not see over HTTP included (GetJournalEditServlet.isValidRequestor).
        "hadoop.security.auth_to_local": f"RULE:[2:$1/$2@$0]([ndj]n/.*@{REALM})s/.*/{spec.superuser}/ DEFAULT",
        "hadoop.user.group.static.mapping.overrides": group_mapping(_GROUPS),
        "dfs.block.access.token.enable": "true",
        "dfs.data.transfer.protection": "authentication",
        "ignore.secure.ports.for.testing": "true",  # a DataNode wants ports below 1024 else
        "dfs.web.authentication.kerberos.principal": f"HTTP/_HOST@{REALM}",
        "dfs.web.authentication.kerberos.keytab": keytab,
        "hadoop.http.authentication.type": "kerberos" if kerberos.with_http_authentication else "",
        "hadoop.http.authentication.kerberos.principal": "*",  # any HTTP/ key of the keytab
        "hadoop.http.authentication.kerberos.keytab": keytab,
        SECRET_FILE: str(secret),
        "dfs.journalnode.kerberos.internal.spnego.principal": f"HTTP/_HOST@{REALM}" if spec.ha else "",
    }
    if kerberos.cookie_validity_s is not None:
        settings["hadoop.http.authentication.token.validity"] = str(kerberos.cookie_validity_s)
    servers = {"namenode": "nn", "datanode": "dn"} | ({"journalnode": "jn"} if spec.ha else {})
    for server, name in servers.items():
        settings[f"dfs.{server}.kerberos.principal"] = f"{name}/_HOST@{REALM}"
        settings[f"dfs.{server}.keytab.file"] = keytab
    for user in kerberos.proxy_users:
        settings[f"hadoop.proxyuser.{user.name}.hosts"] = user.hosts
        settings[f"hadoop.proxyuser.{user.name}.users"] = user.users
    return settings
