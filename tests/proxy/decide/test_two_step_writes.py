"""Two-step writes whose callers the NameNode can be asked about (guarantees OwnWrites and HitsKept)."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from nncache.hadoop.calls import parse_call
from nncache.hadoop.change import AccessChanged, Footprint, Vanished
from nncache.hadoop.rpc.user import RpcUser
from nncache.proxy.decide.writes import Writes
from nncache.proxy.identity import claimed_caller
from nncache.proxy.messages import RequestHead, WriteRight
from tests.proxy.doubles import (
    Held,
    HeldNameNode,
    ScriptedStreamer,
    fails,
    let_tasks_run,
    make_cache,
    request_of,
    script,
    settled,
)
from tests.proxy.write_fixture import Fixture, fixture

CREATE = "/w/f?op=CREATE&user.name=carol"


def redirect() -> ScriptedStreamer:
    """Return a NameNode's redirect, which it sends whatever the caller's rights."""
    return ScriptedStreamer(script(settled(307, None)))


def redirect_to(path: str, *, body: bytes | None = None) -> ScriptedStreamer:
    """Return a redirect to this path as it is spelled or, with `body`, the JSON of `noredirect=true`."""
    if body is not None:
        return ScriptedStreamer(script(settled(200, body)))
    location = (b"Location", f"http://dn:9864/webhdfs/v1{path}?op=CREATE".encode())
    return ScriptedStreamer(script(replace(settled(307, None), headers=(location,))))


def in_window(s: Fixture, path: str) -> bool:
    """Whether reads of the path are forwarded because of a two-step write."""
    return s.cache.explain(path, s.clock()).in_two_step_write


async def test_without_a_right_nothing_is_forgotten_or_forwarded() -> None:
    """HitsKept: the second step would be refused. The right is checked after the redirect, as the caller."""
    async with fixture() as s:
        s.fill("/w", "/w/f")
        s.namenode.rights["/w"] = WriteRight.DENIED
        await s.write("PUT", CREATE, redirect())
        assert s.is_hit("/w")
        assert s.is_hit("/w/f")
        assert s.namenode.right_questions == [("/w", RpcUser("carol"))]
        assert not s.namenode.txids.calls
        assert s.writes.windows_opened == 0


FORM_D, FORM_C = "/w/e\u0301/f", "/w/\u00e9/f"


async def test_the_window_is_where_the_redirect_leads() -> None:
    """OwnWrites, HitsKept: right, missing ancestors and window are those of the path in the redirect."""
    async with fixture() as s:
        s.fill(FORM_D, FORM_C)
        s.namenode.rights = {"/w/\u00e9": WriteRight.MISSING, "/w": WriteRight.GRANTED}
        writing = s.write("PUT", "/w/e%CC%81/f?op=CREATE&user.name=carol", redirect_to("/w/%C3%A9/f"))
        await s.namenode.existing.reached(1)
        s.namenode.existing.answer(result=True)
        await s.redirected(writing)
        assert [path for path, _ in s.namenode.right_questions] == ["/w/\u00e9", "/w", FORM_C]
        assert in_window(s, FORM_C)
        assert in_window(s, "/w/\u00e9")
        assert s.is_hit(FORM_D)


async def test_both_forms_are_covered_where_the_client_chooses() -> None:
    """OwnWrites: it is unknown how a client library reads the URL in the JSON; a write to one ends both windows."""
    async with fixture() as s:
        s.fill(FORM_D, FORM_C)
        body = '{"Location":"http://dn:9864/webhdfs/v1/w/e\u0301/f?op=CREATE"}'.encode()
        target = "/w/e%CC%81/f?op=CREATE&noredirect=true&user.name=carol"
        writing = s.write("PUT", target, redirect_to("", body=body))
        s.namenode.rights["/w/e\u0301"] = s.namenode.rights["/w/\u00e9"] = WriteRight.GRANTED
        for _ in range(2):
            await s.namenode.txids.reached(1)
            s.namenode.txids.answer(500)
            await let_tasks_run()
        await writing
        assert in_window(s, FORM_C)
        assert in_window(s, FORM_D)
        s.cache.windows.opened(FORM_D, 501)
        s.cache.windows.closed(FORM_D)
        assert not in_window(s, FORM_C)
        assert not in_window(s, FORM_D)


async def test_a_path_that_only_the_redirect_tells_gets_its_window() -> None:
    """OwnWrites: this covers bytes that are not UTF-8, and dot segments, which the NameNode resolves."""
    async with fixture() as s:
        s.fill("/w/f\ufffd")
        s.clock.now += 0.1
        writing = s.write("PUT", "/w/f%FF?op=CREATE&user.name=carol", redirect_to("/w/f%EF%BF%BD"))
        await s.namenode.txids.reached(1)
        s.namenode.txids.answer(500)
        await s.cover()
        await writing
        assert in_window(s, "/w/f\ufffd")


async def test_the_first_step_of_another_append_is_left_to_events() -> None:
    """OwnWrites: the first step may have set the access time of the path in the request."""
    async with fixture() as s:
        s.fill("/w/e\u0301")
        s.clock.now += 0.1
        writing = s.write("POST", "/w/e%CC%81?op=APPEND&user.name=carol", redirect_to("/w/%C3%A9"))
        await s.namenode.txids.reached(1)
        s.namenode.txids.answer(500)
        await s.cover()
        await writing
        assert s.is_hit("/w/e\u0301")
        assert in_window(s, "/w/\u00e9")


@pytest.mark.parametrize("right", [WriteRight.GRANTED, WriteRight.DENIED])
async def test_a_right_that_comes_later_opens_the_window(right: WriteRight) -> None:
    """OwnWrites: the second step may start once the caller has the right, so each relevant change is followed up."""
    async with fixture() as s:
        s.fill("/w/f")
        s.namenode.rights["/w"] = WriteRight.DENIED
        await s.write("PUT", CREATE, redirect())
        s.namenode.rights["/w"] = right
        s.cache.apply(AccessChanged("/w/other"), s.clock(), 60)
        await let_tasks_run()
        assert len(s.namenode.right_questions) == 1
        s.cache.apply(AccessChanged("/w"), s.clock(), 61)
        await let_tasks_run()
        assert in_window(s, "/w/f") is (right is WriteRight.GRANTED)
        s.cache.apply(AccessChanged("/w"), s.clock(), 62)
        await let_tasks_run()
        assert in_window(s, "/w/f") is (right is WriteRight.GRANTED)


@pytest.mark.parametrize(
    ("change", "asked"), [(AccessChanged("/w"), 2), (Vanished("/w/f"), 2), (AccessChanged("/w/other"), 1)]
)
async def test_a_right_granted_during_the_query_opens_the_window(change: Footprint, asked: int) -> None:
    """OwnWrites: another client may have made the change, and have its answer, before the redirect is passed on."""
    async with fixture() as s:
        questions = 0

        async def may_write(_: str, __: object) -> WriteRight:
            nonlocal questions
            questions += 1
            if questions > 1:
                return WriteRight.GRANTED
            s.cache.apply(change, s.clock())
            return WriteRight.DENIED

        s.namenode.may_write = may_write  # type: ignore[assignment,method-assign]  # a NameNode with other clients
        writing = s.write("PUT", CREATE, redirect())
        if asked > 1:
            await s.namenode.txids.reached(1)
            s.namenode.txids.answer(500)
        await writing
        assert questions == asked + (asked > 1)  # then about the file itself
        assert in_window(s, "/w/f") is (asked > 1)


async def test_changing_rights_delay_a_redirect_only_so_long() -> None:
    """FailToNameNode: if the right stays unknown, a window covers the path."""
    async with fixture(query_timeout_s=0.01) as s:

        async def may_write(_: str, __: object) -> WriteRight:
            await asyncio.sleep(0)
            s.cache.apply(AccessChanged("/w"), s.clock())
            return WriteRight.DENIED

        s.namenode.may_write = may_write  # type: ignore[assignment,method-assign]  # a NameNode with other clients
        await s.redirected(s.write("PUT", CREATE, redirect()))
        assert in_window(s, "/w/f")
        s.writes.stop()


@pytest.mark.parametrize("is_broken", [False, True])
async def test_a_call_that_may_grant_is_answered_once_known(
    monkeypatch: pytest.MonkeyPatch, is_broken: bool
) -> None:
    """OwnWrites: whoever sets the permission, completes the second step and reads gets no older cached reply.

    This also holds if the cache cannot apply the change and is flushed.
    """
    async with fixture() as s:
        s.fill("/w/f")
        s.namenode.rights["/w"] = WriteRight.DENIED
        await s.write("PUT", CREATE, redirect())
        asked, answer = asyncio.Event(), asyncio.Event()

        async def may_write(_: str, __: object) -> WriteRight:
            asked.set()
            await answer.wait()
            return WriteRight.GRANTED

        s.namenode.may_write = may_write  # type: ignore[assignment,method-assign]  # a NameNode that takes its time
        done = ScriptedStreamer(script(settled(200, b"")))
        if is_broken:
            apply, faults = s.cache.apply, [RuntimeError("planted")]

            def fail_once(*arguments: Any) -> None:
                if faults:
                    raise faults.pop()
                apply(*arguments)

            monkeypatch.setattr(s.cache, "apply", fail_once)
        giving = s.write("PUT", "/w?op=SETPERMISSION&permission=777&user.name=alice", done)
        await asked.wait()
        await let_tasks_run()
        assert not giving.done()
        answer.set()
        await giving
        assert in_window(s, "/w/f")


async def test_a_fault_of_ours_in_waiting_for_that_has_all_forwarded(monkeypatch: pytest.MonkeyPatch) -> None:
    """FailToNameNode: the reply is passed on, and nothing is cached while rights to writes are unknown."""
    async with fixture() as s:
        s.namenode.rights["/w"] = WriteRight.DENIED
        await s.write("PUT", CREATE, redirect())
        monkeypatch.setattr("nncache.proxy.decide.writes.asyncio.wait", fails)
        done = ScriptedStreamer(script(settled(200, b"")))
        await s.write("PUT", "/w?op=SETPERMISSION&permission=777&user.name=alice", done)
        monkeypatch.undo()
        assert s.writes.errors == 1
        assert s.cache.windows.is_full(s.clock())


async def test_a_right_during_the_event_wait_opens_the_window() -> None:
    """OwnWrites: an APPEND without a right is recorded before its redirect is delayed."""
    async with fixture() as s:
        s.fill("/w/f")
        s.namenode.rights["/w/f"] = WriteRight.DENIED
        s.clock.now += 0.1
        writing = s.write("POST", "/w/f?op=APPEND&user.name=carol", redirect())
        while not s.signal.waiting:
            await let_tasks_run()
        s.namenode.rights["/w/f"] = WriteRight.GRANTED
        s.cache.apply(AccessChanged("/w/f"), s.clock(), 60)
        await s.cover()
        await writing
        await let_tasks_run()
        assert in_window(s, "/w/f")


async def test_a_fault_of_ours_in_asking_again_has_all_forwarded_once() -> None:
    """FailToNameNode: the write may already be done; after the error the right is not checked again immediately."""
    async with fixture() as s:
        s.namenode.rights["/w"] = WriteRight.DENIED
        await s.write("PUT", CREATE, redirect())
        s.cache.answer_recheck = fails  # type: ignore[method-assign]  # a cache with a fault
        s.cache.apply(AccessChanged("/w"), s.clock(), 60)
        await let_tasks_run()
        assert s.writes.errors == 1
        assert s.cache.windows.is_full(s.clock())


async def test_a_directory_may_go_before_the_second_step() -> None:
    """OwnWrites: the removal of the directory queues a recheck of the write."""
    async with fixture() as s:
        s.namenode.directories.add("/w/f")
        await s.write("PUT", CREATE, redirect())
        assert not in_window(s, "/w/f")
        s.namenode.directories.clear()
        s.cache.apply(Vanished("/w/f"), s.clock(), 60)
        await let_tasks_run()
        assert in_window(s, "/w/f")


async def test_one_host_has_one_share_of_the_windows() -> None:
    """HitsKept: one host may use any number of IPv6 addresses, and a user name may have 60,000 letters."""
    async with fixture() as s:
        kept = []
        s.cache.open_window = lambda *call: kept.append(call[-1])  # type: ignore[method-assign]  # what it is told
        for peer in ("2001:db8::1", "2001:db8::2"):
            target = f"/webhdfs/v1/w/f?op=CREATE&user.name={'c' * 60_000}"
            call = parse_call("PUT", target)
            head = RequestHead("PUT", target, (), peer, claimed_caller(call))
            await s.passing(head, redirect())
        one, other = (writer.owners for writer in kept)
        assert one == other
        assert sum(map(len, one)) < 200


async def test_a_window_over_what_was_not_known_is_narrowed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A question that a slow NameNode left open is repeated, so that no window covers a tree until it expires."""
    monkeypatch.setattr("nncache.proxy.decide.writes.ASK_AGAIN_S", 0.0)
    async with fixture(query_timeout_s=0.01) as s:
        s.namenode.rights = {"/w/a/b": WriteRight.MISSING, "/w": WriteRight.GRANTED}
        await s.redirected(s.write("PUT", "/w/a/b/f?op=CREATE&user.name=carol", redirect()))
        assert in_window(s, "/w/a")
        assert in_window(s, "/w/other")  # all that may be missing is assumed to be
        s.namenode.rights["/w/a/b"] = WriteRight.GRANTED  # it answers now
        while in_window(s, "/w/other"):
            await let_tasks_run()
        assert in_window(s, "/w/a/b/f")
        assert not in_window(s, "/w/a/c")


async def test_a_namenode_that_does_not_say_its_txid_holds_one_redirect_for_long() -> None:
    """FailToNameNode: no other query is made for a path that concerns no filter, so this one alone decides."""
    async with fixture() as s:
        writes = Writes(
            make_cache(s.clock, glob=("/w/*",)),
            redirect().stream,
            s.namenode,
            s.signal,
            s.clock,
            tasks=s.tasks,
            query_timeout_s=0.01,
            two_step_timeout_s=0.5,
        )
        head = RequestHead("PUT", "/webhdfs/v1/other/f?op=CREATE&user.name=carol", ())
        request, call = request_of(head.target, method="PUT"), parse_call(head.method, head.target)
        waited = list[float]()
        for answers in (False, False, True, False):
            began = asyncio.get_running_loop().time()
            s.namenode.txids = Held()
            writing = s.tasks.create_task(writes.pass_through(request, head, call, lambda _: ()))
            if answers:
                await s.namenode.txids.reached(1)
                s.namenode.txids.answer(500)
            await writing
            waited.append(asyncio.get_running_loop().time() - began)
        first, second, _, behind_an_answer = waited
        assert first >= 0.5 > second
        assert behind_an_answer >= 0.5
        assert writes.windows_without_txid == 3


async def test_a_window_over_a_directory_ends() -> None:
    """No file can be created at the path of a directory."""
    async with fixture(query_timeout_s=0.01) as s:
        namenode, questions = s.namenode, iter([TimeoutError(), TimeoutError()])

        async def may_write(_: str, __: object) -> WriteRight:
            if (error := next(questions, None)) is not None:
                raise error
            return WriteRight.GRANTED

        namenode.may_write = may_write  # type: ignore[assignment,method-assign]  # a NameNode that pauses
        namenode.directories.add("/w/f")
        writing = s.write("PUT", CREATE, redirect())
        await namenode.txids.reached(1)
        assert not in_window(s, "/w/f")
        namenode.txids.answer(500)
        await writing
        while in_window(s, "/w/f"):
            await let_tasks_run()


async def test_what_is_asked_again_ends_with_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy that stops does not wait for a NameNode that never answers."""
    monkeypatch.setattr("nncache.proxy.decide.writes.ASK_AGAIN_S", 0.0)
    async with fixture(query_timeout_s=0.01) as s:
        _silence(s.namenode)
        await s.redirected(s.write("PUT", CREATE, redirect()))
        assert in_window(s, "/w/f")
        s.writes.stop()
    assert in_window(s, "/w/f")


def _silence(namenode: HeldNameNode) -> None:
    async def may_write(_: str, __: object) -> WriteRight:
        raise TimeoutError

    namenode.may_write = may_write  # type: ignore[assignment,method-assign]  # a NameNode that hangs
