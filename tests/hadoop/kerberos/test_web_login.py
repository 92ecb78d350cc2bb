"""Logging in at web servers: which requests carry what."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from nncache.hadoop.errors import KerberosError
from nncache.hadoop.kerberos.identity import KerberosIdentity
from nncache.hadoop.kerberos.web_login import WebLogin

SET = 'hadoop.auth="u=svc&p=svc@R&t=kerberos&e=1&s=abc="; Path=/; HttpOnly'
COOKIE = "hadoop.auth=u=svc&p=svc@R&t=kerberos&e=1&s=abc="


class CountedIdentity(KerberosIdentity):
    """Gives numbered tokens."""

    def __init__(self) -> None:
        self.name = "svc@R"
        self.given = 0
        self.doubts = 0
        self.failure = ""

    async def negotiation(self, host: str, timeout_s: float) -> str:
        """Return the next one."""
        assert host == "127.0.0.1"
        assert timeout_s == pytest.approx(6.0)
        if self.failure:
            raise KerberosError(self.failure)
        self.given += 1
        return f"Negotiate token{self.given}"

    def doubt(self) -> None:
        """Count."""
        self.doubts += 1


@dataclass
class NameNode:
    """A web server that believes one cookie, and each token once."""

    cookie: str = COOKIE
    set_cookie: str = SET
    asked: list[tuple[str | None, str | None]] = field(default_factory=list)
    refusal: tuple[int, str] | None = None  # of tokens
    cuts: int = 0  # so many replies to a token are lost
    answer: int = 200

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer as a secured NameNode does."""
        cookie, authorization = request.headers.get("Cookie"), request.headers.get("Authorization")
        self.asked.append((cookie, authorization))
        if self.cookie and cookie == self.cookie:
            return web.Response(status=self.answer)
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
        return web.Response(status=self.answer, headers={"Set-Cookie": self.set_cookie})


@asynccontextmanager
async def stand() -> AsyncIterator[tuple[NameNode, CountedIdentity, aiohttp.ClientSession, str]]:
    """A web server, and a session that logs in there."""
    namenode, identity = NameNode(), CountedIdentity()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", namenode.handle)
    async with TestServer(app) as server:
        login = WebLogin(identity, [f"127.0.0.1:{server.port}"], timeout_s=10.0)
        async with aiohttp.ClientSession(
            middlewares=(login,), cookie_jar=aiohttp.DummyCookieJar()
        ) as session:
            yield namenode, identity, session, f"http://127.0.0.1:{server.port}/"


async def test_one_token_and_then_the_cookie() -> None:
    """The first request learns that one is needed."""
    async with stand() as (namenode, _, session, url):
        for _ in range(3):
            async with session.get(url) as reply:
                assert reply.status == 200
        assert namenode.asked == [
            (None, None),
            (None, "Negotiate token1"),
            (COOKIE, None),
            (COOKIE, None),
        ]


async def test_a_cookie_that_has_ended_is_replaced() -> None:
    """By another token."""
    async with stand() as (namenode, _, session, url):
        await session.get(url)
        namenode.cookie = "hadoop.auth=new"
        namenode.set_cookie = "hadoop.auth=new; Path=/"
        namenode.asked.clear()
        for _ in range(2):
            async with session.put(url) as reply:
                assert reply.status == 200
        assert namenode.asked == [
            (COOKIE, None),
            (None, "Negotiate token2"),
            ("hadoop.auth=new", None),
        ]


async def test_a_token_is_never_sent_twice() -> None:
    """W1: aiohttp repeats a GET whose connection was lost, and a NameNode refuses a token that comes twice."""
    async with stand() as (namenode, _, session, url):
        namenode.cuts = 1
        async with session.get(url) as reply:
            assert reply.status == 200
        tokens = [token for _, token in namenode.asked if token]
        assert tokens == ["Negotiate token1", "Negotiate token2"]


async def test_a_403_to_one_whom_the_server_knows_is_passed_on() -> None:
    """It comes with a cookie: access is denied, not the token."""
    async with stand() as (namenode, identity, session, url):
        namenode.answer = 403
        async with session.get(url) as reply:
            assert reply.status == 403
        assert identity.doubts == 0


@pytest.mark.parametrize("refusal", [(403, "GSSException: Request is a replay (34)"), (401, "Unauthorized")])
async def test_a_token_that_is_refused_is_an_error_with_advice(refusal: tuple[int, str]) -> None:
    """And the ticket for that server is got again."""
    async with stand() as (namenode, identity, session, url):
        namenode.refusal = refusal
        with pytest.raises(KerberosError, match=r"does not accept svc@R as HTTP/127\.0\.0\.1: .*its keytab"):
            await session.get(url)
        assert identity.doubts == 1


async def test_without_a_ticket_the_reason_is_raised() -> None:
    """It is not the server's."""
    async with stand() as (_, identity, session, url):
        identity.failure = "no ticket"
        with pytest.raises(KerberosError, match="no ticket"):
            await session.get(url)


async def test_only_the_addresses_that_are_named_get_a_token_or_a_cookie() -> None:
    """W2: a redirect may lead anywhere."""
    async with stand() as (namenode, identity, session, url):
        await session.get(url)
        namenode.asked.clear()
        async with session.get(url.replace("127.0.0.1", "localhost")) as reply:
            assert reply.status == 401
        assert namenode.asked == [(None, None)]
        assert identity.given == 1


async def test_a_cookie_can_be_shown_elsewhere_and_taken_back() -> None:
    """By those who ask in another way; a later one is not forgotten for an earlier one's sake."""
    async with stand() as (namenode, identity, session, url):
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
