"""What is read off the bytes of a reply is what aiohttp's parser makes of them."""

import asyncio
from typing import Final

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nncache.clock import boottime
from nncache.hadoop.election_view import NameNode
from nncache.proxy.errors import ProxyError
from nncache.proxy.headers import encode_fields, replayed_headers, reply_headers
from nncache.proxy.messages import RequestHead
from nncache.proxy.secure_cookies import SecureCookies
from nncache.proxy.upstream.exchange import Exchange
from nncache.proxy.upstream.namenode_protocol import NameNodeProtocol
from nncache.proxy.upstream.plain_reply import MAX_BYTES, MAX_LINES, NotWhole, PlainReply, ReplyReader
from nncache.proxy.upstream.pool import Connection
from tests.hostile.fuzzing.transport import DeafTransport

BODY: Final = b'{"boolean":true}'
JSON: Final = b"Content-Type: application/json\r\n"
COUNTED: Final = (
    b"HTTP/1.1 200 OK\r\nDate: now\r\n" + JSON + b"Content-Length: 16\r\nPragma: no-cache\r\n\r\n" + BODY
)
CHUNKED: Final = (
    b"HTTP/1.1 404 Not Found\r\n"
    + JSON
    + b"Transfer-Encoding: chunked\r\n\r\na\r\n"
    + BODY[:10]
    + b"\r\n6\r\n"
    + BODY[10:]
    + b"\r\n0\r\n\r\n"
)
READER: Final = ReplyReader()
PIECES: Final = (
    *(b"HTTP/1.1 200 OK", b"HTTP/1.1 403 Forbidden", b"HTTP/1.0 200 OK", b"HTTP/1.1 200 ", b"HTTP/1.1 200"),
    *(
        b"HTTP/1.1 200 O\tK ",
        b"\r\n",
        b"\r\n",
        b"\r\n",
        b"\n",
        b"\r",
        b"\r\n\r\n",
        b" ",
        b"\t",
        b":",
        b"\0",
        b"\xff",
    ),
    *(b"Content-Length: 16", b"content-length: 16", b"Content-Length:16", b"Content-Length: 016"),
    *(
        b"Content-Length: +16",
        b"Content-Length: 3",
        b"Content-Length: 0",
        b"Content-Length: ",
        b"Content-Length: 16 ",
    ),
    *(b"Transfer-Encoding: chunked", b"Transfer-Encoding: gzip, chunked", b"Transfer-Encoding: Chunked"),
    *(
        b"Content-Type: application/json",
        b"Content-Type: APPLICATION/JSON; charset=utf-8",
        b"Content-Type: text/xml",
    ),
    *(b"Connection: close", b"Connection: content-type", b"Keep-Alive: timeout=5", b"Proxy-Authenticate: x"),
    *(
        b"Trailer: x",
        b"X: y",
        b"X: ",
        b"X : y",
        b"X: y ",
        b" folded",
        b"Set-Cookie: a=b",
        b'Set-Cookie: c="d"',
        b"Set-Cookie: e=f; secure",
        b"Set-Cookie: e=secure; Secure=x",
        b"Expires: never",
    ),
    *(b"Set-Cookie: e=f; secure", b"set-cookie: e=secure; Path=/", b"Expires: never", b"Age: 1"),
    *(BODY, b"10\r\n", b"10;x=y\r\n", b"010\r\n", b"0\r\n\r\n", b"0\r\nX: y\r\n\r\n", b"\r\n0\r\n\r\n"),
    *(b"-1\r\n", b"A\r\n"),
)


async def parsed(data: bytes) -> PlainReply | None:
    """Return what the parser makes of a reply; None if it is not complete, or broken, or more than one."""
    loop = asyncio.get_running_loop()
    protocol = NameNodeProtocol(loop)
    protocol.connection_made(DeafTransport())
    connection = Connection(NameNode("nn:1", "nn:2"), protocol, loop, boottime)
    exchange = Exchange(connection, RequestHead("GET", "/webhdfs/v1/?op=X", ()), None, timeout_s=0.01)
    exchange.send_head()
    protocol.data_received(data)
    try:
        await exchange.receive_head(lambda: None)
        await exchange.receive_start(2 * MAX_BYTES)
    except ProxyError:
        return None
    if not (exchange.is_reusable and connection.is_usable and exchange.is_json):
        return None
    headers = reply_headers(exchange.headers)
    is_secure = any(name.lower() == b"set-cookie" and b"secure" in value.lower() for name, value in headers)
    assert is_secure or SecureCookies().for_client(headers) == headers
    reason = exchange.reason.encode()
    fields, replayed = encode_fields(headers), replayed_headers(headers)
    return PlainReply(exchange.status, reason, headers, fields, exchange.start, replayed, is_secure)


@given(
    st.one_of(
        st.lists(st.sampled_from(PIECES), max_size=14).map(b"".join),
        st.builds(
            lambda lines, body: b"\r\n".join((b"HTTP/1.1 200 OK", *lines)) + b"\r\n\r\n" + body,
            st.lists(st.sampled_from(PIECES), max_size=6),
            st.sampled_from((BODY, b"", b"10\r\n" + BODY + b"\r\n0\r\n\r\n", BODY + b"\r\n")),
        ),
        st.tuples(
            st.sampled_from((COUNTED, CHUNKED)),
            st.lists(st.tuples(st.integers(0, 200), st.sampled_from(PIECES)), max_size=2),
        ).map(lambda drawn: with_pieces(*drawn)),
    )
)
@example(COUNTED)
@example(CHUNKED)
def test_it_reads_what_the_parser_reads_or_nothing(data: bytes) -> None:
    """Whatever comes: a whole reply means the same to both, and the connection may be used again."""
    read = READER.read(data)
    assert read == ReplyReader().read(data), "whatever was read before it"
    if isinstance(read, PlainReply):
        assert asyncio.run(parsed(data)) == read


def with_pieces(data: bytes, pieces: list[tuple[int, bytes]]) -> bytes:
    """Put some pieces into a reply."""
    for place, piece in pieces:
        data = data[:place] + piece + data[place:]
    return data


@pytest.mark.parametrize("whole", [COUNTED, CHUNKED])
def test_a_reply_is_whole_with_its_last_byte(whole: bytes) -> None:
    """Before that, more is to come; behind it, something is odd."""
    for end in range(len(whole)):
        assert ReplyReader().read(whole[:end]) is NotWhole.MORE
    reply = ReplyReader().read(whole)
    assert isinstance(reply, PlainReply)
    assert reply.body == BODY
    assert b"ength" not in reply.fields
    assert ReplyReader().read(whole + b"H") is NotWhole.ODD


@pytest.mark.parametrize(
    "data",
    [
        COUNTED.replace(b"200 OK", b"403 Forbidden"),
        COUNTED.replace(b"200 OK", b"204 No Content"),
        COUNTED.replace(b"200 OK", b"100 Continue"),
        COUNTED.replace(JSON, b""),
        COUNTED.replace(JSON, JSON + JSON),
        COUNTED.replace(b"Date: now", b"Connection: close"),
        COUNTED.replace(b"Date: now", b"Proxy-Authenticate: x"),
        COUNTED.replace(b"Date: now", b"Content-Length: 16"),
        COUNTED.replace(b"Date: now", b"Transfer-Encoding: chunked"),
        COUNTED.replace(b"Length: 16", b"Length: +16"),
        COUNTED.replace(b"Length: 16", b"Length: %d" % (MAX_BYTES + 1)),
        COUNTED.replace(b"Date: now", b"Date: now\r\n folded"),
        CHUNKED.replace(b"\r\na\r\n", b"\r\na;x\r\n") + b"12345678",
        CHUNKED.replace(b"chunked", b"gzip, chunked"),
        CHUNKED[:-2] + b"X: y\r\n\r\n",
        b"H" * (MAX_BYTES + 1),
        CHUNKED + b"1" * MAX_BYTES,
    ],
)
def test_what_is_odd_is_said_to_be(data: bytes) -> None:
    """The parser has it then."""
    assert ReplyReader().read(data) is NotWhole.ODD


def test_what_is_remembered_is_bounded_and_no_secret() -> None:
    """Of a cookie nothing is; of the lines of a head with many dates, a part."""
    reader = ReplyReader()
    for number in range(3 * MAX_LINES):
        dates = b"Date: %d\r\nExpires: %d" % (number, number)
        read = reader.read(COUNTED.replace(b"Date: now", b"Set-Cookie: a=%d\r\n%b" % (number, dates)))
        assert isinstance(read, PlainReply)
        assert read.headers[:2] == ((b"Set-Cookie", b"a=%d" % number), (b"Date", b"%d" % number))
        reader.check()
    assert isinstance(reader.read(COUNTED.replace(b"now", b"1" * 1_000)), PlainReply)
    reader.check()
