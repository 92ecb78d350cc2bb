"""One probe reply from several queries: all must come from one process, in a fixed order."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from nncache.hadoop.election_view import HaState, ProbeReply
from nncache.hadoop.errors import JmxUnavailableError, MalformedReplyError, TlsError
from nncache.hadoop.jmx import BLOCK_POOL_QUERY, CLUSTER_QUERY, JOURNAL_QUERY, STARTED_QUERY, STATUS_QUERY
from nncache.hadoop.namenodes.jmx_client import MAX_REPLY_BYTES, JmxClient
from nncache.hadoop.namespace import Namespace
from nncache.testbed.certificates import Authority
from tests.hadoop.fake_jmx import FakeJmx, fake_jmx
from tests.patience import HANG_S
from tests.tls import server_context, web_of

Subject = tuple[FakeJmx, JmxClient]


@asynccontextmanager
async def subject(timeout_s: float = 5.0) -> AsyncIterator[Subject]:
    """Yield a fake NameNode and its client."""
    async with fake_jmx() as fake, aiohttp.ClientSession() as session:
        yield fake, JmxClient(session, time.monotonic, timeout_s=timeout_s, user="hdfs")


def untimed(answer: ProbeReply) -> tuple[HaState, int, int, Namespace | None, int | None]:
    """Return the content of a reply without its times."""
    last_txid = None if answer.journal is None else answer.journal.last_txid
    return answer.state, answer.started_ms, answer.transition_ms, answer.namespace, last_txid


async def test_one_answer_in_this_order() -> None:
    """First the start time, then the state, then the position of the log, and the start time again."""
    async with subject() as (fake, jmx):
        began_at = time.monotonic()
        answer = await jmx.ask(fake.namenode)
        assert untimed(answer) == (HaState.ACTIVE, 1, 0, fake.namespace, 100)
        assert fake.queries == [
            STARTED_QUERY,
            STATUS_QUERY,
            JOURNAL_QUERY,
            CLUSTER_QUERY,
            BLOCK_POOL_QUERY,
            STARTED_QUERY,
        ]
        assert answer.journal is not None
        assert began_at < answer.journal.asked_at < time.monotonic()


async def test_the_log_is_asked_about_once_the_state_is_known() -> None:
    """Bounded: the log position before it became active might not include all changes."""
    answered_at: dict[str, float] = {}

    def note(query: str) -> None:
        answered_at.setdefault(query, time.monotonic())

    async with subject() as (fake, jmx):
        fake.after = note
        answer = await jmx.ask(fake.namenode)
        assert answer.journal is not None
        assert answered_at[STATUS_QUERY] <= answer.journal.asked_at <= answered_at[JOURNAL_QUERY]


async def test_a_process_is_asked_once_which_namespace_it_serves() -> None:
    """Another process is queried again."""
    async with subject() as (fake, jmx):
        for started_ms, asked in ((1, 1), (1, 1), (2, 2)):
            fake.started_ms = started_ms
            assert (await jmx.ask(fake.namenode)).namespace == fake.namespace
            assert fake.queries.count(BLOCK_POOL_QUERY) == asked


@pytest.mark.parametrize("query", [STARTED_QUERY, STATUS_QUERY, JOURNAL_QUERY])
async def test_a_restart_in_between_is_no_answer(query: str) -> None:
    """At any point: the reply would mix the old process's state with the new one's log, or the reverse."""

    def restart(answered: str) -> None:
        if answered == query:
            fake.started_ms += 1
            fake.after = None

    async with subject() as (fake, jmx):
        fake.after = restart
        with pytest.raises(MalformedReplyError, match="was restarted between two questions"):
            await jmx.ask(fake.namenode)
        assert (await jmx.ask(fake.namenode)).started_ms == 2


@pytest.mark.parametrize("how", ["odd", "hung"])
async def test_a_namenode_without_a_log_position_may_be_active(how: str) -> None:
    """FailToNameNode: calls are forwarded to it, and the direct channel does not need that position."""
    async with subject(timeout_s=0.3) as (fake, jmx):
        faults: set[str] = getattr(fake, how)
        faults.add(JOURNAL_QUERY)
        state, *_, last_txid = untimed(await jmx.ask(fake.namenode))
        assert (state, last_txid) == (HaState.ACTIVE, None)
        faults.clear()
        assert untimed(await jmx.ask(fake.namenode))[-1] == 100


async def test_a_start_that_is_not_confirmed_proves_no_log() -> None:
    """The log position may be another process's."""

    def hush(answered: str) -> None:
        if answered == JOURNAL_QUERY:
            fake.hung.add(STARTED_QUERY)

    async with subject(timeout_s=0.3) as (fake, jmx):
        fake.after = hush
        assert untimed(await jmx.ask(fake.namenode))[-1] is None


async def test_who_cannot_say_which_namespace_it_serves_is_asked_again() -> None:
    """It may be starting; the rest of its reply counts."""
    async with subject() as (fake, jmx):
        fake.odd.add(BLOCK_POOL_QUERY)
        assert untimed(await jmx.ask(fake.namenode)) == (HaState.ACTIVE, 1, 0, None, 100)
        fake.odd.clear()
        assert (await jmx.ask(fake.namenode)).namespace == fake.namespace


async def test_without_anonymous_access_a_user_is_named() -> None:
    """hadoop.http.authentication.simple.anonymous.allowed=false: 401 for requests without a user name."""
    async with subject() as (fake, jmx):
        fake.allows_anonymous = False
        assert (await jmx.ask(fake.namenode)).namespace == fake.namespace


@pytest.mark.parametrize("query", [STARTED_QUERY, STATUS_QUERY])
async def test_who_does_not_say_what_it_is_gives_no_answer(query: str) -> None:
    """It is late, in an unknown format, or missing."""
    async with subject(timeout_s=0.2) as (fake, jmx):
        fake.hung.add(query)
        with pytest.raises(JmxUnavailableError, match=r"no answer in 0\.2 s$"):
            await jmx.ask(fake.namenode)
        fake.hung.clear()
        fake.odd.add(query)
        with pytest.raises(MalformedReplyError):
            await jmx.ask(fake.namenode)
        fake.odd.clear()
        fake.status = 302
        with pytest.raises(MalformedReplyError, match="answers 302"):
            await jmx.ask(fake.namenode)
        for status, advice in ((401, r"--principal and --keytab"), (403, r"--user")):
            fake.status = status
            with pytest.raises(MalformedReplyError, match=rf"answers {status} to user hdfs: .*{advice}"):
                await jmx.ask(fake.namenode)
        await fake.end()
        with pytest.raises(JmxUnavailableError):
            await jmx.ask(fake.namenode)


async def test_a_reply_is_bounded() -> None:
    """No server can fill the memory."""
    async with subject() as (fake, jmx):
        fake.state = "x" * MAX_REPLY_BYTES
        with pytest.raises(MalformedReplyError, match="answers too much"):
            await jmx.ask(fake.namenode)


@pytest.mark.parametrize(
    ("fields", "body", "reported"),
    [
        (
            {"Cache-Status": "nncache; detail=not-webhdfs"},
            "",
            r"is an nncache proxy: name the NameNode itself",
        ),
        (
            {},
            "It looks like you are making an HTTP request to a Hadoop IPC port.",
            r"is a Hadoop RPC port: .* the wrong way round\?$",
        ),
        ({}, "", r"answers 404 to user hdfs: it is an HTTP server, and no NameNode's"),
    ],
)
async def test_another_server_is_named_in_the_error(fields: dict[str, str], body: str, reported: str) -> None:
    """A proxy before a proxy, swapped ports, a wrong port: three causes, three messages."""

    async def answer(_: web.BaseRequest) -> web.Response:
        return web.Response(status=404, headers=fields, text=body)

    async with fake_jmx() as fake:
        runner = web.ServerRunner(web.Server(answer))
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        port = runner.addresses[0][1]
        async with aiohttp.ClientSession() as session:
            jmx = JmxClient(session, time.monotonic, timeout_s=HANG_S, user="hdfs")
            with pytest.raises(MalformedReplyError, match=reported):
                await jmx.ask(replace(fake.namenode, http=f"127.0.0.1:{port}"))
        await runner.cleanup()


async def test_over_https_only_a_server_that_is_believed_is_asked(tmp_path: Path) -> None:
    """For a server without TLS the error names the settings to change."""
    authority = Authority(tmp_path / "own")
    web = web_of(authority)
    async with (
        fake_jmx(FakeJmx(tls=server_context(authority))) as right,
        fake_jmx(FakeJmx(tls=server_context(authority, "other.example"))) as other,
        fake_jmx() as plain,
        aiohttp.ClientSession() as session,
    ):
        jmx = JmxClient(session, time.monotonic, timeout_s=HANG_S, user="hdfs", web=web)
        assert (await jmx.ask(right.namenode)).state is HaState.ACTIVE
        for fake, why in ((other, "IP address mismatch"), (plain, "set namenode_tls to false")):
            with pytest.raises(TlsError, match=why):
                await jmx.ask(fake.namenode)
        in_clear = JmxClient(session, time.monotonic, timeout_s=HANG_S, user="hdfs")
        with pytest.raises(JmxUnavailableError, match="namenode_tls"):
            await in_clear.ask(right.namenode)
    assert other.queries == plain.queries == []
