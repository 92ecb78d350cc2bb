"""The client handles broken connections as ordinary HTTP clients do, and parses replies split anywhere."""

import asyncio
from collections.abc import Awaitable, Callable
from hashlib import blake2b

import pytest
import uvloop

from nncache.bench.polling.client import PollClient
from nncache.bench.polling.replies import (
    MAX_HEAD_BYTES,
    PollReply,
    PollReplyError,
    digest_of,
    file_id_of,
    parse,
)
from tests.bench.polling_server import BODY, Act, RawServer, Script, reply
from tests.patience import HANG_S

REQUEST = b"GET /webhdfs/v1/0?op=GETFILESTATUS HTTP/1.1\r\n\r\n"
Story = Callable[["Asked"], Awaitable[None]]
LOOPS = pytest.mark.parametrize(
    "loop", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"]
)


def content_of(reply: PollReply | str | None) -> tuple[object, ...]:
    """Return a reply's fields, without its head."""
    assert isinstance(reply, PollReply)
    return tuple(reply[:4])


class Asked:
    """A client, and a queue of its answers."""

    def __init__(self, server: RawServer, address: tuple[str, int], tasks: asyncio.TaskGroup) -> None:
        self.server = server
        self.answers: asyncio.Queue[PollReply | str] = asyncio.Queue()
        self.client = PollClient(address, tasks, self.answers.put_nowait)

    async def ask(self) -> PollReply | str:
        """Send one request; return its answer."""
        self.client.ask(REQUEST)
        answer = await self.answers.get()
        assert self.answers.empty()
        return answer


def tell(
    story: Story,
    *acts: Act,
    loop: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop,
    address: tuple[str, int] | None = None,
) -> Script:
    """Run a client's story against a server that performs these acts."""
    script = Script({"/0": acts or (Act(),)})

    async def run() -> None:
        async with RawServer(script) as server, asyncio.timeout(HANG_S), asyncio.TaskGroup() as tasks:
            asked = Asked(server, address or server.endpoint, tasks)
            await story(asked)
            asked.client.close()

    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(run())
    return script


async def ask_twice(asked: Asked) -> None:
    """Get two replies."""
    for _ in range(2):
        assert content_of(await asked.ask()) == (200, "", BODY, True)


@LOOPS
def test_a_connection_is_kept(loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
    """One connection serves all requests."""
    assert tell(ask_twice, loop=loop).connections == 1


@LOOPS
def test_what_the_server_closed_while_idle_is_opened_again(
    loop: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    """The next request does not fail."""

    async def story(asked: Asked) -> None:
        await ask_twice(asked)
        asked.server.close_connections()
        await ask_twice(asked)

    script = tell(story, loop=loop)
    assert script.connections == 2


@LOOPS
@pytest.mark.parametrize("then", ["close", "reset"])
@pytest.mark.parametrize("data", [b"", reply()[:-1]], ids=["before the reply", "in the reply"])
def test_a_request_whose_connection_broke_is_repeated_once(
    data: bytes, then: str, loop: Callable[[], asyncio.AbstractEventLoop]
) -> None:
    """A GET is idempotent; the poll gets its answer."""
    script = tell(ask_twice, Act(data=data, then=then), Act(), loop=loop)
    assert (script.connections, len(script.targets)) == (2, 3)


@LOOPS
def test_a_body_may_end_with_the_connection(loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
    """The body is then complete, and the request is not repeated."""

    async def story(asked: Asked) -> None:
        assert content_of(await asked.ask()) == (200, "", b"until the end", False)

    bare = Act(data=b"HTTP/1.1 200 OK\r\n\r\nuntil the end", split=30, then="close")
    assert len(tell(story, bare, loop=loop).targets) == 1


def test_giving_up_is_reported_once() -> None:
    """A reply that arrives after that is not taken for the next request's."""

    async def story(asked: Asked) -> None:
        asked.client.ask(REQUEST)
        await asked.server.script.heard.wait()
        asked.client.give_up("too slow")
        assert await asked.answers.get() == "too slow"
        asked.client.give_up("too slow")
        reply_ = await asked.ask()
        assert (asked.answers.empty(), content_of(reply_)) == (True, (200, "", b"second", True))

    tell(story, Act(data=reply(b"first"), delay_s=0.05), Act(data=reply(b"second"), delay_s=0.1))


def test_an_unasked_reply_closes_the_connection() -> None:
    """An example is a server's 408 on an idle connection."""

    async def story(asked: Asked) -> None:
        await asked.ask()
        await asked.server.script.lost.wait()
        await asked.ask()

    twice = Act(data=reply() + reply(b"", "408 Request Timeout"), split=len(reply()))
    assert tell(story, twice, Act()).connections == 2


# ---- replies --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_chunked", [False, True])
def test_a_reply_is_complete_at_its_last_byte_and_not_before(is_chunked: bool) -> None:
    """Content-Length and chunks both mark the end of a body."""
    data = reply(is_chunked=is_chunked)
    for cut in range(len(data)):
        assert parse(data[:cut]) is None
    assert content_of(parse(data)) == (200, "", BODY, True)


@pytest.mark.parametrize(
    ("data", "keeps"),
    [
        (reply(), True),
        (reply(fields=("Connection: keep-alive",)), True),
        (reply(fields=("Connection: Close",)), False),
        (reply().replace(b"HTTP/1.1", b"HTTP/1.0"), False),
        (reply() + b"surplus", False),
        (b"HTTP/1.1 204 No Content\r\n\r\n", True),
    ],
)
def test_only_an_open_connection_takes_the_next_request(data: bytes, keeps: bool) -> None:
    """`Connection: close`, HTTP/1.0 and surplus bytes end the connection."""
    found = parse(data)
    assert found is not None
    assert found.keeps is keeps


@pytest.mark.parametrize(
    ("field", "served"),
    [
        ("Cache-Status: nncache; hit", "hit"),
        ("cache-status: nncache;hit; ttl=3", "hit"),
        ("Cache-Status: nncache; fwd=miss; stored", "miss"),
        ("Cache-Status: nncache; fwd=miss; collapsed", "miss"),
        ("Cache-Status: nncache; fwd=bypass; detail=gate-closed", "bypass; gate-closed"),
        ("Cache-Status: nncache; fwd=uri-miss; detail=hit-ratio", "uri-miss; hit-ratio"),
        ("Cache-Status: nncache; fwd=miss; stored; detail=no-grant", "miss; no-grant"),
        ("Cache-Status: origin; hit; detail=old, nncache; fwd=miss", "miss"),
        ("Cache-Status: nncache; detail=not-webhdfs", ""),
        ("X-Cache-Status: HIT", "hit"),
        ("X-Cache-Status: EXPIRED", "expired"),
        ("X-Other: hit", ""),
    ],
)
def test_the_server_says_how_it_came_about(field: str, served: str) -> None:
    """The header is nncache's (RFC 9211) or nginx's."""
    found = parse(reply(fields=(field,)))
    assert found is not None
    assert found.served == served


@pytest.mark.parametrize(
    "data",
    [
        b"SSH-2.0-OpenSSH",
        b"HTTP/1.1 abc\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: ten\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + bytes(MAX_HEAD_BYTES),
    ],
)
def test_what_is_no_reply_is_refused(data: bytes) -> None:
    """Waiting for the rest of it would never end."""
    with pytest.raises(PollReplyError):
        parse(data)


def test_a_digest_is_of_the_body_alone() -> None:
    """A 403 names its caller, so its digest is 0; otherwise two pollers' refusals would differ."""
    expected = int.from_bytes(blake2b(BODY, digest_size=8).digest(), "big", signed=True)
    assert digest_of(200, BODY) == digest_of(404, BODY) == expected
    assert digest_of(403, BODY) == digest_of(0, b"") == 0


def test_a_file_id_is_found_or_0() -> None:
    """A missing file has no id."""
    assert file_id_of(BODY) == 16389
    assert file_id_of(b'{"RemoteException":{"exception":"FileNotFoundException"}}') == 0
