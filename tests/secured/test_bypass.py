"""Impersonation attempts of `tests/secured/attempts.py` fail on both channels, on a real cluster.

Each attempt is sent while alice's answers are cached, and must be refused with the NameNode's status.
"""

import pytest

from nncache.testbed import Cluster, Kdc
from nncache.testbed.daemon import ProxyDaemon
from nncache.testbed.readiness import signed_cookie
from tests.kerberos import negotiate
from tests.secured.asking import PREFIX, Question, ask, cookie_of, kept_path, namenode_of, token_of, until_hit
from tests.secured.attempts import ATTEMPTS, Loot

_OF_A_STATUS = b"FileStatus"


@pytest.fixture(scope="module")
def loot(secured_cluster: Cluster, secured_proxies: dict[str, ProxyDaemon], kdc_of_module: Kdc) -> Loot:
    """The attacker's credentials. Both proxies have cached alice's status, by cookie, token and proxy user."""
    cluster, kdc = secured_cluster, kdc_of_module
    path, cancelled = kept_path(cluster), token_of(cluster, "alice")
    ended = cookie_of(cluster, "alice", lives_s=10)
    proxy_user = cookie_of(cluster, "proxy")
    for proxy in secured_proxies.values():
        for question in (
            Question(path, headers=(("Cookie", cookie_of(cluster, "alice")),)),
            Question(path, headers=(("Cookie", ended),)),
            Question(path, f"&delegation={token_of(cluster, 'alice')}"),
            Question(path, f"&delegation={cancelled}"),
            Question(path, "&doas=alice", (("Cookie", proxy_user),)),
        ):
            until_hit(proxy, question)
    for proxy in secured_proxies.values():  # the second finds no token to cancel; its reply is passed on
        headers = (("Cookie", cookie_of(cluster, "alice")),)
        ask(proxy.address, Question("/", f"&token={cancelled}", headers, "CANCELDELEGATIONTOKEN", "PUT"))
        question = Question(path, headers=(("Cookie", ended),))
        while ask(proxy.address, question).status == 200:
            pass
    used = negotiate(kdc.kinit("alice"))
    assert ask(namenode_of(cluster), Question(path, headers=(("Authorization", used),))).status == 200
    foreign = signed_cookie(b"another secret", "alice", expires_s=1_999_999_999)
    carol = kdc.kinit("carol")
    return Loot(
        path=path,
        cookie=cookie_of(cluster, "carol"),
        claimed=f'hadoop.auth="{foreign}"',
        ended=ended,
        token=token_of(cluster, "carol"),
        cancelled=cancelled,
        proxy=proxy_user,
        ticket=lambda: negotiate(carol),
        used=used,
    )


@pytest.mark.parametrize("name", ATTEMPTS)
def test_no_attempt_makes_a_thief_alice(
    secured_cluster: Cluster, secured_proxies: dict[str, ProxyDaemon], loot: Loot, name: str
) -> None:
    """It succeeds neither through a proxy nor directly. The proxy's refusal has the NameNode's status."""
    attempt = ATTEMPTS[name]
    own = ask(namenode_of(secured_cluster), attempt(loot))
    assert own.status >= 400, "this is no attempt of a thief's: the NameNode lets it pass"
    for proxy in secured_proxies.values():
        for _ in range(3):
            reply = ask(proxy.address, attempt(loot))
            assert (reply.status, reply.is_hit) == (own.status, False)
            assert _OF_A_STATUS not in reply.body
        after = Question(loot.path, headers=(("Cookie", loot.claimed),))
        assert ask(proxy.address, after).status == 401, "what a forged cookie brought along has made it good"


def test_the_attempts_are_many() -> None:
    """There are at least sixty different requests."""
    loot = Loot(
        "/p/d",
        'hadoop.auth="u=carol&p=carol@TEST.LOCAL&s=1"',
        'hadoop.auth="u=alice&s=2"',
        'hadoop.auth="u=alice&e=1&s=3"',
        "dA",
        _TOKEN,
        'hadoop.auth="u=proxy&s=4"',
        lambda: "Negotiate A",
        "Negotiate BN",
    )
    requests = {
        (each.method, each.target, each.headers) for each in (made(loot) for made in ATTEMPTS.values())
    }
    assert len(requests) == len(ATTEMPTS) >= 60
    assert all(target.startswith(PREFIX) for _, target, _ in requests)


_TOKEN = "HgAFYWxpY2UFYWxpY2UAigGiD9vsh4oBojPocIcTAhTgEMPXy1JKYFGsUpWOXlVceQ1kuhJXRUJIREZTIGRlbGVnYXRpb24A"
