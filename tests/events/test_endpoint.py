"""GET /v1/events on the wire: the real server, and a source made of a list."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from nncache.events.callers import IdentifiedUser, Identify, by_user_name
from nncache.events.endpoint import BURST, EventsEndpoint
from nncache.events.events_request import EventsRequest
from nncache.events.stream import StreamEnd
from nncache.proxy.clients.request import Request
from nncache.proxy.clients.response import RawResponse
from nncache.proxy.clients.server import Server
from nncache.proxy.limits import LimitSettings
from nncache.proxy.traffic import Exchange, Result, Traffic
from nncache.request_logs.access_lines import combined
from tests.events.doubles import FilterLog
from tests.events.reader import Message, read_stream
from tests.patience import HANG_S
from tests.proxy.doubles import FakeClock, let_tasks_run
from tests.proxy.wire import RawClient, RawReply, ask, serving

ALICE = "/v1/events?filter=f&user.name=alice"


class Client(RawClient):
    """A connection with a stream."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        super().__init__(reader, writer)
        self.head = ""
        self._got = b""
        self.is_whole = False

    async def begin(self, target: str, *fields: str) -> None:
        """Send the request and read the reply's head."""
        head = "\r\n".join((f"GET {target} HTTP/1.1", "Host: nn", *fields))
        self.send(f"{head}\r\n\r\n".encode())
        self.head = (await self.interim()).decode()

    async def messages(self, count: int) -> list[Message]:
        """Read until `count` messages have arrived."""
        async with asyncio.timeout(HANG_S):
            while len(found := read_stream(self._got)) < count and await self._part():
                pass
        return found

    async def last_id(self, wanted: str) -> None:
        """Read until a message has this id."""
        async with asyncio.timeout(HANG_S):
            while f"\nid: {wanted}\n".encode() not in self._got and await self._part():
                self._got = self._got[-1_000_000:]

    async def all_messages(self) -> list[Message]:
        """Read to the end of the stream."""
        async with asyncio.timeout(HANG_S):
            while await self._part():
                pass
        return read_stream(self._got)

    async def _part(self) -> bool:
        size = int((await self.reader.readline()).strip() or b"-1", 16)
        if size > 0:
            self._got += await self.reader.readexactly(size)
        if size >= 0:
            await self.reader.readexactly(2)
        self.is_whole = size == 0
        return size > 0


@dataclass
class Fixture:
    """A server with the endpoint."""

    log: FilterLog
    endpoint: EventsEndpoint
    server: Server
    seen: list[Exchange]

    def answered(self, exchange: Exchange) -> None:
        """Record the exchange."""
        self.seen.append(exchange)

    @asynccontextmanager
    async def client(self, target: str = ALICE, *fields: str) -> AsyncIterator[Client]:
        """Connect, and request events."""
        async with Client.connected(self.server.port) as client:
            await client.begin(target, *fields)
            yield client

    async def ask(self, target: str, *fields: str, method: str = "GET") -> RawReply:
        """Send a request that will be refused."""
        return await ask(self.server.port, target, *fields, method=method)

    async def until_streams(self, count: int) -> None:
        """Wait until `count` streams are open."""
        async with asyncio.timeout(HANG_S):
            while self.endpoint.stats().streams != count:
                await let_tasks_run(1)


@asynccontextmanager
async def fixture(
    *,
    max_streams: int = 8,
    limits: LimitSettings | None = None,
    has_channel: bool = True,
    identify: Identify = by_user_name,
) -> AsyncIterator[Fixture]:
    """Start a server with the endpoint."""
    log, traffic, limits = FilterLog(), Traffic(FakeClock()), limits or LimitSettings()
    endpoint = EventsEndpoint(
        log if has_channel else None,
        identify,
        traffic,
        limits,
        max_streams=max_streams,
    )

    async def others(request: Request) -> RawResponse:
        return RawResponse(404, "Not Found", (), body=b"others")

    async with (
        serving(endpoint.before(others), limits=limits, traffic=traffic) as server,
        asyncio.TaskGroup() as tasks,
    ):
        running = tasks.create_task(endpoint.run())
        await let_tasks_run(2)
        made = Fixture(log, endpoint, server, [])
        traffic.observers = (made.answered,)
        try:
            yield made
        finally:
            endpoint.stop()
            running.cancel()


async def test_a_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    """Type and caching are right, each event is sent immediately, and a disconnect ends the stream."""
    monkeypatch.setattr("nncache.events.stream.HEARTBEAT_S", 1e6)  # no heartbeat shows that the client left
    async with fixture() as s:
        async with s.client() as client:
            assert client.head.startswith("HTTP/1.1 200 OK\r\nDate: ")
            for field in (
                "Content-Type: text/event-stream",
                "Cache-Control: no-store",
                "Transfer-Encoding: chunked",
            ):
                assert f"{field}\r\n" in client.head
            assert [event for event, _, _ in await client.messages(1)] == ["start"]
            s.log.publish(12, events=2)
            assert [last_id for _, _, last_id in await client.messages(3)] == ["10", "10", "12"]
            stats = s.endpoint.stats()
            assert (stats.streams, stats.followed, stats.sent) == (1, 1, 2)
        await s.until_streams(0)
        stats = s.endpoint.stats()
        assert (stats.followed, stats.sent, stats.ended[StreamEnd.LEFT]) == (0, 2, 1)
        (exchange,) = s.seen
        assert (exchange.result, exchange.status) == (Result.STREAMED, 200)
        line = combined(exchange, 1, 0.0).decode()
        assert f'- alice [01/Jan/1970:00:00:00 +0000] "GET {ALICE}" 200 - "-" "-" streamed other - ' in line


async def test_last_event_id_resumes() -> None:
    """Events after that id follow, once and in order; many streams of one filter share one reader of ZooKeeper."""
    async with fixture() as s, s.client() as client:
        await client.messages(1)
        for txid in (11, 12, 13):
            s.log.publish(txid)
        await client.messages(4)
        async with s.client(ALICE, "Last-Event-ID: 11") as again, s.client() as third:
            assert [last_id for _, _, last_id in await again.messages(3)] == ["11", "12", "13"]
            await third.messages(1)
            assert s.log.followings == [None]


class Session:
    """A session of alice's, at any endpoint."""

    otherwise = None

    def __init__(self, ends_at: float) -> None:
        self.ends_at = ends_at
        self.is_retired = False

    def is_good(self) -> bool:
        """Whether its key is still in use."""
        return not self.is_retired

    async def known(self, request: Request, events_request: EventsRequest) -> IdentifiedUser:
        """Return alice as the caller."""
        return IdentifiedUser("alice", lease=self)


async def test_a_stream_ends_with_the_key_of_its_cookie() -> None:
    """The last message says why; later events are not sent, and the connection ends in order."""
    session = Session(1e9)
    async with fixture(identify=session.known) as s, s.client() as client:
        await client.messages(1)
        session.is_retired = True
        s.log.publish(11)
        s.endpoint.key_retired()
        messages = await client.all_messages()
        assert [event for event, _, _ in messages] == ["start", "end"]
        reported = json.loads(messages[-1][1])
        assert (reported["filter"], "authenticate again" in reported["end"]) == ("f", True)
        assert client.is_whole
        assert s.endpoint.stats().ended[StreamEnd.EXPIRED] == 1


async def test_a_stream_ends_with_its_cookie() -> None:
    """The stream ends when the cookie expires."""
    async with fixture(identify=Session(FakeClock().now + 0.2).known) as s, s.client() as client:
        assert (await client.all_messages())[-1][0] == "end"
        await s.until_streams(0)
        assert s.endpoint.stats().ended[StreamEnd.EXPIRED] == 1


async def test_strangers_have_a_rate() -> None:
    """The rate is per address. Readers are not charged, but wait for a moment once strangers have used it up."""
    async with fixture() as s:
        for _ in range(3):
            async with s.client() as client:
                await client.messages(1)
        stranger = "/v1/events?filter=f&user.name=bob"
        statuses = [(await s.ask(stranger)).status for _ in range(int(BURST) + 1)]
        assert statuses == [403] * int(BURST) + [429]
        refused = await s.ask(ALICE)
        assert (refused.status, refused["Retry-After"]) == (429, "1")
        assert s.endpoint.stats().not_admitted == 2


async def test_strangers_learn_nothing() -> None:
    """A filter of other users, a missing one and an impossible name get the same answer."""
    async with fixture() as s:
        replies = [await s.ask("/v1/events?filter=f&user.name=bob")]
        s.log.subscribers = None
        replies.append(await s.ask("/v1/events?filter=f&user.name=bob"))
        replies.append(await s.ask("/v1/events?filter=f&user.name=alice"))
        assert {reply.status for reply in replies} == {403}
        assert replies[0].fields[:3] == replies[1].fields[:3]
        assert replies[0].body == replies[1].body == replies[2].body.replace(b"alice", b"bob")
        reported = json.loads(replies[0].body)["RemoteException"]
        assert reported["exception"] == "AccessControlException"
        assert reported["message"] == "nncache: there is no filter 'f' that bob may subscribe to"
        assert s.log.followings == [], "nothing is followed for them"
        assert {exchange.result for exchange in s.seen} == {Result.REFUSED}
        assert s.endpoint.stats().followed == 0


async def test_a_new_subscriber_is_let_in_beside_others() -> None:
    """The known list may be a second old, so it is read again before a user is refused."""
    async with fixture() as s, s.client() as first:
        await first.messages(1)
        s.log.subscribers = {"alice", "bob"}
        async with s.client("/v1/events?filter=f&user.name=bob") as second:
            s.log.publish(11)
            assert [event for event, _, _ in await second.messages(1)] == ["start"]


@pytest.mark.parametrize("method", ["HEAD", "POST", "PUT", "DELETE", "OPTIONS"])
async def test_other_methods_are_not_allowed(method: str) -> None:
    """RFC 9110, section 15.5.6: the reply names the allowed method."""
    async with fixture() as s:
        reply = await s.ask(ALICE, method=method)
        assert (reply.status, reply["Allow"]) == (405, "GET")


async def test_a_wrong_request_is_answered_with_what_would_be_right() -> None:
    """The status is 400, and other paths are answered as before."""
    async with fixture() as s:
        reply = await s.ask("/v1/events?filter=f")
        assert reply.status == 400
        assert "user.name is missing" in json.loads(reply.body)["RemoteException"]["message"]
        assert (await s.ask("/v1/events?filter=f&from=x")).status == 400
        assert (await s.ask("/v1/events/")).body == b"others"


async def test_where_there_is_no_channel() -> None:
    """The error names the settings."""
    async with fixture(has_channel=False) as s:
        reply = await s.ask(ALICE)
        assert reply.status == 501
        assert "give the proxy zookeeper and nameservice" in reply.body.decode()
        assert (await s.ask(ALICE, method="POST")).status == 405


async def test_where_no_stream_is_allowed() -> None:
    """The error names the setting."""
    async with fixture(max_streams=0) as s:
        reply = await s.ask(ALICE)
        assert reply.status == 501
        assert "max_event_streams is 0" in reply.body.decode()


async def test_no_more_streams_than_allowed() -> None:
    """Beyond the limit the answer is 503, and an address with its full share cannot take the rest."""
    async with fixture(max_streams=4) as s:
        async with s.client() as one, s.client() as two, s.client() as three:
            for client in (one, two, three):
                await client.messages(1)
            async with s.client() as four:
                if four.head.startswith("HTTP/1.1 200"):
                    await four.messages(1)
                reply = await s.ask(ALICE)
                assert (reply.status, reply["Retry-After"]) == (503, "1")
                assert s.endpoint.stats().not_admitted >= 1
        await s.until_streams(0)
        async with s.client() as again:
            await again.messages(1)


async def test_a_source_that_is_silent() -> None:
    """The refusal is temporary: 503 with Retry-After."""
    async with fixture() as s:
        s.log.is_silent = True
        reply = await s.ask(ALICE)
        assert (reply.status, reply["Retry-After"]) == (503, "1")


async def test_stopping_ends_each_stream_whole() -> None:
    """Each message and the body are complete; a later request gets a 503."""
    async with fixture() as s, s.client() as client, s.client() as other:
        await client.messages(1)
        s.log.publish(11)
        await client.messages(2)
        s.endpoint.stop()
        assert [event for event, _, _ in await client.all_messages()] == ["start", "UNLINK"]
        await other.all_messages()
        assert client.is_whole
        assert other.is_whole
        await s.until_streams(0)
        assert s.endpoint.stats().ended[StreamEnd.STOPPED] == 2
        assert (await s.ask(ALICE)).status == 503
    assert s.log.closed == 1, "the end of its run closes the source"


async def test_a_client_that_reads_nothing_is_cut() -> None:
    """The limits set its time; other clients are not affected."""
    limits = LimitSettings(body_timeout_s=0.2, min_body_rate_bytes_s=10**9)
    async with fixture(limits=limits) as s, s.client() as slow, s.client() as fast:
        await slow.messages(1)
        await fast.messages(1)
        slow.pause()
        sent = 0
        async with asyncio.timeout(HANG_S):
            while not s.endpoint.stats().ended[StreamEnd.SLOW]:
                sent += 1
                s.log.publish(10 + sent, events=5_000)
                await fast.last_id(str(10 + sent))
        await s.until_streams(1)
