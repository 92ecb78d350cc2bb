"""Impersonation fails where the proxy itself authenticates, on both channels."""

import base64
import http.client
import json
import uuid

import pytest

from nncache.testbed import Cluster, Kdc
from nncache.testbed.readiness import signed_cookie
from tests.cluster import make_directory, webhdfs
from tests.kerberos import negotiate
from tests.patience import HANG_S
from tests.secured.asking import (
    Question,
    ask,
    ask_over_tls,
    cookie_of,
    kept_path,
    namenode_of,
    token_of,
    until_hit,
)
from tests.secured.attempts import ATTEMPTS, Loot
from tests.secured.terminating import Terminating, cookie_by_ticket
from tests.secured.termination_attempts import MORE_ATTEMPTS, MoreLoot

_OF_A_STATUS = b"FileStatus"
_RETIRED = b"r" * 64


@pytest.fixture(scope="module")
def loot(secured_cluster: Cluster, terminating: Terminating, kdc_of_module: Kdc) -> MoreLoot:
    """The attacker's credentials. Both proxies have cached alice's status."""
    cluster, kdc, proxies = secured_cluster, kdc_of_module, terminating.proxies
    path, cancelled = kept_path(cluster), token_of(cluster, "alice")
    direct = proxies["direct"]
    acting = cookie_by_ticket(kdc, direct, "proxy")
    for proxy in proxies.values():
        for question in (
            Question(path, headers=(("Cookie", cookie_by_ticket(kdc, proxy, "alice")),)),
            Question(path, f"&delegation={token_of(cluster, 'alice')}"),
            Question(path, f"&delegation={cancelled}"),
            Question(path, "&doas=alice", (("Cookie", acting),)),
        ):
            until_hit(proxy, question)
    for proxy in proxies.values():
        headers = (("Cookie", terminating.cookie("alice")),)
        ask(proxy.address, Question("/", f"&token={cancelled}", headers, "CANCELDELEGATIONTOKEN", "PUT"))
    used = negotiate(kdc.kinit("alice"))
    for proxy in proxies.values():  # the second proxy sees a replay, since both run on one host
        ask(proxy.address, Question(path, headers=(("Authorization", used),)))
    carol = kdc.kinit("carol")
    of_namenode = signed_cookie(
        cluster.namenodes[0].access.secret, "alice", expires_s=1_999_999_999, kind="nncache"
    )
    return MoreLoot(
        loot=Loot(
            path=path,
            cookie=cookie_by_ticket(kdc, direct, "carol"),
            claimed=terminating.cookie("alice", key=b"another secret" * 4),
            ended=terminating.cookie("alice", lives_s=-1.0),
            token=token_of(cluster, "carol"),
            cancelled=cancelled,
            proxy=acting,
            ticket=lambda: negotiate(carol),
            used=used,
        ),
        namenodes=cookie_of(cluster, "alice"),
        namenode_signed=f'hadoop.auth="{of_namenode}"',
        retired=_retired(terminating, path),
        bob=cookie_by_ticket(kdc, direct, "bob"),
        other_service=lambda service: negotiate(carol, service),
        raw=lambda: f"Negotiate {base64.b64encode(_raw(str(carol))).decode()}",
    )


def _retired(terminating: Terminating, path: str) -> str:
    """Return a cookie of alice that got hits until its key was retired."""
    before = terminating.secret.read_bytes()
    cookie = terminating.cookie("alice", key=_RETIRED)
    question = Question(path, headers=(("Cookie", cookie),))
    terminating.secret.write_bytes(before + _RETIRED + b"\n")
    for proxy in terminating.proxies.values():
        until_hit(proxy, question, within_s=HANG_S)
        until_hit(proxy, question)
    terminating.secret.write_bytes(before)
    for proxy in terminating.proxies.values():
        while ask(proxy.address, question).status != 401:
            pass
    return cookie


def _raw(ccache: str) -> bytes:
    import gssapi  # noqa: PLC0415 - an extra

    name = gssapi.Name("HTTP@localhost", gssapi.NameType.hostbased_service)
    credentials = gssapi.Credentials(usage="initiate", store={"ccache": f"FILE:{ccache}"})
    kerberos = gssapi.MechType.kerberos
    return bytes(gssapi.SecurityContext(name=name, mech=kerberos, creds=credentials, usage="initiate").step())


@pytest.mark.parametrize("name", [*ATTEMPTS, *MORE_ATTEMPTS])
def test_no_attempt_makes_a_thief_alice(terminating: Terminating, loot: MoreLoot, name: str) -> None:
    """This holds on both channels, on both ports and repeatedly. No reply contains a credential of the service."""
    for channel, proxy in terminating.proxies.items():
        for is_over_tls in (False, True):
            question = ATTEMPTS[name](loot.loot) if name in ATTEMPTS else MORE_ATTEMPTS[name](loot)
            if is_over_tls:
                reply = ask_over_tls(terminating.tls[channel], question, terminating.context)
            else:
                reply = ask(proxy.address, question)
            assert reply.status >= 400, reply
            assert not reply.is_hit
            assert _OF_A_STATUS not in reply.body
            assert "nncache@" not in reply.header("Set-Cookie"), "the service's own cookie"
        after = Question(loot.loot.path, headers=(("Cookie", loot.loot.claimed),))
        assert ask(proxy.address, after).status == 401, "what a forged cookie brought along has made it good"


def test_what_the_proxy_gives_is_nothing_to_a_namenode(
    secured_cluster: Cluster, terminating: Terminating, loot: MoreLoot
) -> None:
    """Only proxies accept their cookies, even if the NameNode's secret signs them."""
    for cookie in (
        loot.loot.cookie,
        terminating.cookie("alice"),
        terminating.cookie("alice", key=secured_cluster.namenodes[0].access.secret),
    ):
        reply = ask(namenode_of(secured_cluster), Question(loot.loot.path, headers=(("Cookie", cookie),)))
        assert reply.status == 401


@pytest.mark.parametrize(
    "parameter", ["DOAS=alice", "doas=alice", "delegation=x", "user.name=alice", "op=DELETE"]
)
@pytest.mark.parametrize(
    "kind", ["application/x-www-form-urlencoded", "Application/X-WWW-FORM-urlencoded;charset=utf-8"]
)
def test_no_parameter_of_a_body_reaches_a_namenode(
    secured_cluster: Cluster, terminating: Terminating, loot: MoreLoot, parameter: str, kind: str
) -> None:
    """The NameNode would merge it with ours. The call is bob's own, also with an empty body, as from curl -d ''."""
    proxy = terminating.proxies["direct"]
    open_to_all = f"/kept/{uuid.uuid4().hex[:12]}"
    make_directory(secured_cluster, open_to_all, permission="777")
    for number, body in enumerate((parameter, "")):
        connection = http.client.HTTPConnection(proxy.address, timeout=HANG_S)
        place = f"{open_to_all}/{number}"
        fields = {"Cookie": loot.bob, "Content-Type": kind}
        connection.request("PUT", f"/webhdfs/v1{place}?op=MKDIRS", body, fields)
        reply = connection.getresponse()
        assert (reply.status, reply.read()) == (200, b'{"boolean":true}')
        connection.close()
        _, made = webhdfs(secured_cluster, "GET", place, "GETFILESTATUS")
        assert json.loads(made)["FileStatus"]["owner"] == "bob"
