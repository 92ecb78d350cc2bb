"""Clients of a cluster with Kerberos wait for a file: one with a right sees it appear, others are refused."""

import json
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest

from nncache.testbed import Cluster
from nncache.testbed.daemon import Proxy
from tests.cluster import make_directory, webhdfs
from tests.patience import HANG_S
from tests.secured.asking import Question, ask, cookie_of

WAITS = ("Prefer", "wait=50")


@pytest.mark.usefixtures("kdc")
@pytest.mark.parametrize("channel", ["direct", "zookeeper"])
def test_who_has_a_right_waits_and_who_has_none_does_not(
    secured_cluster: Cluster, secured_proxies: dict[str, Proxy], channel: str
) -> None:
    """ProvenGrant: alice is held by her cookie, bob, and a client that forges one, are answered by the NameNode."""
    proxy = secured_proxies[channel]
    place = f"/kept/{uuid.uuid4().hex[:12]}"
    make_directory(secured_cluster, "/kept")
    make_directory(secured_cluster, place, permission="700")
    webhdfs(secured_cluster, "PUT", place, "SETOWNER", owner="alice", group="users")

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
