"""Clusters with Kerberos in other configurations than the shared one."""

import http.client
import json
import time
from pathlib import Path

import pytest

from nncache.testbed import Cluster, ClusterNameNode, ClusterSpec, Kerberos, Tls
from nncache.testbed.asker import Asker
from tests.cluster import HADOOP, webhdfs
from tests.kerberos import clients_of, need_kdc, negotiate
from tests.secured.test_cluster import COOKIE

pytestmark = pytest.mark.long


def ask(namenode: ClusterNameNode, **headers: str) -> tuple[int, str, bytes]:
    """Ask for the caller's home; return the status, Set-Cookie and the body."""
    with Asker(namenode.web, namenode.access.context) as asker:
        reply = asker.ask("GET", "/webhdfs/v1/?op=GETHOMEDIRECTORY&user.name=root", headers=headers)
    return reply.status, reply.header("Set-Cookie"), reply.body


@pytest.mark.parametrize("one_http_secret", [True, False])
def test_a_shared_secret_makes_a_cookie_good_at_both(*, one_http_secret: bool) -> None:
    """It expires as the cluster's configuration says. A ticket is accepted by both in either case."""
    need_kdc()
    kerberos = Kerberos(one_http_secret=one_http_secret, cookie_validity_s=30, protection="privacy")
    with Cluster.start(ClusterSpec(hadoop_version=HADOOP, kerberos=kerberos, ha=True)) as pair:
        assert pair.kdc is not None
        active, standby = pair.namenodes
        assert (active.state(), standby.state()) == ("active", "standby")
        with clients_of(pair.kdc):
            ticket = pair.kdc.kinit("alice")
            now_s = time.time()  # noqa: TID251 - the NameNode uses the wall clock
            status, cookie, body = ask(active, Authorization=negotiate(ticket))
            assert (status, json.loads(body)) == (http.client.OK, {"Path": "/user/alice"})
            found = COOKIE.search(cookie)
            assert found is not None
            ends_ms = int(found["value"].partition("&e=")[2].partition("&")[0])
            assert 30_000 <= ends_ms - 1000 * now_s <= 90_000
            assert ask(standby, Authorization=negotiate(ticket))[0] == http.client.OK
        at_standby = ask(standby, Cookie=f'hadoop.auth="{found["value"]}"')[0]
        assert at_standby == (http.client.OK if one_http_secret else http.client.UNAUTHORIZED)
        assert webhdfs(pair, "PUT", "/d", "MKDIRS")[0] == http.client.OK
        active.process.kill()
        pair.transition_to_active(1)
        pair.await_writable(1)
        assert standby.state() == "active"


def test_without_http_authentication_names_are_believed() -> None:
    """A proxy must detect this misconfiguration: RPC requires Kerberos, but WebHDFS trusts user.name=root."""
    need_kdc()
    kerberos = Kerberos(with_http_authentication=False)
    with Cluster.start(ClusterSpec(hadoop_version=HADOOP, kerberos=kerberos, with_datanode=False)) as cluster:
        status, cookie, body = ask(cluster.namenodes[0])
        assert (status, json.loads(body)) == (http.client.OK, {"Path": "/user/root"})
        assert "t=simple" in cookie


def test_a_cluster_is_the_same_after_another_start(tmp_path: Path) -> None:
    """Its directory keeps the principals, keytabs, secret and certificate authority."""
    need_kdc()
    spec = ClusterSpec(hadoop_version=HADOOP, kerberos=Kerberos(), tls=Tls(), directory=tmp_path)
    kept: list[tuple[bytes, bytes]] = []
    for _ in range(2):
        with Cluster.start(spec) as cluster:
            assert cluster.kdc is not None
            assert cluster.authority is not None
            if not kept:
                assert webhdfs(cluster, "PUT", "/kept", "MKDIRS")[0] == http.client.OK
            assert webhdfs(cluster, "GET", "/kept", "GETFILESTATUS")[0] == http.client.OK
            keytab = cluster.kdc.directory / "keytabs" / "alice.keytab"
            kept.append((cluster.namenodes[0].access.secret, cluster.authority.ca.read_bytes()))
            assert cluster.kdc.kinit("alice", keytab_file=keytab).exists()
    assert kept[0] == kept[1]
