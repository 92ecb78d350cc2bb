"""How each request is answered, seen on the wire: the real server, the real cache, and a NameNode made of a dict."""

import asyncio
import json
from collections import Counter
from types import ModuleType

import pytest

from nncache.hadoop.filestatus import render_missing
from nncache.proxy.decide import answers, front_end
from nncache.proxy.errors import UpstreamUnavailableError
from nncache.proxy.traffic import Result
from tests.proxy.doubles import fails
from tests.proxy.front_fixture import fixture

# ---- cached answers (Verbatim) ----------------------------------------------------------------------


@pytest.mark.parametrize(("path", "status"), [("/w/f", 200), ("/w", 200), ("/w/none", 404)])
async def test_a_hit_repeats_what_the_namenode_answered(path: str, status: int) -> None:
    """Status, body and meaningful fields are equal; framing, Date and cookies are the proxy's own."""
    async with fixture() as s:
        first = await s.status(path)
        s.clock.now += 1.5
        s.cache.cover(s.clock.now, 101)
        second = await s.status(path)
        assert (first.made, second.made) == ("nncache; fwd=miss; stored", "nncache; hit")
        assert (second.status, second.body) == (first.status, first.body)
        assert second.status == status
        assert second["Content-Type"] == "application/json"
        assert second["Cache-Control"] == "no-cache"
        assert second["Pragma"] == "no-cache"
        assert second["Age"] == "1"
        assert second["Date"] == second["Expires"]
        assert "Set-Cookie" not in second
        assert len(s.namenode.fetched) == 1


async def test_each_who_shares_a_404_gets_his_own_spelling() -> None:
    """Verbatim, also for collapsed replies; these carry no cookie."""
    async with fixture() as s:
        replies = await asyncio.gather(s.status("/w/none"), s.status("//w/none"), s.status("/w/none/"))
        messages = [json.loads(reply.body)["RemoteException"]["message"] for reply in replies]
        assert messages == [f"File does not exist: {path}" for path in ("/w/none", "//w/none", "/w/none/")]
        for reply in replies:
            if reply.made == "nncache; fwd=miss; collapsed":
                assert "Set-Cookie" not in reply
        assert sum("fwd=miss; stored" in reply.made for reply in replies) == len(s.namenode.fetched)


async def test_a_hit_is_remembered_for_the_fast_path() -> None:
    """The body is stored too, since a 404 has one per spelling; refreshed or proxied reads do not count."""
    async with fixture() as s:
        for fields in ((), (), ("Cache-Control: no-cache",)):
            await s.status("/w/none", *fields)
        proxied = "/webhdfs/v1/w/none?op=GETFILESTATUS&user.name=alice&doas=bob"
        await s.ask(proxied)
        assert (await s.ask(proxied)).made == "nncache; hit"
        assert s.memory.bodies == [render_missing("/w/none")]


# ---- requests that the cache is not asked about -----------------------------------------------------


@pytest.mark.parametrize(
    ("method", "target", "fields", "made"),
    [
        ("GET", "/w/f?op=LISTSTATUS", (), "fwd=bypass; detail=operation"),
        ("GET", "/w/f?op=GETFILESTATUS&x=y", (), "fwd=bypass; detail=not-plain"),
        ("GET", "/w/f?op=GETFILESTATUS", ("Authorization: Negotiate x",), "fwd=bypass; detail=not-plain"),
        ("GET", "/w/.snapshot/s/f?op=GETFILESTATUS", (), "fwd=bypass; detail=path"),
        ("GET", "/too/deep/for/the/glob?op=GETFILESTATUS", (), "fwd=bypass; detail=no-filter"),
        ("HEAD", "/w/f?op=GETFILESTATUS", (), "fwd=method"),
    ],
)
async def test_everything_else_is_forwarded_and_says_why(
    method: str, target: str, fields: tuple[str, ...], made: str
) -> None:
    """Such a request leaves no trace: it is neither answered from the cache nor cached."""
    async with fixture() as s:
        reply = await s.ask(f"/webhdfs/v1{target}", *fields, method=method)
        assert reply.made == f"nncache; {made}"
        assert [head.target for head in s.namenode.streamed] == [f"/webhdfs/v1{target}"]
        assert not s.namenode.fetched
        assert s.cache.stats(s.clock()).entries == 0


async def test_a_body_on_a_read_leaves_no_trace() -> None:
    """A GET with a body is forwarded unchanged."""
    async with fixture() as s:
        target = "/webhdfs/v1/w/f?op=GETFILESTATUS"
        reply = await s.ask(target, "Content-Length: 2", "Connection: close", body="{}")
        assert reply.made == "nncache; fwd=bypass; detail=not-plain"


async def test_a_closed_stream_forwards() -> None:
    """FailToNameNode: without a stream of changes every read is forwarded."""
    async with fixture() as s:
        await s.status("/w/f")
        s.cache.close_stream("test")
        assert (await s.status("/w/f")).made == "nncache; fwd=bypass; detail=stream-closed"


@pytest.mark.parametrize(
    "target", ["/jmx", "/", "/webhdfs/../jmx", "/webhdfs/v1/..%2f../conf", "/logs/?op=GETFILESTATUS"]
)
async def test_only_webhdfs_is_served(target: str) -> None:
    """The proxy does not serve the NameNode's other pages."""
    async with fixture() as s:
        reply = await s.ask(target)
        assert reply.status == 404
        assert json.loads(reply.body)["RemoteException"]["exception"] == "FileNotFoundException"
        assert "/webhdfs/v1" in json.loads(reply.body)["RemoteException"]["message"]
        assert reply.made == "nncache; detail=not-webhdfs"
        assert not s.namenode.streamed


# ---- writes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("fields", [(), ("Cache-Control: no-cache",)])
async def test_a_refused_caller_cannot_tell_what_the_cache_knows(fields: tuple[str, ...]) -> None:
    """ProvenGrant: `Cache-Status` is equal for unknown, cached, just written or unanswered paths, and a closed gate."""
    async with fixture() as s:
        s.namenode.locked_out.add("bob")
        for path in ("/w/f", "/w/none", "/w"):
            await s.status(path)  # kept for alice
        seen = {(await s.status(path, *fields, user="bob")).made for path in ("/w/f", "/w/none", "/x/y")}
        await s.ask("/webhdfs/v1/w/f?op=APPEND", method="POST")
        seen.add((await s.status("/w/f", *fields, user="bob")).made)
        s.clock.now += 3.1
        seen |= {(await s.status(path, *fields, user="bob")).made for path in ("/w", "/x/y")}
        s.namenode.error = UpstreamUnavailableError("no NameNode is active")
        seen |= {(await s.status(path, *fields, user="bob")).made for path in ("/w/f", "/w", "/x/y")}
        assert seen == {"nncache; fwd=miss"}


# ---- failures ---------------------------------------------------------------------------------------


async def test_an_error_of_the_proxy_is_a_remote_exception() -> None:
    """Clients parse the reason from the RemoteException, and `Cache-Status` shows how the request was handled."""
    async with fixture() as s:
        s.namenode.error = UpstreamUnavailableError("nobody is active")
        for method, target, made in (
            ("GET", "/webhdfs/v1/w/f?op=GETFILESTATUS", "nncache; fwd=miss"),
            ("GET", "/webhdfs/v1/w/f?op=LISTSTATUS", "nncache; fwd=bypass; detail=operation"),
            ("PUT", "/webhdfs/v1/w/f?op=SETTIMES", "nncache; fwd=method"),
        ):
            reply = await s.ask(target, method=method)
            assert (reply.status, reply.made) == (503, made)
            assert "nobody is active" in json.loads(reply.body)["RemoteException"]["message"]
        assert s.front_end.traffic.stats().of(Result.FAILED) == 3


@pytest.mark.parametrize(
    ("method", "made"),
    [("lookup", "nncache; fwd=bypass; detail=cache-error"), ("conclude", "nncache; fwd=miss")],
)
async def test_a_cache_that_fails_costs_a_call_not_the_read(
    monkeypatch: pytest.MonkeyPatch, method: str, made: str
) -> None:
    """FailToNameNode: after any exception in the cache the call is forwarded, or its reply passed on."""
    async with fixture() as s:
        monkeypatch.setattr(s.cache, method, fails)
        reply = await s.status("/w/f")
        assert (reply.status, reply.made) == (200, made)
        assert len(s.namenode.streamed) + len(s.namenode.fetched) == 1
        assert s.front_end.stats().cache_errors == 1


@pytest.mark.parametrize("fields", [(), ("If-None-Match: *",)], ids=["plain", "with-conditions"])
async def test_a_hit_that_cannot_be_written_is_forwarded(
    monkeypatch: pytest.MonkeyPatch, fields: tuple[str, ...]
) -> None:
    """FailToNameNode: the NameNode can answer whatever is in memory."""
    async with fixture() as s:
        await s.status("/w/f")
        monkeypatch.setattr(answers, "cached_reply", fails)
        reply = await s.status("/w/f", *fields)
        assert (reply.status, reply.made) == (200, "nncache; fwd=bypass; detail=cache-error")
        assert (len(s.namenode.streamed), s.front_end.stats().cache_errors) == (1, 1)


FAULTS = (
    (front_end, "read_request"),
    (front_end, "conditions_of"),
    (front_end, "why_not_asked"),
    (front_end, "operation_name"),
    (front_end, "StatusRead"),
    (front_end, "forwarded"),
    (answers, "forwarded"),
    (answers, "shows_path"),
)


@pytest.mark.parametrize(("module", "name"), FAULTS, ids=[f"{each.__name__}.{name}" for each, name in FAULTS])
async def test_a_read_that_meets_a_fault_of_ours_is_forwarded(
    monkeypatch: pytest.MonkeyPatch, module: ModuleType, name: str
) -> None:
    """FailToNameNode: this holds for an error at any place, even after a question. A write is not sent twice."""
    async with fixture() as s:
        monkeypatch.setattr(module, name, fails)
        for target in (
            "/webhdfs/v1/w/f?op=GETFILESTATUS&user.name=joe",
            "/webhdfs/v1/w?op=LISTSTATUS&user.name=joe",
        ):
            assert (await s.ask(target)).status == 200
        asked = len(s.namenode.streamed)
        assert (asked > 0, s.server.stats().bugs) == (True, 0)
        assert s.front_end.traffic.stats().total == 2
        assert sum(s.front_end.stats().forwarded.values()) == 2, "each is counted once"
        await s.ask("/webhdfs/v1/w/d?op=MKDIRS&user.name=joe", method="PUT")
        assert len(s.namenode.streamed) <= asked + 1
        assert (await s.ask("/jmx")).status == 404


async def test_a_question_that_meets_a_fault_of_ours_is_forwarded(monkeypatch: pytest.MonkeyPatch) -> None:
    """FailToNameNode: after an error in the flight, the call itself is still forwarded."""
    async with fixture() as s:
        monkeypatch.setattr(s.front_end.flights, "_fetch", fails)
        replies = await asyncio.gather(s.status("/w/f"), s.status("/w/f"), s.status("/w/f", "Prefer: wait=0"))
        assert {reply.status for reply in replies} == {200}
        assert {reply.made for reply in replies} == {"nncache; fwd=bypass; detail=cache-error"}
        stats = s.front_end.stats()
        assert stats.forwarded == {"cache-error": 3}
        assert (stats.flights, s.cache.store.tickets) == (0, 0)


async def test_figures_add_up() -> None:
    """Every request is counted once: as hit, stored, forwarded or refused."""
    async with fixture() as s:
        for path in ("/w/f", "/w/f", "/w/none", "/too/deep/for/the/glob"):
            await s.status(path)
        await s.ask("/webhdfs/v1/w/f?op=SETTIMES", method="PUT")
        await s.ask("/jmx")
        stats = s.front_end.stats()
        traffic = s.front_end.traffic.stats()
        assert +Counter(traffic.requests) == {
            (Result.HIT, "GETFILESTATUS"): 1,
            (Result.STORED, "GETFILESTATUS"): 2,
            (Result.FORWARDED, "GETFILESTATUS"): 1,
            (Result.FORWARDED, "SETTIMES"): 1,
            (Result.REFUSED, "other"): 1,
        }
        assert traffic.total == 6 == 1 + sum(sum(each.counts) for each in traffic.durations.values())
        assert sum(stats.forwarded.values()) == 4
        assert (stats.fetches, stats.settled, stats.flights) == (2, 1, 0)
