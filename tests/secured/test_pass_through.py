"""On a secured cluster, a client's own valid credential gets answers from memory."""

import pytest

from nncache.testbed import Cluster, Kdc
from nncache.testbed.daemon import ProxyDaemon
from tests.cluster import webhdfs
from tests.kerberos import negotiate
from tests.patience import until
from tests.secured.asking import Question, ask, cookie_of, kept_place, namenode_of, names, token_of, until_hit

CHANNELS = ("direct", "zookeeper")


@pytest.fixture(params=CHANNELS)
def proxy(request: pytest.FixtureRequest, secured_proxies: dict[str, ProxyDaemon]) -> ProxyDaemon:
    """The proxy on one of the channels."""
    return secured_proxies[request.param]


@pytest.fixture
def place(secured_cluster: Cluster) -> str:
    """A directory of alice with mode 750 and bob's group, and a directory `d` in it."""
    place = kept_place(secured_cluster, "750")
    webhdfs(secured_cluster, "PUT", f"{place}/d", "MKDIRS")
    return place


def ways(cluster: Cluster, user: str) -> dict[str, Question]:
    """Return a question for each credential that can be recognized again."""
    return {
        "cookie": Question("", headers=(("Cookie", cookie_of(cluster, user)),)),
        "token": Question("", f"&delegation={token_of(cluster, user)}"),
        "doas": Question("", f"&doas={user}", (("Cookie", cookie_of(cluster, "proxy")),)),
    }


@pytest.mark.parametrize("way", ["cookie", "token", "doas"])
def test_a_credential_that_was_accepted_is_answered_from_memory(
    secured_cluster: Cluster, proxy: ProxyDaemon, place: str, way: str
) -> None:
    """The answer has the NameNode's bytes, for an existing and for a missing path."""
    asked = ways(secured_cluster, "alice")[way]
    for path in (f"{place}/d", f"{place}/none"):
        question = Question(path, asked.query, asked.headers)
        first, hit = ask(proxy.address, question), until_hit(proxy, question)
        own = ask(namenode_of(secured_cluster), question)
        assert not first.is_hit
        assert (hit.status, hit.body) == (own.status, own.body)
        assert not hit.header("Set-Cookie")


@pytest.mark.parametrize(
    ("way", "tenant"), [("cookie", "alice"), ("token", "alice"), ("doas", "alice via proxy")]
)
def test_hits_are_counted_for_the_user_whom_a_credential_names(
    secured_cluster: Cluster, proxy: ProxyDaemon, place: str, way: str, tenant: str
) -> None:
    """Hits of the fast path count, too, where the credential alone names the user. `doas` never uses the fast path."""
    asked = ways(secured_cluster, "alice")[way]
    question = Question(f"{place}/d", asked.query, asked.headers)
    until_hit(proxy, question)

    def hits() -> float:
        return proxy.metrics().get(f'nncache_tenant_hits_total{{tenant="{tenant}"}}', 0.0)

    before, known = hits(), proxy.metrics()["nncache_fast_path_hits_total"]
    until(lambda: ask(proxy.address, question).is_hit and hits() >= before + 5)
    assert (proxy.metrics()["nncache_fast_path_hits_total"] > known) is (way != "doas")


@pytest.mark.parametrize("way", ["cookie", "token"])
def test_a_user_without_a_right_has_none_by_anothers_proof(
    secured_cluster: Cluster, proxy: ProxyDaemon, place: str, way: str
) -> None:
    """Carol is refused with the NameNode's body. Bob gets hits only after the NameNode has admitted him."""
    path = f"{place}/d"
    seen = {}
    for user in ("alice", "bob", "carol"):
        asked = ways(secured_cluster, user)[way]
        question = Question(path, asked.query, asked.headers)
        seen[user] = ask(proxy.address, question)
        if user == "carol":
            own = ask(namenode_of(secured_cluster), question)
            assert (seen[user].status, seen[user].body) == (own.status, own.body)
        else:
            until_hit(proxy, question)
    assert names(seen.values()) == [(200, False), (200, False), (403, False)]


def test_a_right_that_is_taken_away_is_gone(secured_cluster: Cluster, proxy: ProxyDaemon, place: str) -> None:
    """After a chmod at the NameNode, bob's cookie is still valid, but his permission is gone."""
    question = Question(f"{place}/d", headers=(("Cookie", cookie_of(secured_cluster, "bob")),))
    until_hit(proxy, question)
    webhdfs(secured_cluster, "PUT", place, "SETPERMISSION", permission="700")
    while (reply := ask(proxy.address, question)).status == 200:
        pass
    assert (reply.status, reply.is_hit) == (403, False)


def test_a_cookie_is_believed_until_it_ends(secured_cluster: Cluster, proxy: ProxyDaemon, place: str) -> None:
    """Then it is refused as the NameNode refuses it, never answered from memory."""
    question = Question(f"{place}/d", headers=(("Cookie", cookie_of(secured_cluster, "alice", lives_s=8)),))
    until_hit(proxy, question)
    while (reply := ask(proxy.address, question)).status == 200:
        pass
    assert (reply.status, reply.is_hit) == (401, False)


def test_a_token_cancelled_by_the_proxy_is_refused_at_once(
    secured_cluster: Cluster, proxy: ProxyDaemon, place: str
) -> None:
    """This holds in all directories. Another token of the same user stays valid."""
    tokens = [token_of(secured_cluster, "alice") for _ in range(2)]
    paths = (f"{place}/d", f"{place}/d/none")
    for token in tokens:
        for path in paths:
            until_hit(proxy, Question(path, f"&delegation={token}"))
    headers = (("Cookie", cookie_of(secured_cluster, "alice")),)
    cancel = Question("/", f"&token={tokens[0]}", headers, "CANCELDELEGATIONTOKEN", "PUT")
    assert ask(proxy.address, cancel).status == 200
    after = [ask(proxy.address, Question(path, f"&delegation={tokens[0]}")) for path in paths]
    assert names(after) == [(403, False)] * 2
    assert ask(proxy.address, Question(paths[0], f"&delegation={tokens[1]}")).is_hit


def test_who_negotiates_is_forwarded(
    secured_cluster: Cluster, proxy: ProxyDaemon, place: str, kdc: Kdc
) -> None:
    """The NameNode decides. Its cookie goes to the client, whose next requests are hits."""
    ticket = negotiate(kdc.kinit("alice"))
    reply = ask(proxy.address, Question(f"{place}/d", headers=(("Authorization", ticket),)))
    assert (reply.status, reply.is_hit) == (200, False)
    cookie = reply.header("Set-Cookie").partition(";")[0]
    until_hit(proxy, Question(f"{place}/d", headers=(("Cookie", cookie),)))
    again = ask(proxy.address, Question(f"{place}/d", headers=(("Authorization", ticket),)))
    assert again.status == 403, "a replay, which the NameNode refuses"


def test_without_a_credential_there_is_nothing(
    secured_cluster: Cluster, proxy: ProxyDaemon, place: str
) -> None:
    """Every attempt gets the NameNode's challenge."""
    for _ in range(3):
        reply = ask(proxy.address, Question(f"{place}/d", "&user.name=alice"))
        assert (reply.status, reply.is_hit) == (401, False)
        assert reply.header("WWW-Authenticate") == "Negotiate"
