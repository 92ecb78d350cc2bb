"""The additional configuration of a ZooKeeper that authenticates its clients."""

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from nncache.testbed import kdc
from nncache.testbed.https import SERVER, STORE_PASSWORD, keystore, truststore
from nncache.testbed.ports import PortLease
from nncache.testbed.spec import HOST_NAME, REALM, ZooKeeperSecurity

PRINCIPAL = f"zookeeper/{HOST_NAME}"
_SHADED = "org.apache.hadoop.shaded.org.apache.zookeeper.server"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientPorts:
    """A ZooKeeper's client addresses ("host:port"), and how it authenticates clients."""

    address: str
    secure_address: str = ""  # of the port with TLS; empty: there is no such port
    security: ZooKeeperSecurity
    # with Kerberos: the directory of a KDC that has zookeeper/localhost and its keytab
    kdc: Path = Path()
    # with TLS: the directory of a certificate authority that has issued a certificate to `https.SERVER`
    authority: Path = Path()

    @classmethod
    def leased(
        cls,
        ports: PortLease,
        security: ZooKeeperSecurity,
        wanted: int = 0,
        *,
        kdc: Path = Path(),
        authority: Path = Path(),
    ) -> Self:
        """Lease the wanted port, or a free one if it is 0, and another port for TLS if `security` asks for it."""
        host = HOST_NAME if security.kerberos or security.tls else "127.0.0.1"
        return cls(
            address=f"{host}:{ports.take(wanted)}",
            secure_address=f"{host}:{ports.take()}" if security.tls else "",
            security=security,
            kdc=kdc,
            authority=authority,
        )


def lines(ports: ClientPorts) -> tuple[str, ...]:
    """Return the additional lines of zoo.cfg; none for a ZooKeeper without security."""
    security, found = ports.security, list[str]()
    if security.kerberos or security.digest_users:
        found.append(f"authProvider.1={_SHADED}.auth.SASLAuthenticationProvider")
    if security.sasl_required:
        # The first refuses the use of a session without SASL in 3.6 and later (ZOOKEEPER-1634, ZOOKEEPER-3979).
        found += ("sessionRequireClientSASLAuth=true", "enforce.auth.enabled=true")
        found.append("enforce.auth.schemes=sasl")
    if security.tls:
        host, _, port = ports.secure_address.rpartition(":")
        found += (
            f"secureClientPort={port}",
            f"secureClientPortAddress={host}",
            f"ssl.keyStore.location={keystore(ports.authority, SERVER)}",
            f"ssl.keyStore.password={STORE_PASSWORD}",
            f"ssl.trustStore.location={truststore(ports.authority)}",
            f"ssl.trustStore.password={STORE_PASSWORD}",
            f"ssl.clientAuth={security.client_certificates}",
        )
    return tuple(found)


def jaas(ports: ClientPorts) -> str:
    """Return the content of the JAAS file; empty without SASL."""
    security = ports.security
    if security.kerberos:
        module = "com.sun.security.auth.module.Krb5LoginModule"
        options = {
            "useKeyTab": "true",
            "keyTab": str(kdc.keytab(ports.kdc, PRINCIPAL)),
            "storeKey": "true",
            "useTicketCache": "false",
            "principal": f"{PRINCIPAL}@{REALM}",
        }
    elif security.digest_users:
        module = f"{_SHADED}.auth.DigestLoginModule"
        options = {f"user_{name}": password for name, password in security.digest_users.items()}
    else:
        return ""
    written = "\n".join(f'  {key}="{value}"' for key, value in options.items())
    return f"Server {{\n  {module} required\n{written};\n}};\n"


def options(ports: ClientPorts, jaas_file: Path) -> tuple[str, ...]:
    """Return the additional options of the JVM."""
    security, found = ports.security, list[str]()
    if security.kerberos:
        found.append(f"-Djava.security.krb5.conf={kdc.krb5_conf(ports.kdc)}")
    if security.kerberos or security.digest_users:
        found.append(f"-Djava.security.auth.login.config={jaas_file}")
    if security.tls:  # the default factory does not support TLS
        found.append(f"-Dzookeeper.serverCnxnFactory={_SHADED}.NettyServerCnxnFactory")
    return tuple(found)
