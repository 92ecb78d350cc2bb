"""A body is streamed as it arrives, and a body that arrives too slowly is given up."""

import asyncio

import pytest

from nncache.proxy.clients.body import RequestBody
from nncache.proxy.clients.request import Request
from nncache.proxy.clients.response import RawResponse
from nncache.proxy.errors import ClientGoneError, MalformedRequestError, ProxyError, SlowRequestError
from tests.proxy.wire import CREATE, RawClient, limits_of_tests, serving, until

CHUNKED = CREATE + b"Transfer-Encoding: chunked\r\n\r\n"


class Reader:
    """A handler that reads the body and records the parts."""

    def __init__(self, pause_s: float = 0.0) -> None:
        self.pause_s = pause_s  # between parts, like a slow NameNode
        self.parts: list[bytes] = []
        self.error: ProxyError | None = None
        self.body: RequestBody | None = None
        self.is_over = asyncio.Event()

    async def __call__(self, request: Request) -> RawResponse:
        """Read the body to its end."""
        self.body = request.body
        assert self.body is not None
        assert not self.body.is_begun
        try:
            while part := await self.body.read_part():
                self.parts.append(part)
                await asyncio.sleep(self.pause_s)
        except ProxyError as error:
            self.error = error
        self.is_over.set()
        return RawResponse(200, "OK", (), body=b"")


async def test_parts_come_as_they_arrive() -> None:
    """The handler gets the first part before the whole body is there."""
    reader = Reader()
    async with serving(reader) as server, RawClient.connected(server.port) as client:
        client.send(CREATE + b"Content-Length: 8\r\n\r\n1234")
        await until(lambda: bool(reader.parts))
        assert reader.parts == [b"1234"]
        client.send(b"5678")
        assert (await client.reply()).status == 200
        assert b"".join(reader.parts) == b"12345678"
        assert reader.body is not None
        assert reader.body.is_begun


@pytest.mark.parametrize(
    ("data", "error"),
    [(b"zz\r\n", MalformedRequestError), (b"4\r\nab", ClientGoneError), (b"", SlowRequestError)],
)
async def test_a_body_that_does_not_end_well(data: bytes, error: type[ProxyError]) -> None:
    """Each failure raises its own error."""
    reader = Reader()
    async with serving(reader, limits=limits_of_tests(body_timeout_s=0.2)) as server:
        async with RawClient.connected(server.port) as client:
            client.send(CHUNKED)
            await until(lambda: reader.body is not None)
            client.send(data)
            if error is not ClientGoneError:
                await reader.is_over.wait()
        await reader.is_over.wait()
        assert type(reader.error) is error


async def test_chunks_that_make_no_sense_are_no_fault_of_ours(caplog: pytest.LogCaptureFixture) -> None:
    """The server lingers after its reply and reads these chunks again; a traceback for each would fill the log."""
    reader = Reader()
    async with serving(reader) as server, RawClient.connected(server.port) as client:
        client.send(CHUNKED)
        await until(lambda: reader.body is not None)
        client.send(b"zz\r\n")
        await client.reply()
        assert await client.rest() == b""
    assert type(reader.error) is MalformedRequestError
    assert not caplog.records


async def test_waiting_for_the_namenode_is_not_held_against_the_client() -> None:
    """Only the time spent waiting for the client counts."""
    limits = limits_of_tests(body_timeout_s=0.2, min_body_rate_bytes_s=1_000_000_000)
    reader = Reader(pause_s=0.15)
    async with serving(reader, limits=limits) as server, RawClient.connected(server.port) as client:
        client.send(CHUNKED + b"1\r\na\r\n")
        for _ in range(4):
            await until(lambda: bool(reader.parts))
            reader.parts.clear()
            client.send(b"1\r\nb\r\n")
        client.send(b"0\r\n\r\n")
        assert (await client.reply()).status == 200
        assert reader.error is None
