"""Direct calls that meet an obstacle continue on the ordinary path, and the client notices nothing."""

import asyncio
from typing import Any, cast

import pytest

from nncache.proxy.clients.response import reset
from nncache.proxy.decide.direct_calls import DirectCall
from nncache.proxy.messages import RequestHead, UpstreamReply
from nncache.proxy.upstream import pool
from tests.proxy.direct_fixture import (
    BODY,
    HEAD,
    LIST,
    LISTED,
    NOT_FOUND,
    Held,
    connection_of,
    direct,
    direct_fixture,
    under_way,
)
from tests.proxy.wire import STANDBY_REPLY, Act, Heard, RawNameNode, cuts, limits_of_tests, says, until


async def cut_after_a_part(heard: Heard) -> None:
    """Close the connection in the middle of the reply."""
    await heard.say(LISTED[:-5])
    heard.cut()


LARGE = b'{"x":"' + 200_000 * b"y" + b'"}'


@pytest.mark.parametrize(
    ("act", "asked"),
    [
        (says(LISTED[:50], LISTED[50:-4], LISTED[-4:]), 1),
        (says(HEAD + b"Content-Length: %d\r\n\r\n%b" % (len(LARGE), LARGE)), 1),
        (
            says(
                HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"%x\r\n%b\r\n0\r\n\r\n" % (len(LARGE), LARGE)
            ),
            1,
        ),
        (says(HEAD.replace(b"application/json", b"text/html") + b"Content-Length: 2\r\n\r\n{}"), 1),
        (says(HEAD + b"Connection: close\r\nContent-Length: 2\r\n\r\n{}"), 1),
        (says(b"HTTP/1.1 204 No Content\r\n\r\n"), 1),
        (says(STANDBY_REPLY), 2),
        (cuts, 2),
        (cut_after_a_part, 2),
        (says(b"no HTTP\r\n\r\n"), 2),
    ],
)
async def test_what_goes_another_way_ends_the_same(act: Act, asked: int) -> None:
    """A call is sent twice only if the ordinary path would send it twice, and the client gets the same bytes."""
    got: list[Any] = []
    for is_direct in (True, False):
        async with direct(says(LISTED), act, says(LISTED), is_direct=is_direct) as (s, namenode):
            async with s.client() as client:
                client.send(LIST)
                got.append(await client.reply())
                client.send(LIST)
                got.append(await client.reply())
            assert len(namenode.heads) == 1 + asked + 1
            await until(lambda s=s: s.is_quiet)  # type: ignore[misc] # the fixture of this turn
            assert s.front_end.traffic.stats().total == s.server.requests == s.upstream.stats().calls == 3
    assert got[:2] == got[2:]


async def test_a_namenode_that_stays_silent_is_left_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """FailToNameNode, within the usual timeout."""
    monkeypatch.setattr(pool, "REPLY_PATIENCE_S", 0.01)
    held = Held()
    async with (
        RawNameNode(says(LISTED), held) as one,
        RawNameNode(says(LISTED)) as two,
        direct_fixture(one, two, limits=limits_of_tests(upstream_timeout_s=0.05)) as s,
    ):
        await s.learn()
        assert (await s.ask()).body == BODY
        assert s.pool.suspected == [one.namenode]
        assert len(two.heads) == 1
        held.goes_on.set()
        await until(lambda: s.is_quiet)


async def test_a_client_that_leaves_ends_its_call() -> None:
    """The connection to the NameNode is closed, since no client would read its reply."""
    held = Held()
    async with direct(says(LISTED), held, says(LISTED)) as (s, namenode):
        async with s.client() as client:
            await under_way(s, held, client)
            reset(cast(asyncio.Transport, client.writer.transport))
            await until(lambda: s.is_quiet)
        held.goes_on.set()
        assert (await s.ask()).body == BODY
        assert namenode.connections == 2


@pytest.mark.parametrize("more", [LIST, LIST[:9], LIST[:-1], b"\r\n", b"PUT "])
async def test_what_comes_behind_a_call_waits_its_turn(more: bytes) -> None:
    """Replies are sent in the order of the requests."""
    held = Held()
    async with direct(says(LISTED), held, says(LISTED)) as (s, _):
        async with s.client() as client:
            await under_way(s, held, client)
            client.send(more)
            await until(lambda: s.calls.under_way == 0)
            held.parts = (NOT_FOUND,)
            held.goes_on.set()
            assert (await client.reply()).status == 404
            if LIST.startswith(more):
                client.send(LIST[len(more) :])
                assert (await client.reply()).body == BODY
        await until(lambda: s.is_quiet)


async def test_a_call_that_is_handed_over_is_charged_once() -> None:
    """The rate limit has already charged it."""
    large = HEAD + b"Content-Length: %d\r\n\r\n%b" % (len(LARGE), LARGE)
    limits = limits_of_tests(max_calls_per_s_per_caller=0.001, call_burst_s=3_000.0)
    async with direct(says(LISTED), says(large), limits=limits) as (s, _):
        async with s.client() as client:
            for expected in (200, 200, 429):
                client.send(LIST)
                assert (await client.reply()).status == expected
        assert s.calls.requests == 0


async def test_a_call_may_take_longer_than_a_connection_may_be_idle() -> None:
    """A connection is idle only without a call."""
    held = Held()
    async with direct(says(LISTED), held) as (s, _), s.client() as client:
        await under_way(s, held, client)
        connection_of(s)._used_at = -1e9  # noqa: SLF001 - long ago
        connection_of(s).check_idle()
        held.goes_on.set()
        assert (await client.reply()).body == BODY


async def test_a_call_that_nobody_goes_on_with_ends() -> None:
    """The call is refused when it is handed over, so the NameNode's connection is not kept."""
    held = Held()
    async with direct(says(LISTED), held) as (s, _):
        async with s.client() as client:
            await under_way(s, held, client)
            s.front_end.call_limits._by_address.limit = 0  # noqa: SLF001 - as if all of it had been taken in the meantime
            connection_of(s).unfinished()
            assert (await client.reply()).status == 503
            await until(lambda: not s.upstream.stats().connections_in_use)
            s.front_end.call_limits._by_address.limit = 100  # noqa: SLF001 - as it was
        held.goes_on.set()


class Reader:
    """Records the replies of an exchange."""

    def __init__(self) -> None:
        self.replies: list[UpstreamReply] = []

    def replied(self, reply: UpstreamReply) -> None:
        """Record the reply."""
        self.replies.append(reply)

    def unfinished(self) -> None:
        """Fail: no exchange here is left unfinished."""
        raise AssertionError


async def test_an_exchange_that_has_ended_keeps_its_connection() -> None:
    """A client that leaves in the same loop iteration abandons the exchange after its end: this has no effect."""
    async with direct(says(LISTED)) as (s, _):
        reader = Reader()
        exchange = s.upstream.prepare(
            RequestHead("GET", "/webhdfs/v1/d?op=LISTSTATUS", ()), "me", cast("DirectCall", reader)
        )
        assert exchange is not None
        assert s.upstream.send(exchange)
        await until(lambda: bool(reader.replies))
        exchange.abandon()
        stats = s.upstream.stats()
        assert (stats.connections_in_use, stats.connections_idle) == (0, 1)
