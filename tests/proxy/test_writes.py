"""Whatever passes through is forgotten before its answer goes out (guarantee OwnWrites)."""

import asyncio

import pytest
from aiohttp.test_utils import make_mocked_request

from cache import Fetch, Forward, Kind, Known, Reply
from hadoop.calls import read_call
from hadoop.changes import CallOutcome
from hadoop.errors import RpcUnavailableError
from proxy.errors import (
    ClientGoneError,
    NoActiveNameNodeError,
    NotSentError,
    OverloadedError,
    ProxyError,
    UpstreamCutError,
    UpstreamTimeoutError,
)
from proxy.handling import Bypass, forwarded
from proxy.messages import RequestHead, SettledReply
from proxy.upstream import Settle
from proxy.writes import Writes, outcome_of
from tests.proxy.doubles import (
    DENIED,
    NAMENODE,
    OTHER_NAMENODE,
    TERM,
    ScriptedStreamer,
    caller,
    ended,
    script,
    settled,
    turns,
)
from tests.proxy.write_scene import Scene, scene

# ---- what a reply tells -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        (settled(200), CallOutcome.DONE),
        (settled(200, b'{"boolean":false}'), CallOutcome.DONE),
        (settled(307, None), CallOutcome.DONE),
        (settled(403, DENIED), CallOutcome.REFUSED),
        (settled(400, b"<html>"), CallOutcome.REFUSED),
        (settled(404), CallOutcome.REFUSED),
        (settled(408), CallOutcome.UNKNOWN),
        (settled(500), CallOutcome.UNKNOWN),
        (settled(503), CallOutcome.UNKNOWN),
        (None, CallOutcome.UNKNOWN),
    ],
)
def test_the_status_tells_the_outcome(reply: SettledReply | None, outcome: CallOutcome) -> None:
    """A 4xx did nothing; a 5xx and silence may have done all."""
    assert outcome_of(reply) is outcome


# ---- forgetting -------------------------------------------------------------------------------------


async def test_the_write_is_forgotten_before_the_answer_goes_out() -> None:
    """When `settle` returns, the reply may be sent: by then nothing stale is left."""
    async with scene() as s:
        s.fill("/w/d", "/w/d/f", "/w/other")

        async def delete(settle: Settle) -> None:
            assert s.is_hit("/w/d/f")
            await settle(settled(200))
            assert not s.is_hit("/w/d")
            assert not s.is_hit("/w/d/f")
            assert s.is_hit("/w/other")

        await s.write("DELETE", "/w/d?op=DELETE&recursive=true", ScriptedStreamer(delete))


@pytest.mark.parametrize("outcome", [None, settled(500)])
async def test_an_unknown_outcome_counts_as_done(outcome: SettledReply | None) -> None:
    """OwnWrites: the client may have been obeyed without being told."""
    async with scene() as s:
        s.fill("/w/f", "/w/g")
        await s.write("PUT", "/w/f?op=RENAME&destination=/w/g", ScriptedStreamer(script(outcome)))
        assert not s.is_hit("/w/f")
        assert not s.is_hit("/w/g")
        assert s.writes is not None
        assert s.writes.unknown_outcomes == 1


async def test_a_refused_write_does_not_empty_the_cache() -> None:
    """Who may not write can't make the cache forget a subtree."""
    async with scene() as s:
        s.fill("/w/d", "/w/d/f")
        await s.write("DELETE", "/w/d?op=DELETE", ScriptedStreamer(script(settled(403, DENIED))))
        assert not s.is_hit("/w/d")
        assert s.is_hit("/w/d/f")


@pytest.mark.parametrize(
    "error", [NoActiveNameNodeError("none"), NotSentError("refused"), OverloadedError("full")]
)
async def test_what_was_never_sent_changes_nothing(error: ProxyError) -> None:
    """The proxy's own refusals leave the cache as it is."""
    async with scene() as s:
        s.fill("/w/f")
        with pytest.raises(type(error)):
            await ended(_raising(s, error))
        assert s.is_hit("/w/f")


@pytest.mark.parametrize(
    "error",
    [UpstreamCutError("cut"), UpstreamTimeoutError("slow"), ClientGoneError("gone"), RuntimeError("bug")],
)
async def test_an_end_without_a_settling_counts_as_unknown(error: Exception) -> None:
    """Whatever ends the forwarding once the call may have been sent."""
    async with scene() as s:
        s.fill("/w/f")
        with pytest.raises(type(error)):
            await ended(_raising(s, error))
        assert not s.is_hit("/w/f")


async def _raising(s: Scene, error: Exception) -> None:
    async def fail(_: Settle) -> None:
        raise error

    writes = Writes(s.cache, ScriptedStreamer(fail), s.namenode, s.clock, query_timeout_s=1.0)
    target = "/webhdfs/v1/w/f?op=DELETE"
    await writes.pass_through(
        make_mocked_request("DELETE", target),
        RequestHead("DELETE", target, ()),
        read_call("DELETE", target),
        forwarded(Bypass.METHOD),
    )


async def test_a_client_that_leaves_does_not_stop_the_forgetting() -> None:
    """Cancelled while the NameNode works: the outcome is unknown, and forgotten at once."""
    async with scene() as s:
        s.fill("/w/f")
        sent = asyncio.Event()

        async def hang(_: Settle) -> None:
            sent.set()
            await asyncio.Event().wait()

        client = s.write("DELETE", "/w/f?op=DELETE", ScriptedStreamer(hang))
        await sent.wait()
        client.cancel()
        await turns()
        assert client.cancelled()
        assert not s.is_hit("/w/f")


async def test_a_reply_under_way_is_spoiled_by_the_write() -> None:
    """NoLateFill: asked before the write was answered, kept never."""
    async with scene() as s:
        decision = s.cache.lookup("/w/f", caller(), s.clock(), may_wait=False)
        assert isinstance(decision, Fetch)
        await s.write("PUT", "/w/f?op=SETTIMES", ScriptedStreamer(script(settled(200))))
        known = Known(reply=Reply(404, (), b""), kind=Kind.MISSING, replied_at=s.clock(), term=TERM)
        assert not s.cache.conclude(decision.ticket, known).is_shareable


async def test_a_read_that_sets_the_access_time_forgets_the_path() -> None:
    """OPEN may change `accessTime` before its own answer goes out."""
    async with scene() as s:
        s.fill("/w/f", "/w/g")
        await s.write("GET", "/w/f?op=OPEN", ScriptedStreamer(script(settled(307, None))))
        await s.write("GET", "/w/g?op=LISTSTATUS", ScriptedStreamer(script(settled(200))))
        assert not s.is_hit("/w/f")
        assert s.is_hit("/w/g")


async def test_the_reply_says_how_it_was_handled() -> None:
    """`Cache-Status` goes behind the NameNode's own fields."""
    async with scene() as s:
        streamer = ScriptedStreamer(script(settled(200)))
        await s.write("DELETE", "/w/f?op=DELETE", streamer)
        assert streamer.fields == (forwarded(Bypass.METHOD),)


# ---- ancestors that are made on the way --------------------------------------------------------------


async def test_missing_ancestors_are_asked_for_before_the_call_is_sent() -> None:
    """MKDIRS makes what is missing above: only the NameNode knows what that is."""
    async with scene() as s:
        s.fill("/w/a", "/w/a/b")
        streamer = ScriptedStreamer(script(settled(200)))
        writing = s.write("PUT", "/w/a/b/c?op=MKDIRS", streamer)
        await turns()
        assert not streamer.heads
        assert s.namenode.existing.calls == [("/w/a/b",)]
        s.namenode.existing.answer(result=False)
        await turns()
        s.namenode.existing.answer(result=False)
        await turns()
        s.namenode.existing.answer(result=True)
        await writing
        assert [path for (path,) in s.namenode.existing.calls] == ["/w/a/b", "/w/a", "/w"]
        assert not s.is_hit("/w/a")
        assert not s.is_hit("/w/a/b")


async def test_what_exists_is_not_forgotten() -> None:
    """An ancestor that is there is not made, so what is known below it stays."""
    async with scene() as s:
        s.fill("/w/a/b", "/w/a/other")
        writing = s.write("PUT", "/w/a/b/c?op=MKDIRS", ScriptedStreamer(script(settled(200))))
        await turns()
        s.namenode.existing.answer(result=False)
        await turns()
        s.namenode.existing.answer(result=True)
        await writing
        assert not s.is_hit("/w/a/b")
        assert s.is_hit("/w/a/other")


@pytest.mark.parametrize(
    "error", [RpcUnavailableError("cut", is_sent=True), OSError("no route"), RuntimeError("bug")]
)
async def test_what_is_not_proven_to_exist_may_be_made(error: Exception) -> None:
    """FailToNameNode and OwnWrites at once: the write goes out, and everything doubtful is forgotten."""
    async with scene() as s:
        s.fill("/w/a", "/w/a/other")
        streamer = ScriptedStreamer(script(settled(200)))
        writing = s.write("PUT", "/w/a/b/c?op=MKDIRS", streamer)
        await turns()
        s.namenode.existing.answer(error)
        await writing
        assert streamer.heads
        assert not s.is_hit("/w/a/other")
        assert s.writes is not None
        assert s.writes.query_failures == 1


async def test_a_silent_namenode_delays_a_write_no_longer_than_one_query() -> None:
    """One deadline for all the questions of one call."""
    async with scene(query_timeout_s=0.01) as s:
        s.fill("/w/a/b")
        streamer = ScriptedStreamer(script(settled(200)))
        await s.write("PUT", "/w/a/b/c?op=MKDIRS", streamer)
        assert streamer.heads
        assert not s.is_hit("/w/a/b")


async def test_a_raw_path_counts_as_its_own() -> None:
    """/.reserved/raw/p is p, also for the ancestors."""
    async with scene() as s:
        s.fill("/w/a", "/w/a/b")
        writing = s.write("PUT", "/.reserved/raw/w/a/b?op=MKDIRS", ScriptedStreamer(script(settled(200))))
        await turns()
        s.namenode.existing.answer(result=True)
        await writing
        assert s.namenode.existing.calls == [("/w/a",)]
        assert not s.is_hit("/w/a/b")


# ---- two-step writes --------------------------------------------------------------------------------


@pytest.mark.parametrize(("method", "op"), [("PUT", "CREATE"), ("POST", "APPEND")])
@pytest.mark.parametrize("reply", [settled(307, None), settled(200, b'{"Location":"http://dn"}')])
async def test_the_redirect_goes_out_after_the_window_is_open(
    method: str, op: str, reply: SettledReply
) -> None:
    """Last transaction asked, window opened, redirect passed on: in this order."""
    async with scene() as s:
        s.fill("/w/f")
        passed_on = asyncio.Event()

        async def redirect(settle: Settle) -> None:
            await settle(reply)
            assert s.cache.explain("/w/f", s.clock()).in_two_step_write
            passed_on.set()

        writing = s.write(method, f"/w/f?op={op}", ScriptedStreamer(redirect))
        await turns()
        if op == "CREATE" and s.namenode.existing.waiting:
            s.namenode.existing.answer(result=True)
            await turns()
        assert s.namenode.txids.calls == [(NAMENODE,)]
        assert not passed_on.is_set()
        assert not s.is_hit("/w/f")
        s.namenode.txids.answer(500)
        await writing
        assert passed_on.is_set()
        assert not s.is_hit("/w/f")


async def test_the_namenode_that_redirects_is_asked_for_its_last_transaction() -> None:
    """Another one's number may be of another log."""
    async with scene() as s:
        reply = settled(307, None, namenode=OTHER_NAMENODE)
        writing = s.write("POST", "/w/f?op=APPEND", ScriptedStreamer(script(reply)))
        await turns()
        assert s.namenode.txids.calls == [(OTHER_NAMENODE,)]
        s.namenode.txids.answer(500)
        await writing


@pytest.mark.parametrize("error", [RpcUnavailableError("cut", is_sent=True), RuntimeError("bug")])
async def test_without_a_transaction_id_the_window_ends_by_time_only(error: Exception) -> None:
    """FailToNameNode: the redirect goes out all the same."""
    async with scene() as s:
        writing = s.write("POST", "/w/f?op=APPEND", ScriptedStreamer(script(settled(307, None))))
        await turns()
        s.namenode.txids.answer(error)
        await writing
        assert s.cache.explain("/w/f", s.clock()).in_two_step_write
        s.clock.now += 601.0
        assert not s.cache.explain("/w/f", s.clock()).in_two_step_write
        assert s.writes is not None
        assert (s.writes.windows_opened, s.writes.windows_without_txid) == (1, 1)


async def test_a_window_is_opened_also_when_the_client_leaves_meanwhile() -> None:
    """Cancelled while the transaction id is asked: the redirect may have been guessed, the window is there."""
    async with scene() as s:
        client = s.write("POST", "/w/f?op=APPEND", ScriptedStreamer(script(settled(307, None))))
        await turns()
        client.cancel()
        await turns()
        assert client.cancelled()
        assert s.cache.explain("/w/f", s.clock()).in_two_step_write


@pytest.mark.parametrize("reply", [settled(403, DENIED), settled(500), None])
async def test_no_redirect_no_window(reply: SettledReply | None) -> None:
    """The second step needs the address that only the redirect tells."""
    async with scene() as s:
        await s.write("POST", "/w/f?op=APPEND", ScriptedStreamer(script(reply)))
        assert not s.namenode.txids.calls
        assert not s.cache.explain("/w/f", s.clock()).in_two_step_write


async def test_a_redirect_for_the_root_opens_no_window() -> None:
    """The root is no file, but the NameNode redirects before it looks: nobody may shut the cache that way."""
    async with scene() as s:
        s.fill("/w/f")
        await s.write("PUT", "/?op=CREATE", ScriptedStreamer(script(settled(307, None))))
        s.clock.now += 0.1
        assert not s.cache.explain("/w/f", s.clock()).in_two_step_write


# ---- a cache that fails -----------------------------------------------------------------------------


async def test_a_cache_that_cannot_take_a_change_starts_from_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """FailToNameNode without a stale answer: the write is answered, and nothing old is left."""
    async with scene() as s:
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
        assert s.writes is not None
        assert s.writes.errors == 1


@pytest.mark.parametrize("method", ["apply", "unproven_ancestors", "open_window"])
async def test_no_fault_of_the_cache_stops_a_write(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """FailToNameNode, whatever of the cache fails: the answer goes out, and the stream is closed at worst."""
    async with scene() as s:
        s.fill("/w/f")

        def broken(*_: object) -> None:
            raise RuntimeError("bug")

        monkeypatch.setattr(s.cache, method, broken)
        streamer = ScriptedStreamer(script(settled(307, None)))
        writing = s.write("PUT", "/w/f?op=CREATE", streamer)
        await turns()
        for held, result in ((s.namenode.existing, True), (s.namenode.txids, 500)):
            if held.waiting:
                held.answer(result)
                await turns()
        await writing
        assert streamer.heads
        assert not s.is_hit("/w/f")
        if method == "open_window":  # the write is under way, and the cache knows nothing of it
            assert isinstance(s.cache.lookup("/w/f", caller(), s.clock()), Forward)
