"""Logins at web servers: the token or cookie of each request."""

import base64
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import aiohttp
import pytest
from aiohttp import web
from aiohttp.client_middlewares import ClientHandlerType
from aiohttp.test_utils import TestServer, unused_port
from yarl import URL

from nncache.hadoop.errors import JmxUnavailableError, KerberosError
from nncache.hadoop.kerberos.identity import KerberosIdentity, identity_of
from nncache.hadoop.kerberos.settings import KerberosSettings
from nncache.hadoop.kerberos.web_guard import check_guarded
from nncache.hadoop.kerberos.web_login import WebLogin
from nncache.testbed.spec import REALM
from tests.hadoop.kerberos.counted_identity import CountedIdentity, acceptor
from tests.kerberos import KdcServer

SET = 'hadoop.auth="u=svc&p=svc@R&t=kerberos&e=1&s=abc="; Path=/; HttpOnly'
COOKIE = "hadoop.auth=u=svc&p=svc@R&t=kerberos&e=1&s=abc="


@dataclass
class NameNode:
    """A web server that accepts one cookie, and each token once."""

    cookie: str = COOKIE
    set_cookie: str = SET
    asked: list[tuple[str | None, str | None]] = field(default_factory=list)
    refusal: tuple[int, str] | None = None  # to a token
    renewed: dict[str, str] = field(default_factory=dict)  # header fields of replies to the cookie
    cuts: int = 0  # replies to a token that are still to be lost
    answer: int = 200
    asks: bool = True  # whether it asks for a login
    browsers_elsewhere: bool = (
        False  # to whom a `User-Agent` means a browser (AltKerberosAuthenticationHandler)
    )
    proves: Callable[[str], str] = lambda token: token.replace("token", "proof")

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer as a secured NameNode does."""
        cookie, authorization = request.headers.get("Cookie"), request.headers.get("Authorization")
        self.asked.append((cookie, authorization))
        if self.cookie and cookie == self.cookie:
            return web.Response(status=self.answer, headers=self.renewed)
        if self.browsers_elsewhere and "User-Agent" in request.headers:
            return web.Response(status=302, headers={"Location": "https://sso.x/"})
        if not self.asks:
            return web.Response(status=self.answer, headers={"Set-Cookie": self.set_cookie})
        if authorization is None:
            return web.Response(
                status=401,
                headers={"WWW-Authenticate": "Negotiate", "Set-Cookie": "hadoop.auth=; Path=/; HttpOnly"},
            )
        if self.cuts:
            self.cuts -= 1
            assert request.transport is not None
            request.transport.abort()
            return web.Response()
        if self.refusal is not None:
            return web.Response(status=self.refusal[0], reason=self.refusal[1])
        headers = {"Set-Cookie": self.set_cookie}
        if proof := self.proves(authorization):
            headers["WWW-Authenticate"] = proof
        return web.Response(status=self.answer, headers=headers)


@asynccontextmanager
async def serving(
    namenode: NameNode, identity: KerberosIdentity, host: str = "127.0.0.1"
) -> AsyncIterator[tuple[aiohttp.ClientSession, str]]:
    """Serve it, and yield a session that logs in there."""
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", namenode.handle)
    async with TestServer(app, host=host) as server:
        login = WebLogin(identity, [f"{host}:{server.port}"], timeout_s=10.0)
        async with aiohttp.ClientSession(
            middlewares=(login,), cookie_jar=aiohttp.DummyCookieJar()
        ) as session:
            yield session, f"http://{host}:{server.port}/"


@asynccontextmanager
async def fake_cluster() -> AsyncIterator[tuple[NameNode, CountedIdentity, aiohttp.ClientSession, str]]:
    """Yield a web server, and a session that logs in there."""
    namenode, identity = NameNode(), CountedIdentity()
    async with serving(namenode, identity) as (session, url):
        yield namenode, identity, session, url


async def test_one_token_and_then_the_cookie() -> None:
    """The first request learns that a login is needed."""
    async with fake_cluster() as (namenode, _, session, url):
        for _ in range(3):
            async with session.get(url) as reply:
                assert reply.status == 200
        assert namenode.asked == [(None, None), (None, "Negotiate token1"), (COOKIE, None), (COOKIE, None)]


async def test_no_request_of_ours_is_taken_for_a_browsers() -> None:
    """Browsers log in elsewhere, such as at Knox; a client without a `User-Agent` is no browser."""
    async with fake_cluster() as (namenode, _, session, url):
        namenode.browsers_elsewhere = True
        await check_guarded(session, url.removeprefix("http://").rstrip("/"))
        namenode.asked.clear()
        async with session.get(url, allow_redirects=False) as reply:
            assert reply.status == 200
        assert namenode.asked == [(COOKIE, None)]


@pytest.mark.parametrize("host", ["LOCALHOST", "LocalHost"])
async def test_the_case_of_a_hosts_name_is_no_matter(host: str) -> None:
    """Settings may have any case, while a URL has the host in lower case."""
    namenode, identity = NameNode(), CountedIdentity(host="localhost")
    async with serving(namenode, identity, host) as (session, url):
        async with session.get(URL(url, encoded=True)) as reply:
            assert reply.status == 200
        (login,) = session._middlewares  # noqa: SLF001 - what `serving` has made
        assert isinstance(login, WebLogin)
        address = url.removeprefix("http://").rstrip("/")
        cookie = login.cookie(address)
        assert cookie == COOKIE.partition("=")[2]
        login.forget(address, cookie)
        assert login.cookie(address) is None


async def test_a_cookie_that_has_ended_is_replaced() -> None:
    """A new token replaces it."""
    async with fake_cluster() as (namenode, _, session, url):
        await session.get(url)
        namenode.cookie = "hadoop.auth=new"
        namenode.set_cookie = "hadoop.auth=new; Path=/"
        namenode.asked.clear()
        for _ in range(2):
            async with session.put(url) as reply:
                assert reply.status == 200
        assert namenode.asked == [(COOKIE, None), (None, "Negotiate token2"), ("hadoop.auth=new", None)]


async def test_a_token_is_never_sent_twice() -> None:
    """W1: aiohttp retries a GET whose connection was lost, and a NameNode refuses a token that it has seen."""
    async with fake_cluster() as (namenode, _, session, url):
        namenode.cuts = 1
        async with session.get(url) as reply:
            assert reply.status == 200
        tokens = [token for _, token in namenode.asked if token]
        assert tokens == ["Negotiate token1", "Negotiate token2"]


async def test_a_403_to_one_whom_the_server_knows_is_passed_on() -> None:
    """It comes with a cookie: access is denied, the token is accepted."""
    async with fake_cluster() as (namenode, identity, session, url):
        namenode.answer = 403
        async with session.get(url) as reply:
            assert reply.status == 403
        assert identity.rechecks == 0


@pytest.mark.parametrize("refusal", [(403, "GSSException: Request is a replay (34)"), (401, "Unauthorized")])
async def test_a_token_that_is_refused_is_an_error_with_advice(refusal: tuple[int, str]) -> None:
    """The ticket for that server is obtained again."""
    async with fake_cluster() as (namenode, identity, session, url):
        namenode.refusal = refusal
        with pytest.raises(KerberosError, match=r"does not accept svc@R as HTTP/127\.0\.0\.1: .*its keytab"):
            await session.get(url)
        assert identity.rechecks == 1


async def test_without_a_ticket_the_reason_is_raised() -> None:
    """It is not the server's fault."""
    async with fake_cluster() as (_, identity, session, url):
        identity.failure = "no ticket"
        with pytest.raises(KerberosError, match="no ticket"):
            await session.get(url)


async def test_only_named_addresses_get_a_token_or_cookie() -> None:
    """W2: a redirect may lead anywhere."""
    async with fake_cluster() as (namenode, identity, session, url):
        await session.get(url)
        namenode.asked.clear()
        async with session.get(url.replace("127.0.0.1", "localhost")) as reply:
            assert reply.status == 401
        assert namenode.asked == [(None, None)]
        assert identity.given == 1


@pytest.mark.parametrize("answer", [200, 307, 403, 404])
@pytest.mark.parametrize("proof", ["", "Negotiate", "Negotiate other"])
async def test_a_server_that_does_not_prove_its_name_is_not_believed(answer: int, proof: str) -> None:
    """W3: whatever its status; and its cookie is not stored."""
    async with fake_cluster() as (namenode, identity, session, url):
        namenode.answer, namenode.proves = answer, lambda _: proof
        for _ in range(2):
            with pytest.raises(
                KerberosError, match=r"127\.0\.0\.1:\d+ is not believed: no proof.*namenode_http"
            ):
                await session.get(url)
        assert [cookie for cookie, _ in namenode.asked] == [None] * 4
        assert identity.rechecks == 0


async def test_a_failure_before_the_login_is_passed_on() -> None:
    """A server that is starting or overloaded proves nothing, and nothing in its reply is trusted."""
    async with fake_cluster() as (namenode, _, session, url):
        namenode.answer, namenode.proves = 503, lambda _: ""
        async with session.get(url) as reply:
            assert reply.status == 503
        namenode.answer, namenode.proves = 200, NameNode.proves
        async with session.get(url):
            assert namenode.asked[-2:] == [(None, None), (None, "Negotiate token2")]


async def test_a_cookie_is_renewed_by_the_server_to_which_it_went() -> None:
    """W3: as with hadoop.http.authentication.token.max-inactive-interval."""
    async with fake_cluster() as (namenode, _, session, url):
        await session.get(url)
        namenode.renewed = {"Set-Cookie": "hadoop.auth=later; Path=/"}
        await session.get(url)
        namenode.cookie = "hadoop.auth=later"
        namenode.asked.clear()
        await session.get(url)
        assert namenode.asked == [("hadoop.auth=later", None)]


async def test_without_a_login_no_cookie_is_set() -> None:
    """W3, W4: /jmx needs no login on some clusters, WebHDFS of a secured one always does; a refusal is passed on."""
    async with fake_cluster() as (namenode, identity, session, url):
        namenode.asks = False
        for path in ("jmx", "jmx"):
            async with session.get(url + path) as reply:
                assert reply.status == 200
        with pytest.raises(
            KerberosError, match=r"believes any user\.name.*http\.authentication\.type=kerberos"
        ):
            await session.get(f"{url}webhdfs/v1/?op=GETHOMEDIRECTORY")
        namenode.answer = 404
        async with session.get(f"{url}webhdfs/v1/?op=GETHOMEDIRECTORY") as reply:
            assert reply.status == 404
        namenode.answer, identity.may_fall_back = 200, True
        async with session.get(f"{url}webhdfs/v1/?op=GETHOMEDIRECTORY") as reply:
            assert reply.status == 200
        assert set(namenode.asked) == {(None, None)}


PROVES = ("its own", "nothing", "garbage", "another key", "an earlier answer")


@pytest.mark.parametrize("what", PROVES)
async def test_only_who_has_the_key_of_the_server_can_prove_its_name(realm: KdcServer, what: str) -> None:
    """With real tickets: an impostor accepts any token, and replies with whatever it has."""
    keytab = realm.keytab("alice")
    keytab.chmod(0o400)
    settings = KerberosSettings(principal=f"alice@{REALM}", keytab=str(keytab))
    identity = identity_of(settings, time.monotonic)
    assert identity is not None
    realm.add(*({"HTTP/other"} - set(realm.principals())))
    earlier = await proof_of(realm, identity, "localhost")

    def proves(field: str) -> str:
        if what == "its own":
            return accepted(realm, field, "localhost")
        return {"nothing": "", "garbage": "Negotiate oYG2MIGzoAMKAQA=", "an earlier answer": earlier}[what]

    namenode = NameNode(cookie="", proves=proves)
    if what == "another key":
        other = await proof_of(realm, identity, "other")
        namenode.proves = lambda _: other
    async with serving(namenode, identity, "localhost") as (session, url):
        if what == "its own":
            async with session.get(url) as reply:
                assert reply.status == 200
        else:
            with pytest.raises(KerberosError, match="does not prove that it is HTTP/localhost"):
                await session.get(url)


def accepted(realm: KdcServer, field: str, host: str) -> str:
    """Return the reply of a server with the key of HTTP/host to this field."""
    theirs = acceptor(realm.keytab(f"HTTP/{host}"), f"HTTP@{host}")
    token = theirs.step(base64.b64decode(field.removeprefix("Negotiate ")))
    return f"Negotiate {base64.b64encode(token).decode()}"


async def proof_of(realm: KdcServer, identity: KerberosIdentity, host: str) -> str:
    """Return an earlier reply of such a server."""
    negotiation = await identity.negotiation(host, 10.0)
    return accepted(realm, negotiation.field, host)


async def test_a_cookie_can_be_shown_elsewhere_and_taken_back() -> None:
    """Other clients may use and reject it; rejecting an earlier cookie keeps a later one."""
    async with fake_cluster() as (namenode, identity, session, url):
        login = WebLogin(identity, [url[7:-1]], timeout_s=10.0)
        address = url[7:-1]
        assert login.cookie(address) is None
        login.take(address, SET)
        assert login.cookie(address) == COOKIE.partition("=")[2]
        login.take(address, "hadoop.auth=; Path=/; HttpOnly")
        login.forget(address, "another")
        assert login.cookie(address) is not None
        login.forget(address, COOKIE.partition("=")[2])
        assert login.cookie(address) is None
        assert namenode.asked == []
        assert not session.closed


QUESTION = "/webhdfs/v1/?op=GETHOMEDIRECTORY&user.name=nncache-probe"


async def log_in(request: aiohttp.ClientRequest, handler: ClientHandlerType) -> aiohttp.ClientResponse:
    """Stands in for `WebLogin`."""
    request.headers["Authorization"] = "Negotiate token"
    return await handler(request)


async def asked(status: int, then: int = 200) -> str:
    """Return the error for a server with these statuses, the second after a login; "" for none."""
    asked = []

    async def handle(request: web.Request) -> web.Response:
        asked.append((request.path_qs, request.headers.get("Authorization")))
        return web.Response(status=status if asked[-1][1] is None else then)

    app = web.Application()
    app.router.add_get("/{path:.*}", handle)
    async with TestServer(app) as server, aiohttp.ClientSession(middlewares=(log_in,)) as session:
        try:
            await check_guarded(session, f"127.0.0.1:{server.port}")
        except KerberosError as error:
            return str(error)
        finally:
            logins = [(QUESTION, "Negotiate token")] if status == 401 else []
            assert asked == [(QUESTION, None), *logins]
    return ""


async def test_only_a_401_shows_that_it_asks() -> None:
    """Any other status passed authentication, says nothing about it, or does not ask for Kerberos."""
    assert await asked(401) == ""
    assert await asked(401, then=403) == ""
    assert "hadoop.http.authentication.type=kerberos" in await asked(200)
    assert "answers 403" in await asked(403)
    assert "answers 307" in await asked(307)
    assert "without asking for Negotiate" in await asked(401, then=401)


async def test_no_reply_is_no_answer() -> None:
    """The next probe asks again."""
    async with aiohttp.ClientSession() as session:
        with pytest.raises(JmxUnavailableError, match="cannot connect"):
            await check_guarded(session, f"127.0.0.1:{unused_port()}")
