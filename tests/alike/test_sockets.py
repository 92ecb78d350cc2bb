"""Conversations in memory equal those over real sockets, on the event loop that the proxy uses."""

import asyncio
from dataclasses import dataclass

import pytest
import uvloop

from tests.alike.comparing import bring
from tests.alike.drawing import draw
from tests.alike.line import End
from tests.alike.side import Side
from tests.alike.steps import Connect, Conversation, Event, HalfClose, Send
from tests.invalidation.virtual_time import VirtualLoop
from tests.patience import HANG_S

NOW = 1000.0  # fixes both clocks, so that dates and ages are equal
CONVERSATIONS = 25
STEPS = 60
ANSWERED_S = 0.16  # in which a step is answered, body included; part of a head does not time out yet


@dataclass(frozen=True)
class Heard:
    """The client's input after one step, and whether the connection has ended."""

    data: bytes
    has_ended: bool


def sample(number: int) -> Conversation:
    """Return the steps of a conversation that one client makes on its own."""
    return tuple(
        step
        for step in draw(f"sockets/{number}")
        if isinstance(step, Event) or (isinstance(step, Send | Connect | HalfClose) and step.line == 0)
    )[:STEPS]


async def in_memory(conversation: Conversation) -> tuple[list[Heard], int]:
    """Hold it in memory; return the input of each step, and the number of fast path hits."""
    heard = list[Heard]()
    async with Side(is_quick=True, fixed_time=NOW) as side:
        line = side.connect(65_536)
        for step in conversation:
            if isinstance(step, Connect) or line.end is not End.OPEN:
                line.lose()
                line = side.connect(65_536)
            match step:
                case Send():
                    line.send(step.data)
                case HalfClose():
                    line.half_close()
                case Event():
                    bring(step, side)
                case _:
                    pass
            side.cover()
            await asyncio.sleep(ANSWERED_S)
            is_cut = line.end is End.CUT  # a reset discards unread data
            heard.append(Heard(b"" if is_cut else line.take(), line.end is not End.OPEN))
        line.lose()
        await asyncio.sleep(1)
        return heard, side.fast_path.stats().hits


async def over_sockets(conversation: Conversation, expected: list[Heard]) -> tuple[list[Heard], int]:
    """Hold it over TCP; wait for at least the expected input of each step."""
    heard = list[Heard]()
    async with Side(is_quick=True, fixed_time=NOW) as side:
        await side.server.start("127.0.0.1", 0)
        reader, writer = await asyncio.open_connection("127.0.0.1", side.server.port)
        has_ended = False
        for step, expects in zip(conversation, expected, strict=True):
            if isinstance(step, Connect) or has_ended:
                writer.transport.abort()
                reader, writer = await asyncio.open_connection("127.0.0.1", side.server.port)
            match step:
                case Send():
                    writer.write(step.data)
                case HalfClose():
                    writer.write_eof()
                case Event():
                    bring(step, side)
                case _:
                    pass
            side.cover()
            async with asyncio.timeout(HANG_S):
                heard.append(await read(reader, expects))
            has_ended = heard[-1].has_ended
        writer.transport.abort()
        await side.server.stop()
        return heard, side.fast_path.stats().hits


async def read(reader: asyncio.StreamReader, expects: Heard) -> Heard:
    """Read the expected number of bytes, or to the end if that is expected."""
    if expects.has_ended:
        try:
            return await rest(reader)
        except ConnectionError:
            return Heard(b"", has_ended=True)
    if not expects.data:
        # Unexpected late data would show in the next step's input.
        await asyncio.sleep(0.003)
        return Heard(b"", reader.at_eof())
    try:
        return Heard(await reader.readexactly(len(expects.data)), has_ended=False)
    except asyncio.IncompleteReadError as end:
        return Heard(end.partial, has_ended=True)


async def rest(reader: asyncio.StreamReader) -> Heard:
    """Read to the end."""
    return Heard(await reader.read(), has_ended=True)


def test_the_double_is_honest() -> None:
    """Both give the same bytes after each step, and the same number of fast path hits."""
    quick = 0
    for number in range(CONVERSATIONS):
        conversation = sample(number)
        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            expected, quick_in_memory = runner.run(in_memory(conversation))
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            heard, quick_over_sockets = runner.run(over_sockets(conversation, expected))
        for at, (ours, theirs) in enumerate(zip(heard, expected, strict=True)):
            assert ours == theirs, f"conversation {number}, step {at}: {conversation[at]}"
        assert quick_over_sockets == pytest.approx(quick_in_memory, abs=3), number  # segments may be merged
        quick += quick_over_sockets
    assert quick > 100
