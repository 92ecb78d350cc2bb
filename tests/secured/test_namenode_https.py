"""A NameNode asked only over HTTPS: the same service, and no secret in clear text."""

import http.client
import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from nncache.testbed import Cluster, Kdc
from nncache.testbed.certificates import Authority
from nncache.testbed.daemon import ProxyDaemon, PublisherDaemon
from nncache.testbed.ports import PortLease
from nncache.testbed.relay import Relay
from tests.cluster import webhdfs
from tests.commands.planted import checked
from tests.kerberos import clients_of, need_gssapi, negotiate
from tests.secured.asking import Question, ask, cookie_of, kept_place, namenode_of, until_hit
from tests.secured.service import identity_flags, run, tls_flags, without, zookeeper_flags

GLOBS = ("--glob", "/https/*", "--glob", "/https/*/*")


def https_flags(cluster: Cluster, kdc: Kdc) -> tuple[str, ...]:
    """Return the flags of the NameNodes' HTTPS addresses, their CA and the service's principal."""
    assert cluster.authority is not None
    return (
        *without(identity_flags(cluster, kdc), "--namenode-http"),
        *("--namenode-http", ",".join(each.https for each in cluster.namenodes)),
        *("--namenode-tls", "--namenode-ca", str(cluster.authority.ca)),
    )


@pytest.fixture(scope="module")
def proxy(secured_cluster: Cluster) -> Iterator[tuple[ProxyDaemon, str]]:
    """A proxy that uses TLS except for RPC, and its TLS address."""
    need_gssapi()
    assert secured_cluster.kdc is not None
    with PortLease() as ports, clients_of(secured_cluster.kdc):
        port = ports.take()
        own = tls_flags(secured_cluster, "https-proxy", port)
        with ProxyDaemon(*https_flags(secured_cluster, secured_cluster.kdc), *own, *GLOBS) as made:
            made.await_gate()
            yield made, f"127.0.0.1:{port}"


@pytest.fixture
def place(secured_cluster: Cluster) -> str:
    """A directory of alice that contains a directory `d`."""
    path = kept_place(secured_cluster, top="/https")
    webhdfs(secured_cluster, "PUT", f"{path}/d", "MKDIRS")
    return path


def test_hits_and_a_write_in_two_steps(
    secured_cluster: Cluster, proxy: tuple[ProxyDaemon, str], place: str
) -> None:
    """The redirect leads to a DataNode over HTTPS. The written file is visible through the proxy."""
    made, _ = proxy
    assert secured_cluster.authority is not None
    headers = (("Cookie", cookie_of(secured_cluster, "alice")),)
    hit = until_hit(made, Question(f"{place}/d", headers=headers))
    own = ask(namenode_of(secured_cluster), Question(f"{place}/d", headers=headers))
    assert (hit.status, hit.body) == (own.status, own.body)
    assert ask(made.address, Question(f"{place}/f", headers=headers)).status == 404
    create = ask(made.address, Question(f"{place}/f", "&overwrite=false", headers, "CREATE", "PUT"))
    location = urlsplit(create.header("Location"))
    assert (create.status, location.scheme) == (307, "https")
    context = secured_cluster.authority.client_context()
    connection = http.client.HTTPSConnection(location.netloc, timeout=60, context=context)
    try:
        connection.request("PUT", f"{location.path}?{location.query}", body=b"content")
        assert connection.getresponse().status == http.client.CREATED
    finally:
        connection.close()
    seen = ask(made.address, Question(f"{place}/f", headers=headers))
    assert json.loads(seen.body)["FileStatus"]["length"] == len(b"content")


def test_a_secure_cookie_is_for_clients_over_tls(
    secured_cluster: Cluster, proxy: tuple[ProxyDaemon, str], place: str, kdc: Kdc
) -> None:
    """In clear text the cookie is removed and counted. Over TLS it is the NameNode's own."""
    made, listen = proxy
    assert secured_cluster.authority is not None
    question = Question(f"{place}/d", headers=(("Authorization", negotiate(kdc.kinit("alice"))),))
    reply = ask(made.address, question)
    assert (reply.status, reply.header("Set-Cookie")) == (200, "")
    assert made.metrics()["nncache_secure_cookies_removed_total"] == 1
    made.process.await_that(lambda: "tls_listen" in made.process.log.read_text(), "does not say what to do")
    connection = http.client.HTTPSConnection(
        listen, timeout=60, context=secured_cluster.authority.client_context()
    )
    try:
        ticket = {"Authorization": negotiate(kdc.kinit("alice"))}
        connection.request("GET", question.target, headers=ticket)
        over_tls = connection.getresponse()
        assert over_tls.status == http.client.OK
        assert (over_tls.getheader("Set-Cookie") or "").endswith("; Secure; HttpOnly")
    finally:
        connection.close()


@contextmanager
def distrusting(says: str, *flags: str) -> Iterator[ProxyDaemon]:
    """Launch a proxy that trusts no NameNode. It logs the reason, and calls still get a reply."""
    with closing(ProxyDaemon(*flags, "--failover-wait-s", "1", *GLOBS)) as made:
        made.process.launch()
        made.process.await_that(lambda: says in made.process.log.read_text(), f"no word of: {says}")
        made.process.await_that(lambda: made.readiness() != {}, "has no pages")
        assert ask(made.address, Question("/")).status in {502, 503}
        assert ask(made.address, Question("/d", op="MKDIRS", method="PUT")).status in {502, 503}
        yield made


def test_a_namenode_of_another_authority_is_not_asked(
    secured_cluster: Cluster, kdc: Kdc, tmp_path: Path
) -> None:
    """When the right file replaces the wrong one, the proxy works without a restart."""
    need_gssapi()
    assert secured_cluster.authority is not None
    ca, new = tmp_path / "ca.pem", tmp_path / "new.pem"
    ca.write_bytes(Authority(tmp_path / "foreign").ca.read_bytes())
    flags = without(https_flags(secured_cluster, kdc), "--namenode-ca")
    says = (
        f"{secured_cluster.namenodes[0].https}: its certificate is not believed: unable to get local issuer"
    )
    with distrusting(says, *flags, "--namenode-ca", str(ca)) as made:
        assert "namenode_ca must name the PEM file" in made.process.log.read_text()
        new.write_bytes(secured_cluster.authority.ca.read_bytes())
        new.replace(ca)
        made.await_gate()
        assert ask(made.address, Question("/")).status == 401


def test_a_namenode_of_another_name_is_not_asked(secured_cluster: Cluster, kdc: Kdc) -> None:
    """Its certificate names localhost and 127.0.0.1."""
    need_gssapi()
    flags = without(https_flags(secured_cluster, kdc), "--namenode-http")
    says = "name the NameNode in namenode_http as its certificate does"
    with (
        Relay(secured_cluster.namenodes[0].https, host="127.0.0.2") as elsewhere,
        distrusting(says, *flags, "--namenode-http", elsewhere.address),
    ):
        assert elsewhere.connections > 0


def test_filters_are_published_over_https(secured_cluster: Cluster, kdc: Kdc) -> None:
    """A command writes them and a publisher reads them over HTTPS."""
    need_gssapi()
    own = https_flags(secured_cluster, kdc)
    places = ("--filters-path", "/filters/https")
    add = ("filters", "add", "--name", "https", "--glob", "/https/*", "--owner", "nncache")
    run(*add, *without(own, "--namenode-rpc"), *places)
    with PublisherDaemon(*own, *zookeeper_flags(secured_cluster, "/https"), *places) as publisher:
        publisher.await_publishing()


def test_a_check_says_which_key_to_set(secured_cluster: Cluster, kdc: Kdc) -> None:
    """Found are TLS on a plain port, plain HTTP on a TLS port, and an untrusted certificate."""
    need_gssapi()
    assert secured_cluster.authority is not None
    own = ("proxy", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--glob", "/no/*")
    plain, https = identity_flags(secured_cluster, kdc), https_flags(secured_cluster, kdc)
    right = checked(*own, *https)
    assert not right.of("addresses", "failed"), right
    assert right.of("jmx", "ok"), right
    tls = ("--namenode-tls", "--namenode-ca", str(secured_cluster.authority.ca))
    (on_plain,) = checked(*own, *plain, *tls).of("addresses", "failed")
    assert "is a plain HTTP port, and HTTPS is wanted" in on_plain
    assert "or set --namenode-tls to false" in on_plain
    (on_tls,) = checked(
        *own, *(word for word in without(https, "--namenode-ca") if word != "--namenode-tls")
    ).of("addresses", "failed")
    assert "set --namenode-tls to true, and --namenode-ca" in on_tls
    (distrusted,) = checked(*own, *without(https, "--namenode-ca")).of("addresses", "failed")
    assert "namenode_ca must name the PEM file" in distrusted
