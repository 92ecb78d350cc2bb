"""An answer that arrived in time counts, however long the proxy's own loop was blocked; a missing one times out."""

import asyncio
import socket
import threading
import time
from collections.abc import Callable

import pytest
import uvloop

from nncache.net.answer_timeout import AnswerTimeout, answer_timeout
from tests.patience import HANG_S

TIMEOUT_S = 1.0
LOOPS = [uvloop.new_event_loop, asyncio.SelectorEventLoop]


def run(make_loop: Callable[[], asyncio.AbstractEventLoop], story: Callable[[], object]) -> None:
    """Run a story on a loop of this kind."""
    with asyncio.Runner(loop_factory=make_loop) as runner:
        runner.run(story())  # type: ignore[arg-type] # a coroutine, whatever it returns


def answer(peer: socket.socket) -> None:
    """Answer each question until the peer closes."""
    with peer:
        while peer.recv(1):
            peer.sendall(b"!")


@pytest.mark.parametrize("questions", [1, 3])
@pytest.mark.parametrize("make_loop", LOOPS)
def test_what_lies_in_the_socket_is_read_before_the_verdict(
    make_loop: Callable[[], asyncio.AbstractEventLoop], questions: int
) -> None:
    """The answer arrives while the loop is blocked beyond the timeout; a question asked after that has time as well."""

    async def story() -> None:
        ours, theirs = socket.socketpair()
        reader, writer = await asyncio.open_connection(sock=ours)
        answering = threading.Thread(target=answer, args=(theirs,))
        answering.start()

        def hold(until: float) -> None:
            while time.monotonic() < until:
                time.sleep(0.01)

        try:
            async with answer_timeout(TIMEOUT_S):
                asyncio.get_running_loop().call_soon(hold, time.monotonic() + 2 * TIMEOUT_S)
                for _ in range(questions):
                    writer.write(b"?")
                    assert await reader.readexactly(1) == b"!"
        finally:
            writer.close()
            await writer.wait_closed()
            answering.join()

    run(make_loop, story)


@pytest.mark.parametrize("make_loop", LOOPS)
@pytest.mark.parametrize("is_held", [False, True])
def test_what_does_not_come_is_given_up(
    make_loop: Callable[[], asyncio.AbstractEventLoop], is_held: bool
) -> None:
    """A blocked loop extends the timeout by the time it was blocked, and at most by the timeout itself."""

    async def story() -> None:
        loop = asyncio.get_running_loop()
        if is_held:
            loop.call_soon(time.sleep, 0.3)
        began = time.monotonic()
        with pytest.raises(TimeoutError):
            async with answer_timeout(0.1):
                await asyncio.sleep(HANG_S)
        assert time.monotonic() - began < HANG_S

    run(make_loop, story)


async def test_a_moment_that_is_over_is_over() -> None:
    """This equals `asyncio.timeout_at`; exceptions and cancellations from the block pass through."""
    now = asyncio.get_running_loop().time()
    with pytest.raises(TimeoutError):
        async with AnswerTimeout(now - 1.0):
            await asyncio.sleep(HANG_S)
    with pytest.raises(KeyError):
        async with answer_timeout(HANG_S):
            raise KeyError
    with pytest.raises(asyncio.CancelledError):
        async with answer_timeout(HANG_S):
            raise asyncio.CancelledError
