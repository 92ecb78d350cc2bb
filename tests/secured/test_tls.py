"""Independent clients over TLS, with the proxy's own certificate and a secured cluster."""

import http.client
import ssl
from collections.abc import Iterator

import hdfs
import pytest
import requests

from nncache.testbed import Cluster, ClusterSpec, Kdc, Tls
from nncache.testbed.daemon import ProxyDaemon
from nncache.testbed.ports import PortLease
from tests.cluster import HADOOP, webhdfs
from tests.kerberos import clients_of, need_gssapi, negotiate
from tests.secured.asking import cookie_of, curl, kept_path, token_of
from tests.secured.service import identity_flags, tls_flags

ASKED = 4


@pytest.fixture(scope="module")
def tls_proxy(secured_cluster: Cluster) -> Iterator[tuple[ProxyDaemon, str]]:
    """A proxy on the direct channel with both ports, and the address of its TLS port."""
    need_gssapi()
    assert secured_cluster.kdc is not None
    with PortLease() as ports, clients_of(secured_cluster.kdc):
        port = ports.take()
        flags = identity_flags(secured_cluster, secured_cluster.kdc)
        tls = tls_flags(secured_cluster, "proxy", port)
        with ProxyDaemon(*flags, *tls, "--glob", "/tls/*", "--glob", "/tls/*/*") as proxy:
            proxy.await_gate()
            yield proxy, f"localhost:{port}"


@pytest.fixture
def path(secured_cluster: Cluster) -> str:
    """A directory of alice, whose status is cached."""
    return kept_path(secured_cluster, top="/tls")


def test_requests_over_tls(secured_cluster: Cluster, tls_proxy: tuple[ProxyDaemon, str], path: str) -> None:
    """A cookie gets hits over a verified connection. A client that does not trust the authority gets nothing."""
    proxy, address = tls_proxy
    assert secured_cluster.authority is not None
    url = f"https://{address}/webhdfs/v1{path}?op=GETFILESTATUS"
    with requests.Session() as session:
        session.verify, session.trust_env = str(secured_cluster.authority.ca), False
        session.headers["Cookie"] = cookie_of(secured_cluster, "alice")
        while not session.get(url, timeout=60).headers["Cache-Status"].startswith("nncache; hit"):
            pass
        assert session.get(url, timeout=60).json()["FileStatus"]["type"] == "DIRECTORY"
    with pytest.raises(requests.exceptions.SSLError):
        requests.get(url, timeout=60)
    assert proxy.metrics()["nncache_tls_handshakes_total"] >= 1


def test_curl_negotiates_over_tls(
    secured_cluster: Cluster, kdc: Kdc, tls_proxy: tuple[ProxyDaemon, str], path: str
) -> None:
    """The ticket is for the host in the URL, whatever the scheme."""
    assert secured_cluster.authority is not None
    url = f"https://{tls_proxy[1]}/webhdfs/v1{path}?op=GETFILESTATUS"
    assert b"FileStatus" in curl(kdc, kdc.kinit("alice"), url, "--cacert", str(secured_cluster.authority.ca))


def test_hdfscli_over_tls(secured_cluster: Cluster, tls_proxy: tuple[ProxyDaemon, str], path: str) -> None:
    """PyPI's `hdfs`, with a token."""
    _, address = tls_proxy
    assert secured_cluster.authority is not None
    session = requests.Session()
    session.verify, session.trust_env = str(secured_cluster.authority.ca), False
    client = hdfs.TokenClient(f"https://{address}", token_of(secured_cluster, "alice"), session=session)
    assert [client.status(path)["type"] for _ in range(ASKED)] == ["DIRECTORY"] * ASKED


def test_the_shell_of_hadoop_over_tls(
    secured_cluster: Cluster, tls_proxy: tuple[ProxyDaemon, str], path: str
) -> None:
    """The URL has the scheme `swebhdfs`. The shell fetches a token through the proxy."""
    _, address = tls_proxy
    shown = secured_cluster.fs_shell("-stat", "%F", f"swebhdfs://{address}{path}", user="alice")
    assert (shown.returncode, shown.stdout) == (0, "directory\n"), shown.stderr


def ask(cluster: Cluster, context: ssl.SSLContext, **headers: str) -> tuple[int, str | None]:
    """Send a request to the NameNode over TLS; return the status and Set-Cookie."""
    host, _, port = cluster.namenodes[0].https.rpartition(":")
    connection = http.client.HTTPSConnection(host, int(port), timeout=30, context=context)
    try:
        connection.request("GET", "/webhdfs/v1/?op=GETHOMEDIRECTORY", headers=headers)
        response = connection.getresponse()
        return response.status, response.getheader("Set-Cookie")
    finally:
        connection.close()


def test_a_cookie_that_was_given_over_tls_is_for_tls(secured_cluster: Cluster, kdc: Kdc) -> None:
    """It is `Secure`."""
    assert secured_cluster.authority is not None
    context = secured_cluster.authority.client_context()
    assert ask(secured_cluster, context)[0] == http.client.UNAUTHORIZED
    status, cookie = ask(secured_cluster, context, Authorization=negotiate(kdc.kinit("alice")))
    assert status == http.client.OK
    assert cookie is not None
    assert "u=alice&" in cookie
    assert cookie.endswith("; Path=/; Secure; HttpOnly")


def test_who_does_not_know_the_authority_does_not_ask(secured_cluster: Cluster) -> None:
    """The operating system does not trust the cluster's authority."""
    with pytest.raises(ssl.SSLCertVerificationError):
        ask(secured_cluster, ssl.create_default_context())


def test_the_shell_trusts_the_authority(secured_cluster: Cluster) -> None:
    """ssl-client.xml names it."""
    namenode = secured_cluster.namenodes[0]
    shown = secured_cluster.fs_shell("-stat", "%u", f"swebhdfs://{namenode.https}/", user="alice")
    assert (shown.returncode, shown.stdout, shown.stderr) == (0, f"{secured_cluster.superuser}\n", "")


@pytest.mark.long
def test_https_may_be_all_there_is() -> None:
    """This holds for an HA pair, too: the standby fetches the active NameNode's edits over HTTPS."""
    with Cluster.start(
        ClusterSpec(hadoop_version=HADOOP, tls=Tls(http_policy="HTTPS_ONLY"), ha=True)
    ) as pair:
        assert [namenode.http for namenode in pair.namenodes] == ["", ""]
        assert [namenode.state() for namenode in pair.namenodes] == ["active", "standby"]
        assert webhdfs(pair, "PUT", "/d", "MKDIRS")[0] == http.client.OK
        pair.namenodes[0].process.kill()
        pair.transition_to_active(1)
        pair.await_writable(1)
        assert pair.namenodes[1].state() == "active"
