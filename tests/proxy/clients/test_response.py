"""Replies are sent unchanged, and framed for the version and method of their request."""

import asyncio

import pytest

from nncache.proxy.clients.request import Request
from nncache.proxy.clients.response import RawResponse
from nncache.proxy.messages import Headers
from tests.proxy.wire import GET, RawClient, RawReply, limits_of_tests, serving, until

STRICT = limits_of_tests(body_timeout_s=0.1, min_body_rate_bytes_s=2**40)
LENIENT = limits_of_tests(body_timeout_s=0.05, min_body_rate_bytes_s=1)
ODD: Headers = ((b"x-a", b"1"), (b"X-A", b"2"), (b"X-Odd", b"\xff\xe9"))


async def reply_of(response: RawResponse, parts: tuple[bytes, ...] = (), request: bytes = GET) -> RawReply:
    """Send one response, with its body in these parts; return the reply as the client reads it."""

    async def handler(asked: Request) -> RawResponse:
        if parts:
            response.prepare(asked)
            for part in parts:
                await response.write(part)
        return response

    async with serving(handler) as server, RawClient.connected(server.port) as client:
        client.send(request)
        return await client.reply(request.split(b" ")[0].decode())


async def test_nothing_is_added_to_a_whole_reply_but_its_length() -> None:
    """The proxy adds no Server, Date or Content-Type."""
    reply = await reply_of(RawResponse(299, "Very Od\udcff", ODD, body=b"body"))
    assert reply.line == b"HTTP/1.1 299 Very Od\xff"
    assert reply.fields == (*ODD, (b"Content-Length", b"4"))
    assert reply.body == b"body"


async def test_parts_are_chunked_unless_their_length_is_known() -> None:
    """A client of HTTP/1.0 gets a body that ends with the connection."""
    parts = (b"one", b"", b"two")
    chunked = await reply_of(RawResponse(200, "OK", ()), parts)
    assert (chunked.body, chunked.fields) == (b"onetwo", ((b"Transfer-Encoding", b"chunked"),))
    known = await reply_of(RawResponse(200, "OK", (), length=6), parts)
    assert (known.body, known.fields) == (b"onetwo", ((b"Content-Length", b"6"),))
    old = await reply_of(RawResponse(200, "OK", ()), parts, GET.replace(b"HTTP/1.1", b"HTTP/1.0"))
    assert (old.body, old.fields) == (b"onetwo", ((b"Connection", b"close"),))


@pytest.mark.parametrize("status", [204, 304])
async def test_some_replies_have_no_body(status: int) -> None:
    """RFC 9110, section 6.4.1: they have no `Content-Length` either."""
    reply = await reply_of(RawResponse(status, "", (), body=b"oops"))
    assert (reply.fields, reply.body) == ((), b"")


async def test_head_has_a_length_and_no_body() -> None:
    """The response's body is not sent."""
    head = GET.replace(b"GET", b"HEAD")
    assert (await reply_of(RawResponse(200, "OK", (), body=b"four"), request=head)).fields == (
        (b"Content-Length", b"4"),
    )
    assert (await reply_of(RawResponse(200, "OK", ()), (b"x",), head)).fields == ()


async def test_a_reply_before_the_end_of_the_body_ends_the_connection() -> None:
    """It has `Connection: close`; the rest of the body is read and dropped, so that no reset overtakes the reply."""

    async def handler(_: Request) -> RawResponse:
        return RawResponse(307, "Temporary Redirect", (), body=b"")

    async with serving(handler) as server, RawClient.connected(server.port) as client:
        client.send(b"PUT /f HTTP/1.1\r\nHost: nn\r\nContent-Length: 3000000\r\n\r\n")
        reply = await client.reply()
        assert reply.all(b"Connection") == [b"close"]
        client.send(b"x" * 3_000_000)
        assert await client.rest() == b""


async def test_a_reader_that_takes_nothing_is_cut_off() -> None:
    """This happens after `body_timeout_s`, with an error that the handler sees."""
    seen: list[type[BaseException]] = []
    over = asyncio.Event()

    async def handler(request: Request) -> RawResponse:
        response = RawResponse(200, "OK", (), limits=STRICT)
        response.prepare(request)
        try:
            while True:
                await response.write(b"x" * 100_000)
        except ConnectionError as exc:
            seen.append(type(exc))
            over.set()
        return response

    async with serving(handler) as server, RawClient.connected(server.port, receive_buffer=4096) as client:
        client.send(GET)
        await over.wait()
        assert seen == [ConnectionAbortedError]


async def test_a_reader_that_keeps_the_least_rate_gets_all() -> None:
    """Bytes that the client takes earn time, beyond `body_timeout_s`."""
    size = 8_000_000
    response = RawResponse(200, "OK", (), length=size, limits=LENIENT)

    async def handler(request: Request) -> RawResponse:
        response.prepare(request)
        for _ in range(size // 100_000):
            await response.write(b"x" * 100_000)
        return response

    async with (
        serving(handler, limits=LENIENT) as server,
        RawClient.connected(server.port, receive_buffer=4096) as client,
    ):
        client.send(GET)
        await until(
            lambda: response.has_begun
        )  # the time that the next line takes runs out after the reader's
        await asyncio.sleep(2 * LENIENT.body_timeout_s)
        assert len((await client.reply()).body) == size


def test_a_reply_that_is_not_under_way_can_be_cut() -> None:
    """The only effect is that its connection is not kept alive."""
    response = RawResponse(200, "OK", ())
    response.cut()
    assert not response.keep_alive


@pytest.mark.parametrize(
    ("status", "is_last", "end"),
    [
        (200, False, b"Content-Length: 1\r\n\r\nx"),
        (200, True, b"Content-Length: 1\r\nConnection: close\r\n\r\nx"),
        (304, False, b"Expires: now\r\n\r\n"),
    ],
)
def test_a_reply_that_is_known_as_a_whole_is_one_text(status: int, end: bytes, *, is_last: bool) -> None:
    """The text is what a GET of HTTP/1.1 gets on the wire; it has `Connection: close` if the connection ends."""
    response = RawResponse(status, "OK", ((b"Expires", b"now"),), body=b"" if status == 304 else b"x")
    text = response.text(is_last=is_last)
    assert text == b"HTTP/1.1 %d OK\r\n" % status + (b"" if status == 304 else b"Expires: now\r\n") + end
    assert response.keep_alive is not is_last
