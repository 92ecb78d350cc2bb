"""What a ZooKeeper that knows its clients reads beside others."""

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
    """Where a ZooKeeper listens for clients ("host:port"), and how it knows them."""

    address: str
    secure_address: str = ""  # of the port with TLS; empty: ZooKeeper has no such port
    security: ZooKeeperSecurity
    # directory of a KDC that has zookeeper/localhost and its keytab, for security with Kerberos
    kdc: Path = Path()
    # directory of a certificate authority that has issued to `https.SERVER`, for security with TLS
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
        """Take the wanted port, or a free one, and another one for TLS where it is asked for."""
        host = HOST_NAME if security.kerberos or security.tls else "127.0.0.1"
        return cls(
            address=f"{host}:{ports.take(wanted)}",
            secure_address=f"{host}:{ports.take()}" if security.tls else "",
            security=security,
            kdc=kdc,
            authority=authority,
        )


def lines(ports: ClientPorts) -> tuple[str, ...]:
    """Return the lines that zoo.cfg has beside those of a ZooKeeper that lets everybody in."""
    security, found = ports.security, list[str]()
    if security.kerberos or security.digest_users:
        found.append(f"authProvider.1={_SHADED}.auth.SASLAuthenticationProvider")
    if security.sasl_required:
        # The first keeps a session from being used without SASL in 3.6 and later (ZOOKEEPER-1634, ZOOKEEPER-3979).
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
    """Return its JAAS file; empty without SASL."""
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
    """Return the options of its JVM."""
    security, found = ports.security, list[str]()
    if security.kerberos:
        found.append(f"-Djava.security.krb5.conf={kdc.krb5_conf(ports.kdc)}")
    if security.kerberos or security.digest_users:
        found.append(f"-Djava.security.auth.login.config={jaas_file}")
    if security.tls:  # the other factory speaks no TLS
        found.append(f"-Dzookeeper.serverCnxnFactory={_SHADED}.NettyServerCnxnFactory")
    return tuple(found)
