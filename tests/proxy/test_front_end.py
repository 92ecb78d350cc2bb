"""Which way each request goes, seen on the wire: the real server, the real cache, a NameNode made of a dict."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import unquote

import pytest
from aiohttp import web

from cache import Hit, MetadataCache
from hadoop.calls import PREFIX
from hadoop.election_view import NameNode
from hadoop.filestatus import render_missing
from proxy.errors import NoActiveNameNodeError, ProxyError
from proxy.fastpath import FastPath
from proxy.front_end import FrontEnd
from proxy.limits import LimitSettings
from proxy.messages import RequestHead, UpstreamReply
from proxy.response import RawResponse
from proxy.server import Server
from proxy.settings import ProxySettings
from proxy.upstream import Decorate, Settle
from tests.proxy.doubles import (
    DENIED,
    DIRECTORY,
    FILE,
    HEADERS,
    NAMENODE,
    TERM,
    FakeClock,
    make_cache,
    settled,
)


@dataclass
class DictNameNode:
    """Knows a few paths; answers GETFILESTATUS as a NameNode does, and anything else with `{}`."""

    clock: FakeClock
    statuses: dict[str, bytes] = field(default_factory=dict)
    locked_out: set[str] = field(default_factory=set)  # users who may traverse nothing
    fetched: list[RequestHead] = field(default_factory=list)
    streamed: list[RequestHead] = field(default_factory=list)
    error: ProxyError | None = None

    async def fetch(self, head: RequestHead) -> UpstreamReply:
        """Answer a read."""
        self.fetched.append(head)
        if self.error is not None:
            raise self.error
        spelled, _, query = head.target.partition("?")
        path = unquote(spelled.removeprefix(PREFIX))
        user = query.partition("user.name=")[2].partition("&")[0]
        body = self.statuses.get(path)
        if user in self.locked_out:
            status, body = 403, DENIED
        elif body is None:
            status, body = 404, render_missing(path)
        else:
            status = 200
        now = self.clock()
        return UpstreamReply(
            status=status,
            reason="Not Found" if status == 404 else "OK",
            headers=HEADERS,
            body=body,
            namenode=NAMENODE,
            term=TERM,
            asked_at=now,
            replied_at=now,
        )

    async def stream(
        self, request: web.BaseRequest, head: RequestHead, settle: Settle, decorate: Decorate
    ) -> web.StreamResponse:
        """Answer anything else."""
        self.streamed.append(head)
        if self.error is not None:
            raise self.error
        reply = settled(200)
        await settle(reply)
        return RawResponse(200, "OK", (*reply.headers, *decorate(reply)), body=b"{}")

    async def is_file_closed(self, namenode: NameNode, path: str) -> bool:
        """Nobody writes here."""
        return True

    async def exists(self, path: str) -> bool:
        """Whether it is among the known."""
        return path in self.statuses

    async def last_txid(self, namenode: NameNode) -> int:
        """A number."""
        return 500


class NoSignal:
    """Coverage never comes."""

    def request_probe(self) -> None:
        """Ignore."""

    async def wait_covered(self, timeout_s: float) -> bool:
        """Say so."""
        return False


class Remembered:
    """A HitMemory that keeps what it is told."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []

    def remember(self, request: web.BaseRequest, hit: Hit, body: bytes) -> None:
        """Keep it."""
        self.bodies.append(body)


@dataclass(frozen=True)
class WireReply:
    """A reply as it came over the wire."""

    status: int
    reason: str
    fields: tuple[tuple[str, str], ...]
    body: bytes

    def __getitem__(self, name: str) -> str:
        """Return the value of the only field of that name."""
        (value,) = [value for key, value in self.fields if key.lower() == name.lower()]
        return value

    @property
    def made(self) -> str:
        """How it was made."""
        return self["Cache-Status"]


@dataclass
class Scene:
    """A front end that listens."""

    clock: FakeClock
    cache: MetadataCache
    namenode: DictNameNode
    front_end: FrontEnd
    memory: Remembered
    port: int

    async def ask(self, target: str, *fields: str, method: str = "GET", body: str = "") -> WireReply:
        """Send one request and read its reply."""
        head = "\r\n".join((f"{method} {target} HTTP/1.1", "Host: nn", *fields))
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write(f"{head}\r\n\r\n{body}".encode())
            async with asyncio.timeout(5):
                start = await reader.readuntil(b"\r\n\r\n")
                line, *rest = start.decode().removesuffix("\r\n\r\n").split("\r\n")
                _, status, reason = line.split(" ", 2)
                pairs = [text.partition(": ") for text in rest]
                reply_fields = tuple((name, value) for name, _, value in pairs)
                length = next(int(value) for name, value in reply_fields if name == "Content-Length")
                length *= method != "HEAD"
                return WireReply(int(status), reason, reply_fields, await reader.readexactly(length))
        finally:
            writer.close()
            await writer.wait_closed()

    async def status(self, path: str, *fields: str, user: str = "alice") -> WireReply:
        """Ask for a status."""
        return await self.ask(f"/webhdfs/v1{path}?op=GETFILESTATUS&user.name={user}", *fields)


@asynccontextmanager
async def scene() -> AsyncIterator[Scene]:
    """Start a front end on a port of its own."""
    clock, memory = FakeClock(), Remembered()
    cache = make_cache(clock)
    namenode = DictNameNode(clock, {"/w": DIRECTORY, "/w/f": FILE})
    limits = LimitSettings()
    async with FrontEnd(
        cache, namenode, namenode, NoSignal(), ProxySettings(join_wait_s=0.5), clock
    ) as front:
        front.hit_memory = memory
        server = Server(front.handle, FastPath(cache.is_good, clock, max_bytes=0), limits)
        await server.start("127.0.0.1", 0)
        try:
            yield Scene(clock, cache, namenode, front, memory, server.port)
        finally:
            await server.stop()


# ---- cached answers (Verbatim) ----------------------------------------------------------------------


@pytest.mark.parametrize(("path", "status"), [("/w/f", 200), ("/w", 200), ("/w/none", 404)])
async def test_a_hit_says_what_the_namenode_said(path: str, status: int) -> None:
    """Status, body and the fields that carry meaning; framing, Date and cookies are the proxy's own affair."""
    async with scene() as s:
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
        assert "Set-Cookie" not in dict(second.fields)
        assert len(s.namenode.fetched) == 1


async def test_what_passes_through_keeps_its_fields() -> None:
    """A repeated field stays repeated, and the cookie goes to the one for whom it was made."""
    async with scene() as s:
        first = await s.status("/w/f")
        names = [name for name, _ in first.fields]
        assert names.count("Date") == 2
        assert first["Set-Cookie"] == "hadoop.auth=secret"


async def test_two_spellings_are_one_entry_with_two_bodies() -> None:
    """A 404 quotes the path as it was asked for, also from memory."""
    async with scene() as s:
        await s.status("/w/none")
        other = await s.status("//w//no%6Ee/")
        assert other.made == "nncache; hit"
        assert json.loads(other.body)["RemoteException"]["message"] == "File does not exist: //w//none/"


async def test_each_who_shares_a_404_gets_his_own_spelling() -> None:
    """Verbatim, for collapsed answers too; and they carry no cookie."""
    async with scene() as s:
        replies = await asyncio.gather(s.status("/w/none"), s.status("//w/none"), s.status("/w/none/"))
        messages = [json.loads(reply.body)["RemoteException"]["message"] for reply in replies]
        assert messages == [f"File does not exist: {path}" for path in ("/w/none", "//w/none", "/w/none/")]
        for reply in replies:
            if reply.made == "nncache; fwd=miss; collapsed":
                assert "Set-Cookie" not in dict(reply.fields)
        assert sum("fwd=miss; stored" in reply.made for reply in replies) == len(s.namenode.fetched)


async def test_a_hit_is_remembered_for_the_fast_path() -> None:
    """The body goes along, since a 404 has one for each spelling; a refreshed or proxied read does not count."""
    async with scene() as s:
        for fields in ((), (), ("Cache-Control: no-cache",)):
            await s.status("/w/none", *fields)
        proxied = "/webhdfs/v1/w/none?op=GETFILESTATUS&user.name=alice&doas=bob"
        await s.ask(proxied)
        assert (await s.ask(proxied)).made == "nncache; hit"
        assert s.memory.bodies == [render_missing("/w/none")]


async def test_a_refusal_is_passed_on_to_the_one_it_is_for() -> None:
    """ProvenGrant: the entry that alice brought is not bob's, who may not traverse."""
    async with scene() as s:
        s.namenode.locked_out.add("bob")
        await s.status("/w/f", user="alice")
        for _ in range(2):
            reply = await s.status("/w/f", user="bob")
            assert (reply.status, reply.body) == (403, DENIED)
            assert reply.made == "nncache; fwd=miss; detail=no-grant"
        assert len(s.namenode.fetched) == 3


# ---- what the cache is not asked about --------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "target", "fields", "made"),
    [
        ("GET", "/w/f?op=LISTSTATUS", (), "fwd=bypass; detail=operation"),
        ("GET", "/w/f?op=OPEN", (), "fwd=bypass; detail=operation"),
        ("GET", "/w/f", (), "fwd=bypass; detail=operation"),
        ("GET", "/w/f?op=GETFILESTATUS&op=OPEN", (), "fwd=bypass; detail=operation"),
        ("GET", "/w/f?op=GETFILESTATUS&USER.NAME=alice", (), "fwd=bypass; detail=not-plain"),
        ("GET", "/w/f?op=GETFILESTATUS&x=y", (), "fwd=bypass; detail=not-plain"),
        ("GET", "/w/f?op=GETFILESTATUS", ("Authorization: Negotiate x",), "fwd=bypass; detail=not-plain"),
        ("GET", "/w/f?op=GETFILESTATUS", ("Cookie: hadoop.auth=t=kerberos",), "fwd=bypass; detail=not-plain"),
        ("GET", "/w/f?op=GETFILESTATUS", ("Accept: text/xml",), "fwd=bypass; detail=not-plain"),
        ("GET", "/w/.snapshot/s/f?op=GETFILESTATUS", (), "fwd=bypass; detail=path"),
        ("GET", "/.reserved/.inodes/16386?op=GETFILESTATUS", (), "fwd=bypass; detail=path"),
        ("GET", "/too/deep/for/the/glob?op=GETFILESTATUS", (), "fwd=bypass; detail=no-filter"),
        ("HEAD", "/w/f?op=GETFILESTATUS", (), "fwd=method"),
        ("PUT", "/w/f?op=SETTIMES", (), "fwd=method"),
        ("DELETE", "/w/f?op=DELETE", (), "fwd=method"),
        ("PATCH", "/w/f?op=TEA", (), "fwd=method"),
    ],
)
async def test_everything_else_is_forwarded_and_says_why(
    method: str, target: str, fields: tuple[str, ...], made: str
) -> None:
    """Without a trace: neither answered from the cache nor kept in it."""
    async with scene() as s:
        reply = await s.ask(f"/webhdfs/v1{target}", *fields, method=method)
        assert reply.made == f"nncache; {made}"
        assert [head.target for head in s.namenode.streamed] == [f"/webhdfs/v1{target}"]
        assert not s.namenode.fetched
        assert s.cache.stats(s.clock()).entries == 0


async def test_a_body_on_a_read_leaves_no_trace() -> None:
    """A GET with a body is forwarded as it is."""
    async with scene() as s:
        target = "/webhdfs/v1/w/f?op=GETFILESTATUS"
        reply = await s.ask(target, "Content-Length: 2", "Connection: close", body="{}")
        assert reply.made == "nncache; fwd=bypass; detail=not-plain"


async def test_a_closed_stream_forwards() -> None:
    """FailToNameNode: without the stream of changes every read is the NameNode's."""
    async with scene() as s:
        await s.status("/w/f")
        s.cache.close_stream("test")
        assert (await s.status("/w/f")).made == "nncache; fwd=bypass; detail=stream-closed"


async def test_a_gate_that_closes_forwards() -> None:
    """Bounded: without proof of freshness the call goes to the NameNode."""
    async with scene() as s:
        await s.status("/w/f")
        s.clock.now += 3.1
        assert (await s.status("/w/f")).made.startswith("nncache; fwd=bypass")


@pytest.mark.parametrize(
    "target", ["/jmx", "/", "/webhdfs/../jmx", "/webhdfs/v1/..%2f../conf", "/logs/?op=GETFILESTATUS"]
)
async def test_only_webhdfs_is_served(target: str) -> None:
    """The NameNode's other pages are no business of a proxy for WebHDFS."""
    async with scene() as s:
        reply = await s.ask(target)
        assert reply.status == 404
        assert json.loads(reply.body)["RemoteException"]["exception"] == "FileNotFoundException"
        assert "/webhdfs/v1" in json.loads(reply.body)["RemoteException"]["message"]
        assert reply.made == "nncache; detail=not-webhdfs"
        assert not s.namenode.streamed


# ---- writes -----------------------------------------------------------------------------------------


async def test_a_read_after_a_write_sees_it() -> None:
    """OwnWrites, as a client sees it."""
    async with scene() as s:
        await s.status("/w/none")
        s.namenode.statuses["/w/none"] = FILE
        assert (await s.status("/w/none")).status == 404
        await s.ask("/webhdfs/v1/w/none?op=MKDIRS", method="PUT")
        assert (await s.status("/w/none")).status == 200


async def test_a_path_under_a_two_step_write_is_not_served() -> None:
    """OwnWrites past the proxy: from the redirect to the CLOSE the NameNode answers."""
    async with scene() as s:
        await s.status("/w/f")
        await s.ask("/webhdfs/v1/w/f?op=APPEND", method="POST")
        reply = await s.status("/w/f")
        assert reply.made == "nncache; fwd=bypass; detail=two-step-write"


async def test_no_cache_is_obeyed() -> None:
    """The answer is the NameNode's own, and the next reader has it."""
    async with scene() as s:
        await s.status("/w/none")
        s.namenode.statuses["/w/none"] = DIRECTORY
        fresh = await s.status("/w/none", "Cache-Control: no-cache")
        assert (fresh.status, fresh.made) == (200, "nncache; fwd=request; stored")
        assert (await s.status("/w/none")).status == 200


# ---- failures ---------------------------------------------------------------------------------------


async def test_an_error_of_the_proxy_is_a_remote_exception() -> None:
    """Clients read why in the form they know, and `Cache-Status` says where it came from."""
    async with scene() as s:
        s.namenode.error = NoActiveNameNodeError("nobody is active")
        for method, target, made in (
            ("GET", "/webhdfs/v1/w/f?op=GETFILESTATUS", "nncache; fwd=miss"),
            ("GET", "/webhdfs/v1/w/f?op=LISTSTATUS", "nncache; fwd=bypass; detail=operation"),
            ("PUT", "/webhdfs/v1/w/f?op=SETTIMES", "nncache; fwd=method"),
        ):
            reply = await s.ask(target, method=method)
            assert (reply.status, reply.made) == (503, made)
            assert "nobody is active" in json.loads(reply.body)["RemoteException"]["message"]
        assert s.front_end.stats().failed == 3


async def test_a_cache_that_fails_costs_a_call_not_the_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """FailToNameNode: any exception in the way of the cache, and the call is forwarded."""
    async with scene() as s:

        def broken(*_: object, **__: object) -> None:
            raise RuntimeError("bug")

        monkeypatch.setattr(s.cache, "lookup", broken)
        reply = await s.status("/w/f")
        assert (reply.status, reply.made) == (200, "nncache; fwd=bypass; detail=cache-error")
        assert len(s.namenode.streamed) == 1
        assert s.front_end.stats().cache_errors == 1


async def test_a_cache_that_cannot_take_the_reply_costs_an_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    """FailToNameNode, on the way back."""
    async with scene() as s:

        def broken(*_: object) -> None:
            raise RuntimeError("bug")

        monkeypatch.setattr(s.cache, "conclude", broken)
        reply = await s.status("/w/f")
        assert (reply.status, reply.body) == (200, FILE)
        assert s.front_end.stats().cache_errors == 1


async def test_figures_add_up() -> None:
    """Every request is a hit, shared, forwarded or refused."""
    async with scene() as s:
        for path in ("/w/f", "/w/f", "/w/none", "/too/deep/for/the/glob"):
            await s.status(path)
        await s.ask("/webhdfs/v1/w/f?op=SETTIMES", method="PUT")
        await s.ask("/jmx")
        stats = s.front_end.stats()
        assert stats.requests == 6
        assert stats.hits + stats.collapsed + stats.refused + sum(stats.forwarded.values()) == stats.requests
        assert (stats.hits, stats.refused, stats.stored, stats.fetches) == (1, 1, 2, 2)
        assert (stats.settled, stats.flights) == (1, 0)
