"""Forwarding works the same over TLS, and a NameNode whose certificate is not trusted gets no call."""

import asyncio
import logging
from pathlib import Path

import pytest

from nncache.hadoop.election_view import NameNode
from nncache.proxy.errors import NotSentError
from nncache.proxy.upstream.pool import ConnectionPool
from nncache.testbed.certificates import Authority
from tests.proxy.direct_fixture import BODY, LISTED, direct
from tests.proxy.doubles import FakeClock
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
    limits_of_tests,
    proxy_to,
    says,
    until,
)
from tests.tls import server_context, web_of

MIB = 1 << 20
PIECE = b"x" * 65_536


class PlainPort(RawNameNode):
    """Answers a TLS handshake as Jetty does on a plain HTTP port."""

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Illegal character CNTL=0x16\r\nContent-Length: 0\r\n\r\n")
        writer.close()


async def test_reads_share_a_connection_and_a_write_has_its_own(authority: Authority) -> None:
    """This is the same without TLS; the Location is the NameNode's own."""
    async with forwarding(says(OK), says(OK), says(REDIRECT), authority=authority) as (client, _, namenode):
        for _ in range(2):
            client.send(GET)
            assert (await client.reply()).body == b"ok"
        client.send(CREATE + b"Content-Length: 0\r\n\r\n")
        reply = await client.reply()
        assert (reply.status, reply.all(b"Location")) == (
            307,
            [b"http://dn:9864/webhdfs/v1/f?op=CREATE&overwrite=false"],
        )
        assert [heard.connection for heard in namenode.heard] == [1, 1, 2]


async def test_a_plain_call_goes_over_a_kept_connection(authority: Authority) -> None:
    """This holds however TLS records split the reply."""
    async with direct(says(LISTED), says(LISTED[:30], LISTED[30:]), authority=authority) as (s, namenode):
        assert (await s.ask()).body == BODY
        assert (s.calls.requests, namenode.connections) == (1, 1)
        assert s.is_quiet


async def test_a_client_that_does_not_read_stops_the_namenode(authority: Authority) -> None:
    """Back-pressure works through the proxy and TLS; later the whole reply arrives."""
    size, sent = 48 * MIB, 0

    async def listing(heard: Heard) -> None:
        nonlocal sent
        heard.writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size)
        while sent < size:
            await heard.say(PIECE)
            sent += len(PIECE)

    async with forwarding(listing, authority=authority, receive_buffer=65_536) as (client, _, _):
        client.pause()
        client.send(GET)
        await until(lambda: sent > 0)
        seen = -1
        while seen != sent:  # until it stops growing
            seen = sent
            await asyncio.sleep(0.3)
        assert sent < size // 2
        client.writer.transport.resume_reading()  # type: ignore[attr-defined] # of each transport that reads
        assert len((await client.reply()).body) == size


async def test_a_namenode_that_does_not_read_stops_the_client(authority: Authority) -> None:
    """The body waits in the client, not in the proxy's memory."""
    size, go_on, received = 48 * MIB, asyncio.Event(), 0

    async def slow(heard: Heard) -> None:
        nonlocal received
        await go_on.wait()
        while received < size:
            received += len(await heard.reader.read(MIB))
        await heard.say(OK)

    async with (
        RawNameNode(slow, tls=server_context(authority)) as namenode,
        proxy_to(namenode.namenode, how=web_of(authority)) as proxy,
        RawClient.connected(proxy.port) as client,
        asyncio.TaskGroup() as tasks,
    ):
        sent = 0

        async def upload() -> None:
            nonlocal sent
            while sent < size:
                client.send(PIECE)
                await client.writer.drain()
                sent += len(PIECE)

        client.send(CREATE + b"Content-Length: %d\r\n\r\n" % size)
        tasks.create_task(upload())
        await until(lambda: sent > 0)
        seen = -1
        while seen != sent:
            seen = sent
            await asyncio.sleep(0.3)
        assert sent < size // 2
        go_on.set()
        assert (await client.reply()).status == 200
        assert received == size


async def test_a_namenode_that_is_not_believed_is_not_asked(
    authority: Authority, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Another NameNode is asked, also for a write: nothing was sent. The log says once what is wrong and what to do."""
    foreign = server_context(Authority(tmp_path / "foreign"))
    other_name = server_context(authority, "other.example")
    for server, advice in (
        (RawNameNode(tls=foreign), "namenode_ca must name the PEM file of the authority that signed it"),
        (RawNameNode(tls=other_name), "name the NameNode in namenode_http as its certificate does"),
        (PlainPort(), "set namenode_tls to false"),
    ):
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            async with (
                server as wrong,
                RawNameNode(says(REDIRECT), tls=server_context(authority)) as right,
                proxy_to(wrong.namenode, right.namenode, how=web_of(authority)) as proxy,
                RawClient.connected(proxy.port) as client,
            ):
                address = wrong.namenode.http
                for _ in range(3):
                    client.send(CREATE + b"Content-Length: 0\r\n\r\n")
                    assert (await client.reply()).status == 307
                assert (len(wrong.heard), len(right.heard)) == (0, 3)
                assert proxy.upstream.stats().not_sent == 3
        (line,) = [
            each.getMessage() for each in caplog.records if "can't be connected to" in each.getMessage()
        ]
        assert line.startswith(f"NameNode {address} can't be connected to: ")
        assert advice in line


async def test_a_silent_handshake_ends_with_the_time_to_connect(authority: Authority) -> None:
    """Its connection ends as well."""
    ended = asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(65_536):
            pass
        writer.close()
        ended.set()

    async with await asyncio.start_server(silent, "127.0.0.1", 0) as server:
        where = NameNode(f"127.0.0.1:{server.sockets[0].getsockname()[1]}", "127.0.0.1:1")
        connections = ConnectionPool(
            limits_of_tests(upstream_connect_timeout_s=0.2), FakeClock(), web_of(authority)
        )
        async with asyncio.timeout(DEADLINE_S):
            with pytest.raises(NotSentError, match="timed out"):
                await connections.acquire(where, fresh=True)
            await ended.wait()
        assert connections.counts().in_use == 0
