"""Calls through the proxy arrive unchanged, and so do their replies (guarantee Verbatim)."""

import asyncio

import pytest

from nncache.clock import boottime
from nncache.proxy.errors import ReplyTooLargeError
from nncache.proxy.messages import NO_TERM, RequestHead
from nncache.proxy.upstream.client import MAX_FETCHED_BYTES, Upstream
from nncache.testbed.certificates import Authority
from tests.proxy.wire import (
    CREATE,
    GET,
    OK,
    REDIRECT,
    FakePool,
    Heard,
    RawClient,
    RawNameNode,
    cuts,
    forwarding,
    limits_of_tests,
    proxy_to,
    says,
    until,
)

JSON_OK = b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 16\r\n\r\n{"boolean":true}'


@pytest.mark.parametrize(
    "target",
    [
        b"/webhdfs/v1/w/f?op=GETFILESTATUS",
        b"/webhdfs/v1//w//f/?op=OPEN&offset=0",
        b"/webhdfs/v1/a%2f..%2fb/%252e/%00/%zz?",
        b"/webhdfs/v1/./../x?a=b&a=c&&=&op",
        b"/webhdfs/v1/\"<>`'{|}^[]\\~!$&()*+,;=:@?x=\"<>`'{|}^[]\\?#frag",
        b"/webhdfs/v1/a+b%20c;d#",
        b"http://other:1/webhdfs/v1/f?op=GETFILESTATUS",
        b"/",
        b"/webhdfs/v1/" + b"x" * 20_000,
    ],
)
async def test_a_target_arrives_byte_for_byte(target: bytes) -> None:
    """No part is decoded, collapsed, resolved or dropped."""
    async with forwarding() as (client, _, namenode):
        client.send(b"GET " + target + b" HTTP/1.1\r\nHost: nn\r\n\r\n")
        assert (await client.reply()).body == b"ok"
        assert namenode.heads[0].split(b"\r\n")[0] == b"GET " + target + b" HTTP/1.1"


async def test_raw_utf8_arrives_percent_encoded() -> None:
    """Aiohttp's parser accepts no bytes above 0x7F, and a NameNode reads them as UTF-8: the one exception."""
    async with forwarding() as (client, _, namenode):
        client.send(b"GET /webhdfs/v1/\xc3\xa9?a=\xc3\xa9 HTTP/1.1\r\nHost: nn\r\nX-B: \xc3\xa9\r\n\r\n")
        assert (await client.reply()).status == 200
        assert namenode.heads[0].startswith(b"GET /webhdfs/v1/%C3%A9?a=%C3%A9 HTTP/1.1\r\n")
        assert b"X-B: \xc3\xa9\r\n" in namenode.heads[0]


async def test_request_fields_keep_their_order_without_hop_fields() -> None:
    """Repeated fields, odd case and odd bytes are kept; only X-Forwarded-For is added."""
    async with forwarding(local="127.0.0.7") as (client, _, namenode):
        client.send(
            b"GET /webhdfs/v1/f HTTP/1.1\r\nhOST: nn:1\r\nX-Two: 1\r\nConnection: x-hop, keep-alive\r\n"
            b"X-Hop: 1\r\nX-Two: 2\r\nX-Forwarded-For: 10.0.0.1\r\nCookie: a=b; a=c\r\nX-Odd: \xff\xe9\r\n\r\n"
        )
        await client.reply()
        assert namenode.heads[0] == (
            b"GET /webhdfs/v1/f HTTP/1.1\r\nhOST: nn:1\r\nX-Two: 1\r\nX-Two: 2\r\nCookie: a=b; a=c\r\n"
            b"X-Odd: \xff\xe9\r\nX-Forwarded-For: 127.0.0.7\r\n\r\n"
        )


async def test_a_reply_comes_back_as_it_was() -> None:
    """Status, reason, repeated fields in their order and the body are kept; nothing is added."""
    reply = (
        b"HTTP/1.1 299 Very Odd\r\nDate: one\r\nExpires: one\r\nDate: two\r\nSet-Cookie: a=1\r\n"
        b"set-cookie: b=2\r\nContent-Encoding: gzip\r\nX-Odd: \xff\r\nKeep-Alive: 5\r\nContent-Length: 4\r\n\r\nno\x00z"
    )
    async with forwarding(says(reply)) as (client, _, _):
        client.send(GET)
        got = await client.reply()
    assert (got.line, got.body) == (b"HTTP/1.1 299 Very Odd", b"no\x00z")
    assert got.fields == (
        (b"Date", b"one"),
        (b"Expires", b"one"),
        (b"Date", b"two"),
        (b"Set-Cookie", b"a=1"),
        (b"set-cookie", b"b=2"),
        (b"Content-Encoding", b"gzip"),
        (b"X-Odd", b"\xff"),
        (b"Content-Length", b"4"),
    )


async def test_redirects_are_passed_on_not_followed() -> None:
    """The client connects to the DataNode itself, with exactly the Location that the NameNode sent."""
    async with forwarding(says(REDIRECT)) as (client, proxy, namenode):
        proxy.extra = ((b"Cache-Status", b"nncache; fwd=method"),)
        client.send(CREATE + b"Content-Length: 0\r\n\r\n")
        got = await client.reply()
        assert got.status == 307
        assert got.all(b"Location") == [b"http://dn:9864/webhdfs/v1/f?op=CREATE&overwrite=false"]
        assert got.all(b"Cache-Status") == [b"nncache; fwd=method"]
        assert len(namenode.heads) == 1


@pytest.mark.parametrize("line", [b"HTTP/1.1", b"HTTP/1.0"])
async def test_a_long_chunked_reply_streams_through(line: bytes) -> None:
    """An HTTP/1.1 client gets chunks, an HTTP/1.0 client a body that ends with the connection."""
    parts = [b"%x\r\n%b\r\n" % (40_000, bytes([65 + i]) * 40_000) for i in range(20)]
    act = says(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", *parts, b"0\r\n\r\n")
    async with forwarding(act) as (client, _, _):
        client.send(GET.replace(b"HTTP/1.1", line))
        got = await client.reply()
        assert got.body == b"".join(bytes([65 + i]) * 40_000 for i in range(20))
        assert bool(got.all(b"Transfer-Encoding")) == (line == b"HTTP/1.1")
        if line == b"HTTP/1.0":
            assert got.all(b"Connection") == [b"close"]
            assert await client.rest() == b""


async def test_a_head_request_keeps_the_length_and_has_no_body() -> None:
    """Hadoop 3.5.0 sends the length of the GET's body, 3.4.1 sends 0; both go through."""
    act = says(b"HTTP/1.1 200 OK\r\nContent-Length: 321\r\n\r\n")
    async with forwarding(act) as (client, _, namenode):
        for _ in range(2):
            client.send(GET.replace(b"GET", b"HEAD"))
            got = await client.reply("HEAD")
            assert got.all(b"Content-Length") == [b"321"]
        assert namenode.connections == 1


@pytest.mark.parametrize("is_tls", [False, True])
async def test_a_reply_that_ends_with_its_connection_is_whole(authority: Authority, *, is_tls: bool) -> None:
    """Without a length, the NameNode's close ends the body (HTML errors of Jetty)."""

    async def act(heard: Heard) -> None:
        await heard.say(b"HTTP/1.1 500 Oops\r\nConnection: close\r\n\r\n<html>")
        await heard.say(b"</html>")
        heard.writer.close()

    async with forwarding(act, authority=authority if is_tls else None) as (client, _, _):
        client.send(GET)
        assert (await client.reply()).body == b"<html></html>"
        client.send(GET)
        assert (await client.reply()).status == 500


async def test_settling_comes_before_the_first_byte() -> None:
    """OwnWrites depends on it: what a write makes stale is forgotten before its reply is visible."""
    gate = asyncio.Event()
    async with forwarding(says(JSON_OK)) as (client, proxy, _):
        proxy.before_settled = gate.wait
        client.send(CREATE + b"Content-Length: 0\r\n\r\n")
        reply = client.reader.read(1)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(reply, 0.2)
        gate.set()
        assert (await client.reply()).body == b'{"boolean":true}'
        [settled] = proxy.settled
        assert settled is not None
        assert (settled.status, settled.body, settled.term) == (200, b'{"boolean":true}', 1)


async def test_settling_goes_on_without_the_client() -> None:
    """A client that leaves after its write was sent does not stop the settling."""
    answered = asyncio.Event()

    async def act(heard: Heard) -> None:
        await answered.wait()
        await heard.say(JSON_OK)

    async with RawNameNode(act) as namenode, proxy_to(namenode.namenode) as proxy:
        async with RawClient.connected(proxy.port) as client:
            client.send(CREATE + b"Content-Length: 0\r\n\r\n")
            await until(lambda: len(namenode.heard) == 1)
        answered.set()
        await until(lambda: len(proxy.settled) == 1)
        assert proxy.settled[0] is not None


async def test_settling_goes_on_when_the_call_is_cancelled() -> None:
    """A shutdown waits for a settling in progress."""
    begun, gate, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def settle() -> None:
        begun.set()
        await gate.wait()
        ended.set()

    async with RawNameNode(says(JSON_OK)) as namenode:
        limits = limits_of_tests(drain_timeout_s=0.01)
        async with proxy_to(namenode.namenode, limits=limits) as proxy:
            proxy.before_settled = settle
            async with RawClient.connected(proxy.port) as client:
                client.send(CREATE + b"Content-Length: 0\r\n\r\n")
                await begun.wait()
                asyncio.get_running_loop().call_later(0.5, gate.set)
                # Leaving the block stops the server, which cancels the handler, before `gate` is set.
        assert ended.is_set()


async def test_a_large_json_reply_is_settled_without_its_body() -> None:
    """A listing is streamed, not buffered."""
    body = b"[" + b"1," * 100_000 + b"1]"
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
    async with forwarding(says(head, body)) as (client, proxy, _):
        client.send(GET)
        assert (await client.reply()).body == body
        [settled] = proxy.settled
        assert settled is not None
        assert settled.body is None


@pytest.mark.parametrize("is_tls", [False, True])
@pytest.mark.parametrize("line", [b"HTTP/1.1", b"HTTP/1.0"])
async def test_a_broken_reply_never_looks_whole(authority: Authority, line: bytes, *, is_tls: bool) -> None:
    """A reply that has begun cannot become an error: the connection is reset, in every framing."""
    seen = asyncio.Event()

    async def act(heard: Heard) -> None:
        await heard.say(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n5\r\n")
        await seen.wait()
        heard.cut()

    async with forwarding(act, authority=authority if is_tls else None) as (client, proxy, _):
        client.send(GET.replace(b"HTTP/1.1", line))
        await client.reader.readuntil(b"half")
        seen.set()
        with pytest.raises(ConnectionResetError):
            await client.reader.read()
        assert proxy.upstream.stats().broken_replies == 1


async def test_a_reply_that_broke_off_unseen_becomes_an_error() -> None:
    """This holds until the first byte is sent to the client."""

    async def act(heard: Heard) -> None:
        await heard.say(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        heard.writer.close()

    async with forwarding(act) as (client, _, _):
        client.send(GET)
        assert (await client.reply()).status == 502


@pytest.mark.parametrize("method", [b"PUT", b"POST", b"DELETE"])
async def test_a_write_is_never_sent_twice(method: bytes) -> None:
    """The call is sent and then cut off: its outcome is unknown, is settled as unknown, and the client gets a 502."""
    async with forwarding(says(OK), cuts) as (client, proxy, namenode):
        client.send(GET)  # leaves an idle connection that could be reused
        await client.reply()
        client.send(method + b" /webhdfs/v1/f?op=X HTTP/1.1\r\nHost: nn\r\nContent-Length: 0\r\n\r\n")
        got = await client.reply()
        assert got.status == 502
        assert b'"exception":"IOException"' in got.body  # one that Hadoop's client does not repeat
        assert len(namenode.heads) == 2
        assert namenode.connections == 2, "a write goes out on a connection made for it"
        assert proxy.settled[1:] == [None]
        assert proxy.upstream.stats().outcome_unknown == 1


async def test_a_write_cut_off_within_its_reply_is_unknown() -> None:
    """A JSON reply that breaks off is not certain."""
    act = says(JSON_OK[:-4])

    async def acts(heard: Heard) -> None:
        await act(heard)
        heard.writer.close()

    async with forwarding(acts) as (client, proxy, _):
        client.send(CREATE + b"Content-Length: 0\r\n\r\n")
        assert (await client.reply()).status == 502
        assert proxy.settled == [None]


async def test_nothing_is_settled_when_nothing_was_sent() -> None:
    """A NameNode that cannot be connected to has done nothing."""
    async with RawNameNode() as namenode:
        gone = namenode.namenode
    limits = limits_of_tests(failover_wait_s=0.1)
    async with proxy_to(gone, limits=limits) as proxy:
        async with RawClient.connected(proxy.port) as client:
            client.send(CREATE + b"Content-Length: 0\r\n\r\n")
            got = await client.reply()
        assert got.status == 503
        assert b'"exception":"RetriableException"' in got.body
        assert proxy.settled == []


# ---- fetch -----------------------------------------------------------------------------------------------

PLAIN = RequestHead("GET", "/webhdfs/v1/f?op=GETFILESTATUS", ((b"Host", b"nn"),))


async def test_fetch_returns_the_whole_reply() -> None:
    """The reply has its end-to-end fields, its NameNode, term and time."""
    chunked = (
        b"HTTP/1.1 200 OK\r\nDate: a\r\nDate: b\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
    )
    async with RawNameNode(says(chunked)) as namenode:
        pool = FakePool((namenode.namenode,))
        pool.make_active(namenode.namenode, term=7)
        async with Upstream(pool.pool, limits_of_tests(), boottime) as upstream:
            before = boottime()
            reply = await upstream.fetch(PLAIN)
            assert (reply.status, reply.reason, reply.body) == (200, "OK", b"{}")
            assert reply.headers == ((b"Date", b"a"), (b"Date", b"b"))
            assert (reply.namenode, reply.term) == (namenode.namenode, 7)
            assert before <= reply.replied_at <= boottime()
            assert upstream.stats().connections_idle == 1


async def test_fetch_says_so_when_the_term_is_not_certain() -> None:
    """If another NameNode became active during the call, the reply has no term and is not cached."""
    async with RawNameNode() as namenode:
        pool = FakePool((namenode.namenode,))

        async def act(heard: Heard) -> None:
            pool.make_active(namenode.namenode, term=2)
            await heard.say(OK)

        namenode.acts = (act,)
        pool.make_active(namenode.namenode, term=1)
        async with Upstream(pool.pool, limits_of_tests(), boottime) as upstream:
            assert (await upstream.fetch(PLAIN)).term == NO_TERM
            assert (await upstream.fetch(PLAIN)).term == 2


async def test_fetch_holds_no_more_than_its_limit() -> None:
    """A huge reply cannot fill the memory."""
    size = MAX_FETCHED_BYTES * 3
    act = says(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size, b"x" * size)
    async with RawNameNode(act) as namenode:
        pool = FakePool((namenode.namenode,))
        async with Upstream(pool.pool, limits_of_tests(), boottime) as upstream:
            with pytest.raises(ReplyTooLargeError):
                await upstream.fetch(PLAIN)
            assert upstream.stats().connections_idle == 0
