"""Requests with `Prefer: wait`, seen on the wire: the real server, the real cache, and a NameNode made of a dict."""

import asyncio
from collections.abc import Callable

import pytest

from nncache.hadoop.change import AccessChanged, Appeared, Touched
from nncache.net.http1.conditional import etag_of
from nncache.proxy.decide.reads import StatusReads
from nncache.proxy.decide.waits import WaitEnd
from nncache.proxy.limits import LimitSettings
from nncache.proxy.settings import ProxySettings
from tests.patience import HANG_S
from tests.proxy.doubles import DIRECTORY, FILE, fails, let_tasks_run
from tests.proxy.front_fixture import Fixture, fixture
from tests.proxy.wire import RawClient, RawReply

LONG = "Prefer: wait=60"


async def until(condition: Callable[[], bool]) -> None:
    """Wait until the condition holds; check it in each loop iteration."""
    async with asyncio.timeout(HANG_S):
        while not condition():
            await let_tasks_run(1)


async def held(s: Fixture, waiters: int = 1) -> None:
    """Wait until this many requests are held."""
    await until(lambda: s.front_end.waits.waiting == waiters)


def asked(s: Fixture, path: str, *fields: str, user: str = "alice") -> asyncio.Task[RawReply]:
    """Send a request that may be held."""
    return s.tasks.create_task(s.status(path, *fields, user=user))


async def test_a_missing_file_is_waited_for() -> None:
    """The answer is sent when the file appears, and costs one question; its ETag is that of its bytes."""
    async with fixture() as s:
        waiting = asked(s, "/w/new", LONG)
        await held(s)
        assert len(s.namenode.fetched) == 1
        s.appear("/w/new")
        reply = await waiting
        assert (reply.status, reply.body) == (200, FILE)
        assert reply["Preference-Applied"] == "wait=60"
        assert reply["ETag"] == etag_of(FILE).decode()
        assert len(s.namenode.fetched) == 2
        assert s.front_end.waits.ended[WaitEnd.CHANGED] == 1


async def test_nothing_new_is_a_304_at_the_end_of_the_time() -> None:
    """RFC 9110, section 13.1.2: the 304 has no body, and costs no question."""
    async with fixture() as s:
        tag = (await s.status("/w/f", "Prefer: wait=1"))["ETag"]
        reply = await s.status("/w/f", "Prefer: wait=1", f"If-None-Match: {tag}")
        assert (reply.status, reply.body) == (304, b"")
        assert (reply["ETag"], reply["Preference-Applied"]) == (tag, "wait=1")
        assert reply.made == "nncache; hit; detail=waited"
        assert len(s.namenode.fetched) == 1
        assert s.front_end.waits.ended[WaitEnd.UNCHANGED] == 1


async def test_a_404_stays_a_404() -> None:
    """RFC 9110, section 13.2.1: an error never becomes a 304."""
    async with fixture() as s:
        first = await s.status("/w/none", "If-None-Match: *")
        reply = await s.status("/w/none", "Prefer: wait=1", f"If-None-Match: {first['ETag']}")
        assert (reply.status, reply.body) == (404, first.body)
        assert s.front_end.waits.ended[WaitEnd.UNCHANGED] == 1


async def test_whoever_says_nothing_of_tags_gets_none() -> None:
    """Verbatim: a NameNode sends no ETag, so neither a forwarded reply nor a hit has one."""
    async with fixture() as s:
        for fields in ((), (), (), ("Prefer: return=minimal",)):
            reply = await s.status("/w/f", *fields)
            assert not any(name in reply for name in ("ETag", "Preference-Applied"))


async def test_a_fault_at_each_try_costs_one_answer_and_not_the_proxy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An error in the fallback to the NameNode is counted as well; the proxy keeps running."""
    async with fixture() as s:
        waiting = asked(s, "/w/none", LONG)
        await held(s)
        with monkeypatch.context() as patch:
            patch.setattr(StatusReads, "answer", fails)
            s.namenode.error = RuntimeError("a bug")
            s.cache.apply(Touched("/w/none"), s.clock.now, 101)
            assert (await waiting).status == 500
        s.namenode.error = None
        assert (await s.status("/w/none")).status == 404
        assert s.front_end.waits.errors == 2


async def test_the_fast_path_never_remembers_a_tag() -> None:
    """The fast path would answer without comparing the ETag."""
    async with fixture() as s:
        for _ in range(3):
            await s.status("/w/f", 'If-None-Match: "x"')
        assert not s.memory.bodies


async def test_the_deleted_is_noticed_by_a_star() -> None:
    """`If-None-Match: *` waits while the path exists."""
    async with fixture() as s:
        waiting = asked(s, "/w/f", LONG, "If-None-Match: *")
        await held(s)
        del s.namenode.statuses["/w/f"]
        s.cache.apply(Appeared("/w/f"), s.clock.now, 101)
        assert (await waiting).status == 404


async def test_a_touch_that_changes_nothing_wakes_no_client() -> None:
    """The change costs one question; the client continues to wait."""
    async with fixture() as s:
        waiting = asked(s, "/w/none", LONG)
        await held(s)
        s.cache.apply(Touched("/w/none"), s.clock.now, 101)
        await until(lambda: len(s.namenode.fetched) == 2)
        await held(s)
        assert not waiting.done()
        s.front_end.waits.stop()
        assert (await waiting).status == 404
        assert (await s.status("/w/none", LONG)).status == 404, "who comes after a stop is not held"


@pytest.mark.parametrize(("is_open", "questions"), [(False, 1), (True, 2)])
async def test_many_who_wait_cost_one_question_for_each_caller(*, is_open: bool, questions: int) -> None:
    """One question is enough if the reply may be cached and the rights are proven; otherwise each caller costs one."""
    async with fixture() as s:
        waiting = [asked(s, "/w/none", LONG, user=user) for user in ("alice", "bob") for _ in range(10)]
        await held(s, 20)
        before = len(s.namenode.fetched)
        s.namenode.statuses["/w/none"] = FILE
        s.namenode.open_files.update({"/w/none"} if is_open else ())
        s.cache.apply(Appeared("/w/none"), s.clock.now, 101)
        replies = await asyncio.gather(*waiting)
        assert {reply.status for reply in replies} == {200}
        assert len(s.namenode.fetched) == before + questions
        shared = "nncache; fwd=miss; collapsed" if is_open else "nncache; fwd=miss; stored; collapsed"
        assert not any("Set-Cookie" in reply for reply in replies), "that is for the one who asked"
        assert {reply.made for reply in replies} <= {shared, "nncache; hit; detail=waited"}


async def test_a_lost_right_is_noticed() -> None:
    """ProvenGrant: the NameNode is asked as the waiting caller, and its refusal is the answer."""
    async with fixture() as s:
        alice, bob = asked(s, "/w/none", LONG), asked(s, "/w/none", LONG, user="bob")
        await held(s, 2)
        s.namenode.locked_out.add("bob")
        s.cache.apply(AccessChanged("/w"), s.clock.now, 101)
        refused = await bob
        assert refused.status == 403
        assert not any(name in refused for name in ("ETag", "Preference-Applied"))
        await held(s)
        s.front_end.waits.stop()
        assert (await alice).status == 404


async def test_a_change_of_rights_through_the_proxy_costs_one_question() -> None:
    """This holds for each request that waits below, although both the call and its event report the change."""
    async with fixture() as s:
        waiting = asked(s, "/w/none", LONG)
        await held(s)
        before = len(s.namenode.fetched)
        changed = "/webhdfs/v1/w?op=SETPERMISSION&permission=700&user.name=alice"
        assert (await s.ask(changed, "Content-Length: 0", method="PUT")).status == 200
        await let_tasks_run(50)
        assert len(s.namenode.fetched) == before, "the call leaves it to its event"
        s.cache.apply(AccessChanged("/w"), s.clock.now, 101)
        await until(lambda: len(s.namenode.fetched) > before)
        await let_tasks_run(50)
        s.front_end.waits.stop()
        assert (await waiting).status == 404
        assert len(s.namenode.fetched) == before + 1


async def test_a_lost_stream_ends_the_wait_with_an_answer() -> None:
    """FailToNameNode: one question serves all, and no answer says that the wait was granted."""
    async with fixture() as s:
        waiting = [asked(s, "/w/none", LONG) for _ in range(5)]
        await held(s, 5)
        before = len(s.namenode.fetched)
        s.cache.close_stream("a test")
        replies = await asyncio.gather(*waiting)
        assert [reply.status for reply in replies] == [404] * 5
        assert all("Preference-Applied" not in reply for reply in replies)
        assert len(s.namenode.fetched) == before + 1
        assert s.front_end.waits.ended[WaitEnd.CUT_SHORT] == 5


async def test_a_closed_gate_is_asked_through_at_the_end() -> None:
    """Bounded: the answer is not the status that was known when the wait began."""
    async with fixture() as s:
        waiting = asked(s, "/w/none", "Prefer: wait=1")
        await held(s)
        s.clock.now += 100.0
        s.namenode.statuses["/w/none"] = FILE
        assert (await waiting).status == 200
        assert len(s.namenode.fetched) == 2


async def test_new_filters_end_the_wait() -> None:
    """After a reload no request waits for a path whose changes are no longer read."""
    async with fixture() as s:
        waiting = asked(s, "/w/none", LONG)
        await held(s)
        s.cache.set_filters({"x": "/x"})
        reply = await waiting
        assert (reply.status, reply.made) == (404, "nncache; fwd=bypass; collapsed; detail=no-filter")


async def test_no_more_wait_than_the_settings_allow() -> None:
    """Requests beyond `max_waiters` are answered as if they had not asked to wait."""
    async with fixture(proxy=ProxySettings(max_waiters=1)) as s:
        first = asked(s, "/w/none", LONG)
        await held(s)
        second = await s.status("/w/none", LONG)
        assert second.status == 404
        assert "Preference-Applied" not in second
        assert s.front_end.stats().waits_not_admitted == 1
        s.front_end.waits.stop()
        await first


async def test_a_long_wait_is_cut_and_none_is_held_where_off() -> None:
    """`Preference-Applied` has the wait that was applied."""
    async with fixture(proxy=ProxySettings(max_wait_s=1)) as s:
        assert (await s.status("/w/none", LONG))["Preference-Applied"] == "wait=1"
    async with fixture(proxy=ProxySettings(max_wait_s=0)) as s:
        assert "Preference-Applied" not in (await s.status("/w/none", LONG))


@pytest.mark.parametrize("field", ["Cache-Control: no-cache", "Cache-Control: no-store"])
async def test_who_wants_the_namenodes_own_answer_gets_it_at_once(field: str) -> None:
    """Without the cache, no change would end the wait."""
    async with fixture() as s:
        reply = await s.status("/w/none", LONG, field)
        assert "Preference-Applied" not in reply


async def test_a_path_of_no_filter_is_not_waited_for() -> None:
    """Changes of its path are not read."""
    async with fixture() as s:
        s.namenode.statuses["/a/b/c/d"] = DIRECTORY
        reply = await s.status("/a/b/c/e", LONG)
        assert reply.made == "nncache; fwd=bypass; detail=no-filter"
        assert "Preference-Applied" not in reply


async def test_an_earlier_question_does_not_answer_a_member() -> None:
    """OwnWrites: it may show an older state than the client has already seen."""
    async with fixture() as s:
        first = asked(s, "/w/none", LONG)
        await held(s)
        late = s.namenode.hold_next()
        s.cache.apply(Touched("/w/none"), s.clock.now, 101)
        async with asyncio.timeout(HANG_S):
            await late.came.wait()  # the first request's question has its reply, which is held back
        s.appear("/w/none", 102)
        tag = (await s.status("/w/none", 'If-None-Match: "x"'))["ETag"]
        second = asked(s, "/w/none", LONG, f"If-None-Match: {tag}")
        await held(s)
        s.cache.apply(Touched("/w/none"), s.clock.now, 103)
        before = len(s.namenode.fetched)
        await until(lambda: len(s.namenode.fetched) == before + 1)
        assert not second.done(), "the first's 404 would be another answer"
        late.goes_on.set()
        assert (await first).status == 200
        s.front_end.waits.stop()
        assert (await second).status == 304


async def test_a_file_that_is_about_to_be_written_is_waited_for() -> None:
    """An event announces the file, so its 404 can be waited on; this holds for no directory and no existing path."""
    async with fixture() as s:
        begun = await s.ask("/webhdfs/v1/w/new?op=CREATE&user.name=alice", "Content-Length: 0", method="PUT")
        assert begun.status < 400
        waiting = asked(s, "/w/new", LONG)
        await held(s)
        s.appear("/w/new")
        reply = await waiting
        assert (reply.status, reply["Preference-Applied"]) == (200, "wait=60")


@pytest.mark.parametrize("field", ["Cookie: hadoop-jwt=", "X-Remote-User: "])
async def test_provengrant_a_field_that_only_namenodes_read_is_one_caller(field: str) -> None:
    """ProvenGrant: carol gets no reply to bob, and no cookie in it. A file about to be written lets both wait."""
    async with fixture() as s:
        await s.ask("/webhdfs/v1/w/new?op=CREATE&user.name=alice", "Content-Length: 0", method="PUT")
        target = "/webhdfs/v1/w/new?op=GETFILESTATUS"
        carol, bob = (s.tasks.create_task(s.ask(target, LONG, f"{field}{user}")) for user in ("carol", "bob"))
        await held(s, 2)
        s.namenode.locked_out.add("carol")
        s.appear("/w/new")
        replies = await asyncio.gather(carol, bob)
        assert [each.status for each in replies] == [403, 200]
        assert not any("u=carol" in value.decode() for value in replies[1].all(b"Set-Cookie"))


async def test_a_wait_is_not_idleness() -> None:
    """The idle timeout does not close a connection whose request is held."""
    async with fixture(LimitSettings(idle_timeout_s=0.1)) as s:
        reply = await s.status("/w/none", "Prefer: wait=1")
        assert (reply.status, reply["Preference-Applied"]) == (404, "wait=1")


async def test_one_address_cannot_hold_all_places() -> None:
    """An address that is alone may have seven eighths of the places."""
    async with fixture(proxy=ProxySettings(max_waiters=8)) as s:
        waiting = [asked(s, "/w/none", LONG) for _ in range(7)]
        await held(s, 7)
        assert "Preference-Applied" not in (await s.status("/w/none", LONG))
        s.front_end.waits.stop()
        assert {reply.status for reply in await asyncio.gather(*waiting)} == {404}


async def test_the_limits_of_one_address_are_no_answer_for_others() -> None:
    """The first to wait has used up its calls; who waits with it from another address has not."""
    limits = LimitSettings(max_calls_per_s_per_address=1.0, call_burst_s=3.0)
    async with fixture(limits) as s:
        greedy = asked(s, "/w/none", LONG)
        await held(s)
        while (await s.status("/w/f", "Cache-Control: no-cache")).status != 429:
            pass
        async with RawClient.connected(s.port, "127.0.0.7") as other:
            target = "/webhdfs/v1/w/none?op=GETFILESTATUS&user.name=alice"
            other.send(f"GET {target} HTTP/1.1\r\nHost: nn\r\n{LONG}\r\n\r\n".encode())
            await held(s, 2)
            s.appear("/w/none")
            assert (await other.reply()).status == 200
        assert (await greedy).status == 429


async def test_a_second_caller_waits_for_what_is_known_already() -> None:
    """Bob's reply equals the status cached from alice's question; the next read of both would be a hit."""
    async with fixture() as s:
        first = asked(s, "/w/f", LONG, "If-None-Match: *")
        await held(s)
        second = asked(s, "/w/f", LONG, "If-None-Match: *", user="bob")
        await held(s, 2)
        del s.namenode.statuses["/w/f"]
        s.cache.apply(Appeared("/w/f"), s.clock.now, 101)
        replies = await asyncio.gather(first, second)
        assert [(each.status, each["Preference-Applied"]) for each in replies] == 2 * [(404, "wait=60")]


async def test_what_is_large_is_not_held() -> None:
    """A large request is answered immediately. The memory of those held is counted, and freed with them."""
    async with fixture() as s:
        small = asked(s, "/w/none", LONG)
        await held(s)
        kept_bytes = s.front_end.stats().waiters_bytes
        assert 200 < kept_bytes < 2_000
        many = ",".join(etag_of(b"%d" % number).decode() for number in range(1_000))
        for fields in (
            (f"X-Large: {'x' * 8_000}",),
            [f"X-{number}: y" for number in range(90)],
            (f"If-None-Match: {many}",),
        ):
            reply = await s.status("/w/none", LONG, *fields)
            assert (reply.status, "Preference-Applied" in reply) == (404, False)
        assert s.front_end.stats().waits_not_admitted == 3
        s.front_end.waits.stop()
        await small
        assert s.front_end.stats().waiters_bytes == 0
