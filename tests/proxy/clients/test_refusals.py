"""Requests that are refused before any handler sees them: the status, a RemoteException, and the end."""

import pytest

from nncache.proxy.clients.error_replies import error_reply
from nncache.proxy.clients.request import Request
from nncache.proxy.clients.response import RawResponse
from nncache.proxy.errors import MalformedRequestError
from tests.proxy.wire import RawClient, limits_of_tests, serving

LIMITS = limits_of_tests(max_head_bytes=2048, max_header_fields=20)


async def handler(_: Request) -> RawResponse:
    """Answer what has passed."""
    return error_reply(MalformedRequestError("has passed"))


POST = b"POST / HTTP/1.1\r\nHost: a\r\n"
REFUSED = {
    "HTTP/2.0": (505, b"GET / HTTP/2.0\r\nHost: nn\r\n\r\n"),
    "HTTP/1.2": (505, b"GET / HTTP/1.2\r\nHost: nn\r\n\r\n"),
    "HTTP/0.9": (505, b"GET /\r\n\r\n"),
    "no Host": (400, b"GET / HTTP/1.1\r\n\r\n"),
    "two Hosts": (400, b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"),
    "bad Host": (400, b"GET / HTTP/1.1\r\nHost: a b\r\n\r\n"),
    "Host with a path": (400, b"GET / HTTP/1.1\r\nHost: a/b\r\n\r\n"),
    "Host with a user": (400, b"GET / HTTP/1.1\r\nHost: u@a\r\n\r\n"),
    "Host with a bad port": (400, b"GET / HTTP/1.1\r\nHost: a:8x\r\n\r\n"),
    "Host in raw UTF-8": (400, b"GET / HTTP/1.1\r\nHost: \xc3\xa9\r\n\r\n"),
    "chunked on 1.0": (400, b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    "chunked and length": (400, POST + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    "two lengths": (400, POST + b"Content-Length: 4\r\nContent-Length: 5\r\n\r\n12345"),
    "the same length twice": (400, POST + b"Content-Length: 1\r\nContent-Length: 1\r\n\r\n1"),
    "a signed length": (400, POST + b"Content-Length: +4\r\n\r\n1234"),
    "chunked not last": (400, POST + b"Transfer-Encoding: chunked, gzip\r\n\r\n"),
    "chunked and gzip": (400, POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
    "gzip and chunked in two fields": (
        400,
        POST + b"Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ),
    "an unknown coding": (400, POST + b"Transfer-Encoding: xchunked\r\n\r\n"),
    "space before the colon": (400, b"GET / HTTP/1.1\r\nHost : a\r\n\r\n"),
    "a folded field": (400, b"GET / HTTP/1.1\r\nHost: a\r\nX: 1\r\n 2\r\n\r\n"),
    "a bare LF": (400, b"GET / HTTP/1.1\nHost: a\n\n"),
    "a NUL in a value": (400, b"GET / HTTP/1.1\r\nHost: a\r\nX: \x00\r\n\r\n"),
    "an unknown method": (400, b"FETCH / HTTP/1.1\r\nHost: a\r\n\r\n"),
    "a small method": (400, b"get / HTTP/1.1\r\nHost: a\r\n\r\n"),
    "no target": (400, b"CONNECT \r\nHost: a\r\n\r\n"),
    "CONNECT": (405, b"CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n"),
    "TLS": (400, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"),
    "a target that is no UTF-8": (400, b"GET /\xff HTTP/1.1\r\nHost: a\r\n\r\n"),
    "a long target": (414, b"GET /" + b"a" * 3000 + b" HTTP/1.1\r\nHost: a\r\n\r\n"),
    "a long field": (431, b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"a" * 3000 + b"\r\n\r\n"),
    "long fields": (431, b"GET / HTTP/1.1\r\nHost: a\r\n" + (b"X: " + b"a" * 500 + b"\r\n") * 5 + b"\r\n"),
    "many fields": (431, b"GET / HTTP/1.1\r\nHost: a\r\n" + b"X: 1\r\n" * 25 + b"\r\n"),
}


@pytest.mark.parametrize("name", REFUSED)
async def test_what_is_not_clean_is_refused(name: str) -> None:
    """With the status that says why, as a RemoteException, and the connection ends."""
    status, raw = REFUSED[name]
    async with serving(handler, limits=LIMITS) as server, RawClient.connected(server.port) as client:
        client.send(raw)
        reply = await client.reply()
        assert reply.status == status
        assert b'{"RemoteException":{"exception":"' in reply.body
        assert b"has passed" not in reply.body
        assert reply.all(b"Connection") == [b"close"]
        assert await client.rest() == b""


@pytest.mark.parametrize("host", [b"a", b"a:1", b"A.b-c_d:9870", b"[::1]:9870", b"127.0.0.1", b"", b"a:"])
async def test_clean_hosts_pass(host: bytes) -> None:
    """Names, addresses, ports."""
    async with serving(handler, limits=LIMITS) as server, RawClient.connected(server.port) as client:
        client.send(b"GET / HTTP/1.1\r\nHost: " + host + b"\r\n\r\n")
        assert b"has passed" in (await client.reply()).body


async def test_http_1_0_needs_no_host() -> None:
    """With such an error its connection ends, whatever it asks for."""
    async with serving(handler, limits=LIMITS) as server, RawClient.connected(server.port) as client:
        client.send(b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
        reply = await client.reply()
        assert b"has passed" in reply.body
        assert reply.all(b"Connection") == [b"close"]
        assert await client.rest() == b""


async def test_a_refused_head_request_gets_no_body() -> None:
    """RFC 9110, section 9.3.2; the length is there."""
    async with serving(handler, limits=LIMITS) as server, RawClient.connected(server.port) as client:
        client.send(b"HEAD / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n")
        assert (await client.reply("HEAD")).status == 400
        assert await client.rest() == b""
