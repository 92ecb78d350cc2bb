"""A read on a kept connection: taken whole, or handed over with all that came."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from nncache.clock import boottime
from nncache.hadoop.election_view import NameNode
from nncache.proxy.messages import RequestHead
from nncache.proxy.upstream import plain_exchange
from nncache.proxy.upstream.exchange import Exchange
from nncache.proxy.upstream.plain_exchange import Begun, PlainExchange
from nncache.proxy.upstream.plain_reply import PlainReply
from nncache.proxy.upstream.pool import Connections
from tests.proxy.upstream.test_plain_reply import BODY, CHUNKED, COUNTED
from tests.proxy.wire import Act, RawNameNode, cuts, is_silent, limits_of_tests, says, until

REQUEST = b"GET /webhdfs/v1/d?op=LISTSTATUS HTTP/1.1\r\nHost: nn\r\n\r\n"


@dataclass
class Reader:
    """Takes note of what it is told."""

    replies: list[PlainReply] = field(default_factory=list)
    unfinished_times: int = 0

    def replied(self, reply: PlainReply) -> None:
        """A reply."""
        self.replies.append(reply)

    def unfinished(self) -> None:
        """No reply."""
        self.unfinished_times += 1


@asynccontextmanager
async def exchange(act: Act) -> AsyncIterator[tuple[PlainExchange, Reader, Connections, NameNode]]:
    """Send a request on a kept connection to a NameNode that answers so."""
    connections = Connections(limits_of_tests(), boottime)
    async with RawNameNode(act) as server:
        namenode = server.namenode
        assert connections.acquire_kept(namenode, "me") is None
        connections.release(await connections.acquire(namenode, fresh=True), reusable=True)
        kept, reader = connections.acquire_kept(namenode, "me"), Reader()
        assert kept is not None
        assert connections.acquire_kept(namenode, "me") is None
        made = PlainExchange(kept, connections, reader, 7)
        made.send(REQUEST)
        yield made, reader, connections, namenode
        connections.close()


async def test_a_whole_reply_is_taken_and_the_connection_kept() -> None:
    """However it is cut; a second end of it does nothing."""
    async with exchange(says(CHUNKED[:30], CHUNKED[30:])) as (made, reader, connections, namenode):
        await until(lambda: bool(reader.replies))
        assert [reply.body for reply in reader.replies] == [BODY]
        assert (connections.counts().in_use, connections.counts().idle) == (0, 1)
        made.abandon()
        assert connections.counts().idle == 1
        assert connections.acquire_kept(namenode, "me") is not None


async def test_a_connection_that_ends_is_told_once_and_handed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """At once; what it brought by then, and its end, are for the other way."""
    monkeypatch.setattr(plain_exchange, "PATIENCE_S", 1_000.0)

    class Handing(Reader):
        """Hands over when told."""

        begun: Begun | None = None

        def unfinished(self) -> None:
            """Hand over."""
            super().unfinished()
            self.begun = made.hand_over()

    async with exchange(cuts) as (made, first, connections, _):
        reader = Handing()
        made._reader = reader  # noqa: SLF001 - in place of the one that only counts
        await until(lambda: reader.unfinished_times == 1)
        assert reader.begun is not None
        assert (connections.counts().in_use, connections.counts().idle) == (1, 0)
        reader.begun.abandon()
        reader.begun.abandon()
        assert connections.counts().in_use == 0
        assert reader.unfinished_times + first.unfinished_times == 1


async def test_what_came_before_the_hand_over_is_not_lost() -> None:
    """The parser reads it first; nobody is told any more."""
    waits = asyncio.Event()

    async def in_parts(heard: object) -> None:
        await says(COUNTED[:-3])(heard)  # type: ignore[arg-type] # it is one
        await waits.wait()
        await says(COUNTED[-3:])(heard)  # type: ignore[arg-type] # it is one

    async with exchange(in_parts) as (made, reader, connections, _):
        await until(lambda: bool(made._parts))  # noqa: SLF001 - that it came shows nowhere else
        begun = made.hand_over()
        sent = begun.take()
        assert sent is not None
        assert sent.term == 7
        assert begun.take() is None
        connection = sent.connection
        waits.set()
        rest = Exchange(connection, RequestHead("GET", "/", ()), None, timeout_s=5.0)
        await rest.receive_head(lambda: None)
        await rest.receive_start(65536)
        assert (rest.status, rest.start, rest.is_reusable) == (200, BODY, True)
        connections.release(connection, reusable=True)
        assert connections.counts().idle == 1
        assert (reader.replies, reader.unfinished_times) == ([], 0)


async def test_a_reply_that_nobody_waits_for_ends_the_connection() -> None:
    """It could be taken for the next one's."""
    async with exchange(is_silent) as (made, reader, connections, _):
        made.abandon()
        assert (connections.counts().in_use, connections.counts().idle) == (0, 0)
        assert (reader.replies, reader.unfinished_times) == ([], 0)
