"""Clients nobody here wrote over TLS: the proxy's own certificate, Kerberos behind it."""

from collections.abc import Iterator

import hdfs
import pytest
import requests

from nncache.testbed import Cluster, Kdc
from nncache.testbed.daemon import Proxy
from nncache.testbed.ports import PortLease
from tests.kerberos import clients_of, need_gssapi
from tests.secured.asking import cookie_of, curl, kept_path, token_of
from tests.secured.service import identity_flags, tls_flags

ASKED = 4


@pytest.fixture(scope="module")
def tls_proxy(secured_cluster: Cluster) -> Iterator[tuple[Proxy, str]]:
    """A proxy on the direct channel with both ports, and the address of the one for TLS."""
    need_gssapi()
    assert secured_cluster.kdc is not None
    with PortLease() as ports, clients_of(secured_cluster.kdc):
        port = ports.take()
        flags = identity_flags(secured_cluster, secured_cluster.kdc)
        tls = tls_flags(secured_cluster, "proxy", port)
        with Proxy(*flags, *tls, "--glob", "/tls/*", "--glob", "/tls/*/*") as proxy:
            proxy.await_gate()
            yield proxy, f"localhost:{port}"


@pytest.fixture
def path(secured_cluster: Cluster) -> str:
    """A directory of alice's, which is kept."""
    return kept_path(secured_cluster, top="/tls")


def test_requests_over_tls(secured_cluster: Cluster, tls_proxy: tuple[Proxy, str], path: str) -> None:
    """A cookie, verified host name, hits; who does not trust the authority gets nothing."""
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
    secured_cluster: Cluster, kdc: Kdc, tls_proxy: tuple[Proxy, str], path: str
) -> None:
    """The ticket is for the host that the URL names, whatever the scheme."""
    assert secured_cluster.authority is not None
    url = f"https://{tls_proxy[1]}/webhdfs/v1{path}?op=GETFILESTATUS"
    assert b"FileStatus" in curl(kdc, kdc.kinit("alice"), url, "--cacert", str(secured_cluster.authority.ca))


def test_hdfscli_over_tls(secured_cluster: Cluster, tls_proxy: tuple[Proxy, str], path: str) -> None:
    """PyPI's `hdfs`, with a token."""
    _, address = tls_proxy
    assert secured_cluster.authority is not None
    session = requests.Session()
    session.verify, session.trust_env = str(secured_cluster.authority.ca), False
    client = hdfs.TokenClient(f"https://{address}", token_of(secured_cluster, "alice"), session=session)
    assert [client.status(path)["type"] for _ in range(ASKED)] == ["DIRECTORY"] * ASKED


def test_the_shell_of_hadoop_over_tls(
    secured_cluster: Cluster, tls_proxy: tuple[Proxy, str], path: str
) -> None:
    """`swebhdfs://`, with a token that it fetches through the proxy."""
    _, address = tls_proxy
    shown = secured_cluster.fs_shell("-stat", "%F", f"swebhdfs://{address}{path}", user="alice")
    assert (shown.exit_code, shown.stdout) == (0, "directory\n"), shown.stderr
