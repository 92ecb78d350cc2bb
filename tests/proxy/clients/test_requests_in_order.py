"""A connection serves its requests one after another, and leaves no task or timer."""

import asyncio

import pytest

from nncache.clock import boottime
from nncache.proxy.clients.request import Request
from nncache.proxy.clients.response import RawResponse
from nncache.proxy.clients.server import Server
from tests.hostile.fuzzing.transport import DeafTransport
from tests.proxy.kept_hits import fast_path_alone
from tests.proxy.wire import GET, RawClient, limits_of_tests, serving, until

POST = b"POST /x HTTP/1.1\r\nHost: nn\r\nContent-Length: 8\r\n\r\n"


class Site:
    """A server that records the order in which it serves requests."""

    def __init__(self) -> None:
        self.order: list[str] = []

    async def handle(self, request: Request) -> RawResponse:
        """Answer after other tasks have run; do not read the body."""
        self.order.append(f"begin {request.target}")
        await asyncio.sleep(0)
        self.order.append(f"end {request.target}")
        if request.target == "/fails":
            raise RuntimeError("planted")
        return RawResponse(200, "OK", (), body=b"ok")


def get(path: str) -> bytes:
    """Return the head of a GET."""
    return b"GET %b HTTP/1.1\r\nHost: nn\r\n\r\n" % path.encode()


async def test_one_after_another() -> None:
    """This holds for requests that arrive together, and for those after a request that failed."""
    site = Site()
    async with serving(site.handle) as server, RawClient.connected(server.port) as client:
        client.send(get("/1") + get("/fails") + get("/2"))
        assert [(await client.reply()).status for _ in range(3)] == [200, 500, 200]
        client.send(get("/3"))
        assert (await client.reply()).status == 200
    assert site.order == [f"{what} /{name}" for name in ("1", "fails", "2", "3") for what in ("begin", "end")]


async def test_a_body_that_never_comes_has_a_deadline() -> None:
    """The rest of the body is read and dropped, so that no reset overtakes the reply (RFC 9112, section 9.6)."""
    site, limits = Site(), limits_of_tests(body_timeout_s=0.2)
    async with serving(site.handle, limits=limits) as server, RawClient.connected(server.port) as client:
        client.send(POST + b"1234")
        reply = await client.reply()
        assert (reply.body, reply.all(b"Connection")) == (b"ok", [b"close"])
        assert await client.rest() == b""
        await until(lambda: server.stats().connections_open == 0)


@pytest.mark.parametrize("is_begun", [False, True])
@pytest.mark.parametrize("data", [GET, GET[:10]])
async def test_nothing_is_left_of_a_connection_that_is_lost(data: bytes, is_begun: bool) -> None:
    """Otherwise a task, or a timer, would hold the connection for the idle timeout."""
    may_answer = asyncio.Event()

    async def handle(_: Request) -> RawResponse:
        await may_answer.wait()
        return RawResponse(200, "OK", (), body=b"ok")

    before = asyncio.all_tasks()
    server, transport = Server(handle, fast_path_alone(boottime), limits_of_tests()), DeafTransport()
    transport.connect(server.connection())
    transport.get_protocol().data_received(data)
    connection = transport.get_protocol()
    if is_begun:  # else its task has not had its first step
        await asyncio.sleep(0)
    connection.connection_lost(None)
    may_answer.set()
    await until(lambda: asyncio.all_tasks() == before)
    timers = connection._timer, connection._head_timer  # noqa: SLF001 - no figure shows them
    assert all(timer.cancelled() for timer in timers if timer is not None)
