"""The additional parts of a cluster with Kerberos: configuration keys, principals, secrets."""

import secrets
from pathlib import Path
from typing import Final

from nncache.testbed import kdc
from nncache.testbed.kdc import Kdc
from nncache.testbed.spec import GROUPS_OF_USERS, HOST_NAME, REALM, ClusterSpec, Kerberos, group_mapping

SERVICE: Final = "nncache/localhost"
"""The principal of a publisher, or of a proxy on the direct channel. Both must be superusers of HDFS."""

PROXY: Final = "proxy/localhost"
"""The principal of a proxy without privileges; `Kerberos.proxy_users` names the users that it may impersonate."""

SERVICE_KEYTAB: Final = "nncache"
PROXY_KEYTAB: Final = "proxy"
"""Names of keytabs for a proxy: they hold its own principal, and the keys that accept its clients' tickets."""

KDC: Final = "kdc"  # the KDC's directory within a cluster's data directory

_SERVERS = tuple(f"{name}/{HOST_NAME}" for name in ("nn", "dn", "jn", "HTTP"))
_ZOOKEEPER = f"zookeeper/{HOST_NAME}"
# The second is for a client that takes the proxy's host name from its own configuration.
_PROXY_HTTP = (f"HTTP/{HOST_NAME}", "HTTP/proxyhost")
_SERVERS_KEYTAB = "servers"
_GROUPS = {**GROUPS_OF_USERS, "nncache": ("nncache", "supergroup"), "proxy": ("proxy",)}
SECRET_FILE = "hadoop.http.authentication.signature.secret.file"  # noqa: S105 - a key, not a secret


def principals(spec: ClusterSpec) -> tuple[str, ...]:
    """Return all principals of a cluster, including one for each user that has a group, with the user's name."""
    users = (*(user for user, groups in GROUPS_OF_USERS.items() if groups), spec.superuser)
    services = (*_SERVERS, *_PROXY_HTTP, _ZOOKEEPER, SERVICE, PROXY)
    return tuple(dict.fromkeys((*users, *services)))


def add_principals(realm: Kdc, spec: ClusterSpec) -> None:
    """Create a cluster's missing principals in the KDC, and write all keytabs.

    Each principal has a keytab of its own name. SERVICE_KEYTAB and PROXY_KEYTAB also hold the keys of HTTP/localhost
    and HTTP/proxyhost.
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
        keytabs[name] = (*keytabs.get(name, ()), *held)  # a user may have this name
    realm.keytabs(keytabs)


def http_secret(data: Path, namenode: str) -> Path:
    """Return the path of the secret that signs this NameNode's cookies."""
    return data / f"http-secret-{namenode}"


def write_http_secret(data: Path, namenode: str, kerberos: Kerberos) -> bytes:
    """Return this NameNode's secret; write it first, unless an earlier run did."""
    file = http_secret(data, namenode)
    if not file.exists():
        written = sorted(data.glob(http_secret(data, "*").name)) if kerberos.one_http_secret else []
        file.touch(mode=0o600)
        file.write_bytes(written[0].read_bytes() if written else secrets.token_hex(32).encode())
    return file.read_bytes()


def properties(spec: ClusterSpec, kerberos: Kerberos, data: Path, secret: Path) -> dict[str, str]:
    """Return the configuration keys that Kerberos adds or changes."""
    keytab = str(kdc.keytab(data / KDC, _SERVERS_KEYTAB))
    settings = {
        "hadoop.security.authentication": "kerberos",
        "hadoop.security.authorization": "true",
        "hadoop.rpc.protection": kerberos.protection,
        # All servers map to the superuser. A JournalNode serves edits only to requestors with its own short name. That
        # includes a NameNode whose full principal HTTP does not carry (GetJournalEditServlet.isValidRequestor).
        "hadoop.security.auth_to_local": f"RULE:[2:$1/$2@$0]([ndj]n/.*@{REALM})s/.*/{spec.superuser}/ DEFAULT",
        "hadoop.user.group.static.mapping.overrides": group_mapping(_GROUPS),
        "dfs.block.access.token.enable": "true",
        "dfs.data.transfer.protection": "authentication",
        "ignore.secure.ports.for.testing": "true",  # otherwise a DataNode requires ports below 1024
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
