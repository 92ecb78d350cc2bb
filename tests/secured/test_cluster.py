"""The replies of a cluster with Kerberos, with and without tickets, on which other tests rely."""

import http.client
import json
import re
import time

import pytest

from nncache.testbed import Cluster, Kdc, KdcError
from nncache.testbed.readiness import signed_cookie
from tests.cluster import make_directory, webhdfs
from tests.kerberos import negotiate

COOKIE = re.compile(r'hadoop\.auth="(?P<value>u=(?P<user>[^&]*)&[^"]*)"')


def ask(cluster: Cluster, target: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
    """Send a request to the NameNode; return the status, the headers by lowercase name, and the body."""
    host, _, port = cluster.namenodes[0].http.rpartition(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=30)
    try:
        connection.request("GET", target, headers=headers)
        response = connection.getresponse()
        return (
            response.status,
            {name.lower(): value for name, value in response.getheaders()},
            response.read(),
        )
    finally:
        connection.close()


def home(user: str = "") -> str:
    """Return the target of a call whose reply names the caller."""
    return f"/webhdfs/v1/?op=GETHOMEDIRECTORY{user and f'&user.name={user}'}"


@pytest.mark.parametrize("target", [home(), home("root"), "/jmx", "/conf"])
def test_without_a_ticket_there_is_nothing(secured_cluster: Cluster, target: str) -> None:
    """This holds for WebHDFS, whatever `user.name` says, and for the servlets."""
    status, headers, _ = ask(secured_cluster, target)
    assert (status, headers["www-authenticate"]) == (http.client.UNAUTHORIZED, "Negotiate")


@pytest.mark.parametrize("user", ["alice", "bob", "carol"])
def test_a_ticket_says_who_asks(secured_cluster: Cluster, kdc: Kdc, user: str) -> None:
    """`user.name` does not count. The cookie of the reply authenticates the next request."""
    ticket = negotiate(kdc.kinit(user))
    status, headers, body = ask(secured_cluster, home("root"), Authorization=ticket)
    assert (status, json.loads(body)) == (http.client.OK, {"Path": f"/user/{user}"})
    cookie = COOKIE.search(headers["set-cookie"])
    assert cookie is not None
    assert cookie["user"] == user
    status, headers, body = ask(secured_cluster, home("root"), Cookie=f'hadoop.auth="{cookie["value"]}"')
    assert (status, json.loads(body)) == (http.client.OK, {"Path": f"/user/{user}"})
    assert "set-cookie" not in headers


def test_a_cookie_with_the_clusters_secret_is_as_good(secured_cluster: Cluster) -> None:
    """The test bed uses such cookies. An expired one, or one signed with another secret, is refused."""
    secret = secured_cluster.namenodes[0].access.secret
    now = time.time()  # noqa: TID251 - the NameNode uses the wall clock
    seen = {
        name: ask(secured_cluster, home(), Cookie=f"hadoop.auth={cookie}")[0]
        for name, cookie in {
            "good": signed_cookie(secret, "alice", expires_s=now + 3600),
            "ended": signed_cookie(secret, "alice", expires_s=now - 1),
            "foreign": signed_cookie(secret + b"x", "alice", expires_s=now + 3600),
        }.items()
    }
    assert seen == {"good": 200, "ended": 401, "foreign": 401}


def test_rights_are_those_of_the_principal(secured_cluster: Cluster, kdc: Kdc) -> None:
    """A directory of alice's group is closed to carol, whatever name she sends."""
    make_directory(secured_cluster, "/rights", permission="750")
    webhdfs(secured_cluster, "PUT", "/rights", "SETOWNER", group="users")
    target = "/webhdfs/v1/rights/none?op=GETFILESTATUS&user.name=alice"
    seen = {
        user: ask(secured_cluster, target, Authorization=negotiate(kdc.kinit(user)))[0]
        for user in ("alice", "bob", "carol")
    }
    assert seen == {"alice": 404, "bob": 404, "carol": 403}


def test_only_a_proxy_user_acts_for_others_and_only_for_its_own(secured_cluster: Cluster) -> None:
    """`Kerberos.proxy_users` lists the users, and carol is not among them."""
    access = secured_cluster.namenodes[0].access
    seen = {
        (user, other): ask(secured_cluster, f"{home()}&doas={other}", **access.headers(user))[0]
        for user, other in (("proxy", "alice"), ("proxy", "carol"), ("bob", "alice"))
    }
    assert seen == {("proxy", "alice"): 200, ("proxy", "carol"): 403, ("bob", "alice"): 403}


def test_the_shell_has_a_ticket_of_the_user_given(secured_cluster: Cluster) -> None:
    """A user without a principal has none."""
    shown = secured_cluster.fs_shell("-stat", "%u", "/", user="alice")
    assert (shown.returncode, shown.stdout, shown.stderr) == (0, f"{secured_cluster.superuser}\n", "")
    with pytest.raises(KdcError, match="mallory"):
        secured_cluster.fs_shell("-stat", "%u", "/", user="mallory")


def test_a_client_chooses_how_rpc_is_protected(secured_cluster: Cluster) -> None:
    """It chooses from what the cluster offers. By default, the shell takes the first value of its own configuration."""
    reported = secured_cluster.fs_shell("-Dhadoop.rpc.protection=privacy", "-stat", "%u", "/", user="bob")
    assert (reported.returncode, reported.stdout) == (0, f"{secured_cluster.superuser}\n")
