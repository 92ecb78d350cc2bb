"""What a ZooKeeper reads that knows its clients, and whom real ones then let in."""

import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import KazooException, NoAuthError, SessionClosedRequireSaslError
from kazoo.security import make_acl

from nncache.testbed import ZooKeeperServer
from nncache.testbed.certificates import Authority
from nncache.testbed.https import SERVER
from nncache.testbed.spec import ClusterSpec, ZooKeeperSecurity
from nncache.testbed.zookeeper_security import Places, jaas, lines, options
from tests.cluster import HADOOP
from tests.patience import HANG_S

PLACES = Places(kdc=Path("/d/kdc"), authority=Path("/d/tls"), jaas=Path("/d/jaas.conf"))
DIGEST = ZooKeeperSecurity(digest_users={"publisher": "secret"})


def test_one_that_lets_everybody_in_reads_nothing_of_it() -> None:
    """As before."""
    security = ZooKeeperSecurity()
    assert (lines(security, "", PLACES), jaas(security, PLACES), options(security, PLACES)) == ((), "", ())


def test_kerberos_needs_the_keytab_of_its_own_principal() -> None:
    """And krb5.conf, to find the KDC."""
    security = ZooKeeperSecurity(kerberos=True)
    assert 'keyTab="/d/kdc/keytabs/zookeeper-localhost.keytab"' in jaas(security, PLACES)
    assert 'principal="zookeeper/localhost@TEST.LOCAL"' in jaas(security, PLACES)
    assert "-Djava.security.krb5.conf=/d/kdc/krb5.conf" in options(security, PLACES)
    assert "-Djava.security.auth.login.config=/d/jaas.conf" in options(security, PLACES)


def test_users_of_digest_stand_in_the_jaas_file() -> None:
    """With their passwords, each in an option of the login module."""
    assert 'DigestLoginModule required\n  user_publisher="secret";\n};' in jaas(DIGEST, PLACES)
    assert not any("krb5" in option for option in options(DIGEST, PLACES))


def test_tls_has_a_port_of_its_own() -> None:
    """Which Netty alone serves."""
    security = ZooKeeperSecurity(tls=True, client_certificates="none")
    found = lines(security, "localhost:9", PLACES)
    assert {"secureClientPort=9", "secureClientPortAddress=localhost", "ssl.clientAuth=none"} < set(found)
    assert any("NettyServerCnxnFactory" in option for option in options(security, PLACES))
    assert jaas(security, PLACES) == ""


def test_what_cannot_be_is_refused() -> None:
    """With the reason."""
    with pytest.raises(ValueError, match="one of the two SASL mechanisms"):
        ZooKeeperSecurity(kerberos=True, digest_users={"a": "b"})
    with pytest.raises(ValueError, match="sasl_required: needs kerberos or digest_users"):
        ZooKeeperSecurity(sasl_required=True)
    with pytest.raises(ValueError, match="'maybe' must be need, want or none"):
        ZooKeeperSecurity(client_certificates="maybe")
    with pytest.raises(ValueError, match="needs a cluster with Kerberos"):
        ClusterSpec(zookeeper_security=ZooKeeperSecurity(kerberos=True))


@contextmanager
def session(address: str, **options: object) -> Iterator[KazooClient]:
    """Yield a client that has a session; its calls show whether it may use it."""
    client = KazooClient(address, timeout=20.0, **options)
    try:
        client.start(timeout=2 * HANG_S)
        yield client
    finally:
        client.stop()
        client.close()


def digest(password: str) -> dict[str, str]:
    """Return what kazoo authenticates with."""
    return {"mechanism": "DIGEST-MD5", "username": "publisher", "password": password}


@pytest.mark.parametrize("required", [False, True])
def test_a_user_by_digest_keeps_strangers_out(*, required: bool) -> None:
    """By an ACL, or altogether where SASL is required; a wrong password is refused either way."""
    security = ZooKeeperSecurity(digest_users=DIGEST.digest_users, sasl_required=required)
    with ZooKeeperServer(hadoop_version=HADOOP, security=security) as server:
        with session(server.address, sasl_options=digest("secret")) as known:
            known.create("/own", b"x", acl=[make_acl("sasl", "publisher", all=True)])
        refusal = SessionClosedRequireSaslError if required else NoAuthError
        with session(server.address) as stranger, pytest.raises(refusal):
            stranger.get("/own")
        if not required:  # then kazoo's thread dies of the same refusal, before it can be asked
            guessed = digest("guessed")
            with session(server.address, sasl_options=guessed) as refused, pytest.raises(KazooException):
                refused.get("/own")


def test_a_client_with_a_certificate_has_its_name(tmp_path: Path) -> None:
    """Over TLS; without one there is no session, and plain there is one as a stranger."""
    authority = Authority(tmp_path)
    authority.issue(SERVER)
    client = authority.issue("zkclient")
    shown = {"ca": str(authority.ca), "certfile": str(client.chain), "keyfile": str(client.key)}
    security = ZooKeeperSecurity(tls=True)
    with ZooKeeperServer(hadoop_version=HADOOP, security=security, authority=tmp_path) as server:
        with session(server.secure_address, use_ssl=True, check_hostname=True, **shown) as known:
            known.create("/own", b"x", acl=[make_acl("x509", client.subject, all=True)])
            assert known.get("/own")[0] == b"x"
        with session(server.address) as stranger, pytest.raises(NoAuthError):
            stranger.get("/own")
        nameless = authority.client_context()  # kazoo would leave its sockets open
        host, _, port = server.secure_address.rpartition(":")
        with (
            pytest.raises(ssl.SSLError, match="certificate"),
            socket.create_connection((host, int(port)), timeout=30) as plain,
            nameless.wrap_socket(plain, server_hostname=host) as secure,
        ):
            secure.recv(1)  # with TLS 1.3 it is refused after the handshake
