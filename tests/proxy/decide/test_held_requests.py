"""Requests held without a task, seen on the wire: what is sent on their connection, and in which order."""

import asyncio
import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise

import pytest

from nncache.cache.watches import PathWatch
from nncache.hadoop.change import Appeared
from nncache.proxy.decide.path_waits import HeldRequest, PathQuestions, PathWaiter
from nncache.proxy.decide.waits import CHECKS_PER_ITERATION, Group, WaitEnd, Waiter
from nncache.proxy.traffic import GETFILESTATUS, Exchange, Result
from tests.patience import HANG_S
from tests.proxy.decide.test_waiting import held, until
from tests.proxy.doubles import FILE, fails, let_tasks_run
from tests.proxy.front_fixture import Fixture, fixture
from tests.proxy.wire import RawClient, reset

WAITS = "Prefer: wait=60"


def get(path: str, *fields: str, version: str = "1.1") -> bytes:
    """Return a GETFILESTATUS request."""
    line = f"GET /webhdfs/v1{path}?op=GETFILESTATUS&user.name=alice HTTP/{version}"
    return "\r\n".join((line, "Host: nn", *fields, "", "")).encode()


def tasks_of(s: Fixture) -> list[object]:
    """Return the tasks of the open connections."""
    return [each.task for each in s.server._open if each.task is not None]  # noqa: SLF001 - no figure tells them apart


def left() -> int:
    """Return the number of objects left of requests that wait or have waited."""
    return sum(isinstance(each, Group | Waiter | HeldRequest | PathWatch) for each in gc.get_objects())


def waits_of(s: Fixture) -> list[PathWaiter]:
    """Return the waiters, including those whose first question is in flight."""
    ours = s.front_end.waits._groups.values()  # noqa: SLF001 - no figure tells them apart
    return [each for each in gc.get_objects() if isinstance(each, Waiter) and each.group in ours]


async def test_no_task_is_left_of_a_request_that_waits() -> None:
    """The next request of its connection is served as usual, even if it waits as well."""
    async with fixture() as s, s.client() as client:
        for path in ("/w/one", "/w/two"):
            client.send(get(path, WAITS))
            await held(s)
            await until(lambda: not tasks_of(s))
            s.appear(path)
            reply = await client.reply()
            assert (reply.status, reply.body, reply["Preference-Applied"]) == (200, FILE, "wait=60")
            assert "Connection" not in reply
        client.send(get("/w/f"))
        assert (await client.reply()).status == 200


async def test_a_wait_of_http_1_0_keeps_its_connection() -> None:
    """Its answer has `Connection: keep-alive`, as any other."""
    async with fixture() as s, s.client() as client:
        for path in ("/w/one", "/w/two"):
            client.send(get(path, WAITS, "Connection: keep-alive", version="1.0"))
            await held(s)
            s.appear(path)
            reply = await client.reply()
            assert (reply.status, reply["Connection"]) == (200, "keep-alive")


async def test_a_wait_that_is_over_leaves_no_cycle() -> None:
    """The garbage collector scans old objects once; later cycles among them would never be freed."""
    gc.collect()  # of other tests
    before = left()
    async with fixture() as s, s.client() as client:
        for path in ("/w/one", "/w/two"):
            client.send(get(path, WAITS))
            await held(s)
            s.appear(path)
            assert (await client.reply()).status == 200
        client.send(get("/w/three", WAITS))
        await held(s)
        client.writer.transport.abort()
        await held(s, 0)
        await let_tasks_run(3)  # the event loop drops its last callback
        assert left() == before


@asynccontextmanager
async def first_question(s: Fixture, client: RawClient, path: str) -> AsyncIterator[None]:
    """Start a wait and hold its first question; the NameNode replies when the block ends."""
    hold = s.namenode.hold_next()
    client.send(get(path, WAITS))
    async with asyncio.timeout(HANG_S):
        await hold.came.wait()
    await until(lambda: not tasks_of(s))
    yield
    hold.goes_on.set()


async def test_the_first_question_holds_no_task() -> None:
    """Otherwise, with a slow NameNode, each request of a crowd would take three times as much memory."""
    async with fixture() as s, s.client() as client:
        async with first_question(s, client, "/w/new"):
            assert s.server.stats().connections_open == 1
            assert s.front_end.waits.waiting == 0
        await held(s)
        s.appear("/w/new")
        assert (await client.reply()).status == 200


async def test_own_writes_a_change_during_it_repeats_the_question() -> None:
    """Its reply may be from before the change."""
    async with fixture() as s, s.client() as client:
        async with first_question(s, client, "/w/new"):
            s.cache.apply(Appeared("/w/new"), s.clock.now, 101)
        await until(lambda: len(s.namenode.fetched) == 2)
        await held(s)
        s.appear("/w/new")
        assert (await client.reply()).status == 200


async def test_what_is_there_is_the_answer_of_one_that_never_waited() -> None:
    """The reply is the NameNode's own: it was asked for this request alone."""
    async with fixture() as s, s.client() as client:
        async with first_question(s, client, "/w/f"):
            pass
        reply = await client.reply()
        assert (reply.status, reply.body, reply["Preference-Applied"]) == (200, FILE, "wait=60")
        assert reply.made == "nncache; fwd=miss; stored"
        assert "Set-Cookie" in reply
        assert not sum(s.front_end.waits.ended.values())
        client.send(get("/w/f"))
        assert (await client.reply()).status == 200


@pytest.mark.parametrize("stops", [False, True], ids=["client", "proxy"])
async def test_a_timeout_during_the_first_question_takes_its_reply(*, stops: bool) -> None:
    """The answer does not say that the wait was granted."""
    async with fixture() as s, s.client() as client:
        async with first_question(s, client, "/w/new"):
            if stops:
                s.front_end.waits.stop()
            else:
                client.writer.write_eof()
                await until(lambda: bool([each for each in waits_of(s) if each.is_over]))
        reply = await client.reply()
        assert (reply.status, "Preference-Applied" in reply) == (404, False)
        assert len(s.namenode.fetched) == 1


async def test_failtonamenode_a_stop_during_the_question_is_answered() -> None:
    """The stop cancels the question; the client is asked to retry, not told of an internal error."""
    async with fixture() as s, s.client() as client:
        async with first_question(s, client, "/w/new"):
            (asking,) = [task for task in asyncio.all_tasks() if "_answer_to" in repr(task.get_coro())]
            asking.cancel()
            reply = await client.reply()
        assert (reply.status, b"the proxy is being stopped" in reply.body) == (503, True)
        assert "Retry-After" in reply


async def test_a_client_gone_during_the_question_leaves_nothing() -> None:
    """It is counted once, and its place becomes free."""
    before = left()
    async with fixture() as s, s.client() as client:
        async with first_question(s, client, "/w/new"):
            reset(client)
            await until(lambda: not s.server.stats().connections_open)
            assert len(s.cache.store.watches) == 1
        await until(lambda: not len(s.cache.store.watches))
        assert not s.front_end.waits.waiting
        assert s.front_end.traffic.stats().of(Result.ABANDONED) == 1
        await let_tasks_run(3)  # the event loop drops its last callback
        assert left() == before, "its timer neither"


async def test_a_fault_of_ours_in_the_first_question_is_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """FailToNameNode: this holds for errors in the question and in the evaluation of its reply."""
    async with fixture() as s, s.client() as client:
        with monkeypatch.context() as patched:
            patched.setattr(s.front_end._reads, "answer", fails)  # noqa: SLF001 - FailToNameNode
            client.send(get("/w/f", WAITS))
            assert (await client.reply()).status == 200
        with monkeypatch.context() as patched:
            patched.setattr(PathQuestions, "is_met", fails)
            client.send(get("/w/f", WAITS))
            assert (await client.reply()).status == 200
        assert s.front_end.stats().cache_errors == 2
        assert not len(s.cache.store.watches)


async def test_an_internal_error_costs_no_other_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """All questions are tasks of one TaskGroup, which would end with the first failure."""
    async with fixture() as s, s.client() as client, s.client() as other:
        other.send(get("/w/new", WAITS))
        await held(s)
        with monkeypatch.context() as patched:
            patched.setattr(HeldRequest, "answered", fails)
            client.send(get("/w/f", WAITS))
            await until(lambda: s.front_end.stats().cache_errors == 1)
        s.appear("/w/new")
        assert (await other.reply()).status == 200


@pytest.mark.parametrize(("fields", "version"), [((), "1.0"), (("Connection: close",), "1.1")])
async def test_a_connection_that_ends_with_its_reply_waits_in_its_task(
    fields: tuple[str, ...], version: str
) -> None:
    """No further request can follow on the connection."""
    async with fixture() as s, s.client() as client:
        client.send(get("/w/new", WAITS, *fields, version=version))
        await held(s)
        assert tasks_of(s)
        s.appear("/w/new")
        assert (await client.reply()).status == 200
        assert await client.rest() == b""


async def test_pipelined_requests_are_answered_after_a_wait() -> None:
    """Replies are sent in the order of the requests (RFC 9112, section 9.3.2)."""
    async with fixture() as s, s.client() as client:
        client.send(get("/w/new", WAITS))
        await held(s)
        client.send(get("/w"))
        client.send(get("/w/f"))
        await let_tasks_run(20)
        assert s.front_end.waits.waiting == 1
        s.appear("/w/new")
        replies = [await client.reply() for _ in range(3)]
        assert [reply.status for reply in replies] == [200] * 3
        assert b"DIRECTORY" in replies[1].body
        assert replies[2].body == FILE


async def test_two_requests_sent_at_once_wait_one_after_the_other() -> None:
    """The first one is followed by another request, so it waits in its task."""
    async with fixture() as s, s.client() as client:
        client.send(get("/w/one", WAITS))
        client.send(get("/w/two", WAITS))
        await held(s)
        for path in ("/w/one", "/w/two"):
            s.appear(path)
            assert (await client.reply()).status == 200


async def test_a_client_that_closes_its_half_is_answered_at_once() -> None:
    """Its connection ends after the answer."""
    async with fixture() as s, s.client() as client:
        client.send(get("/w/new", WAITS))
        await held(s)
        client.writer.write_eof()
        reply = await client.reply()
        assert (reply.status, "Preference-Applied" in reply) == (404, False)
        assert await client.rest() == b""
        assert s.front_end.waits.ended[WaitEnd.CUT_SHORT] == 1


async def test_a_client_that_has_closed_its_half_before_is_answered_at_once() -> None:
    """This holds for a request that keeps its task, if the half-close arrives during the first question."""
    async with fixture() as s, s.client() as client:
        hold = s.namenode.hold_next()
        client.send(get("/w/new", WAITS, "Connection: close"))
        async with asyncio.timeout(HANG_S):
            await hold.came.wait()
        client.writer.write_eof()
        (connection,) = s.server._open  # noqa: SLF001 - no figure tells it
        await until(connection.has_closed)
        hold.goes_on.set()
        reply = await client.reply()
        assert (reply.status, "Preference-Applied" in reply) == (404, False)


async def test_a_client_that_is_gone_is_counted_once() -> None:
    """It costs no question, and its place becomes free."""
    async with fixture() as s, s.client() as client:
        client.send(get("/w/new", WAITS))
        await held(s)
        asked = len(s.namenode.fetched)
        reset(client)
        await held(s, 0)
        s.appear("/w/new")
        await let_tasks_run(20)
        assert len(s.namenode.fetched) == asked
        assert not len(s.cache.store.watches)
        assert s.front_end.traffic.stats().of(Result.ABANDONED) == 1
        assert +s.front_end.waits.ended == {WaitEnd.ABANDONED: 1}


async def test_a_stopping_proxy_answers_all_waits() -> None:
    """`Connection: close` is added, so waits do not prolong the drain."""
    async with fixture() as s, s.client() as one, s.client() as two:
        for client in (one, two):
            client.send(get("/w/new", WAITS))
        await held(s, 2)
        s.front_end.waits.stop()
        async with asyncio.timeout(HANG_S):
            await s.server.stop()
        for client in (one, two):
            reply = await client.reply()
            assert (reply.status, reply["Connection"]) == (404, "close")
            assert await client.rest() == b""
        assert s.server.stats().connections_open == 0


async def test_a_held_request_is_counted_once_and_timed_by_its_work() -> None:
    """The time spent waiting is excluded."""
    seen = list[Exchange]()

    async with fixture() as s, s.client() as client:
        s.front_end.traffic.observers = (seen.append,)
        client.send(get("/w/new", WAITS, "X-Request-Id: 7"))
        await held(s)
        assert not seen
        s.appear("/w/new")
        await client.reply()
        (exchange,) = seen
        assert (exchange.operation, exchange.status, exchange.body_bytes) == (GETFILESTATUS, 200, len(FILE))
        assert exchange.request_id == "7"
        assert exchange.result in {Result.STORED, Result.HIT}


async def test_a_crowd_is_answered_a_part_in_each_iteration() -> None:
    """A crowd waiting for one path blocks the loop no longer than a crowd waiting for many."""
    crowd = 3 * CHECKS_PER_ITERATION
    async with fixture() as s:
        waiting = [s.tasks.create_task(s.status("/w/new", WAITS)) for _ in range(crowd)]
        await held(s, crowd)
        s.appear("/w/new")
        left = [crowd]
        while left[-1]:
            await let_tasks_run(1)
            left.append(s.front_end.waits.waiting)
        assert max(before - after for before, after in pairwise(left)) <= CHECKS_PER_ITERATION
        assert {reply.status for reply in await asyncio.gather(*waiting)} == {200}
        assert len(s.namenode.fetched) == 2


async def test_bounded_a_crowd_gets_no_stale_answer() -> None:
    """The gate closes while the crowd is answered: the NameNode is asked for the rest."""
    crowd = 2 * CHECKS_PER_ITERATION
    async with fixture() as s:
        waiting = [s.tasks.create_task(s.status("/w/f", WAITS, "If-None-Match: *")) for _ in range(crowd)]
        await held(s, crowd)
        s.front_end.waits.stop()
        while s.front_end.waits.waiting == crowd:
            await let_tasks_run(1)
        assert s.front_end.waits.waiting, "some are still to be answered"
        s.clock.now += 100.0
        del s.namenode.statuses["/w/f"]
        statuses = [reply.status for reply in await asyncio.gather(*waiting)]
        assert set(statuses) == {200, 404}


async def test_a_fault_of_ours_is_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """This holds for errors in building the reply and in the question."""
    async with fixture() as s, s.client() as client:
        client.send(get("/w/one", WAITS))
        await held(s)
        with monkeypatch.context() as patched:
            patched.setattr(s.front_end.answers, "with_conditions", fails)
            s.appear("/w/one")
            assert (await client.reply()).status == 500
        client.send(get("/w/two", WAITS))
        await held(s)
        with monkeypatch.context() as patched:
            patched.setattr(s.front_end._reads, "answer", fails)  # noqa: SLF001 - FailToNameNode
            s.namenode.statuses["/w/two"] = FILE
            s.front_end.waits.stop()
            reply = await client.reply()
        assert reply.status == 200
        assert reply.made == "nncache; fwd=bypass; collapsed; detail=cache-error"
        assert s.front_end.stats().cache_errors == 1


async def test_failtonamenode_a_fault_in_a_look_is_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """For each waiting request, the call is forwarded past the cache."""
    async with fixture() as s, s.client() as one, s.client() as two:
        for client in (one, two):
            client.send(get("/w/new", WAITS))
        await held(s, 2)
        with monkeypatch.context() as patched:
            patched.setattr(PathQuestions, "is_met", fails)
            s.appear("/w/new")
            replies = [await client.reply() for client in (one, two)]
        assert [(reply.status, reply.made) for reply in replies] == [
            (200, "nncache; fwd=bypass; detail=cache-error")
        ] * 2
        assert s.front_end.waits.waiting == 0
