"""Cacheable reads sent as bytes: the replies and the cache are the same, whatever happens while they are in flight."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable

import pytest

from nncache.hadoop.change import Appeared
from nncache.hadoop.filestatus import render_missing
from nncache.proxy.decide import outcomes
from nncache.proxy.traffic import Result
from nncache.proxy.upstream import pool
from tests.proxy.direct_fixture import DirectProxy, Held, direct, under_way
from tests.proxy.doubles import FILE, fails
from tests.proxy.wire import RawClient, cuts, limits_of_tests, reset, says, until

FIELDS = b"Host: nn\r\nAccept: */*\r\n\r\n"
ASK = b"GET /webhdfs/v1/kept/f?op=GETFILESTATUS&user.name=joe HTTP/1.1\r\n" + FIELDS
OTHER = ASK.replace(b"/f?", b"/other?")
STORED = [b"nncache; fwd=miss; stored"]
MISS = [b"nncache; fwd=miss"]


def http(status: bytes, body: bytes) -> bytes:
    """Return a reply as a NameNode writes it."""
    return (
        b"HTTP/1.1 %b\r\nX-Frame-Options: SAMEORIGIN\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"
        % (status, len(body), body)
    )


GONE = http(b"404 Not Found", render_missing("/kept/f"))
IS_FILE = http(b"200 OK", FILE)


async def test_a_miss_needs_no_parser_and_is_kept() -> None:
    """The miss is counted like any other, and the next read is a hit."""
    async with direct(says(GONE), learns=OTHER) as (s, namenode):
        reply = await s.ask(ASK)
        assert (reply.status, reply.body) == (404, render_missing("/kept/f"))
        assert reply.all(b"Cache-Status") == STORED
        assert s.calls.requests == 1
        assert (await s.ask(ASK)).all(b"Cache-Status") == [b"nncache; hit"]
        stats = s.front_end.stats()
        seen = +Counter(s.front_end.traffic.stats().requests)
        assert seen == {(each, "GETFILESTATUS"): 1 for each in (Result.STORED, Result.FORWARDED, Result.HIT)}
        assert stats.fetches == 2
        assert stats.forwarded == {"miss": 2}
        assert s.upstream.stats().calls == len(namenode.heads) == 2
        assert s.is_quiet


async def test_a_file_is_kept_once_the_namenode_says_that_it_is_closed() -> None:
    """OpenFileUncached; the client gets its reply only then."""
    for is_closed in (True, False):
        async with direct(says(GONE), says(IS_FILE), learns=OTHER) as (s, _):
            async with s.client() as client:
                client.send(ASK)
                await s.queries.closed.reached(1)
                assert s.calls.under_way == 1
                assert not s.upstream.stats().connections_in_use
                s.queries.closed.answer(is_closed)
                assert (await client.reply()).all(b"Cache-Status") == (STORED if is_closed else MISS)
                assert s.calls.requests == 1
            assert s.front_end.stats().closed_queries == 1
            assert s.is_quiet


async def test_isfileclosed_delays_the_client_only_briefly() -> None:
    """Then the client gets its reply; the answer may still fill the cache for others."""
    async with direct(says(GONE), says(IS_FILE), learns=OTHER, join_wait_s=0.05) as (s, _):
        assert (await s.ask(ASK)).all(b"Cache-Status") == MISS
        assert (s.calls.requests, s.calls.under_way) == (1, 0)
        assert s.front_end.traffic.stats().of(Result.STORED) == 0
        s.queries.closed.answer(True)
        await until(lambda: s.is_quiet)
        assert (await s.ask(ASK)).all(b"Cache-Status") == [b"nncache; hit"]


async def test_others_may_join() -> None:
    """The NameNode is asked once."""
    held = Held(GONE)
    async with direct(says(GONE), held, learns=OTHER) as (s, namenode):
        async with s.client() as first, s.client() as second:
            await under_way(s, held, first, ASK)
            second.send(ASK)
            await until(lambda: s.cache.store.counters.joins == 1)
            held.goes_on.set()
            assert (await first.reply()).all(b"Cache-Status") == STORED
            assert b"collapsed" in (await second.reply()).all(b"Cache-Status")[0]
        assert len(namenode.heads) == 2
        assert s.is_quiet


async def leaves(_: DirectProxy, client: RawClient) -> None:
    """The client leaves with a reset."""
    reset(client)


async def sends_more(_: DirectProxy, client: RawClient) -> None:
    """The client sends another request before its reply."""
    client.send(OTHER)


async def closes_half(_: DirectProxy, client: RawClient) -> None:
    """The client closes its half of the connection."""
    client.writer.write_eof()


@pytest.mark.parametrize("does", [leaves, sends_more, closes_half])
@pytest.mark.parametrize("waits_for_closed", [False, True])
async def test_what_a_client_does_meanwhile_costs_no_other_the_answer(
    does: Callable[[DirectProxy, RawClient], Awaitable[None]], *, waits_for_closed: bool
) -> None:
    """The NameNode gets one call, the reply is cached, and the call is counted once."""
    held = Held(IS_FILE if waits_for_closed else GONE)
    async with direct(says(GONE), held, says(GONE), learns=OTHER) as (s, namenode):
        async with s.client() as client:
            await under_way(s, held, client, ASK)
            if waits_for_closed:
                held.goes_on.set()
                await s.queries.closed.reached(1)
            await does(s, client)
            if does is leaves:
                await until(lambda: s.server.stats().connections_open == 0)
            held.goes_on.set()
            if waits_for_closed:
                s.queries.closed.answer(True)
            if does is not leaves:
                assert (await client.reply()).all(b"Cache-Status") == STORED
            await until(lambda: s.cache.store.entries == 1)
        await until(lambda: s.is_quiet)
        asked = [head for head in namenode.heads if b"/kept/f?" in head]
        assert len(asked) == 1
        stats = s.front_end.stats()
        others = 1 + (does is sends_more)
        assert stats.forwarded == {"miss": 1 + others}
        traffic = s.front_end.traffic.stats()
        expected = Result.ABANDONED if does is leaves else Result.STORED
        assert (traffic.total, traffic.of(expected)) == (1 + others, 1)
        assert s.server.requests == 1 + others
        assert (await s.ask(ASK)).all(b"Cache-Status") == [b"nncache; hit"]


async def test_a_late_reply_is_waited_for_by_the_ordinary_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """The call is not sent twice."""
    monkeypatch.setattr(pool, "REPLY_PATIENCE_S", 0.02)
    held = Held(GONE[:40], GONE[40:])
    async with direct(says(GONE), held, learns=OTHER) as (s, namenode):
        async with s.client() as client:
            client.send(ASK)
            await held.came.wait()
            await until(lambda: s.calls.under_way == 0 and s.front_end.call_limits.under_way == 1)
            held.goes_on.set()
            assert (await client.reply()).all(b"Cache-Status") == STORED
        assert len(namenode.heads) == 2
        assert s.calls.requests == 0
        assert s.front_end.traffic.stats().of(Result.STORED) == 1
        assert s.is_quiet


async def test_the_client_gets_an_error_for_a_namenode_that_stays_away() -> None:
    """The error is counted."""
    async with direct(says(GONE), cuts, learns=OTHER, limits=limits_of_tests(failover_wait_s=0.01)) as (s, _):
        assert (await s.ask(ASK)).status == 502
        assert s.front_end.traffic.stats().of(Result.FAILED) == 1
        assert s.is_quiet


async def test_the_end_of_a_call_whose_client_has_left_is_counted() -> None:
    """This also holds if no NameNode answers."""
    held = Held()
    async with direct(says(GONE), held, learns=OTHER, limits=limits_of_tests(failover_wait_s=0.01)) as (
        s,
        namenode,
    ):
        async with s.client() as client:
            await under_way(s, held, client, ASK)
            await leaves(s, client)
            await until(lambda: s.server.stats().connections_open == 0)
            namenode.heard[-1].cut()
            namenode.acts = (cuts,)
            held.goes_on.set()
            await until(lambda: s.is_quiet)
        assert (s.calls.requests, s.front_end.traffic.stats().of(Result.ABANDONED)) == (1, 1)
        assert s.front_end.stats().forwarded == {"miss": 2}


@pytest.mark.parametrize("what", ["a change", "another NameNode", "another term"])
async def test_a_reply_that_may_be_late_is_not_kept(what: str) -> None:
    """NoLateFill: a changed path fills nothing, and only replies of the active NameNode do."""
    held = Held(GONE)
    async with direct(says(GONE), held, learns=OTHER) as (s, namenode):
        async with s.client() as client:
            await under_way(s, held, client, ASK)
            if what == "a change":
                s.cache.apply(Appeared("/kept/f"), 100.0, 101)
            elif what == "another term":
                s.pool.make_active(namenode.namenode, 8)
            else:
                s.pool.active = None
            held.goes_on.set()
            assert (await client.reply()).all(b"Cache-Status") == MISS
        assert not s.cache.store.entries
        assert s.is_quiet


async def test_limits_of_calls_hold() -> None:
    """Each call is counted until its reply has arrived; calls beyond the limits are not sent."""
    limits = limits_of_tests(max_calls_per_s_per_caller=1.0, call_burst_s=3.0)
    async with direct(says(GONE), learns=OTHER, limits=limits) as (s, _):
        statuses = [(await s.ask(ASK.replace(b"/f?", b"/f%d?" % each))).status for each in range(4)]
        assert statuses == [404, 404, 429, 429]
        assert s.calls.requests == 2
        assert s.is_quiet


async def test_a_fault_of_ours_costs_no_client_its_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """FailToNameNode: this holds before the call is sent, and once its reply has arrived."""
    async with direct(says(GONE), learns=OTHER) as (s, namenode):
        with monkeypatch.context() as broken:
            broken.setattr(s.cache, "lookup", fails)
            assert (await s.ask(ASK)).all(b"Cache-Status") == [b"nncache; fwd=bypass; detail=cache-error"]
        assert (s.calls.requests, s.server.stats().bugs) == (0, 1)
        with monkeypatch.context() as broken:
            broken.setattr(outcomes, "render_missing", fails)
            assert (await s.ask(ASK)).all(b"Cache-Status") == MISS
        with monkeypatch.context() as broken:
            broken.setattr(s.cache, "_conclude", fails)
            assert (await s.ask(ASK)).all(b"Cache-Status") == MISS
        namenode.acts = (says(IS_FILE),)
        with monkeypatch.context() as broken:
            broken.setattr(s.queries, "is_file_closed", fails)
            assert (await s.ask(ASK)).all(b"Cache-Status") == MISS
        assert s.calls.requests == 3
        assert s.front_end.stats().cache_errors == 4
        assert s.is_quiet


async def test_a_stop_waits_for_questions_under_way() -> None:
    """It does so for questions of the ordinary path too; each question is concluded."""
    held = Held(GONE)
    async with (
        direct(says(GONE), held, learns=OTHER) as (s, _),
        s.client() as client,
        asyncio.TaskGroup() as tasks,
    ):
        await under_way(s, held, client, ASK)
        tasks.create_task(s.server.stop())
        await until(lambda: s.calls.under_way == 0)
        held.goes_on.set()
        assert (await client.reply()).all(b"Cache-Status") == STORED
    assert s.is_quiet
    held = Held(GONE)
    async with direct(says(GONE), held, learns=OTHER) as (s, _):
        async with s.client() as client:
            await under_way(s, held, client, ASK)
            await leaves(s, client)
            await until(lambda: s.server.stats().connections_open == 0)
        asyncio.get_running_loop().call_later(0.02, held.goes_on.set)
    assert not s.cache.store.tickets
    await until(lambda: s.is_quiet)
    assert s.cache.store.entries == 1
