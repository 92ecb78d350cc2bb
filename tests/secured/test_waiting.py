"""Long polls on a cluster with Kerberos: a permitted client sees the file appear, others are refused."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from nncache.testbed import Cluster, Kdc
from nncache.testbed.daemon import ProxyDaemon
from tests.cluster import webhdfs
from tests.patience import HANG_S
from tests.secured.asking import Question, ask, cookie_of, kept_place, namenode_of, until_hit
from tests.secured.terminating import Terminating, another_secret, cookie_by_ticket

WAITS = ("Prefer", "wait=50")


@pytest.mark.usefixtures("kdc")
@pytest.mark.parametrize("channel", ["direct", "zookeeper"])
def test_who_has_a_right_waits_and_who_has_none_does_not(
    secured_cluster: Cluster, secured_proxies: dict[str, ProxyDaemon], channel: str
) -> None:
    """ProvenGrant: the proxy holds alice by her cookie. The NameNode answers bob and a client with a forged cookie."""
    proxy = secured_proxies[channel]
    place = kept_place(secured_cluster)

    def question(cookie: str) -> Question:
        return Question(f"{place}/d", headers=(("Cookie", cookie), WAITS))

    with ThreadPoolExecutor(2) as clients:
        alices = question(cookie_of(secured_cluster, "alice"))
        waiting = [clients.submit(ask, proxy.address, alices) for _ in range(2)]
        proxy.process.await_that(lambda: proxy.metrics()["nncache_waiters"] == 2, "does not hold alice's")
        for user, status in (("bob", 403), ("alice", 401)):
            cookie = cookie_of(secured_cluster, user)
            forged = (
                cookie
                if user == "bob"
                else f"{cookie[:-8]}{'AAAA' if cookie[-8:-4] != 'AAAA' else 'BBBB'}{cookie[-4:]}"
            )
            refused = ask(proxy.address, question(forged))
            assert (refused.status, refused.header("Preference-Applied")) == (status, ""), refused
        assert proxy.metrics()["nncache_waiters"] == 2
        webhdfs(secured_cluster, "PUT", f"{place}/d", "MKDIRS")
        replies = [each.result(HANG_S) for each in waiting]
    for reply in replies:
        assert (reply.status, reply.header("Preference-Applied")) == (200, "wait=50")
        assert json.loads(reply.body)["FileStatus"]["type"] == "DIRECTORY"
    assert all("hadoop.auth" not in value for reply in replies for _, value in reply.headers)


def token_through(proxy: ProxyDaemon, cookie: str) -> str:
    """Return a delegation token that a NameNode issues through a proxy."""
    reply = ask(proxy.address, Question("/", "&renewer=alice", (("Cookie", cookie),), "GETDELEGATIONTOKEN"))
    return str(json.loads(reply.body)["Token"]["urlString"])


def test_a_wait_ends_with_its_token(secured_cluster: Cluster, kdc: Kdc, terminating: Terminating) -> None:
    """ProvenGrant: after a cancellation through this proxy, the NameNode answers immediately, not the cache."""
    proxy, place = terminating.proxies["direct"], kept_place(secured_cluster)
    cookie = cookie_by_ticket(kdc, proxy, "alice")
    until_hit(proxy, Question(f"{place}/d", headers=(("Cookie", cookie),)))
    token = token_through(proxy, cookie)
    by_token = Question(f"{place}/d", f"&delegation={token}", (WAITS,))
    with ThreadPoolExecutor(1) as clients:
        waiting = clients.submit(ask, proxy.address, by_token)
        proxy.process.await_that(lambda: proxy.metrics()["nncache_waiters"] == 1, "does not hold it")
        cancel = Question("/", f"&token={token}", (("Cookie", cookie),), "CANCELDELEGATIONTOKEN", "PUT")
        assert ask(proxy.address, cancel).status == 200
        reply = waiting.result(HANG_S)
    assert not reply.is_hit
    assert (reply.status, reply.header("Preference-Applied")) in {(403, ""), (404, "")}, reply
    assert reply.ended_at - reply.started_at < 40, "it has not waited for its time"
    assert ask(proxy.address, Question(f"{place}/d", f"&delegation={token}")).status == 403


def test_the_refusal_of_a_token_is_not_for_a_cookie(
    secured_cluster: Cluster, kdc: Kdc, terminating: Terminating
) -> None:
    """FailToNameNode: alice waits with a token, which is cancelled at the NameNode, and with her cookie."""
    proxy, place = terminating.proxies["direct"], kept_place(secured_cluster)
    cookie = cookie_by_ticket(kdc, proxy, "alice")
    until_hit(proxy, Question(f"{place}/d", headers=(("Cookie", cookie),)))
    token = token_through(proxy, cookie)
    with ThreadPoolExecutor(2) as clients:
        by_token = clients.submit(
            ask, proxy.address, Question(f"{place}/d", f"&delegation={token}", (WAITS,))
        )
        proxy.process.await_that(lambda: proxy.metrics()["nncache_waiters"] == 1, "does not hold the token's")
        question = Question(f"{place}/d", headers=(("Cookie", cookie), WAITS))
        by_cookie = clients.submit(ask, proxy.address, question)
        proxy.process.await_that(
            lambda: proxy.metrics()["nncache_waiters"] == 2, "does not hold the cookie's"
        )
        own = (("Cookie", cookie_of(secured_cluster, "alice")),)
        cancel = Question("/", f"&token={token}", own, "CANCELDELEGATIONTOKEN", "PUT")
        assert ask(namenode_of(secured_cluster), cancel).status == 200
        webhdfs(secured_cluster, "PUT", f"{place}/d", "MKDIRS")
        webhdfs(secured_cluster, "PUT", f"{place}/d", "SETOWNER", owner="alice", group="users")
        statuses = [each.result(HANG_S).status for each in (by_token, by_cookie)]
    assert statuses == [403, 200]


def test_a_wait_ends_with_the_secret_of_its_cookie(
    secured_cluster: Cluster, terminating: Terminating
) -> None:
    """ProvenGrant: removing the secret, the only remedy against stolen cookies, also ends the waits."""
    proxy, place = terminating.proxies["direct"], kept_place(secured_cluster)
    with another_secret(terminating) as secret, ThreadPoolExecutor(1) as clients:
        cookie = ("Cookie", terminating.cookie("alice", key=secret))
        until_hit(proxy, Question(f"{place}/d", headers=(cookie,)))
        waiting = clients.submit(ask, proxy.address, Question(f"{place}/d", headers=(cookie, WAITS)))
        proxy.process.await_that(lambda: proxy.metrics()["nncache_waiters"] == 1, "does not hold it")
        terminating.secret.write_bytes(terminating.secret.read_bytes().replace(secret + b"\n", b""))
        reply = waiting.result(HANG_S)
    assert (reply.status, reply.header("WWW-Authenticate")) == (401, "Negotiate")
    assert not reply.is_hit
