"""Waiting requests at a proxy that authenticates clients: a wait ends with the credential of its client."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

import pytest

from nncache.hadoop.calls import parse_call
from nncache.hadoop.change import AccessChanged
from nncache.hadoop.kerberos.auth_to_local import AuthToLocal
from nncache.proxy.decide.issued_tokens import IssuedTokens
from nncache.proxy.decide.waits import WaitEnd
from nncache.proxy.messages import RequestHead
from nncache.proxy.settings import ProxySettings
from nncache.spnego.cookies import Keys, LoginSession, encode_cookie
from nncache.spnego.handshakes import Handshakes, accept_with
from nncache.spnego.impersonation import Impersonation
from nncache.spnego.terminator import Terminator
from tests.hadoop.made_credentials import token
from tests.patience import HANG_S
from tests.proxy.decide.test_waiting import held, until
from tests.proxy.doubles import FILE, settled
from tests.proxy.front_fixture import Fixture, fixture
from tests.proxy.wire import RawReply, reset

KEY: Final = b"k" * 32
OLD_KEY: Final = b"o" * 32
TOKEN: Final = token("alice")
WAITS: Final = "Prefer: wait=60"
IN_TASK: Final = "Connection: close"
"""A request with this field keeps its task while it waits."""


@dataclass
class Door:
    """A proxy that authenticates clients, and has seen alice's token issued."""

    fixture: Fixture
    keys: list[bytes] = field(default_factory=lambda: [KEY, OLD_KEY])

    def __post_init__(self) -> None:
        front, clock = self.fixture.front_end, self.fixture.clock
        front.admit = Terminator(
            Handshakes(frozenset(), lambda _: accept_with("none", b""), 1),
            lambda: Keys(tuple(self.keys)),
            AuthToLocal("DEFAULT", "TEST"),
            Impersonation({}, clock),
            clock,
            unix_time=clock,
            validity_s=60,
        ).admit
        front.answers.issued = IssuedTokens(clock, believed_for_s=600.0)
        front.answers.issued.on_ended.append(front.waits.token_ended)
        self.believe(TOKEN)

    def believe(self, given: str) -> None:
        """Let a NameNode issue a token to alice through the proxy."""
        call = parse_call("GET", "/webhdfs/v1/?op=GETDELEGATIONTOKEN")
        body = json.dumps({"Token": {"urlString": given}}).encode()
        self.fixture.front_end.answers.issued.replied(
            call, RequestHead("GET", "", (), acts_for="alice"), settled(200, body)
        )

    def by_cookie(
        self, path: str, *fields: str, lives_s: float = 3600.0, key: bytes = KEY
    ) -> asyncio.Task[RawReply]:
        """Send a request with a cookie of alice's."""
        session = LoginSession("alice", "alice@TEST", int((self.fixture.clock() + lives_s) * 1000))
        cookie = encode_cookie(session, Keys((key,)), is_secure=False)[1].split(b";")[0].decode()
        target = f"/webhdfs/v1{path}?op=GETFILESTATUS"
        return self.fixture.tasks.create_task(self.fixture.ask(target, f"Cookie: {cookie}", *fields))

    def by_token(self, path: str, *fields: str) -> asyncio.Task[RawReply]:
        """Send a request with alice's token."""
        target = f"/webhdfs/v1{path}?op=GETFILESTATUS&delegation={TOKEN}"
        return self.fixture.tasks.create_task(self.fixture.ask(target, *fields))

    def cancel(self) -> None:
        """Cancel the token through the proxy; the NameNode no longer accepts it."""
        self.fixture.namenode.locked_out.add(TOKEN)
        target = f"/webhdfs/v1/?op=CANCELDELEGATIONTOKEN&token={TOKEN}"
        self.fixture.front_end.answers.issued.sent(parse_call("PUT", target))

    def retire(self) -> None:
        """Stop accepting the old key."""
        self.keys.remove(OLD_KEY)
        self.fixture.front_end.waits.key_retired()

    @property
    def ended(self) -> dict[WaitEnd, int]:
        """Number of waits by how they ended."""
        return {end: count for end, count in self.fixture.front_end.waits.ended.items() if count}


@asynccontextmanager
async def door() -> AsyncIterator[Door]:
    """Set up the proxy, with a cached 404."""
    async with fixture(proxy=ProxySettings(join_wait_s=0.5)) as s:
        opened = Door(s)
        await opened.by_cookie("/w/none")  # so that reads with the token are hits
        yield opened


async def answer(waiting: asyncio.Task[RawReply]) -> RawReply:
    """Return the reply to a client, or fail after `HANG_S`."""
    async with asyncio.timeout(HANG_S):
        return await waiting


in_both_ways = pytest.mark.parametrize("way", [(), (IN_TASK,)], ids=["kept", "in-a-task"])


@in_both_ways
async def test_a_cancelled_token_ends_its_wait_at_the_namenode(way: tuple[str, ...]) -> None:
    """ProvenGrant: the NameNode is asked immediately, with the token; its answer ends the wait, not a hit."""
    async with door() as d:
        waiting = d.by_token("/w/none", WAITS, *way)
        await held(d.fixture)
        d.cancel()
        reply = await answer(waiting)
        assert (reply.status, reply.made) == (403, "nncache; fwd=miss")
        assert d.ended == {WaitEnd.EXPIRED: 1}
        assert d.fixture.front_end.waits.kept_bytes == 0


@in_both_ways
async def test_a_retired_key_ends_the_waits_of_its_cookies(way: tuple[str, ...]) -> None:
    """ProvenGrant: they end immediately, with a challenge; waits with a cookie of another key continue."""
    async with door() as d:
        old, new = d.by_cookie("/w/none", WAITS, *way, key=OLD_KEY), d.by_cookie("/w/none", WAITS, *way)
        await held(d.fixture, 2)
        before = len(d.fixture.namenode.fetched)
        d.retire()
        reply = await answer(old)
        assert (reply.status, reply["WWW-Authenticate"]) == (401, "Negotiate")
        assert reply.made == "nncache; detail=not-admitted"
        assert d.ended == {WaitEnd.EXPIRED: 1}
        assert len(d.fixture.namenode.fetched) == before
        await held(d.fixture)
        d.fixture.front_end.waits.stop()
        assert (await answer(new)).status == 404


@in_both_ways
async def test_a_wait_ends_with_its_cookie(way: tuple[str, ...]) -> None:
    """ProvenGrant: the wait ends when the cookie expires, even if the client would wait longer."""
    async with door() as d:
        waiting = d.by_cookie("/w/none", WAITS, *way, lives_s=0.2)
        await held(d.fixture)
        d.fixture.clock.now += 0.2
        assert (await answer(waiting)).status == 401
        assert d.ended == {WaitEnd.EXPIRED: 1}


@in_both_ways
async def test_a_change_does_not_answer_one_whose_cookie_has_ended(way: tuple[str, ...]) -> None:
    """ProvenGrant: another waiter's question does not answer it either; the other waiter is answered as usual."""
    async with door() as d:
        short, long = d.by_cookie("/w/none", WAITS, *way, lives_s=50.0), d.by_cookie("/w/none", WAITS, *way)
        await held(d.fixture, 2)
        d.fixture.clock.now += 50.0
        d.fixture.appear("/w/none")
        assert [(await answer(each)).status for each in (short, long)] == [401, 200]


@in_both_ways
async def test_the_refusal_of_a_token_goes_to_no_other_credential(way: tuple[str, ...]) -> None:
    """FailToNameNode: alice waits with a token that was cancelled elsewhere, and with a cookie."""
    async with door() as d:
        waiting = [d.by_token("/w/none", WAITS, *way)]
        await held(d.fixture)
        waiting.append(d.by_cookie("/w/none", WAITS, *way))
        await held(d.fixture, 2)
        d.fixture.namenode.locked_out.add(TOKEN)
        d.fixture.namenode.statuses["/w/none"] = FILE
        d.fixture.cache.apply(AccessChanged("/w"), d.fixture.clock.now, 101)
        assert [(await answer(each)).status for each in waiting] == [403, 200]


async def test_what_ends_beside_the_first_question_ends_the_wait() -> None:
    """The key is retired while the first question is in flight."""
    async with door() as d:
        hold = d.fixture.namenode.hold_next()
        waiting = d.by_cookie("/w/new", WAITS, key=OLD_KEY)
        async with asyncio.timeout(HANG_S):
            await hold.came.wait()
        d.retire()
        hold.goes_on.set()
        assert (await answer(waiting)).status == 401


async def test_a_client_that_leaves_is_counted_once() -> None:
    """Its token was cancelled, the NameNode is slow, and the client leaves."""
    async with door() as d, d.fixture.client() as client:
        target = f"/webhdfs/v1/w/none?op=GETFILESTATUS&delegation={TOKEN}"
        client.send(f"GET {target} HTTP/1.1\r\nHost: nn\r\n{WAITS}\r\n\r\n".encode())
        await held(d.fixture)
        hold = d.fixture.namenode.hold_next()
        d.cancel()
        async with asyncio.timeout(HANG_S):
            await hold.came.wait()
        reset(client)
        await until(lambda: not d.fixture.server.stats().connections_open)
        hold.goes_on.set()
        await until(lambda: not d.fixture.front_end.waits.kept_bytes)
        assert d.ended == {WaitEnd.ABANDONED: 1}


async def test_a_crowd_whose_key_is_retired_is_refused_part_by_part() -> None:
    """Each waiter gets a 401, and no memory is left."""
    async with door() as d:
        waiting = [d.by_cookie("/w/none", WAITS, key=OLD_KEY) for _ in range(150)]
        await held(d.fixture, 150)
        d.retire()
        assert {(await answer(each)).status for each in waiting} == {401}
        assert d.fixture.front_end.waits.waiting == d.fixture.front_end.waits.kept_bytes == 0
