"""A cookie with `Secure` is sent to clients over TLS, and to no others."""

import asyncio
import logging
from pathlib import Path

import pytest

from nncache.proxy.headers import SecureCookies, encode_fields
from nncache.proxy.messages import Header, WireFields
from nncache.testbed.certificates import Authority
from tests.proxy.direct_fixture import direct_fixture
from tests.proxy.doubles import DIRECTORY
from tests.proxy.wire import RawClient, RawNameNode, RawReply, says, until
from tests.tls import server_context

SECURE: Header = (b"Set-Cookie", b'hadoop.auth="u=a&s=x"; Path=/; Secure; HttpOnly')
OPEN: Header = (b"Set-Cookie", b'hadoop.auth="u=a&s=x"; Path=/; HttpOnly')
DATE: Header = (b"Date", b"Tue, 24 Nov 2026 00:00:00 GMT")


def test_a_secure_cookie_crosses_no_plain_connection(caplog: pytest.LogCaptureFixture) -> None:
    """Other fields pass, in their order. The log says once what to do, and each removal is counted."""
    cookies = SecureCookies()
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            assert cookies.for_client((DATE, SECURE, OPEN)) == (DATE, OPEN)
    assert cookies.removed == 3
    assert caplog.text.count("tls_listen") == 1


def test_over_tls_all_fields_pass() -> None:
    """They are passed on unchanged."""
    cookies = SecureCookies()
    assert cookies.for_client((DATE, SECURE), is_secure=True) == (DATE, SECURE)
    assert cookies.removed == 0


@pytest.mark.parametrize("is_secure", [False, True])
@pytest.mark.parametrize("cookie", [None, OPEN, SECURE])
def test_fields_on_the_wire_keep_the_rule(cookie: Header | None, *, is_secure: bool) -> None:
    """The encoded fields are those of the field-by-field path."""
    one, other = SecureCookies(), SecureCookies()
    fields = (DATE, DATE) if cookie is None else (DATE, cookie, DATE)
    wire = WireFields(encode_fields((DATE,)), cookie, encode_fields((DATE,)), ())
    if cookie is None:
        wire = WireFields(encode_fields(fields), None, b"", ())
    encoded = encode_fields(one.for_client(fields, is_secure=is_secure))
    assert other.wire_for_client(wire, is_secure=is_secure) == encoded
    assert other.removed == one.removed


@pytest.mark.parametrize(
    ("value", "is_secure"),
    [
        (b"a=b; Secure", True),
        (b"a=b;secure", True),
        (b"a=b; SECURE ;Path=/", True),
        (b"a=b; Path=/;\tSecure=yes", True),
        (b"a=b; Path=/Secure", False),
        (b"Secure", False),
        (b"secure=secure; Path=/", False),
        (b"a=b; Insecure", False),
    ],
)
def test_the_attribute_in_any_spelling(value: bytes, *, is_secure: bool) -> None:
    """The first part is the cookie itself (RFC 6265, section 5.2)."""
    field = (b"set-COOKIE", value)
    assert SecureCookies().for_client((field,)) == (() if is_secure else (field,))


FIELDS = b"Host: nn\r\nAccept: */*\r\n\r\n"
BYPASSED = b"GET /webhdfs/v1/d?op=LISTSTATUS&user.name=joe HTTP/1.1\r\n" + FIELDS
KEPT = b"GET /webhdfs/v1/kept/%d?op=GETFILESTATUS&user.name=joe HTTP/1.1\r\n" + FIELDS


def https_reply(body: bytes) -> bytes:
    """Return a NameNode's reply over HTTPS."""
    return b"HTTP/1.1 200 OK\r\n%b: %b\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (
        *SECURE,
        len(body),
        body,
    )


@pytest.mark.parametrize("is_secure", [False, True])
async def test_every_way_through_the_proxy_keeps_the_rule(tmp_path: Path, *, is_secure: bool) -> None:
    """A forwarded call and one that fills the cache are each tried with a task and without."""
    authority = Authority(tmp_path)
    shown = server_context(authority)
    async with RawNameNode(says(https_reply(DIRECTORY))) as namenode, direct_fixture(namenode) as s:
        server = await asyncio.get_running_loop().create_server(
            s.server.connection, "127.0.0.1", 0, ssl=shown
        )
        port, context = server.sockets[0].getsockname()[1], authority.client_context()

        async def ask(request: bytes) -> RawReply:
            if not is_secure:
                async with s.client() as client:
                    client.send(request)
                    return await client.reply()
            reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
            client = RawClient(reader, writer)
            client.send(request)
            try:
                return await client.reply()
            finally:
                writer.close()

        asked = [BYPASSED, (KEPT % 1).replace(b"Accept:", b"Prefer:"), BYPASSED, KEPT % 2]
        replies = list[RawReply]()
        for each in asked:
            replies.append(await ask(each))
            await until(lambda: not s.server.stats().connections_open)
        server.close()
        assert s.calls.requests == 2
        assert [reply.status for reply in replies] == [200] * 4
        assert [reply.all(SECURE[0]) for reply in replies] == [[SECURE[1]] if is_secure else []] * 4
        assert s.upstream.stats().secure_cookies_removed == (0 if is_secure else 4)
