"""The client behaves as ordinary HTTP clients do when connections break."""

import asyncio
import socket
from collections.abc import Awaitable, Callable

import pytest
import uvloop

from nncache.bench.polling.client import Client
from nncache.bench.polling.replies import Reply
from tests.bench.polling.test_replies import said
from tests.bench.polling_server import BODY, Act, RawServer, Script, reply
from tests.patience import HANG_S

REQUEST = b"GET /webhdfs/v1/0?op=GETFILESTATUS HTTP/1.1\r\n\r\n"
Story = Callable[["Asked"], Awaitable[None]]
LOOPS = pytest.mark.parametrize(
    "loop", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"]
)


class Asked:
    """A client whose answers can be awaited."""

    def __init__(self, server: RawServer, address: tuple[str, int], tasks: asyncio.TaskGroup) -> None:
        self.server = server
        self.answers: asyncio.Queue[Reply | str] = asyncio.Queue()
        self.client = Client(address, tasks, self.answers.put_nowait)

    async def ask(self) -> Reply | str:
        """Ask once."""
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
    """Run a story of a client against a server that does these acts."""
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
        assert said(await asked.ask()) == (200, "", BODY, True)


@LOOPS
def test_a_connection_is_kept(loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
    """One for all requests."""
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
    """A GET may be; the poll has its answer."""
    script = tell(ask_twice, Act(data=data, then=then), Act(), loop=loop)
    assert (script.connections, len(script.targets)) == (2, 3)


@pytest.mark.parametrize("then", ["close", "reset"])
def test_what_breaks_twice_has_failed(then: str) -> None:
    """There is no third attempt; the next request gets its own two."""

    async def story(asked: Asked) -> None:
        assert str(await asked.ask()).startswith("connection ")
        await ask_twice(asked)

    broken = Act(data=b"", then=then)
    script = tell(story, broken, broken, broken, Act())
    assert (script.connections, len(script.targets)) == (4, 5)


def test_connection_close_is_obeyed() -> None:
    """Each reply with this field costs a new connection."""

    async def story(asked: Asked) -> None:
        for _ in range(3):
            assert said(await asked.ask()) == (200, "", BODY, False)

    closing = Act(data=reply(fields=("Connection: close",)), then="close")
    assert tell(story, closing).connections == 3


@LOOPS
def test_a_body_may_end_with_the_connection(loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
    """It is complete then, and not repeated."""

    async def story(asked: Asked) -> None:
        assert said(await asked.ask()) == (200, "", b"until the end", False)

    bare = Act(data=b"HTTP/1.1 200 OK\r\n\r\nuntil the end", split=30, then="close")
    assert len(tell(story, bare, loop=loop).targets) == 1


def test_what_is_no_reply_has_failed() -> None:
    """It is not asked for again."""

    async def story(asked: Asked) -> None:
        assert await asked.ask() == "no HTTP reply: b'SSH-2.0'"
        await ask_twice(asked)

    assert len(tell(story, Act(data=b"SSH-2.0"), Act()).targets) == 3


@LOOPS
def test_a_server_that_does_not_listen_is_named(loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
    """Refused is failed, at once."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))

        async def story(asked: Asked) -> None:
            for _ in range(2):
                assert await asked.ask() == "can't connect: Connection refused"

        tell(story, loop=loop, address=unused.getsockname())


def test_giving_up_is_reported_once() -> None:
    """A reply that comes after all is not taken for that to the next request."""

    async def story(asked: Asked) -> None:
        asked.client.ask(REQUEST)
        await asked.server.script.heard.wait()
        asked.client.give_up("too slow")
        assert await asked.answers.get() == "too slow"
        asked.client.give_up("too slow")
        reply_ = await asked.ask()
        assert (asked.answers.empty(), said(reply_)) == (True, (200, "", b"second", True))

    tell(story, Act(data=reply(b"first"), delay_s=0.05), Act(data=reply(b"second"), delay_s=0.1))


def test_an_unasked_reply_closes_the_connection() -> None:
    """Such as the 408 of a server that is tired of waiting."""

    async def story(asked: Asked) -> None:
        await asked.ask()
        await asked.server.script.lost.wait()
        await asked.ask()

    twice = Act(data=reply() + reply(b"", "408 Request Timeout"), split=len(reply()))
    assert tell(story, twice, Act()).connections == 2
