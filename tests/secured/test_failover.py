"""Failover of a secured pair while clients ask with credentials of one of the two NameNodes."""

import http.client
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager

import pytest

from nncache.hadoop.remote_exception import Verdict, parse_remote_exception
from nncache.testbed import Cluster, ClusterSpec, Kerberos, ProxyUserSpec, readiness
from nncache.testbed.daemon import ProxyDaemon
from tests.cluster import HADOOP, make_directory
from tests.kerberos import clients_of, need_gssapi, need_kdc
from tests.real.proxied_cluster import CallTarget, ProxiedCluster
from tests.secured.asking import Question, ask, names, token_of
from tests.secured.auth_methods import Cookies, Doas, Tokens
from tests.secured.watching import above, on_both_channels, private_place, see_hits_again, watched

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]


STANDBYS_SAY = {"SecurityException", "StandbyException"}
"""Exceptions for a delegation token: 3.4.1 sends StandbyException (HDFS-6475), 3.5.0 names it in the message only."""


@contextmanager
def pair(*, one_http_secret: bool) -> Iterator[Cluster]:
    """Start an HA pair with an active first NameNode. This process is a client of its KDC."""
    need_kdc()
    need_gssapi()
    users = (ProxyUserSpec(name="proxy", users="alice,bob"),)
    kerberos = Kerberos(one_http_secret=one_http_secret, proxy_users=users)
    spec = ClusterSpec(hadoop_version=HADOOP, kerberos=kerberos, ha=True, with_zookeeper=True)
    with Cluster.start(spec) as cluster:
        assert cluster.kdc is not None
        with clients_of(cluster.kdc):
            yield cluster


def fail_over(cluster: Cluster, worlds: Iterable[ProxiedCluster]) -> float:
    """Kill the first NameNode, make the second active and the reference; return the time of the transition."""
    cluster.namenodes[0].process.kill()
    cluster.transition_to_active(1)
    since = time.monotonic()
    for proxied_cluster in worlds:
        proxied_cluster.direct.address = cluster.namenodes[1].http
        proxied_cluster.direct.close()
    cluster.await_writable(1)
    return since


def test_with_one_secret_every_credential_goes_on() -> None:
    """Cookie, token and doas: hits within 5 s on both channels, all with the new active NameNode's content."""
    with pair(one_http_secret=True) as cluster:
        path = private_place(cluster)
        with on_both_channels(cluster) as worlds:
            ways = (Cookies(cluster), Tokens(cluster), Doas(cluster))
            body = worlds[0].truth(path, "alice").body
            with watched(worlds, ways, path) as watch:
                since = fail_over(cluster, worlds)
                see_hits_again(worlds, above(path), since=since)
                watch.await_hits()
            assert watch.wrong(body) == []
            assert watch.given_away() == []
            for proxied_cluster in worlds:
                proxied_cluster.do(CallTarget.PROXY, "PUT", "SETPERMISSION", path, permission="700")
                assert proxied_cluster.make_hit(path, "alice").status == http.client.OK
                proxied_cluster.do(CallTarget.NAMENODE, "PUT", "SETPERMISSION", path, permission="755")
                proxied_cluster.await_agreement(path, "alice", since=time.monotonic())
                assert proxied_cluster.disagreement(path, "carol") == []


def test_with_two_secrets_a_cookie_ends_with_its_namenode() -> None:
    """The new active NameNode answers every old cookie with 401, and no hit follows. A new cookie gets hits."""
    with pair(one_http_secret=False) as cluster:
        path = private_place(cluster)
        with on_both_channels(cluster) as worlds:
            with watched(worlds, (Cookies(cluster),), path) as watch:
                since = fail_over(cluster, worlds)
                for proxied_cluster in worlds:
                    proxied_cluster.way = Cookies(cluster, namenode=1)
                see_hits_again(worlds, above(path), since=since)
                replies = [seen for each in watch.rightful for seen in each.seen.values()]
                for proxied_cluster in worlds:
                    proxied_cluster.proxy.process.await_that(
                        lambda: all(seen[-1].status == http.client.UNAUTHORIZED for seen in replies),
                        "does not pass on that the cookie is refused",
                    )
            assert watch.given_away() == []
            for seen in replies:
                statuses = [reply.status for reply in seen]
                refused = seen[statuses.index(http.client.UNAUTHORIZED) :]
                assert set(names(refused)) == {(http.client.UNAUTHORIZED, False)}
                assert refused[-1].header("WWW-Authenticate") == "Negotiate"
                assert set(statuses[: -len(refused)]) - {http.client.OK} <= {502, 503, 504}


def test_a_standbys_refusal_of_a_token_leads_to_the_active_one() -> None:
    """This holds for every release's exception. A cancelled token is refused by the active NameNode itself."""
    with pair(one_http_secret=True) as cluster:
        make_directory(cluster, "/t")
        active, standby = cluster.namenodes
        good, cancelled = token_of(cluster, "alice"), token_of(cluster, "alice")
        cancel = Question("/", f"&token={cancelled}", method="PUT", op="CANCELDELEGATIONTOKEN")
        headers = Cookies(cluster).of("alice").headers
        assert (
            ask(active.http, Question("/", cancel.query, headers, cancel.op, "PUT")).status == http.client.OK
        )
        refusal = ask(standby.http, Question("/t", f"&delegation={good}"))
        remote = parse_remote_exception(refusal.body)
        assert remote is not None
        assert (refusal.status, remote.exception in STANDBYS_SAY) == (http.client.FORBIDDEN, True), remote
        assert remote.verdict is Verdict.STANDBY, remote
        flags = (
            "--namenode-http",
            f"{standby.http},{active.http}",
            "--namenode-rpc",
            f"{standby.rpc},{active.rpc}",
        )
        with closing(
            ProxyDaemon(*flags)
        ) as proxy:  # never ready: without a principal it learns of no active one
            proxy.process.launch()
            proxy.process.await_that(lambda: readiness.accepts(proxy.address), "does not listen")
            seen = [ask(proxy.address, Question("/t", f"&delegation={each}")) for each in (good, cancelled)]
            assert names(seen) == [(http.client.OK, False), (http.client.FORBIDDEN, False)]
            remote = parse_remote_exception(seen[1].body)
            assert remote is not None
            assert remote.verdict is Verdict.INVALID_TOKEN, remote
