"""Why nothing came back is said in the system's words, each cause in its own."""

import asyncio
import socket

import aiohttp
import pytest

from nncache.net.http_failure import why_unanswered
from tests.patience import HANG_S


async def failure_of(address: str) -> str:
    """Ask an address over HTTP, and return why there is no answer."""
    timeout = aiohttp.ClientTimeout(total=HANG_S)
    async with aiohttp.ClientSession(timeout=timeout) as session:
        try:
            async with session.get(f"http://{address}/"):
                return ""
        except (aiohttp.ClientError, OSError) as exc:
            return why_unanswered(exc)


async def test_no_listener() -> None:
    """With address and errno, and without a word about ssl."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    reported = await failure_of(f"127.0.0.1:{port}")
    assert reported == f"cannot connect to 127.0.0.1:{port}: [Errno 111] Connection refused"


async def test_no_such_host() -> None:
    """The name is said: of a list of addresses it is not clear otherwise."""
    text = await failure_of("no-such-host.invalid:1")
    assert text.startswith("host no-such-host.invalid cannot be resolved: ")


@pytest.mark.parametrize(
    ("says", "text"),
    [(b"SSH-2.0-x\r\n\r\n", "it answers, and not in HTTP"), (b"", "it closed the connection")],
)
async def test_a_server_of_another_protocol(says: bytes, text: str) -> None:
    """It answers otherwise, or hangs up."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        writer.write(says)
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        assert (await failure_of(f"127.0.0.1:{port}")).startswith(text)


@pytest.mark.parametrize(
    ("exc", "text"),
    [
        (TimeoutError(), "no answer in time"),
        (OSError(113, "No route to host"), "[Errno 113] No route to host"),
        (ValueError("odd"), "odd"),
        (ValueError(), "ValueError"),
    ],
)
def test_there_is_always_a_reason(exc: Exception, text: str) -> None:
    """Never an empty one: some exceptions have no text."""
    assert why_unanswered(exc) == text
