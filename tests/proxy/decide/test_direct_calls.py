"""Plain reads forwarded as bytes: the replies are the same, whatever happens while they are in flight."""

import asyncio
from types import ModuleType
from typing import cast
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nncache.hadoop.calls import is_webhdfs, parse_call, parse_plain
from nncache.hadoop.effects import changes_nothing
from nncache.hadoop.filestatus import render_missing
from nncache.proxy.cache_status import Bypass, why_not_asked
from nncache.proxy.decide import answers
from nncache.proxy.identity import claimed_caller
from nncache.proxy.traffic import Exchange
from nncache.proxy.upstream import direct_exchange
from tests.hadoop.made_credentials import token
from tests.proxy.direct_fixture import (
    BODY,
    LIST,
    LISTED,
    NOT_FOUND,
    STATUS,
    connection_of,
    direct,
    direct_fixture,
)
from tests.proxy.doubles import fails
from tests.proxy.wire import RawNameNode, limits_of_tests, says, until

KEPT = STATUS.replace(b"/d?", b"/kept/d?")


async def test_a_read_needs_no_task() -> None:
    """This holds from the second read on. The read is counted like any other, and the NameNode gets the same head."""
    async with direct(says(LISTED)) as (s, namenode):
        assert s.calls.requests == 0
        async with s.client() as client:
            for number in range(1, 4):
                client.send(LIST)
                reply = await client.reply()
                assert (reply.status, reply.body) == (200, BODY)
                assert reply.all(b"Cache-Status") == [b"nncache; fwd=bypass; detail=operation"]
                assert s.calls.requests == number
        assert len(set(namenode.heads)) == 1
        assert namenode.connections == 1
        assert s.upstream.stats().calls == s.server.requests == s.front_end.traffic.stats().total == 4
        assert s.front_end.stats().forwarded == {"operation": 4}
        assert s.is_quiet


@pytest.mark.parametrize(
    "request_",
    [
        LIST.replace(b"/d?", b"/../../jmx?"),
        LIST.replace(b"/d?", b"/d%u002e?"),
        LIST.replace(b"LISTSTATUS", b"NOSUCH"),
        LIST.replace(b"LISTSTATUS", b"OPEN"),
        LIST.replace(b"/d?", b"/d#?"),
        LIST.replace(b"GET", b"HEAD"),
        LIST.replace(b"webhdfs", b"Webhdfs"),
        LIST.replace(b"Accept", b"Authorization"),
        LIST.replace(b"Accept: */*", b"Expect: 100-continue"),
        LIST.replace(b"Accept: */*", b"Prefer: wait=1"),
        LIST[:-2],
    ],
)
async def test_what_needs_more_than_one_look_has_a_task(request_: bytes) -> None:
    """This also holds if the fields, or the very same request, came before."""
    async with direct(says(LISTED)) as (s, _):
        for number in range(2, 4):
            async with s.client() as client:
                client.send(request_)
                if request_.endswith(b"\r\n\r\n"):
                    await client.reply(request_[:4].strip().decode())
                    assert s.server.requests >= number
            await until(lambda: not s.server.stats().connections_open)
            assert s.calls.requests == 0


@given(
    st.text("/wf.%2@:é", max_size=12).map(quote),
    st.lists(
        st.sampled_from(("user.name=joe", "doas=ann", "delegation=t0k", "user.name=hdfs/h@R")), max_size=3
    ),
)
def test_strict_and_loose_readers_agree(tail: str, query: list[str]) -> None:
    """So a target that the strict reader accepts need not be read by both."""
    target = "/webhdfs/v1/w/" + tail + "?" + "&".join(["op=GETFILESTATUS", *query])
    plain = parse_plain(target)
    if plain is not None:
        call = parse_call("GET", target)
        assert changes_nothing(call)
        assert why_not_asked(call) is Bypass.NOT_PLAIN
        assert claimed_caller(call) == claimed_caller(plain)
        assert is_webhdfs(target)


class Unread:
    """A transport whose client has not read everything that was written."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport

    def get_write_buffer_size(self) -> int:
        """Report one unread byte."""
        return 1

    def __getattr__(self, name: str) -> object:
        """Delegate everything else to the transport."""
        return getattr(self._transport, name)


async def test_nothing_is_forwarded_before_the_client_has_read() -> None:
    """Q2: otherwise a client that reads nothing could fill the memory with replies."""
    async with direct(says(LISTED)) as (s, _), s.client() as client:
        client.send(LIST)
        await client.reply()
        quick = connection_of(s)
        quick.transport = cast(asyncio.Transport, Unread(cast(asyncio.Transport, quick.transport)))
        client.send(LIST)
        assert (await client.reply()).body == BODY
        assert s.calls.requests == 1


async def test_without_a_connection_the_ordinary_path_is_used() -> None:
    """The ordinary path waits for a connection."""
    async with direct(says(LISTED), limits=limits_of_tests(upstream_idle_s=0)) as (s, _):
        assert (await s.ask()).body == BODY
        assert s.calls.requests == 0
    async with direct(says(LISTED)) as (s, _):
        s.pool.active = None
        assert (await s.ask()).body == BODY
        assert s.calls.requests == 0
        assert s.is_quiet


async def test_a_read_with_a_token_alone_is_a_plain_call() -> None:
    """Its reply proves the token as usual, so the next read is a hit. With a cookie as well, the read is not plain."""
    ask = b"GET /webhdfs/v1/kept/f?op=GETFILESTATUS&delegation=%b HTTP/1.1\r\nHost: nn\r\nAccept: */*\r\n\r\n"
    gone = render_missing("/kept/f")
    dated = (
        b"HTTP/1.1 404 Not Found\r\nDate: Sun, 22 Nov 2026 00:00:00 GMT\r\n"
        b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"
    )
    async with RawNameNode(says(dated % (len(gone), gone))) as namenode, direct_fixture(namenode) as s:
        await s.learn(ask.replace(b"/f?", b"/other?").replace(b"&delegation=%b", b""))
        made = []
        for _ in range(3):
            async with s.client() as client:
                client.send(ask % token().encode())
                made.append((await client.reply()).all(b"Cache-Status"))
        assert made == [[b"nncache; fwd=miss; stored"], [b"nncache; hit"], [b"nncache; hit"]]
        assert s.calls.requests == 3
        beside = (ask % token("bob").encode()).replace(b"Accept: */*", b"Cookie: a=b")
        for request in (beside.replace(b"GETFILESTATUS", b"LISTSTATUS"), beside, ask % b"odd"):
            assert (await s.ask(request)).all(b"Cache-Status")[0] != b"nncache; hit"


async def test_a_fault_of_ours_leaves_the_call_to_the_ordinary_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """FailToNameNode; the error is counted."""
    async with direct(says(LISTED), says(NOT_FOUND)) as (s, _):
        monkeypatch.setattr(s.cache, "why_no_trace", fails)
        assert (await s.ask(STATUS)).status == 404
        assert s.calls.requests == 0
        assert s.server.stats().bugs >= 1


@pytest.mark.parametrize(
    ("module", "name", "bugs"),
    [(answers, "forwarded", 1), (answers, "shows_path", 1), (direct_exchange, "passed_on", 0)],
)
@pytest.mark.parametrize("request_", [LIST, KEPT], ids=["passed on", "kept"])
async def test_a_reply_that_meets_a_fault_of_ours_is_asked_for_again(
    monkeypatch: pytest.MonkeyPatch, module: ModuleType, name: str, bugs: int, request_: bytes
) -> None:
    """FailToNameNode: the NameNode has answered a read, so a task can send it again."""
    async with direct(says(NOT_FOUND)) as (s, _):
        monkeypatch.setattr(module, name, fails)
        assert (await s.ask(request_)).status == 404
        assert s.server.stats().bugs == bugs
        assert sum(s.front_end.stats().forwarded.values()) == s.front_end.traffic.stats().total == 2
        assert s.calls.requests == 0
        assert s.is_quiet


async def test_a_fault_of_an_observer_costs_no_answer(caplog: pytest.LogCaptureFixture) -> None:
    """FailToNameNode: an error in a log or a counter costs no reply, and other observers still see the request."""
    async with direct(says(NOT_FOUND)) as (s, _):
        seen = list[Exchange]()
        s.front_end.traffic.observers = (fails, seen.append)
        for request in (LIST, KEPT, LIST.replace(b"LISTSTATUS", b"OPEN")):
            assert (await s.ask(request)).status == 404
        assert [each.status for each in seen] == [404] * 3
        assert len(caplog.records) == 1, "the log is throttled"
        assert s.is_quiet


async def test_a_fault_of_ours_in_the_choice_of_a_namespace_costs_no_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """FailToNameNode: an error in `begin` costs no reply either."""
    async with direct(says(LISTED)) as (s, _):
        monkeypatch.setattr(s.calls, "begin", fails)
        assert (await s.ask(LIST)).status == 200
        assert s.server.stats().bugs == 1
