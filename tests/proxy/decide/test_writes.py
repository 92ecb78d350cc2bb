"""Everything that a forwarded call changes is forgotten before its answer is sent (guarantee OwnWrites)."""

import pytest

from nncache.cache import Cacheable, EntryKind, Fetch, Forward, StoredReply
from nncache.hadoop.calls import PREFIX, parse_plain
from nncache.hadoop.errors import RpcUnavailableError
from nncache.proxy.errors import (
    ClientGoneError,
    NotSentError,
    OverloadedError,
    ProxyError,
    UpstreamCutError,
    UpstreamTimeoutError,
    UpstreamUnavailableError,
)
from nncache.proxy.identity import Credential, authentication_of, caller_of
from nncache.proxy.messages import Settle, SettledReply
from tests.hadoop.made_credentials import token
from tests.proxy.doubles import (
    DENIED,
    OTHER_NAMENODE,
    TERM,
    ScriptedStreamer,
    caller,
    ended,
    fails,
    let_tasks_run,
    script,
    settled,
)
from tests.proxy.write_fixture import fixture

# ---- forgetting -------------------------------------------------------------------------------------


async def test_the_write_is_forgotten_before_the_answer_goes_out() -> None:
    """When `settle` returns, the reply may be sent: by then nothing stale is cached."""
    async with fixture() as s:
        s.fill("/w/d", "/w/d/f", "/w/other")

        async def delete(settle: Settle) -> None:
            assert s.is_hit("/w/d/f")
            await settle(settled(200))
            assert not s.is_hit("/w/d")
            assert not s.is_hit("/w/d/f")
            assert s.is_hit("/w/other")

        await s.write("DELETE", "/w/d?op=DELETE&recursive=true", ScriptedStreamer(delete))


@pytest.mark.parametrize("outcome", [None, settled(500)])
async def test_an_unknown_outcome_waits_for_the_events(outcome: SettledReply | None) -> None:
    """OwnWrites: the answer waits until every change acknowledged so far is applied; nothing else is forgotten."""
    async with fixture() as s:
        s.fill("/w/f", "/w/g")
        s.clock.now += 0.1
        writing = s.write("PUT", "/w/f?op=SETPERMISSION", ScriptedStreamer(script(outcome)))
        await let_tasks_run()
        assert s.signal.probes == 1
        s.cache.cover(s.clock() - 0.05, 101)
        s.signal.moved()  # of a moment before the answer: too early
        await let_tasks_run()
        assert not writing.done()
        await s.cover()
        await writing
        assert s.is_hit("/w/f")
        assert s.is_hit("/w/g")
        assert (s.writes.unknown_outcomes, s.writes.left_to_events, s.writes.settled) == (1, 1, 0)


@pytest.mark.parametrize("outcome", [settled(200), None, settled(403)])
async def test_a_cancelled_token_loses_its_rights_before_the_answer(outcome: SettledReply | None) -> None:
    """Any outcome counts: the token may have been cancelled elsewhere, and a valid one proves its rights again."""
    read = parse_plain(f"{PREFIX}/w/f?op=GETFILESTATUS&delegation={token()}")
    assert read is not None
    credential = authentication_of(read, ())
    assert isinstance(credential, Credential)
    async with fixture() as s:
        holder = caller_of(read, credential, "")
        decision = s.cache.lookup("/w/f", holder, s.clock())
        assert isinstance(decision, Fetch)
        s.cache.conclude(
            decision.ticket,
            Cacheable(
                reply=StoredReply(404, (), b""), kind=EntryKind.MISSING, replied_at=s.clock(), term=TERM
            ),
        )
        target = f"/?op=CANCELDELEGATIONTOKEN&token={token()}"
        await s.write("PUT", target, ScriptedStreamer(script(outcome)))
        decision = s.cache.lookup("/w/f", holder, s.clock())
        assert isinstance(decision, Fetch)


async def test_what_no_event_tells_in_time_is_not_served() -> None:
    """OwnWrites and FailToNameNode: the answer waits until the gate closes for lack of coverage, and no longer."""
    async with fixture() as s:
        s.fill("/w/f")
        s.clock.now += 0.1
        writing = s.write("DELETE", "/w/f?op=DELETE", ScriptedStreamer(script(None)))
        await let_tasks_run()
        s.clock.now += 2.9
        s.signal.moved(covered=False)
        await let_tasks_run()
        assert not writing.done()
        s.clock.now += 0.2
        s.signal.moved(covered=False)
        await writing
        assert not s.is_hit("/w/f")
        s.cache.cover(s.clock(), 102)
        assert s.is_hit("/w/f")  # the event would have removed it


async def test_nothing_is_waited_for_while_the_stream_is_closed() -> None:
    """Nothing is cached then, and events from before it opens again do not come."""
    async with fixture() as s:
        s.clock.now += 0.1
        first = s.write("DELETE", "/w/f?op=DELETE", ScriptedStreamer(script(None)))
        await let_tasks_run()
        assert not first.done()
        s.cache.close_stream("another NameNode is active")
        s.signal.moved(covered=False)
        second = s.write("DELETE", "/w/f?op=DELETE", ScriptedStreamer(script(None)))
        await let_tasks_run()
        done = first.done(), second.done()
        s.clock.now += 4.0
        s.signal.moved(covered=False)
        await first
        await second
        assert done == (True, True)


@pytest.mark.parametrize(
    "target",
    [
        "/w/d?op=MKDIRS&op=RENAME&destination=/w/f",
        "/.reserved/.inodes/16386/x?op=MKDIRS",
        "/w/%ff?op=MKDIRS",
        "/w/d?op=MKDIRS&x=%ff",
        "/w/d?op=RENAME&destination=//w/w/e",
    ],
)
async def test_an_odd_call_that_is_done_waits_for_the_events(target: str) -> None:
    """OwnWrites and HitsKept: only events tell what such a call has changed."""
    async with fixture() as s:
        s.fill("/w", "/w/f", "/w/g")
        s.clock.now += 0.1
        writing = s.write("PUT", target, ScriptedStreamer(script(settled(200))))
        await s.cover()
        await writing
        assert all(s.is_hit(path) for path in ("/w", "/w/f", "/w/g"))


@pytest.mark.parametrize(
    "error", [UpstreamUnavailableError("none"), NotSentError("refused"), OverloadedError("full")]
)
async def test_what_was_never_sent_changes_nothing(error: ProxyError) -> None:
    """An error of the proxy, before the call is sent, leaves the cache as it is."""
    async with fixture() as s:
        s.fill("/w/f")
        writing = s.writing("DELETE", "/w/f?op=DELETE", ScriptedStreamer(script(error)))
        with pytest.raises(type(error)):
            await ended(writing)
        assert s.is_hit("/w/f")


@pytest.mark.parametrize(
    "error",
    [UpstreamCutError("cut"), UpstreamTimeoutError("slow"), ClientGoneError("gone"), RuntimeError("bug")],
)
async def test_an_end_without_a_settling_counts_as_unknown(error: Exception) -> None:
    """This covers every way in which forwarding can end once the call may have been sent."""
    async with fixture() as s:

        async def fail(_: Settle) -> None:
            raise error

        s.clock.now += 0.1
        covering = s.tasks.create_task(s.cover())
        with pytest.raises(type(error)):
            await ended(s.writing("DELETE", "/w/f?op=DELETE", ScriptedStreamer(fail)))
        await covering
        assert s.writes.left_to_events == 1


async def test_a_read_that_sets_the_access_time_forgets_the_path() -> None:
    """OPEN may change `accessTime` before its own answer is sent."""
    async with fixture() as s:
        s.fill("/w/f", "/w/g")
        await s.write("GET", "/w/f?op=OPEN", ScriptedStreamer(script(settled(307, None))))
        await s.write("GET", "/w/g?op=LISTSTATUS", ScriptedStreamer(script(settled(200))))
        assert not s.is_hit("/w/f")
        assert s.is_hit("/w/g")


# ---- ancestors that are made on the way --------------------------------------------------------------


async def test_missing_ancestors_are_asked_for_before_the_call_is_sent() -> None:
    """MKDIRS creates missing ancestors, and only the NameNode knows which ones are missing."""
    async with fixture() as s:
        s.fill("/w/a", "/w/a/b")
        streamer = ScriptedStreamer(script(settled(200)))
        writing = s.write("PUT", "/w/a/b/c?op=MKDIRS", streamer)
        await let_tasks_run()
        assert not streamer.heads
        assert s.namenode.existing.calls == [("/w/a/b",)]
        s.namenode.existing.answer(result=False)
        await let_tasks_run()
        s.namenode.existing.answer(result=False)
        await let_tasks_run()
        s.namenode.existing.answer(result=True)
        await writing
        assert [path for (path,) in s.namenode.existing.calls] == ["/w/a/b", "/w/a", "/w"]
        assert not s.is_hit("/w/a")
        assert not s.is_hit("/w/a/b")


@pytest.mark.parametrize(
    "error", [RpcUnavailableError("cut", is_sent=True), OSError("no route"), RuntimeError("bug")]
)
async def test_a_write_after_a_failed_question_waits_for_the_events(error: Exception) -> None:
    """FailToNameNode and OwnWrites: the write is sent, and its answer waits; nothing is forgotten in doubt."""
    async with fixture() as s:
        s.fill("/w/a", "/w/a/other")
        streamer = ScriptedStreamer(script(settled(200)))
        writing = s.write("PUT", "/w/a/b/c?op=MKDIRS", streamer)
        await let_tasks_run()
        s.namenode.existing.answer(error)
        s.clock.now += 0.1
        await s.cover()
        await writing
        assert streamer.heads
        assert s.is_hit("/w/a/other")
        assert s.writes.query_failures == 1


async def test_a_raw_path_counts_as_its_own() -> None:
    """/.reserved/raw/p means p, also for its ancestors."""
    async with fixture() as s:
        s.fill("/w/a", "/w/a/b")
        writing = s.write("PUT", "/.reserved/raw/w/a/b?op=MKDIRS", ScriptedStreamer(script(settled(200))))
        await let_tasks_run()
        s.namenode.existing.answer(result=True)
        await writing
        assert s.namenode.existing.calls == [("/w/a",)]
        assert not s.is_hit("/w/a/b")


# ---- two-step writes --------------------------------------------------------------------------------


async def test_the_redirecting_namenode_is_asked_for_its_txid() -> None:
    """Another NameNode's transaction id may be of another log."""
    async with fixture() as s:
        reply = settled(307, None, namenode=OTHER_NAMENODE)
        writing = s.write("POST", "/w/f?op=APPEND", ScriptedStreamer(script(reply)))
        await let_tasks_run()
        assert s.namenode.txids.calls == [(OTHER_NAMENODE,)]
        s.namenode.txids.answer(500)
        await writing


@pytest.mark.parametrize("error", [RpcUnavailableError("cut", is_sent=True), RuntimeError("bug")])
async def test_without_a_transaction_id_the_window_ends_by_time_only(error: Exception) -> None:
    """FailToNameNode: the redirect is still passed on."""
    async with fixture() as s:
        writing = s.write("POST", "/w/f?op=APPEND", ScriptedStreamer(script(settled(307, None))))
        await let_tasks_run()
        s.namenode.txids.answer(error)
        await writing
        assert s.cache.explain("/w/f", s.clock()).in_two_step_write
        s.clock.now += 601.0
        assert not s.cache.explain("/w/f", s.clock()).in_two_step_write
        assert (s.writes.windows_opened, s.writes.windows_without_txid) == (1, 1)


async def test_a_window_opens_even_if_the_client_leaves() -> None:
    """It leaves while the transaction id is being read. It may have guessed the redirect, so the window opens."""
    async with fixture() as s:
        client = s.write("POST", "/w/f?op=APPEND", ScriptedStreamer(script(settled(307, None))))
        await let_tasks_run()
        client.cancel()
        await let_tasks_run()
        assert client.cancelled()
        assert s.cache.explain("/w/f", s.clock()).in_two_step_write


@pytest.mark.parametrize("reply", [settled(403, DENIED), settled(500), None])
async def test_no_redirect_no_window(reply: SettledReply | None) -> None:
    """The second step needs the address in the redirect."""
    async with fixture() as s:
        await s.write("POST", "/w/f?op=APPEND", ScriptedStreamer(script(reply)))
        assert not s.namenode.txids.calls
        assert not s.cache.explain("/w/f", s.clock()).in_two_step_write


async def test_a_redirect_for_the_root_opens_no_window() -> None:
    """The root is not a file, but the NameNode redirects before it checks. No client may block the cache that way."""
    async with fixture() as s:
        s.fill("/w/f")
        await s.write("PUT", "/?op=CREATE", ScriptedStreamer(script(settled(307, None))))
        s.clock.now += 0.1
        assert not s.cache.explain("/w/f", s.clock()).in_two_step_write


# ---- a cache that fails -----------------------------------------------------------------------------


async def test_a_cache_that_cannot_take_a_change_starts_from_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """FailToNameNode without a stale answer: the write is answered, and the cache is flushed."""
    async with fixture() as s:
        s.fill("/w/f", "/w/other")
        real = s.cache.apply
        broken = iter([True])

        def apply(*arguments: object, **named: object) -> None:
            if next(broken, False):
                raise RuntimeError("bug")
            real(*arguments, **named)  # type: ignore[arg-type] # handed through

        monkeypatch.setattr(s.cache, "apply", apply)
        await s.write("DELETE", "/w/f?op=DELETE", ScriptedStreamer(script(settled(200))))
        assert not s.is_hit("/w/f")
        assert not s.is_hit("/w/other")
        assert s.writes.errors == 1


@pytest.mark.parametrize("method", ["apply", "unproven_ancestors", "open_window"])
async def test_no_fault_of_the_cache_stops_a_write(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """FailToNameNode: whatever fails in the cache, the answer is sent; at worst the stream is closed."""
    async with fixture() as s:
        s.fill("/w/f")
        monkeypatch.setattr(s.cache, method, fails)
        streamer = ScriptedStreamer(script(settled(307, None)))
        writing = s.write("PUT", "/w/f?op=CREATE", streamer)
        await let_tasks_run()
        for held, result in ((s.namenode.existing, True), (s.namenode.txids, 500)):
            if held.waiting:
                held.answer(result)
                await let_tasks_run()
        await writing
        assert streamer.heads
        assert not s.is_hit("/w/f")
        if method == "open_window":  # the write is in progress, and the cache does not know of it
            assert isinstance(s.cache.lookup("/w/f", caller(), s.clock()), Forward)
