"""Requests refused before a handler runs: the status, the RemoteException, and the end of the connection."""

from email.utils import parsedate_to_datetime

import pytest

from nncache.proxy.clients.request import Request
from nncache.proxy.clients.response import RawResponse, error_reply
from nncache.proxy.errors import MalformedRequestError
from tests.proxy.wire import RawClient, limits_of_tests, serving

LIMITS = limits_of_tests(max_head_bytes=2048, max_header_fields=20)


async def handler(_: Request) -> RawResponse:
    """Answer a request that was not refused."""
    return error_reply(MalformedRequestError("has passed"))


REFUSED = {
    "HTTP/2.0": (505, b"GET / HTTP/2.0\r\nHost: nn\r\n\r\n"),
    "HTTP/0.9": (505, b"GET /\r\n\r\n"),
    "Host with a user": (400, b"GET / HTTP/1.1\r\nHost: u@a\r\n\r\n"),
    "Host with a bad port": (400, b"GET / HTTP/1.1\r\nHost: a:8x\r\n\r\n"),
    "Host in raw UTF-8": (400, b"GET / HTTP/1.1\r\nHost: \xc3\xa9\r\n\r\n"),
    "no target": (400, b"CONNECT \r\nHost: a\r\n\r\n"),
    "CONNECT": (405, b"CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n"),
    "TLS": (400, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"),
    "a long target": (414, b"GET /" + b"a" * 3000 + b" HTTP/1.1\r\nHost: a\r\n\r\n"),
    "long fields": (431, b"GET / HTTP/1.1\r\nHost: a\r\n" + (b"X: " + b"a" * 500 + b"\r\n") * 5 + b"\r\n"),
}
"""One of each status, and hosts; tests/net/http1/test_head.py and tests/hostile/wire/ have all forms."""


@pytest.mark.parametrize("name", REFUSED)
async def test_what_is_not_clean_is_refused(name: str) -> None:
    """The status says why; the body is a RemoteException, and the connection ends."""
    status, raw = REFUSED[name]
    async with serving(handler, limits=LIMITS) as server, RawClient.connected(server.port) as client:
        client.send(raw)
        reply = await client.reply()
        assert reply.status == status
        assert b'{"RemoteException":{"exception":"' in reply.body
        assert b"has passed" not in reply.body
        assert reply.all(b"Connection") == [b"close"]
        assert ("Allow" in reply) is (status == 405), "RFC 9110, section 15.5.6"
        assert parsedate_to_datetime(reply["Date"]).year > 2000, "RFC 9110, section 6.6.1"
        assert await client.rest() == b""


@pytest.mark.parametrize("host", [b"a", b"a:1", b"A.b-c_d:9870", b"[::1]:9870", b"127.0.0.1", b"", b"a:"])
async def test_clean_hosts_pass(host: bytes) -> None:
    """Names, addresses and ports are accepted."""
    async with serving(handler, limits=LIMITS) as server, RawClient.connected(server.port) as client:
        client.send(b"GET / HTTP/1.1\r\nHost: " + host + b"\r\n\r\n")
        assert b"has passed" in (await client.reply()).body


async def test_http_1_0_needs_no_host() -> None:
    """The handler's error ends the connection in spite of `keep-alive`."""
    async with serving(handler, limits=LIMITS) as server, RawClient.connected(server.port) as client:
        client.send(b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
        reply = await client.reply()
        assert b"has passed" in reply.body
        assert reply.all(b"Connection") == [b"close"]
        assert await client.rest() == b""


async def test_a_refused_head_request_gets_no_body() -> None:
    """RFC 9110, section 9.3.2; `Content-Length` is present."""
    async with serving(handler, limits=LIMITS) as server, RawClient.connected(server.port) as client:
        client.send(b"HEAD / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n")
        assert (await client.reply("HEAD")).status == 400
        assert await client.rest() == b""
