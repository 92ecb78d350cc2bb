"""The proxy authenticates: clients that negotiate each time get hits, and answers equal the NameNode's."""

import base64
import http.client
import json
import time
import uuid
from collections.abc import Callable
from contextlib import closing
from http import HTTPStatus
from pathlib import Path

import pytest
import requests

from nncache.hadoop.credentials import parse_delegation_token
from nncache.testbed import Cluster, Kdc
from nncache.testbed.daemon import ProxyDaemon
from nncache.testbed.errors import ServerStartError
from nncache.testbed.spec import REALM
from tests.cluster import make_directory, settle
from tests.kerberos import need_gssapi, negotiate
from tests.patience import HANG_S, until
from tests.real.proxied_cluster import differences
from tests.secured.asking import (
    Question,
    ask,
    ask_over_tls,
    cookie_of,
    curl,
    kept_path,
    namenode_of,
    until_hit,
)
from tests.secured.service import identity_flags, keytab_of, without
from tests.secured.terminating import Terminating, cookie_by_ticket, secrets_file, termination_flags

ASKED = 4
_OPEN = "/kept/open"
HITS = 'nncache_requests_total{result="hit"}'
ACCEPTED = 'nncache_spnego_tickets_total{outcome="accepted"}'
BLIND = tuple(f'nncache_cache_asked_total{{reason="{why}"}}' for why in ("gate-closed", "stream-closed"))


@pytest.fixture
def path(secured_cluster: Cluster, kdc: Kdc, proxy: ProxyDaemon) -> str:
    """Return the path of `prepared`."""
    return prepared(secured_cluster, kdc, proxy)


def prepared(secured_cluster: Cluster, kdc: Kdc, proxy: ProxyDaemon) -> str:
    """Return a directory that only alice may enter, with its status cached and no change pending."""
    place = kept_path(secured_cluster)
    settle(secured_cluster, proxy)  # a late event would invalidate the entry
    until_hit(proxy, Question(place, headers=(("Cookie", cookie_by_ticket(kdc, proxy, "alice")),)))
    return place


@pytest.fixture(params=["direct", "zookeeper"])
def proxy(request: pytest.FixtureRequest, terminating: Terminating) -> ProxyDaemon:
    """The proxy on one of the channels."""
    return terminating.proxies[request.param]


def base_of(proxy: ProxyDaemon) -> str:
    """Return the proxy's address with the host name of its principal."""
    return f"localhost:{proxy.address.rpartition(':')[2]}"


def counted(proxy: ProxyDaemon, act: Callable[[], object], name: str = HITS) -> int:
    """Return the increase of a metric during an action.

    On a busy machine the gate may close during it, and nothing is answered from memory: then the action is repeated.
    """
    deadline = time.monotonic() + HANG_S
    while True:
        proxy.await_gate()
        before = proxy.metrics()
        act()
        after = proxy.metrics()
        if all(before[each] == after[each] for each in BLIND):
            return int(after[name] - before[name])
        assert time.monotonic() < deadline, "the gate does not stay open"
        act()  # fills the cache again after a loss of the stream


def test_a_start_without_a_replay_cache_is_refused(
    secured_cluster: Cluster, kdc: Kdc, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The proxy does not inspect the configuration: it presents a ticket of its own twice."""
    file = tmp_path / "more.conf"
    file.write_text("[libdefaults]\n default_rcache_name = none:\n")
    monkeypatch.setenv("KRB5_CONFIG", f"{file}:{kdc.environ()['KRB5_CONFIG']}")
    flags = (*identity_flags(secured_cluster, kdc), *termination_flags(kdc, tmp_path))
    with (
        closing(ProxyDaemon(*flags, "--glob", "/kept/*/*")) as proxy,
        pytest.raises(ServerStartError, match=r"is accepted twice.*default_rcache_name"),
    ):
        proxy.start()


def test_without_a_kdc_no_ticket_is_judged_and_cookies_are(
    secured_cluster: Cluster, kdc: Kdc, tmp_path: Path
) -> None:
    """The start succeeds. A ticket gets 503 until the proxy knows that replays are refused."""
    directory = tmp_path / "own"
    directory.mkdir()
    ticket = negotiate(kdc.kinit("alice"))
    gone = "HTTP/unknown.example.com"
    kdc.add(gone)
    kdc.keytab("gone", gone)
    kdc._kadmin(f"delprinc -force {gone}")  # noqa: SLF001 - of this test alone
    own = without(termination_flags(kdc, directory, f"{gone}@{REALM}"), "--spnego-keytab")
    flags = (*own, "--spnego-keytab", keytab_of(kdc, "gone"))
    with ProxyDaemon(*identity_flags(secured_cluster, kdc), *flags, "--glob", "/kept/*/*") as proxy:
        refused = ask(proxy.address, Question("/", "", (("Authorization", ticket),), "GETHOMEDIRECTORY"))
        assert refused.status == HTTPStatus.SERVICE_UNAVAILABLE
        log = (proxy.process.log).read_text()
    assert "clients' tickets are refused: it is not known whether a ticket that has come before" in log


def test_curl_is_answered_from_memory_each_time(kdc: Kdc, proxy: ProxyDaemon, path: str) -> None:
    """Its ticket differs each time. A missing path is a hit at the second request."""
    ticket = kdc.kinit("alice")

    def run(asked: str) -> bytes:
        return curl(kdc, ticket, f"http://{base_of(proxy)}/webhdfs/v1{asked}?op=GETFILESTATUS")

    def several() -> None:
        for _ in range(ASKED):
            assert b"FileStatus" in run(path)

    hits: list[int] = []
    assert counted(proxy, lambda: hits.append(counted(proxy, several)), ACCEPTED) == ASKED
    assert hits[-1] == ASKED

    def twice() -> None:
        missing = f"{path}/{uuid.uuid4().hex}"
        hits[-2:] = counted(proxy, lambda: run(missing)), counted(proxy, lambda: run(missing))

    counted(proxy, twice)
    assert hits[-2:] == [0, 1]


@pytest.mark.parametrize("channel", ["direct", "zookeeper"])
def test_curl_negotiates_over_tls(
    secured_cluster: Cluster, kdc: Kdc, terminating: Terminating, channel: str
) -> None:
    """Each process of curl gets a hit and a `Secure` cookie. That cookie gets hits on both ports."""
    assert secured_cluster.authority is not None
    proxy, address = terminating.proxies[channel], terminating.tls[channel]
    where = prepared(secured_cluster, kdc, proxy)
    url = f"https://{address}/webhdfs/v1{where}?op=GETFILESTATUS"
    options, ticket = ("--include", "--cacert", str(secured_cluster.authority.ca)), kdc.kinit("alice")
    shown: list[bytes] = []

    def several() -> None:
        shown.extend(curl(kdc, ticket, url, *options) for _ in range(ASKED))

    assert counted(proxy, several) == ASKED
    cookies = []
    for reply in shown:
        assert b'"FileStatus"' in reply
        (given,) = [
            line for line in reply.split(b"\r\n") if line.lower().startswith(b"set-cookie: hadoop.auth=")
        ]
        assert b"; Secure" in given
        cookies.append(given.split(b": ", 1)[1].split(b";")[0].decode())
    cookie = cookies[-1]
    question = Question(where, headers=(("Cookie", cookie),))
    assert ask_over_tls(address, question, terminating.context).is_hit
    assert ask(proxy.address, question).is_hit, "docs/decisions/0019: refusing it there would come too late"


def test_each_process_of_the_hadoop_shell_has_its_hit(
    secured_cluster: Cluster, proxy: ProxyDaemon, path: str
) -> None:
    """It fetches a token for its only request. The proxy knows the token's owner from the reply that issued it."""
    url = f"webhdfs://{base_of(proxy)}{path}"

    def run() -> None:
        shown = secured_cluster.fs_shell("-stat", "%F", url, user="alice")
        assert (shown.returncode, shown.stdout) == (0, "directory\n"), shown.stderr

    assert counted(proxy, run) == 1
    refused = secured_cluster.fs_shell("-stat", "%F", url, user="carol")
    assert refused.returncode != 0
    assert "Permission denied: user=carol" in refused.stderr


def test_requests_gssapi_keeps_the_proxys_cookie(
    kdc: Kdc, proxy: ProxyDaemon, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It negotiates once, and every request is a hit."""
    need_gssapi()
    gssapi = pytest.importorskip("requests_gssapi")
    monkeypatch.setenv("KRB5CCNAME", f"FILE:{kdc.kinit('alice')}")

    def several() -> None:
        with requests.Session() as session:
            session.auth = gssapi.HTTPSPNEGOAuth(mutual_authentication=gssapi.OPTIONAL)
            for _ in range(ASKED):
                url = f"http://{base_of(proxy)}/webhdfs/v1{path}?op=GETFILESTATUS"
                assert session.get(url, timeout=60).status_code == 200

    assert counted(proxy, several, ACCEPTED) == 1
    assert counted(proxy, several) == ASKED


@pytest.mark.parametrize(
    ("user", "query"),
    [("alice", "&doas=bob"), ("proxy", "&doas=carol"), ("alice", "&doas=alice"), ("alice", "&user.name=bob")],
)
def test_a_name_in_the_query_is_answered_as_by_the_namenode(
    secured_cluster: Cluster, kdc: Kdc, proxy: ProxyDaemon, user: str, query: str
) -> None:
    """The reply is equal to the byte, header fields included."""
    cookies = cookie_of(secured_cluster, user), cookie_by_ticket(kdc, proxy, user)
    own, ours = (
        ask(address, Question("/", query, (("Cookie", cookie),), "GETHOMEDIRECTORY"))
        for address, cookie in zip((namenode_of(secured_cluster), proxy.address), cookies, strict=True)
    )
    assert differences(ours, own) == []
    assert ours.header("Content-Type") == own.header("Content-Type")


def test_a_body_says_nothing_of_who_asks(
    secured_cluster: Cluster, kdc: Kdc, proxy: ProxyDaemon, path: str
) -> None:
    """A servlet container also takes parameters from a form, but the one in the query comes first."""
    host, _, port = proxy.address.rpartition(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=60)
    headers = {
        "Cookie": cookie_by_ticket(kdc, proxy, "carol"),
        "Content-Type": "application/x-www-form-urlencoded",
    }
    try:
        for method in ("PUT", "POST"):
            target = f"/webhdfs/v1{path}/made?op={'MKDIRS' if method == 'PUT' else 'TRUNCATE&newlength=0'}"
            connection.request(
                method, target, body="doas=alice&user.name=alice&doas=nncache", headers=headers
            )
            reply = connection.getresponse()
            assert reply.status == 403
            assert b"user=carol" in reply.read()
    finally:
        connection.close()


def test_a_token_and_a_redirect_are_the_users_own(
    secured_cluster: Cluster, kdc: Kdc, proxy: ProxyDaemon
) -> None:
    """They do not name the service: `realUser` is empty."""
    make_directory(secured_cluster, "/kept")
    make_directory(secured_cluster, _OPEN, permission="777")
    by_cookie = (("Cookie", cookie_by_ticket(kdc, proxy, "alice")),)
    given = ask(proxy.address, Question("/", "&renewer=bob", by_cookie, "GETDELEGATIONTOKEN"))
    created = ask(
        proxy.address, Question(f"{_OPEN}/{uuid.uuid4().hex}", "&noredirect=true", by_cookie, "CREATE", "PUT")
    )
    location = json.loads(created.body)["Location"]
    tokens = (
        json.loads(given.body)["Token"]["urlString"],
        location.partition("delegation=")[2].partition("&")[0],
    )
    for text in tokens:
        token = parse_delegation_token(text)
        assert token is not None
        assert token.owner == "alice"
        assert b"nncache" not in base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def test_no_secret_is_written(secured_cluster: Cluster, kdc: Kdc, tmp_path: Path) -> None:
    """With all logs on, no cookie, key, ticket, token or redirect is logged, including the service's own."""
    make_directory(secured_cluster, "/kept")
    make_directory(secured_cluster, _OPEN, permission="777")
    access, audit = tmp_path / "access.log", tmp_path / "audit.log"
    logs = ("--access-log", str(access), "--audit-log", str(audit), "--log-level", "debug")
    flags = termination_flags(kdc, tmp_path)
    with ProxyDaemon(*identity_flags(secured_cluster, kdc), *flags, *logs, "--glob", "/kept/*/*") as proxy:
        proxy.await_gate()
        ticket = negotiate(kdc.kinit("alice"))
        first = ask(proxy.address, Question(f"{_OPEN}/none", headers=(("Authorization", ticket),)))
        cookie = first.header("Set-Cookie").split(";")[0]
        by_cookie = (("Cookie", cookie),)
        until_hit(proxy, Question(f"{_OPEN}/none", headers=by_cookie))
        for fields in ((("Authorization", ticket),), (("Cookie", cookie.replace("alice", "bob")),)):
            ask(proxy.address, Question(f"{_OPEN}/none", headers=fields))
        ask(proxy.address, Question("/", "&doas=bob", by_cookie, "GETHOMEDIRECTORY"))
        given = ask(proxy.address, Question("/", "&renewer=alice", by_cookie, "GETDELEGATIONTOKEN"))
        token = json.loads(given.body)["Token"]["urlString"]
        ask(proxy.address, Question(f"{_OPEN}/none", f"&delegation={token}"))
        created = ask(proxy.address, Question(f"{_OPEN}/f", "&overwrite=true", by_cookie, "CREATE", "PUT"))
        location = created.header("Location").partition("delegation=")[2].partition("&")[0]
        ask(proxy.address, Question("/", f"&token={token}", by_cookie, "CANCELDELEGATIONTOKEN", "PUT"))
        until(lambda: b"CANCELDELEGATIONTOKEN" in access.read_bytes())  # a thread writes the lines
        proxy.stop()
        written = [proxy.process.log.read_bytes(), access.read_bytes(), audit.read_bytes()]
    assert location
    assert all(written[:2])
    secrets = (
        cookie.rpartition("&s=")[2].strip('"'),
        secrets_file(tmp_path).read_text().strip(),
        ticket.removeprefix("Negotiate ")[100:],
        token[20:],
        location[20:],
    )
    for secret in secrets:
        pieces = [secret[start : start + 16].encode() for start in range(0, len(secret) - 16, 8)]
        assert pieces
        for text in written:
            assert not [piece for piece in pieces if piece in text]
    assert not any(b"t=kerberos" in text for text in written), "the service's own cookie"
