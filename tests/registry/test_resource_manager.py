"""Finding the active ResourceManager, and querying it."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager
from typing import TypeAlias

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from aiohttp.typedefs import Handler
from yarl import URL

from nncache.hadoop.kerberos.web_login import WebLogin
from nncache.registry.errors import ResourceManagerError
from nncache.registry.resource_manager import MAX_REPLY_BYTES, ResourceManagers
from nncache.registry.yarn_states import RmReply, RmUnanswered
from tests.hadoop.kerberos.counted_identity import CountedIdentity
from tests.processes import free_address
from tests.registry.fake_resource_manager import FakeResourceManager, served

Pair: TypeAlias = tuple[FakeResourceManager, FakeResourceManager]


@pytest.fixture
def pair() -> Iterator[Pair]:
    """Yield an active one, and a standby that redirects to it."""
    with ExitStack() as close:
        active = close.enter_context(served(FakeResourceManager()))
        yield (
            active,
            close.enter_context(served(FakeResourceManager(ha_state="STANDBY", redirect=active.url))),
        )


@asynccontextmanager
async def managers(*urls: str, user: str = "", timeout_s: float = 60.0) -> AsyncIterator[ResourceManagers]:
    """Yield a client of these."""
    async with aiohttp.ClientSession() as http:
        yield ResourceManagers(http, urls, user=user, timeout_s=timeout_s)


async def test_the_active_one_is_found_wherever_it_is(pair: Pair) -> None:
    """It is one of the known ones, or the target of a standby's redirect."""
    active, standby = pair
    silent = f"http://{free_address()}"
    for urls in (
        (active.url,),
        (standby.url, active.url),
        (silent, active.url),
        (standby.url,),
        (silent, standby.url),
    ):
        async with managers(*urls) as client:
            found = await client.find()
            assert found.url == active.url
            assert found.manager.started_on == active.started_on
            assert found.manager.active_s == pytest.approx(3600, abs=600)


async def test_without_an_active_one_each_is_named(pair: Pair) -> None:
    """This includes a standby that redirects to no active one, or nowhere."""
    active, standby = pair
    silent = f"http://{free_address()}"
    active.ha_state = "INITIALIZING"
    async with managers(standby.url, silent) as client:
        with pytest.raises(ResourceManagerError) as raised:
            await client.find()
    message = str(raised.value)
    assert f"{standby.url} (it is not active)" in message
    assert f"{active.url} (it is not active)" in message
    assert f"{silent} ({silent} does not answer: cannot connect" in message
    for redirect in ("", "nonsense", "http://[", standby.url):
        standby.redirect = redirect
        async with managers(standby.url) as client:
            with pytest.raises(
                ResourceManagerError, match=r"not active\): none is an active ResourceManager$"
            ):
                await client.find()


async def test_two_that_are_active_are_not_believed(pair: Pair) -> None:
    """They may belong to two clusters, or one does not know that it was deposed."""
    active, other = pair
    other.ha_state = "ACTIVE"
    async with managers(active.url, other.url) as client:
        with pytest.raises(ResourceManagerError, match="all say that they are the active"):
            await client.find()


async def test_one_that_is_no_longer_the_same_is_noticed(pair: Pair) -> None:
    """It restarted, became standby, or stopped."""
    active, _ = pair
    async with managers(active.url) as client:
        found = await client.find()
        await client.check_unchanged(found)
        active.ha_state = "STANDBY"
        with pytest.raises(ResourceManagerError, match="became standby"):
            await client.check_unchanged(found)
        active.ha_state = "ACTIVE"
        active.started_on += 1
        with pytest.raises(ResourceManagerError, match="was restarted"):
            await client.check_unchanged(found)
        active.odd["/info"] = (200, b"{}")
        with pytest.raises(ResourceManagerError, match="no ResourceManager"):
            await client.check_unchanged(found)


async def test_what_is_no_answer(pair: Pair) -> None:
    """The reply is a redirect, too long, missing, or of another protocol."""
    active, standby = pair
    async with managers(active.url) as client:
        redirected = await client.ask(standby.url, "/apps/x")
        assert redirected == RmUnanswered(f"{standby.url} is no active ResourceManager: it answers with 307")
        active.odd["/apps/x"] = (200, b" " * (MAX_REPLY_BYTES + 1))
        flood = await client.ask(active.url, "/apps/x")
        assert isinstance(flood, RmUnanswered)
        assert "more than" in flood.why
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        async with managers(timeout_s=0.2) as client:
            assert await client.ask(url, "/info") == RmUnanswered(f"{url} does not answer: no answer in time")


async def test_it_is_asked_as_the_given_user(pair: Pair) -> None:
    """The name, if any, is in the query."""
    active, _ = pair
    async with managers(user="bücher&co") as client:
        answer = await client.ask(active.url, "/apps/application_1_0001")
        assert isinstance(answer, RmReply)
        assert (answer.status, active.asked[-1]) == (
            404,
            "/apps/application_1_0001?user.name=b%C3%BCcher%26co",
        )
    async with managers() as client:
        await client.ask(active.url, "/info")
        assert active.asked[-1] == "/info"


async def test_a_date_that_is_none_proves_no_time() -> None:
    """Then the server's clock is unknown."""

    async def page(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nDate: today\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")
        await writer.drain()
        writer.close()

    listening = await asyncio.start_server(page, "127.0.0.1", 0)
    host, port = listening.sockets[0].getsockname()
    async with listening, managers() as client:
        assert await client.ask(f"http://{host}:{port}", "/info") == RmReply(200, b"{}", 0)


async def test_over_tls_a_certificate_is_needed_that_is_believed(pair: Pair) -> None:
    """This server does not even speak TLS."""
    active, _ = pair
    url = active.url.replace("http:", "https:")
    async with aiohttp.ClientSession() as http:
        client = ResourceManagers(http, [url], tls=ssl.create_default_context())
        assert isinstance(await client.ask(url, "/info"), RmUnanswered)


@asynccontextmanager
async def logging_in(page: Handler, identity: CountedIdentity) -> AsyncIterator[tuple[str, ResourceManagers]]:
    """Yield the URL of a server with this page, and a client that logs in there with Kerberos."""
    app = web.Application()
    app.router.add_get("/{path:.*}", page)
    async with TestServer(app, host="127.0.0.1") as server:
        url = f"http://127.0.0.1:{server.port}"
        login = WebLogin(identity, [URL(url).authority], timeout_s=10.0)
        async with aiohttp.ClientSession(middlewares=(login,), cookie_jar=aiohttp.DummyCookieJar()) as http:
            yield url, ResourceManagers(http, [url])


async def test_with_kerberos_it_logs_in_once() -> None:
    """A failed login is no reply, and has a reason."""
    identity, tokens = CountedIdentity(), list[str | None]()

    async def page(request: web.Request) -> web.Response:
        token = request.headers.get("Authorization")
        if request.headers.get("Cookie") == "hadoop.auth=joe":
            return web.json_response({"clusterInfo": {"haState": "ACTIVE", "startedOn": 1}})
        tokens.append(token)
        if token is None:
            return web.Response(status=401, headers={"WWW-Authenticate": "Negotiate"})
        proof = {"WWW-Authenticate": token.replace("token", "proof"), "Set-Cookie": "hadoop.auth=joe; Path=/"}
        return web.json_response({"clusterInfo": {"haState": "ACTIVE", "startedOn": 1}}, headers=proof)

    async def refusal(_: web.Request) -> web.Response:
        return web.Response(status=401, headers={"WWW-Authenticate": "Negotiate"})

    async with logging_in(page, identity) as (url, client):
        await client.check_unchanged(await client.find())
        assert tokens == [None, "Negotiate token1"]
    async with logging_in(refusal, identity) as (url, client):
        refused = await client.ask(url, "/info")
        assert isinstance(refused, RmUnanswered)
        assert "does not accept" in refused.why
