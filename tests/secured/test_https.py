"""HTTPS beside HTTP, with Kerberos and without."""

import http.client
import ssl

import pytest

from nncache.testbed import Cluster, ClusterSpec, Kdc, Tls
from tests.cluster import HADOOP, webhdfs
from tests.kerberos import negotiate


def ask(cluster: Cluster, context: ssl.SSLContext, **headers: str) -> tuple[int, str | None]:
    """Ask the NameNode over TLS; returns the status and Set-Cookie."""
    host, _, port = cluster.namenodes[0].https.rpartition(":")
    connection = http.client.HTTPSConnection(host, int(port), timeout=30, context=context)
    try:
        connection.request("GET", "/webhdfs/v1/?op=GETHOMEDIRECTORY", headers=headers)
        response = connection.getresponse()
        return response.status, response.getheader("Set-Cookie")
    finally:
        connection.close()


def test_a_cookie_that_was_given_over_tls_is_for_tls(secured_cluster: Cluster, kdc: Kdc) -> None:
    """`Secure`; the same ticket serves on both ports."""
    assert secured_cluster.authority is not None
    context = secured_cluster.authority.client_context()
    assert ask(secured_cluster, context)[0] == http.client.UNAUTHORIZED
    status, cookie = ask(secured_cluster, context, Authorization=negotiate(kdc.kinit("alice")))
    assert status == http.client.OK
    assert cookie is not None
    assert "u=alice&" in cookie
    assert cookie.endswith("; Path=/; Secure; HttpOnly")


def test_who_does_not_know_the_authority_does_not_ask(secured_cluster: Cluster) -> None:
    """The certificate is not one of the operating system's."""
    with pytest.raises(ssl.SSLCertVerificationError):
        ask(secured_cluster, ssl.create_default_context())


def test_the_shell_trusts_the_authority(secured_cluster: Cluster) -> None:
    """By ssl-client.xml."""
    namenode = secured_cluster.namenodes[0]
    shown = secured_cluster.fs_shell("-stat", "%u", f"swebhdfs://{namenode.https}/", user="alice")
    assert (shown.exit_code, shown.stdout, shown.stderr) == (0, f"{secured_cluster.superuser}\n", "")


@pytest.mark.long
def test_https_may_be_all_there_is() -> None:
    """For a pair too: the standby fetches the edits of the active one over it."""
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
