"""Credentials expire and the KDC fails on a secured cluster while clients keep asking."""

import http.client
import time
from collections.abc import Iterator

import pytest

from nncache.hadoop.remote_exception import Verdict, parse_remote_exception
from nncache.testbed import Cluster, ClusterSpec, Kdc, Kerberos, ProxyUserSpec
from nncache.testbed.relay import Relay
from nncache.testbed.secured import SERVICE_KEYTAB
from tests.auth_methods import Signature
from tests.cluster import HADOOP
from tests.kerberos import clients_of, need_gssapi, need_kdc, negotiate
from tests.patience import SLACK_S
from tests.real.pollers import Pollers
from tests.real.proxied_cluster import ProxiedCluster
from tests.real.stand import proxied
from tests.secured.asking import Question, ask, cookie_of, namenode_of, names, token_of, until_hit
from tests.secured.auth_methods import Cookies, Doas, Tokens
from tests.secured.watching import GLOBS, above, on_both_channels, private_place, see_hits_again, watched

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]

GRANT_TTL_S = 2.0
SHORT_S = 8
"""Lifetime in seconds of cookies, and of tokens that are not renewed."""


@pytest.fixture(scope="module")
def brief_cluster() -> Iterator[Cluster]:
    """A cluster with short-lived credentials. This process is a client of its KDC."""
    need_kdc()
    need_gssapi()
    users = (ProxyUserSpec(name="proxy", users="alice,bob"),)
    spec = ClusterSpec(
        hadoop_version=HADOOP,
        with_zookeeper=True,
        kerberos=Kerberos(cookie_validity_s=SHORT_S, proxy_users=users),
        overrides={"dfs.namenode.delegation.token.renew-interval": f"{SHORT_S}000"},
    )
    with Cluster.start(spec) as cluster:
        assert cluster.kdc is not None
        with clients_of(cluster.kdc):
            yield cluster


@pytest.fixture
def place(brief_cluster: Cluster) -> str:
    """A directory that alice and bob may read."""
    return private_place(brief_cluster)


@pytest.fixture
def worlds(brief_cluster: Cluster) -> Iterator[tuple[ProxiedCluster, ...]]:
    """A proxy on each channel."""
    with on_both_channels(brief_cluster, grant_ttl_s=GRANT_TTL_S) as started:
        yield started


class OneToken:
    """One delegation token for all users."""

    impostors: tuple[str, ...] = ()
    is_kept = True
    is_judged_by_proxy = False

    def __init__(self, token: str) -> None:
        self._signature = Signature(f"&delegation={token}")

    def of(self, user: str) -> Signature:
        """Return the token, whatever the user."""
        del user
        return self._signature


def believed_for_s(
    worlds: tuple[ProxiedCluster, ...], path: str, token: str, refuse: Question | None
) -> list[float]:
    """Return for each world how long the token got hits after the NameNode refused it, in seconds.

    `refuse` is sent to the NameNode first, not through the proxies; with None, the token expires by itself.
    """
    address = namenode_of(worlds[0].cluster)
    pollers = [
        Pollers(proxied_cluster.proxy.address, [(path, "alice")], way=OneToken(token))
        for proxied_cluster in worlds
    ]
    own = Question(path, f"&delegation={token}")
    with pollers[0], pollers[1]:
        for each in pollers:
            each.await_hits(after=time.monotonic(), timeout_s=SHORT_S + SLACK_S)
        if refuse is not None:
            assert ask(address, refuse).status == http.client.OK
        while (refusal := ask(address, own)).status == http.client.OK:
            pass
        assert refusal.status == http.client.FORBIDDEN
        for proxied_cluster, each in zip(worlds, pollers, strict=True):
            seen = each.seen[path, "alice"]
            proxied_cluster.proxy.process.await_that(
                lambda seen=seen: seen[-1].status == http.client.FORBIDDEN,  # type: ignore[misc]  # mypy sees no default
                "does not pass on that the token is refused",
            )
    for each in pollers:
        statuses = [reply.status for reply in each.seen[path, "alice"]]
        refused = each.seen[path, "alice"][statuses.index(http.client.FORBIDDEN) :]
        assert set(names(refused)) == {(http.client.FORBIDDEN, False)}
        errors = {parse_remote_exception(reply.body) for reply in refused}
        assert all(each is not None and each.verdict is Verdict.INVALID_TOKEN for each in errors), errors
    last = [max(r.started_at for r in each.seen[path, "alice"] if r.is_hit) for each in pollers]
    return [at - refusal.ended_at for at in last]


def test_a_token_that_expires_is_believed_for_grant_ttl_at_most(
    brief_cluster: Cluster, worlds: tuple[ProxiedCluster, ...], place: str
) -> None:
    """A token does not contain its renewal date. Afterwards callers get the NameNode's refusal, never a hit."""
    ages = believed_for_s(worlds, place, token_of(brief_cluster, "alice"), None)
    assert max(ages) <= GRANT_TTL_S + SLACK_S
    print(f"an expired token was believed for {max(ages):.2f} s")  # noqa: T201 - the figure, with -s


def test_a_token_cancelled_elsewhere_ends_within_grant_ttl(
    brief_cluster: Cluster, worlds: tuple[ProxiedCluster, ...], place: str
) -> None:
    """The proxy does not learn of the cancellation."""
    token = token_of(brief_cluster, "alice")
    headers = (("Cookie", cookie_of(brief_cluster, "alice")),)
    cancel = Question("/", f"&token={token}", headers, "CANCELDELEGATIONTOKEN", "PUT")
    ages = believed_for_s(worlds, place, token, cancel)
    assert max(ages) <= GRANT_TTL_S + SLACK_S
    print(f"a cancelled token was believed for {max(ages):.2f} s")  # noqa: T201 - the figure, with -s


def test_a_tickets_cookie_ends_and_the_next_one_hits(
    brief_cluster: Cluster, worlds: tuple[ProxiedCluster, ...], place: str
) -> None:
    """The cookies are short-lived. The proxies renew their own, and the gate stays open."""
    assert brief_cluster.kdc is not None
    ticket = brief_cluster.kdc.kinit("alice", lifetime_s=600)
    for proxied_cluster in worlds:
        flushes = proxied_cluster.proxy.metrics()["nncache_cache_flushes_total"]
        for _ in range(2):
            first = ask(
                proxied_cluster.proxy.address,
                Question(place, headers=(("Authorization", negotiate(ticket)),)),
            )
            assert (first.status, first.is_hit) == (http.client.OK, False)
            cookie = first.header("Set-Cookie").partition(";")[0]
            question = Question(place, headers=(("Cookie", cookie),))
            until_hit(proxied_cluster.proxy, question)
            while (reply := ask(proxied_cluster.proxy.address, question)).status == http.client.OK:
                pass
            assert (reply.status, reply.is_hit) == (http.client.UNAUTHORIZED, False)
            own = ask(namenode_of(brief_cluster), question)
            assert own.status == http.client.UNAUTHORIZED, "refused earlier than by the NameNode"
        assert proxied_cluster.proxy.readiness()["is_gate_open"] is True
        assert proxied_cluster.proxy.metrics()["nncache_cache_flushes_total"] == flushes


def test_proxies_hit_once_an_old_keytab_is_replaced(
    brief_cluster: Cluster, worlds: tuple[ProxiedCluster, ...], place: str
) -> None:
    """Until then the NameNode answers every call, and the log says that the key is wrong."""
    kdc = brief_cluster.kdc
    assert kdc is not None
    for proxied_cluster in worlds:
        proxied_cluster.proxy.stop()
    kdc.change_key("nncache/localhost")
    for proxied_cluster in worlds:
        log = proxied_cluster.proxy.process.log
        old = log.stat().st_size
        proxied_cluster.proxy.process.launch()  # it does not become ready
        proxied_cluster.proxy.process.await_that(
            lambda log=log, old=old: "is not the KDC's" in log.read_text(encoding="utf-8")[old:],  # type: ignore[misc]  # mypy sees no default
            "does not say that the key is wrong",
        )
        for user, status in (("alice", http.client.OK), ("carol", http.client.FORBIDDEN)):
            assert names(proxied_cluster.ask(place, user) for _ in range(3)) == [(status, False)] * 3
    kdc.keytab(SERVICE_KEYTAB, "nncache/localhost", "HTTP/localhost", "HTTP/proxyhost")
    since = time.monotonic()
    see_hits_again(worlds, above(place), since=since)
    for proxied_cluster in worlds:
        assert proxied_cluster.disagreement(place, "carol") == []


@pytest.mark.parametrize("outage", ["silent", "gone"])
def test_a_kdc_in_trouble_costs_no_hits(secured_cluster: Cluster, kdc: Kdc, outage: str) -> None:
    """This holds even if the edits must be read over a new connection: the tickets are still valid."""
    path = private_place(secured_cluster)
    ways = (Cookies(secured_cluster), Tokens(secured_cluster), Doas(secured_cluster))
    with (
        Relay(secured_cluster.namenodes[0].rpc) as relay,
        proxied(
            secured_cluster, *GLOBS, rpc=relay.address.replace("127.0.0.1", "localhost"), way=ways[0]
        ) as direct,
        on_both_channels(secured_cluster) as others,
    ):
        worlds = (direct, *others)
        body = direct.truth(path, "alice").body
        with watched(worlds, ways, path) as watch:
            (kdc.process.pause if outage == "silent" else kdc.process.kill)()
            try:
                watch.await_hits()
                relay.reset_connections()
                see_hits_again(worlds, above(path), since=time.monotonic())
                watch.await_hits()
            finally:
                (kdc.process.resume if outage == "silent" else kdc.process.start)()
        assert watch.wrong(body) == []
        assert watch.given_away() == []
        assert [each for poller in watch.rightful for each in poller.failed()] == []
