"""Each call that is sent for a client is followed to its end exactly once, on every path."""

import asyncio
from typing import cast

import pytest

from nncache.clock import boottime
from nncache.hadoop.election_view import NameNode
from nncache.proxy.clients.response import reset
from nncache.proxy.messages import CallEnded, RequestHead
from nncache.proxy.upstream import pool
from nncache.proxy.upstream.client import Upstream
from tests.proxy.decide.test_direct_fills import ASK, GONE, OTHER
from tests.proxy.direct_fixture import HEAD, LIST, LISTED, Held, direct, direct_fixture, under_way
from tests.proxy.wire import (
    STANDBY_REPLY,
    Act,
    Heard,
    RawNameNode,
    cuts,
    is_silent,
    limits_of_tests,
    pool_of,
    says,
    until,
)

LARGE = HEAD + b"Content-Length: 200000\r\n\r\n" + 200_000 * b"y"
GOOD = 200, ""


class Followed:
    """The calls that were followed.

    Attributes:
        ended: for each call, in order, its ends: status and name of the error; empty while it is in flight.
        asked: the NameNode of each call.
    """

    def __init__(self, upstream: Upstream) -> None:
        self.ended: list[list[tuple[int, str]]] = []
        self.asked: list[NameNode] = []
        upstream.follow(self._sent)

    def _sent(self, _: RequestHead, namenode: NameNode) -> CallEnded:
        ends: list[tuple[int, str]] = []
        self.ended.append(ends)
        self.asked.append(namenode)
        return lambda status, error: ends.append((status, "" if error is None else type(error).__name__))


def breaks_off(reply: bytes) -> Act:
    """Return an act that sends these bytes and closes the connection."""

    async def act(heard: Heard) -> None:
        await heard.say(reply)
        heard.cut()

    return act


@pytest.mark.parametrize("is_direct", [True, False], ids=["direct", "by a task"])
@pytest.mark.parametrize(
    ("act", "ends"),
    [
        (says(LISTED), [GOOD]),
        (says(LISTED[:50], LISTED[50:]), [GOOD]),
        (says(LARGE), [GOOD]),
        (says(b"HTTP/1.1 204 No Content\r\n\r\n"), [(204, "")]),
        (says(STANDBY_REPLY), [(403, ""), GOOD]),
        (cuts, [(0, "UpstreamCutError"), GOOD]),
        (says(b"no HTTP\r\n\r\n"), [(0, "UpstreamCutError"), GOOD]),
        (breaks_off(LISTED[:-5]), [(200, "UpstreamCutError"), GOOD]),
        (breaks_off(LARGE[:-5]), [(200, "UpstreamCutError")]),
        (breaks_off(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"), [(200, "UpstreamCutError")]),
    ],
)
async def test_a_call_ends_with_its_reply_or_what_broke_it_off(
    act: Act, ends: list[tuple[int, str]], *, is_direct: bool
) -> None:
    """A retry is another call."""
    async with direct(says(LISTED), act, says(LISTED), is_direct=is_direct) as (s, namenode):
        followed = Followed(s.upstream)
        async with s.client() as client:
            client.send(LIST.replace(b"Host", b"Connection: close\r\nHost"))
            await client.rest()
        await until(lambda: s.is_quiet)
        assert followed.ended == [[end] for end in ends]
        assert followed.asked == [namenode.namenode] * len(ends)


async def test_a_call_that_is_handed_over_stays_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """One call ends when the NameNode is given up; the retry at another NameNode is a second one."""
    monkeypatch.setattr(pool, "REPLY_PATIENCE_S", 0.01)
    async with (
        RawNameNode(says(LISTED), is_silent) as one,
        RawNameNode(says(LISTED)) as two,
        direct_fixture(one, two, limits=limits_of_tests(upstream_timeout_s=0.05)) as s,
    ):
        await s.learn()
        followed = Followed(s.upstream)
        assert (await s.ask()).status == 200
        await until(lambda: s.is_quiet)
        assert followed.ended == [[(0, "UpstreamTimeoutError")], [GOOD]]
        assert followed.asked == [one.namenode, two.namenode]


async def test_the_call_of_a_client_that_leaves_ends() -> None:
    """It ends without a reply."""
    held = Held()
    async with direct(says(LISTED), held) as (s, _):
        followed = Followed(s.upstream)
        async with s.client() as client:
            await under_way(s, held, client)
            assert followed.ended == [[]]
            reset(cast("asyncio.Transport", client.writer.transport))
            await until(lambda: s.is_quiet)
        held.goes_on.set()
        assert followed.ended == [[(0, "")]]


async def test_a_miss_is_followed_and_a_hit_is_no_call() -> None:
    """A refused call is not followed, nor is one that could not be sent."""
    async with direct(says(GONE), learns=OTHER, limits=limits_of_tests(max_calls_per_s_per_caller=1)) as (
        s,
        _,
    ):
        followed = Followed(s.upstream)
        assert (await s.ask(ASK)).status == 404
        assert followed.ended == [[(404, "")]]
        assert (await s.ask(ASK)).all(b"Cache-Status") == [b"nncache; hit"]
        while (await s.ask(LIST)).status != 429:
            continue
        assert len(followed.ended) == s.upstream.stats().calls - 1


async def test_calls_of_the_proxys_own_are_not_followed() -> None:
    """The auditor's calls are an example."""
    head = RequestHead("GET", "/webhdfs/v1/f?op=GETFILESTATUS", ((b"Host", b"nn"),))
    async with (
        RawNameNode() as namenode,
        Upstream(pool_of(namenode).pool, limits_of_tests(), boottime) as upstream,
    ):
        followed = Followed(upstream)
        await upstream.fetch(head, is_followed=False)
        assert followed.ended == []
        await upstream.fetch(head)
        await upstream.fetch(head, is_followed=False)
        assert followed.ended == [[GOOD]]
        assert namenode.connections == 1
