"""The service's cookie: it is requested once, kept from clients, and replaced when it is refused."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from nncache.hadoop.election_view import NameNode
from nncache.hadoop.kerberos.web_login import WebLogin
from nncache.proxy.errors import NotSentError, ServiceLoginError
from nncache.proxy.messages import RequestHead
from nncache.proxy.upstream.service_login import PAUSE_S, ServiceLogin
from tests.hadoop.kerberos.counted_identity import CountedIdentity
from tests.proxy.doubles import FakeClock

HEAD = RequestHead("GET", "/webhdfs/v1/?op=X", ((b"Accept", b"*/*"),), acts_for="alice")


class FakeCluster:
    """A NameNode's WebHDFS that issues cookies for tickets."""

    def __init__(self) -> None:
        self.identity = CountedIdentity()
        self.clock = FakeClock()
        self.gives_cookie = True
        self.namenode = NameNode("", "")
        self.login: ServiceLogin

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Answer as a NameNode does."""
        authorization = request.headers.get("Authorization", "")
        if not authorization:
            return web.Response(status=401, headers={"WWW-Authenticate": "Negotiate"})
        cookie = f'hadoop.auth="u=svc&s={authorization[-1]}"; Path=/; HttpOnly'
        proof = {"WWW-Authenticate": authorization.replace("token", "proof")}
        return web.Response(headers=proof | ({"Set-Cookie": cookie} if self.gives_cookie else {}))

    async def cookie(self) -> bytes:
        """Return the cookie with which a call is sent."""
        return (await self.login.signed(HEAD, self.namenode)).headers[-1][1]


@asynccontextmanager
async def fake_cluster() -> AsyncIterator[FakeCluster]:
    """Run the server, and log in to it."""
    made, app = FakeCluster(), web.Application()
    app.router.add_route("*", "/{path:.*}", made.answer)
    async with TestServer(app) as server:
        address = f"127.0.0.1:{server.port}"
        made.namenode = NameNode(address, "rpc:1")
        login = WebLogin(made.identity, [address], timeout_s=10.0)
        async with ServiceLogin(login, made.clock) as made.login:
            yield made


async def test_many_calls_log_in_once() -> None:
    """The cookie follows the calls' own fields."""
    async with fake_cluster() as one:
        cookies = await asyncio.gather(*(one.cookie() for _ in range(20)))
        assert set(cookies) == {b'hadoop.auth="u=svc&s=1"'}
        assert one.identity.given == 1
        assert (await one.login.signed(HEAD, one.namenode)).headers[0] == (b"Accept", b"*/*")


async def test_one_that_is_refused_is_got_again_once() -> None:
    """The number of calls refused with it does not matter."""
    async with fake_cluster() as one:
        head = await one.login.signed(HEAD, one.namenode)
        one.login.refused(head, one.namenode)
        assert await one.cookie() == b'hadoop.auth="u=svc&s=2"'
        one.login.refused(head, one.namenode)
        assert await one.cookie() == b'hadoop.auth="u=svc&s=2"'


async def test_what_a_namenode_says_of_it_stays_here() -> None:
    """A renewed cookie is stored and reaches no client; nor does a challenge."""
    async with fake_cluster() as one:
        await one.cookie()
        fields = (
            (b"Set-Cookie", b'hadoop.auth="u=svc&i=1&s=9"; Path=/; HttpOnly'),
            (b"set-cookie", b"other=1"),
            (b"WWW-Authenticate", b"Negotiate abc"),
            (b"Content-Type", b"application/json"),
        )
        assert one.login.replied(one.namenode, fields) == ((b"Content-Type", b"application/json"),)
        assert await one.cookie() == b'hadoop.auth="u=svc&i=1&s=9"'
        assert one.identity.given == 1


@pytest.mark.parametrize("what", ["no ticket", "no cookie"])
async def test_without_a_login_calls_fail_and_it_is_retried(
    what: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A new attempt starts after a pause; clients get no details."""
    async with fake_cluster() as one:
        one.identity.failure = "no KDC, keytab /secret/place" if what == "no ticket" else ""
        one.gives_cookie = what != "no cookie"
        for _ in range(3):
            with pytest.raises(ServiceLoginError) as failed:
                await one.cookie()
            assert "/secret/place" not in str(failed.value)
        assert (one.identity.given, one.login.failures) == (1, 1)
        assert "503" in caplog.text
        one.identity.failure, one.gives_cookie = "", True
        one.clock.now += PAUSE_S + 0.1
        assert (await one.cookie()).startswith(b"hadoop.auth=")


async def test_a_namenode_that_does_not_answer_is_not_asked() -> None:
    """The call may go to another NameNode."""
    async with fake_cluster() as one:
        gone = NameNode("127.0.0.1:1", "rpc:1")
        with pytest.raises(NotSentError, match=r"127\.0\.0\.1:1"):
            await one.login.signed(HEAD, gone)
