"""Both ends of HTTP: a client's connection, and a NameNode's reply."""

import asyncio
from dataclasses import dataclass, replace
from typing import Final

import uvloop

from nncache.hadoop.election_view import NameNode
from nncache.net.http1.chunks import Chunks, ChunksError
from nncache.net.http1.head import HeadError, read_head
from nncache.net.http1.reply import ReplyError, ReplyHead, read_reply_head, read_whole_reply
from nncache.proxy.clients.request import Request
from nncache.proxy.clients.response import RawResponse
from nncache.proxy.clients.server import Server
from nncache.proxy.errors import ProxyError
from nncache.proxy.limits import LimitSettings
from nncache.proxy.messages import RequestHead
from nncache.proxy.upstream.exchange import CallExchange
from nncache.proxy.upstream.namenode_protocol import NameNodeProtocol
from nncache.proxy.upstream.pool import Connection
from tests.hostile.fuzzing.strict_http import read_requests
from tests.hostile.fuzzing.target import Target, hold
from tests.hostile.fuzzing.transport import DeafTransport
from tests.proxy.kept_hits import fast_path_alone
from tests.proxy.wire import read_body

_LIMITS: Final = LimitSettings(max_head_bytes=1024, max_header_fields=16)
_ITERATIONS: Final = 400  # of the event loop, the maximum until all received data is answered
_LOOP: Final = uvloop.new_event_loop()
_NAMENODE: Final = NameNode("nn1:9870", "nn1:8020")
_BODY_LIMIT: Final = 4096
_LAST_ASCII: Final = 0x7F


@dataclass(frozen=True)
class Heard:
    """A request as the front end gets it; `body` is None if it was incomplete."""

    method: str
    target: bytes
    fields: tuple[tuple[bytes, bytes], ...]
    body: bytes | None


def check_client(data: bytes) -> None:
    """Check a client's bytes; the first byte is the position at which they are cut in two, if they are."""
    cut = data[0] if data else 0
    stream = data[1:]
    pieces = [stream[:cut], stream[cut:]] if 0 < cut < len(stream) else [stream]
    heard = _LOOP.run_until_complete(_serve(pieces))
    strict = read_requests(stream)
    hold(len(heard) <= len(strict), f"a request that RFC 9112 does not know: {heard[-1:]}")
    for ours, theirs in zip(heard, strict, strict=False):
        read = (ours.method.encode(), ours.target, ours.fields)
        hold(
            read == (theirs.method, _encoded(theirs.target), _heard(theirs.fields)),
            f"{ours} is read as {theirs}",
        )
        hold(ours.body is None or ours.body == theirs.body, f"{ours.body!r} is read as {theirs.body!r}")


def _heard(fields: tuple[tuple[bytes, bytes], ...]) -> tuple[tuple[bytes, bytes], ...]:
    """Return the fields without `Upgrade`, and without repeated equal Hosts (`nncache.net.http1.head`)."""
    fields = tuple(field for field in fields if field[0].lower() != b"upgrade")
    hosts = [value for name, value in fields if name.lower() == b"host"]
    first = next((at for at, (name, _) in enumerate(fields) if name.lower() == b"host"), -1)
    if len(set(hosts)) > 1:
        return fields
    return tuple(field for at, field in enumerate(fields) if field[0].lower() != b"host" or at == first)


def _encoded(target: bytes) -> bytes:
    """Return a target percent-encoded beyond ASCII, as forwarded (`nncache.net.http1.head.Head`)."""
    return b"".join(b"%%%02X" % byte if byte > _LAST_ASCII else b"%c" % byte for byte in target)


async def _serve(pieces: list[bytes]) -> list[Heard]:
    heard: list[Heard] = []

    async def answer(request: Request) -> RawResponse:
        target = request.target.encode("utf-8", "surrogateescape")
        heard.append(Heard(request.method, target, tuple(request.fields), None))
        heard[-1] = replace(heard[-1], body=await read_body(request))
        return RawResponse(200, "OK", (), body=b"ok")

    fast_path = fast_path_alone(_LOOP.time)
    server = Server(answer, fast_path, _LIMITS)
    transport = DeafTransport()
    transport.connect(server.connection())
    await asyncio.sleep(0)
    for piece in pieces:
        if transport.is_closing():
            break
        transport.get_protocol().data_received(piece)
        await _settle(heard, transport)
    transport.get_protocol().eof_received()
    await _settle(heard, transport)
    transport.get_protocol().connection_lost(None)
    for _ in range(3):
        await asyncio.sleep(0)
    hold(server.stats().bugs == 0, "an exception of ours")
    hold(server.stats().connections_open == 0, "a connection is not counted out")
    return heard


async def _settle(heard: list[Heard], transport: DeafTransport) -> None:
    """Let the connection answer the received data."""
    for _ in range(_ITERATIONS):
        before = len(heard), len(transport.written)
        for _ in range(3):
            await asyncio.sleep(0)
        is_idle = transport.get_protocol().task is None
        if is_idle or (len(heard), len(transport.written)) == before:
            return


def check_head(data: bytes) -> None:
    """Check a head: the reader of RFC 9112 must read it too, with the same result."""
    head = data.partition(b"\r\n\r\n")[0] + b"\r\n\r\n"
    try:
        ours = read_head(head, max_bytes=_LIMITS.max_head_bytes, max_fields=_LIMITS.max_header_fields)
    except HeadError:
        return
    strict = read_requests(head)
    hold(len(strict) == 1, f"a request that RFC 9112 does not know: {ours}")
    (theirs,) = strict
    read = (ours.method.encode(), ours.target.encode(), ours.fields)
    hold(
        read == (theirs.method, _encoded(theirs.target), _heard(theirs.fields)), f"{ours} is read as {theirs}"
    )
    hold((ours.length == 0) is (theirs.body == b""), f"the body of {ours} is that of {theirs}")
    hold(
        len(head) <= _LIMITS.max_head_bytes + 2 and len(ours.fields) <= _LIMITS.max_header_fields, "too much"
    )


def check_reply(data: bytes) -> None:
    """Check a NameNode's bytes up to its close; the first byte determines the cut and the method."""
    number = data[0] if data else 0
    stream, method = data[1:], ("GET", "HEAD", "PUT")[number % 3]
    whole = _LOOP.run_until_complete(_receive([stream], method))
    parts = _LOOP.run_until_complete(_receive([stream[:number], stream[number:]], method))
    if whole is not None and parts is not None:
        hold(whole == parts, f"the cut matters: {whole}, {parts}")


async def _receive(pieces: list[bytes], method: str) -> tuple[object, ...] | None:
    """Return the reply; None for an error, which bytes after a reply may cause sooner or later."""
    protocol = NameNodeProtocol(_LOOP)
    transport = DeafTransport()
    protocol.connection_made(transport)
    connection = Connection(_NAMENODE, protocol, _LOOP, _LOOP.time)
    exchange = CallExchange(connection, RequestHead(method, "/webhdfs/v1/?op=X", ()), None, timeout_s=60.0)
    exchange.send_head()
    for piece in pieces:
        if piece and not transport.is_closing():
            protocol.data_received(piece)
    protocol.connection_lost(None)
    try:
        await exchange.receive_head(lambda: None)
        await exchange.receive_start(_BODY_LIMIT)
    except ProxyError:
        return None
    size = sum(map(len, pieces))
    hold(len(exchange.start) <= size, "a body from nowhere")
    length = exchange.content_length
    if exchange.is_complete and length is not None and method != "HEAD" and _has_a_body(exchange):
        hold(len(exchange.start) == length, f"{len(exchange.start)} bytes of {length}, and complete")
    return exchange.status, exchange.headers, exchange.start, exchange.is_complete


def _has_a_body(exchange: CallExchange) -> bool:
    is_chunked = any(name.lower() == b"transfer-encoding" for name, _ in exchange.headers)
    return not is_chunked and exchange.status not in {204, 304}


def check_reply_reader(data: bytes) -> None:
    """Check a reply to a GET; the first byte is the position at which its body is cut in two."""
    cut, stream = data[0] if data else 0, data[1:]
    at = stream.find(b"\r\n\r\n") + 4
    head, body = stream[:at], stream[at:]
    try:
        ours = read_reply_head(head, is_to_head=False, max_fields=_LIMITS.max_header_fields)
    except ReplyError:
        ours = None
    try:  # a reply to HEAD is never read with remembered heads
        alone = read_reply_head(head, is_to_head=True, max_fields=_LIMITS.max_header_fields)
    except ReplyError:
        hold(ours is None, f"read by memory alone: {ours}")
        return
    hold(ours is not None, f"not read by memory: {alone}")
    assert ours is not None
    hold(_parts_of(ours) == _parts_of(alone), f"{ours} is remembered of {alone}")
    whole = read_whole_reply(stream, max_fields=_LIMITS.max_header_fields)
    hold(whole is None or whole[0] == ours, f"{whole} has another head than {ours}")
    if ours.length is None:
        in_one, in_two = _taken([body]), _taken([body[:cut], body[cut:]])
        hold(in_one == in_two, f"the cut matters: {in_one}, {in_two}")
        hold(whole is None or (whole[1], b"", True) == in_one, f"{whole} is in one chunk, not {in_one}")
    else:
        hold(
            whole is None or ours.length == len(whole[1]) == len(body), f"{whole} is whole, with {len(body)}"
        )


def _parts_of(head: ReplyHead) -> tuple[object, ...]:
    return head.status, head.reason, head.fields, head.is_json


def _taken(pieces: list[bytes]) -> tuple[bytes, bytes, bool] | None:
    """Return a chunked body, the bytes after it, and whether it is complete; None if it is malformed."""
    chunks, body, behind = Chunks(), b"", b""
    try:
        for piece in pieces:
            if chunks.is_over:
                behind += piece
            else:
                part, behind = chunks.take(piece)
                body += part
    except ChunksError:
        return None
    return body, behind, chunks.is_over


_GET: Final = b"GET /webhdfs/v1/a?op=GETFILESTATUS HTTP/1.1\r\nHost: nn\r\n"
_PUT: Final = b"PUT /webhdfs/v1/a?op=CREATE HTTP/1.1\r\nHost: nn\r\n"
_OK: Final = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"

CONNECTIONS: Final = (
    Target(
        name="request-head",
        invariant="a head that is read is read in the same way by a strict reader of RFC 9112, and within the limits",
        check=check_head,
        seeds=(
            _GET + b"\r\n",
            _PUT + b"Content-Length: 3\r\nConnection: a, close\r\n\r\n",
            _PUT + b"Transfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n",
            b"GET  /webhdfs/v1/\xc3\xa9%20#f  HTTP/1.0\r\nHost: [::1]:80\r\nhost:[::1]:80 \r\n\r\n",
            b"OPTIONS * HTTP/1.1\r\nHost: \r\nUpgrade: h2c\r\nX:\t\xff \r\n\r\n",
            b"GET http://nn/a HTTP/1.1\r\nHost: nn\r\nContent-Length: 00\r\n\r\n",
        ),
        modules=("nncache.net.http1.head",),
        short_executions=3000,
    ),
    Target(
        name="client-connection",
        invariant="each request that is handed on is one that a strict reader of RFC 9112 finds at the same place, "
        "with the same fields and body, however the bytes are cut; nothing raises",
        check=check_client,
        seeds=(
            b"\x20" + _GET + b"\r\n" + _GET + b"Connection: close\r\n\r\n" + _GET,
            b"\x30" + _PUT + b"Content-Length: 3\r\n\r\nabc" + _GET + b"\r\n",
            b"\x60"
            + _PUT
            + b"Transfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\nT: v\r\n\r\n"
            + _GET
            + b"\r\n",
            b"\x05"
            + _PUT
            + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
            + _GET
            + b"\r\n",
            b"\x05" + _PUT + b"Expect: 100-continue\r\nContent-Length: 1\r\n\r\na",
            b"\x10\r\n\r\nGET /webhdfs/v1/\xc3\xa9 HTTP/1.0\r\n\r\n",
            b"\x11GET http://nn/webhdfs/v1 HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
            b"\x11GET /x HTTP/1.1\nHost: nn\n\n",
            b"\x11" + _GET + b"A : b\r\n c\r\n\r\n",
            b"\x11" + _GET + b"Upgrade: websocket\r\nConnection: upgrade\r\n\r\n" + _GET + b"\r\n",
            b"\x11CONNECT nn:1 HTTP/1.1\r\nHost: nn\r\n\r\n" + _GET + b"\r\n",
        ),
        modules=(
            "nncache.proxy.clients.connection",
            "nncache.net.http1.head",
            "nncache.proxy.clients.server",
            "nncache.proxy.clients.response",
        ),
        short_executions=300,
    ),
    Target(
        name="reply-reader",
        invariant="a head is read in the same way with and without memory of others; a body in chunks is the same "
        "however it is cut, and as one that is read at once",
        check=check_reply_reader,
        seeds=(
            b"\x05" + _OK + b"Content-Length: 2\r\n\r\nok",
            b"\x05" + _OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
            b"\x05" + _OK + b"Set-Cookie: a=b\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
            b"\x09" + _OK + b"Transfer-Encoding: chunked\r\n\r\n2;x=y\r\nok\r\n1\r\n!\r\n0\r\nT: v\r\n\r\nH",
            b"\x01HTTP/1.0 204 \xff\r\nConnection: keep-alive\r\nSet-Cookie: a\r\nSet-Cookie: b\r\n\r\n",
        ),
        modules=("nncache.net.http1.reply", "nncache.net.http1.chunks", "nncache.net.http1.head"),
        short_executions=3000,
    ),
    Target(
        name="namenode-reply",
        invariant="a reply or ProxyError, the same however the bytes are cut; never more bytes than came, and complete "
        "only with as many as were announced",
        check=check_reply,
        seeds=(
            b"\x21" + _OK + b"Content-Length: 2\r\n\r\nok",
            b"\x21" + _OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
            b"\x21" + _OK + b"\r\nuntil the end",
            b"\x22HTTP/1.1 100 Continue\r\n\r\n" + _OK + b"Content-Length: 9\r\n\r\nok",
            b"\x23HTTP/1.1 307 Temporary Redirect\r\nLocation: http://dn:9864/x\r\nContent-Length: 0\r\n\r\n",
            b"\x24" + _OK + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\nok!",
            b"\x24" + _OK + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            b"\x24HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nxx",
            b"\x24HTTP/2 200\r\n\r\n",
            b"\x24" + _OK + b"Content-Length: 99999999999999999999\r\n\r\n",
        ),
        modules=(
            "nncache.net.http1.reply",
            "nncache.proxy.upstream.exchange",
            "nncache.proxy.upstream.namenode_protocol",
        ),
        short_executions=500,
    ),
)
