"""Events over HTTP on a cluster with Kerberos: only for clients that the proxy itself has authenticated."""

import http.client
import json

import pytest

from nncache.testbed import Cluster, Kdc
from nncache.testbed.daemon import ProxyDaemon
from tests.cluster import make_directory
from tests.event_client import EventClient
from tests.kerberos import negotiate
from tests.secured.asking import cookie_of
from tests.secured.conftest import FILTERS_PATH
from tests.secured.service import identity_flags, run, without
from tests.secured.terminating import Terminating, another_secret, cookie_by_ticket

TARGET = "/v1/events?filter=passed0"


@pytest.fixture
def proxy(secured_cluster: Cluster, kdc: Kdc, terminating: Terminating) -> ProxyDaemon:
    """The proxy on ZooKeeper; alice is a subscriber of the filter on /kept/*."""
    proxy = terminating.proxies["zookeeper"]
    cookie = cookie_by_ticket(kdc, proxy, "alice")
    if answered(proxy, cookie) != http.client.OK:
        own = without(identity_flags(secured_cluster, kdc), "--namenode-rpc")
        run("filters", "allow", "passed0", "alice", *own, "--filters-path", FILTERS_PATH)
    proxy.process.await_that(lambda: answered(proxy, cookie) == http.client.OK, "alice is not let in")
    return proxy


def answered(proxy: ProxyDaemon, cookie: str) -> int:
    """Return the status for the bearer of a cookie."""
    with EventClient(proxy.address, TARGET, {"Cookie": cookie}) as following:
        return following.status


def test_whom_the_proxy_has_authenticated_reads_events(
    secured_cluster: Cluster, kdc: Kdc, proxy: ProxyDaemon
) -> None:
    """A client reads them with a ticket, with its cookie, or for another user as the proxy-user rules allow."""
    make_directory(secured_cluster, "/kept")
    ticket = {"Authorization": negotiate(kdc.kinit("alice"))}
    with EventClient(proxy.address, TARGET, ticket) as by_ticket:
        assert by_ticket.status == 200
        cookie = by_ticket.fields["Set-Cookie"].split(";")[0]
        acting = {"Cookie": cookie_by_ticket(kdc, proxy, "proxy")}
        with (
            EventClient(proxy.address, TARGET, {"Cookie": cookie}) as by_cookie,
            EventClient(proxy.address, f"{TARGET}&doas=alice", acting) as by_another,
        ):
            assert [next(each).event for each in (by_ticket, by_cookie, by_another)] == ["start"] * 3
            make_directory(secured_cluster, f"/kept/events-{id(proxy)}")
            reported = [next(each) for each in (by_ticket, by_cookie, by_another)]
    assert {each.data["path"] for each in reported} == {f"/kept/events-{id(proxy)}"}
    assert len({each.last_id for each in reported}) == 1


def test_no_other_reads_them(
    secured_cluster: Cluster, kdc: Kdc, proxy: ProxyDaemon, secured_proxies: dict[str, ProxyDaemon]
) -> None:
    """Refused are `user.name`, a forged cookie, a NameNode's cookie, another user's cookie, and a token."""
    carol = cookie_by_ticket(kdc, proxy, "carol")
    alice = cookie_by_ticket(kdc, proxy, "alice")
    passing_through = secured_proxies["zookeeper"]
    refused = (
        (proxy, f"{TARGET}&user.name=alice", "", 401, "AuthenticationException"),
        (proxy, TARGET, carol.replace("carol", "alice"), 401, "AuthenticationException"),
        (proxy, TARGET, cookie_of(secured_cluster, "alice"), 401, "AuthenticationException"),
        (proxy, f"{TARGET}&user.name=alice", carol, 403, "AccessControlException"),
        (proxy, f"{TARGET}&doas=alice", carol, 403, "AuthorizationException"),
        (proxy, f"{TARGET}&delegation=T", alice, 403, "AuthenticationException"),
        (proxy, f"{TARGET}none", alice, 403, "AccessControlException"),
        (passing_through, f"{TARGET}&user.name=alice", "", 403, "AuthenticationException"),
        (passing_through, TARGET, cookie_of(secured_cluster, "alice"), 403, "AuthenticationException"),
        (passing_through, TARGET, alice, 403, "AuthenticationException"),
    )
    for where, target, cookie, status, exception in refused:
        with EventClient(where.address, target, {"Cookie": cookie} if cookie else {}) as asked:
            assert (asked.status, target) == (status, target)
            assert json.loads(asked.body())["RemoteException"]["exception"] == exception
            challenged = asked.fields.get_all("WWW-Authenticate") == ["Negotiate"]
            assert challenged is (status == 401)


def test_a_stream_ends_with_its_session(proxy: ProxyDaemon, terminating: Terminating) -> None:
    """The stream ends when its cookie expires, and when the cookie's secret is removed. It sends `end` first."""
    with another_secret(terminating) as secret:
        short = {"Cookie": terminating.cookie("alice", lives_s=3.0)}
        stolen = {"Cookie": terminating.cookie("alice", key=secret)}
        with (
            EventClient(proxy.address, TARGET, short) as ending,
            EventClient(proxy.address, TARGET, stolen) as retired,
        ):
            assert [message.event for message in ending][-1] == "end"
            assert next(retired).event == "start"
            lines = terminating.secret.read_bytes()
            terminating.secret.write_bytes(lines.replace(secret + b"\n", b""))
            assert [message.event for message in retired][-1] == "end"
            assert retired.is_whole
        assert answered(proxy, stolen["Cookie"]) == http.client.UNAUTHORIZED
