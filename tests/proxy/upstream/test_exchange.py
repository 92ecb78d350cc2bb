"""One call on one connection; `test_client.py` has calls through the whole proxy."""

import asyncio
from typing import cast

import pytest

from nncache.clock import boottime
from nncache.proxy.clients.body import RequestBody
from nncache.proxy.errors import NotSentError, UpstreamCutError
from nncache.proxy.messages import RequestHead
from nncache.proxy.upstream.exchange import CallExchange
from nncache.proxy.upstream.namenode_protocol import MAX_INTERIM, encode_request
from nncache.proxy.upstream.pool import ConnectionPool
from tests.proxy.wire import (
    CREATE,
    DEADLINE_S,
    GET,
    OK,
    REDIRECT,
    Heard,
    RawClient,
    RawNameNode,
    forwarding,
    is_silent,
    limits_of_tests,
    proxy_to,
    says,
    until,
)

HEAD = RequestHead("GET", "/webhdfs/v1/f?", ((b"Host", b"nn"),))


def test_a_head_is_written_as_it_is() -> None:
    """An empty query and odd bytes stay; Host is added if a request of HTTP/1.0 had none."""
    odd = RequestHead("PUT", "/\udcff?#", ((b"hOST", b"x"), (b"A", b"\xff")))
    assert encode_request(odd, host="nn:1", chunked=True) == (
        b"PUT /\xff?# HTTP/1.1\r\nhOST: x\r\nA: \xff\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    assert encode_request(RequestHead("GET", "/", ()), host="nn:1", chunked=False) == (
        b"GET / HTTP/1.1\r\nHost: nn:1\r\n\r\n"
    )


async def test_a_whole_reply_leaves_the_connection_usable() -> None:
    """A reply that was not read to its end does not."""
    async with RawNameNode(says(OK)) as namenode:
        connections = ConnectionPool(limits_of_tests(), boottime)
        connection = await connections.acquire(namenode.namenode, fresh=True)
        exchange = CallExchange(connection, HEAD, None, timeout_s=5.0)
        exchange.send_head()
        await exchange.receive_head(lambda: None)
        assert (exchange.status, exchange.content_length, exchange.is_json) == (200, 2, False)
        await exchange.receive_start(100)
        assert (exchange.start, exchange.is_complete, exchange.is_reusable) == (b"ok", True, True)
        connections.release(connection, reusable=exchange.is_reusable)
        assert connections.counts().idle == 1
        connections.close()


async def test_a_connection_that_has_gone_carries_nothing() -> None:
    """No byte was sent, so any call may go to another NameNode."""
    async with RawNameNode() as namenode:
        connections = ConnectionPool(limits_of_tests(), boottime)
        connection = await connections.acquire(namenode.namenode, fresh=True)
    await until(lambda: not connection.protocol.is_reusable)
    with pytest.raises(NotSentError):
        CallExchange(connection, HEAD, None, timeout_s=5.0).send_head()
    connections.release(connection, reusable=False)


@pytest.mark.parametrize(
    "odd", [b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", b"\0\1"]
)
async def test_what_is_no_reply_is_a_cut(odd: bytes) -> None:
    """The proxy never asks for another protocol."""
    async with RawNameNode(says(odd)) as namenode:
        connections = ConnectionPool(limits_of_tests(), boottime)
        connection = await connections.acquire(namenode.namenode, fresh=True)
        exchange = CallExchange(connection, HEAD, None, timeout_s=5.0)
        exchange.send_head()
        with pytest.raises(UpstreamCutError):
            await exchange.receive_head(lambda: None)
        connections.release(connection, reusable=exchange.is_reusable)
        assert connections.counts().idle == 0


class FaultyBody:
    """A request body whose reading raises an internal error."""

    spent_s = 0.0

    async def read_part(self) -> bytes:
        """Raise an unexpected exception."""
        raise LookupError("a bug")


async def test_a_fault_of_ours_in_a_body_costs_that_call_alone() -> None:
    """The task that sends bodies shares a TaskGroup with all calls, so it must not raise (FailToNameNode)."""
    async with RawNameNode(is_silent) as namenode:
        connections = ConnectionPool(limits_of_tests(), boottime)
        connection = await connections.acquire(namenode.namenode, fresh=True)
        exchange = CallExchange(connection, HEAD, cast("RequestBody", FaultyBody()), timeout_s=5.0)
        exchange.send_head()
        await exchange.send_body()
        with pytest.raises(UpstreamCutError):
            await exchange.receive_head(lambda: None)
        connections.release(connection, reusable=exchange.is_reusable)
        assert connections.counts().idle == 0


# ---- bodies, through the whole proxy ---------------------------------------------------------------------


async def reads_body(heard: Heard) -> None:
    """Answer with the length of the declared or chunked body."""
    if b"chunked" in heard.head:
        raw = await heard.reader.readuntil(b"0\r\n\r\n")
    else:
        length = int(heard.head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        raw = await heard.reader.readexactly(length)
    await heard.say(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(raw), raw))


async def test_a_request_body_streams_through() -> None:
    """Both framings are streamed; no part waits for the whole body."""
    async with forwarding(reads_body) as (client, _, _):
        client.send(CREATE + b"Content-Length: 300000\r\n\r\n" + b"a" * 100_000)
        client.send(b"b" * 200_000)
        assert (await client.reply()).body == b"a" * 100_000 + b"b" * 200_000
        client.send(CREATE + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")
        client.send(b"2\r\nde\r\n0\r\n\r\n")
        body = (await client.reply()).body
        joined = b"".join(body.split(b"\r\n")[1::2])
        assert joined == b"abcde"


async def test_an_early_reply_passes_while_the_body_is_sent() -> None:
    """A NameNode answers CREATE with a 307 without reading the body, and closes. The reply must not be lost."""

    async def act(heard: Heard) -> None:
        with pytest.raises(TimeoutError):  # the body waits for the answer
            await asyncio.wait_for(heard.reader.read(1), 0.03)
        await heard.say(REDIRECT)
        heard.cut()  # with unread data it would be a reset

    async with forwarding(act) as (client, proxy, _):
        client.send(CREATE + b"Content-Length: 50000000\r\n\r\n")
        client.send(b"x" * 2_000_000)
        got = await client.reply()
        assert (got.status, got.all(b"Connection")) == (307, [b"close"])
        [settled] = proxy.settled
        assert settled is not None
        assert settled.status == 307


async def test_continue_is_for_the_namenode_to_say() -> None:
    """Expect is passed on; the client gets a 100 if and only if the NameNode sends one."""

    async def act(heard: Heard) -> None:
        assert b"Expect: 100-continue\r\n" in heard.head
        await heard.say(b"HTTP/1.1 100 Continue\r\n\r\n")
        await reads_body(heard)

    async with RawNameNode(act, says(REDIRECT)) as namenode, proxy_to(namenode.namenode) as proxy:
        head = CREATE + b"Expect: 100-continue\r\nContent-Length: 4\r\n\r\n"
        async with RawClient.connected(proxy.port) as client:
            client.send(head)
            assert await client.interim() == b"HTTP/1.1 100 Continue\r\n\r\n"
            client.send(b"body")
            assert (await client.reply()).body == b"body"
        async with RawClient.connected(proxy.port) as client:
            client.send(head)
            got = await client.reply()
            assert (got.status, got.all(b"Connection")) == (307, [b"close"])


async def test_an_unasked_continue_is_not_passed_on() -> None:
    """Hadoop's DataNode sends one unasked, and a client that did not ask may not understand it."""
    async with forwarding(says(b"HTTP/1.1 100 Continue\r\n\r\n", OK)) as (client, _, _):
        client.send(GET)
        assert (await client.reply()).status == 200


async def test_interim_replies_without_end_end_the_call() -> None:
    """A few may precede the final reply (RFC 9110, section 15.2); beyond `MAX_INTERIM` the call fails."""
    interim = b"HTTP/1.1 103 Early Hints\r\n\r\n"
    for number, status in ((MAX_INTERIM, 200), (MAX_INTERIM + 1, 502)):
        async with forwarding(says(interim * number + OK)) as (client, _, _):
            client.send(GET)
            assert (await client.reply()).status == status


async def test_a_truncated_body_leaves_no_half_call() -> None:
    """The connection to the NameNode is closed as well; the outcome of the write is unknown."""
    cut = asyncio.Event()

    async def act(heard: Heard) -> None:
        await heard.reader.read()
        cut.set()

    async with RawNameNode(act) as namenode, proxy_to(namenode.namenode) as proxy:
        async with RawClient.connected(proxy.port) as client:
            client.send(CREATE + b"Content-Length: 100\r\n\r\nhalf")
            await until(lambda: len(namenode.heard) == 1)
        async with asyncio.timeout(DEADLINE_S):
            await cut.wait()
        await until(lambda: len(proxy.settled) == 1)
        assert proxy.settled == [None]


async def test_a_dripped_body_is_given_up() -> None:
    """408 for a body slower than allowed; single bytes do not extend the timeout."""
    limits = limits_of_tests(body_timeout_s=0.3)
    async with forwarding(is_silent, limits=limits) as (client, _, _):
        client.send(CREATE + b"Content-Length: 1000\r\n\r\n")
        reply = asyncio.get_running_loop().create_future()

        async def drip() -> None:
            while not reply.done():
                client.send(b"x")
                await asyncio.sleep(0.05)

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(drip())
            got = await client.reply()
            reply.set_result(None)
        assert got.status == 408
