"""Listening, many clients at once, and an end that breaks nothing off."""

import asyncio
import os
import resource

import pytest
from aiohttp import http_parser, web

from nncache.clock import boottime
from proxy.errors import NoActiveNameNodeError, StartError
from proxy.fastpath import FastPath
from proxy.response import RawResponse
from proxy.server import Handler, Server
from tests.proxy.wire import GET, RawClient, limits_of_tests, serving, until

MANY = int(os.environ.get("NNCACHE_TEST_CONNECTIONS", "1500"))  # 10000 is what the limits are made for


async def hello(request: web.BaseRequest) -> web.StreamResponse:
    """Answer."""
    await request.read()
    return RawResponse(200, "OK", (), body=b"hello")


def server_of(handler: Handler = hello) -> Server:
    """Return one that does not listen yet."""
    return Server(handler, FastPath(lambda _h, _n: True, boottime, max_bytes=0), limits_of_tests())


async def test_many_clients_connect_at_once() -> None:
    """The backlog takes them all: none is refused, each is answered."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 2 * MANY + 200)), hard))

    async def one(number: int, port: int) -> int:
        local = f"127.0.0.{2 + number % 8}"  # ephemeral ports are counted for each address
        async with RawClient.connected(port, local=local) as client:
            client.send(GET)
            status = (await client.reply()).status
            answered.append(number)
            await all_answered.wait()
            return status

    answered: list[int] = []
    all_answered = asyncio.Event()
    async with serving(hello) as server, asyncio.timeout(60):
        async with asyncio.TaskGroup() as tasks:
            clients = [tasks.create_task(one(number, server.port)) for number in range(MANY)]
            await until(lambda: len(answered) == MANY)
            assert server.stats().connections_open == MANY
            all_answered.set()
        assert {client.result() for client in clients} == {200}
        assert server.stats().connections_refused == 0


async def test_stopping_finishes_what_is_in_progress() -> None:
    """Requests end whole, also one whose body is still on its way; idle connections end at once."""
    begun = asyncio.Event()

    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        begun.set()
        data = await request.read()
        return RawResponse(200, "OK", (), body=b"%d" % len(data))

    server = server_of(handler)
    await server.start("127.0.0.1", 0)
    port = server.port
    async with RawClient.connected(port) as idle, RawClient.connected(port) as busy:
        idle.send(GET)
        await idle.reply()
        begun.clear()
        busy.send(b"POST / HTTP/1.1\r\nHost: nn\r\nContent-Length: 8\r\n\r\n1234")
        await begun.wait()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(server.stop())
            assert await idle.rest() == b""
            with pytest.raises(OSError, match=r"refused|reset"):
                await asyncio.open_connection("127.0.0.1", port)
            busy.send(b"5678")
            reply = await busy.reply()
            assert (reply.body, reply.all(b"Connection")) == (b"8", [b"close"])
            assert await busy.rest() == b""
    assert server.stats().connections_open == 0


async def test_stopping_has_a_deadline() -> None:
    """A request that never ends is cut after drain_timeout_s."""

    async def never(_: web.BaseRequest) -> web.StreamResponse:
        await asyncio.Event().wait()
        raise AssertionError

    began = boottime()
    async with (
        serving(never, limits=limits_of_tests(drain_timeout_s=0.2)) as server,
        RawClient.connected(server.port) as client,
    ):
        client.send(GET)
        await until(lambda: server.stats().requests_in_progress == 1)
        await server.stop()
        assert await client.rest() == b""
    assert boottime() - began < 3


async def test_an_error_of_ours_becomes_its_reply() -> None:
    """The connection goes on where the error allows it."""

    async def handler(_: web.BaseRequest) -> web.StreamResponse:
        raise NoActiveNameNodeError("none is active")

    async with serving(handler) as server, RawClient.connected(server.port) as client:
        for _ in range(2):
            client.send(GET)
            reply = await client.reply()
            assert reply.status == 503
            assert b'"message":"nncache: none is active"' in reply.body


async def test_a_bug_ends_one_request_only(caplog: pytest.LogCaptureFixture) -> None:
    """500 without a word of the inside, logged and counted."""

    async def handler(_: web.BaseRequest) -> web.StreamResponse:
        raise KeyError("secret")

    async with serving(handler) as server, RawClient.connected(server.port) as client:
        client.send(GET)
        reply = await client.reply()
        assert reply.status == 500
        assert b"secret" not in reply.body
        assert server.stats().bugs == 1
    assert "KeyError" in caplog.text


async def test_an_address_in_use_is_one_line() -> None:
    """It names the setting and the address."""
    async with serving(hello) as server:
        with pytest.raises(StartError, match=rf"^listen: 127\.0\.0\.1:{server.port}: "):
            await server_of().start("127.0.0.1", server.port)


async def test_the_pure_python_parser_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """It splits one published smuggling payload into two requests."""
    monkeypatch.setattr(http_parser, "HttpRequestParser", http_parser.HttpRequestParserPy)
    with pytest.raises(StartError, match="pure-Python parser"):
        await server_of().start("127.0.0.1", 0)


@pytest.mark.parametrize("line", [b"HTTP/1.1", b"HTTP/1.0"])
async def test_no_error_is_written_into_a_reply_that_has_begun(line: bytes) -> None:
    """What a client took for the rest of the body would not be the NameNode's (Verbatim): it is cut off instead."""
    begun = asyncio.Event()

    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        response = RawResponse(200, "OK", (), length=1000)
        await response.prepare(request)
        await response.write(b"begun")
        await begun.wait()
        raise LookupError("a bug")

    async with serving(handler) as server, RawClient.connected(server.port) as client:
        client.send(GET.replace(b"HTTP/1.1", line))
        await client.reader.readuntil(b"begun")
        begun.set()
        with pytest.raises(ConnectionResetError):
            await client.reader.read()
        assert server.stats().bugs == 1


async def test_a_reply_that_is_given_up_at_the_end_does_not_look_whole() -> None:
    """Not even to an HTTP/1.0 client, for whom the end of the connection is the end of the body."""
    begun = asyncio.Event()

    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        response = RawResponse(200, "OK", ())
        await response.prepare(request)
        await response.write(b"begun")
        begun.set()
        await asyncio.Event().wait()
        raise AssertionError("nobody sets that")

    limits = limits_of_tests(drain_timeout_s=0.1)
    async with serving(handler, limits=limits) as server, RawClient.connected(server.port) as client:
        client.send(GET.replace(b"HTTP/1.1", b"HTTP/1.0"))
        await begun.wait()
        await client.reader.readuntil(b"begun")
        await server.stop()
        with pytest.raises(ConnectionResetError):
            await client.reader.read()
