"""Hold one conversation with both sides, step by step."""

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Final, assert_never

import pytest

from nncache.cache.decisions import Conclusion
from nncache.hadoop.change import AccessChanged, EverythingUnknown, Touched, Vanished
from nncache.proxy.clients.connection import ClientConnection
from nncache.proxy.decide.direct_calls import ForwardedRead
from nncache.proxy.upstream import pool
from tests.alike.line import End, Line
from tests.alike.namenode import Asked
from tests.alike.replies import PATIENCE_S
from tests.alike.side import GLOBS, Side
from tests.alike.steps import Connect, Conversation, Event, HalfClose, Lose, Passing, Reading, Send, Step
from tests.invalidation.virtual_time import VirtualLoop
from tests.proxy.doubles import NAMENODE, OTHER_NAMENODE, TERM

_MOMENT_S: Final = 1e-6  # the virtual clock advances only when no task is ready
_INSTANT_S: Final = 1e-9
_LONG_S: Final = 500.0  # longer than any wait
_ANSWERED_S: Final = 1.6  # longer than the NameNode takes for all requests of one client

_WAIT_S: Final = 0.0107  # in which one request is answered
_MOST_WAITS: Final = 80
_LATE: Final = 2  # the reply that the ordinary path gives before it waits as well, and a refusal
_AGE: Final = re.compile(rb"\r\nAge: \d+")


@dataclass(frozen=True, slots=True)
class Comparison:
    """The outcome of one conversation.

    Attributes:
        counts: `requests` sent to a server that listened; of these `quick` from the fast path, `plain` from direct
            calls, `fills` among those with a cacheable reply; `handed_over` from direct to ordinary calls.
        difference: the first difference, and its step; "" if there is none.
        steps: number of steps before the difference.
    """

    counts: Counter[str]
    difference: str
    steps: int


class _Client:
    """One client, with its connection to each side."""

    def __init__(self, sides: Sequence[Side], high_bytes: int) -> None:
        self.high_bytes = high_bytes
        self.lines = tuple(side.connect(high_bytes) for side in sides)

    def has_ended(self, *, is_seen: bool) -> bool:
        """Whether the connection is closed; with `is_seen`, also if only the client has seen its end."""
        quick, ordinary = self.lines
        return (quick.is_closed and ordinary.is_closed) or (is_seen and ordinary.end is not End.OPEN)


class _Talk:
    """A conversation in progress."""

    def __init__(self, quick: Side, ordinary: Side) -> None:
        self._sides = (quick, ordinary)
        self._clients: dict[int, _Client] = {}
        self._is_covered = True
        self._is_deaf = False  # a client does not read
        self._was_deaf = False  # since start: then the requests to the NameNode may differ
        self._confirmed = 0  # replies that confirmed an entry
        self._last = -1  # the client that sent something last
        self._unsettled: int | None = None  # the client whose last step is unfinished
        self._left = Counter[bytes]()  # request lines of direct calls whose client left
        self.requests = 0

    async def hold(self, step: Step) -> str:
        """Run the step on both sides; return the difference after it."""
        goes_on = isinstance(step, Send) and step.line == self._unsettled
        if self._unsettled is not None and not goes_on and (difference := await self.settle()):
            return difference
        match step:
            case Send():
                return await self._send(step, goes_on=goes_on)
            case Reading(line, reads):
                return await self._read_on(line, reads=reads)
            case Passing(seconds, is_covered):
                self._is_covered = is_covered
                await asyncio.sleep(seconds)
            case Connect(line, high_bytes):
                self._connect(line, high_bytes)
            case HalfClose(line):
                self._each(line, Line.half_close)
            case Lose(line):
                self._lose(self._client(line))
            case Event():
                for side in self._sides:
                    bring(step, side)
            case _:
                assert_never(step)
        return await self.settle()

    async def _answered(self, line: int) -> None:
        """Let earlier clients be answered before another client starts, if that takes only a moment.

        Two clients that one reply wakes continue in an order that neither way of serving guarantees.
        """
        if line == self._last:
            return
        self._last = line
        for _ in range(_MOST_WAITS):
            if not any(side.server.stats().requests_in_progress for side in self._sides):
                return
            await asyncio.sleep(_WAIT_S)

    async def _send(self, step: Send, *, goes_on: bool) -> str:
        await self._answered(step.line)
        client = self._client(step.line)
        if not (goes_on or self._is_deaf) and client.has_ended(is_seen=step.returns):
            client = self._connect(step.line, client.high_bytes)
        self.requests += step.requests
        for line in client.lines:
            line.send(step.data)
        if step.iterations is None:
            return await self.settle()
        self._unsettled = step.line
        for _ in range(step.iterations):
            await asyncio.sleep(0)
        return ""

    def _each(self, number: int, act: Callable[[Line], None]) -> None:
        for line in self._client(number).lines:
            act(line)

    async def _read_on(self, number: int, *, reads: bool) -> str:
        """Make a client stop reading at the start of a second, or read again and get all its replies.

        The quick ways answer one more request before they wait for the client. Calls to the NameNode in between are
        not compared, and the entries that they created are flushed.
        """
        if not reads:
            await self._answered(number)
            self._is_covered = True  # no request waits for events
            await self._next_second()
            if difference := await self.settle():
                return difference
        lines = self._client(number).lines
        for line in lines:
            line.read_on(reads)
        self._is_deaf = not reads
        self._was_deaf |= self._is_deaf
        if not reads:
            return ""
        await asyncio.sleep(_ANSWERED_S)
        self._left.clear()
        for side in self._sides:
            side.take_asked()
            side.apply(EverythingUnknown("two ways to learn it"))
        return await self.settle()

    async def settle(self) -> str:
        """Let both sides finish all ready work; return the difference."""
        self._unsettled = None
        if self._is_covered:
            for side in self._sides:
                side.cover()
        await asyncio.sleep(_MOMENT_S)
        if self._is_deaf:
            return self._difference()
        confirmed = self._sides[1].cache.store.counters.conclusions[Conclusion.CONFIRMED]
        is_confirmed, self._confirmed = confirmed > self._confirmed, confirmed
        difference = self._difference(with_ages=not is_confirmed)
        if is_confirmed:
            await self._next_second()
        return difference

    async def _next_second(self) -> None:
        await asyncio.sleep(1.01 - self._sides[0].fraction_s())

    async def end(self) -> str:
        """Let all requests end, then all clients leave; return the difference."""
        await asyncio.sleep(_ANSWERED_S)
        for client in self._clients.values():
            if difference := await self.settle():
                return difference
            self._lose(client)
        await asyncio.sleep(_LONG_S)
        for side in self._sides:
            side.fast_path.check()
            if side.server.stats().connections_open or side.server.stats().bugs:
                return f"{side.server.stats()}"
            if side.upstream.stats().connections_in_use or side.front_end.call_limits.under_way:
                return f"calls are left: {side.upstream.stats()}"
            if side.namenode.failures:
                return f"the script failed: {side.namenode.failures}"
        ours, theirs = (side.figures() for side in self._sides)
        if ours != theirs and not self._was_deaf:
            return f"the figures are {ours} instead of {theirs}"
        return self._difference()

    def _client(self, number: int) -> _Client:
        return self._clients.get(number) or self._connect(number, 65_536)

    def _lose(self, client: _Client) -> None:
        protocol = client.lines[0].get_protocol()
        call = protocol._call if isinstance(protocol, ClientConnection) else None  # noqa: SLF001 - shows nowhere else
        if isinstance(call, ForwardedRead):
            self._left[f"{call.request.method} {call.request.target}".encode()] += 1
        for line in client.lines:
            line.lose()

    def _connect(self, number: int, high_bytes: int) -> _Client:
        if (old := self._clients.get(number)) is not None:
            self._lose(old)
        client = self._clients[number] = _Client(self._sides, high_bytes)
        return client

    def _difference(self, *, with_ages: bool = True) -> str:
        """Return the difference between the sides, "" if there is none.

        The fast path keeps a text for the rest of its second, so an entry that was just confirmed may be served with
        its earlier age.
        """
        if self._is_deaf:
            late = max(client.lines[0].late for client in self._clients.values())
            return f"{late} answers to a client that does not read" if late > _LATE else ""
        for number, client in self._clients.items():
            quick, ordinary = client.lines
            ours, theirs = quick.take(), ordinary.take()
            if not with_ages:
                ours, theirs = _AGE.sub(b"", ours), _AGE.sub(b"", theirs)
            if ours != theirs:
                return f"client {number} reads\n  {ours!r}\ninstead of\n  {theirs!r}"
            if quick.end is not ordinary.end:
                return f"the connection of client {number} is {quick.end} instead of {ordinary.end}"
        ours_asked, theirs_asked = (side.take_asked() for side in self._sides)
        theirs_asked = without_repeats(theirs_asked, self._left)
        for at, (asked, instead_of) in enumerate(zip_longest(ours_asked, theirs_asked)):
            if asked != instead_of:
                return f"the NameNode is asked, as number {at},\n  {asked}\ninstead of\n  {instead_of}"
        return ""


def without_repeats(asked: Iterable[Asked], left: Counter[bytes]) -> list[Asked]:
    """Remove repeated calls to the other NameNode for clients that had left.

    The ordinary path continues a read whose client leaves; a direct call ends then, and is not repeated.

    Args:
        asked: the calls of the ordinary path.
        left: request lines of direct calls whose client has left; each removed call is subtracted.
    """
    kept = list[Asked]()
    for question in asked:
        is_repeated = bool(kept) and kept[-1][:2] == ("suspect", NAMENODE.http)
        line = _request_line(question[1]) if question[0] == OTHER_NAMENODE.http else b""
        if is_repeated and left[line] > 0:
            left[line] -= 1
            kept.pop()
        else:
            kept.append(question)
    return kept


def _request_line(head: bytes) -> bytes:
    """Return the request line without its version: HTTP/1.0 requests are forwarded as HTTP/1.1."""
    return head.partition(b"\r\n")[0].rpartition(b" ")[0]


def bring(event: Event, side: Side) -> None:
    """Apply a change to the NameNode's state and to the proxy."""
    match event.kind:
        case "touched":
            side.namenode.change(event.path)
            side.apply(Touched(event.path))
        case "vanished":
            side.namenode.change(event.path, is_gone=True)
            side.apply(Vanished(event.path))
        case "access":
            side.apply(AccessChanged(event.path))
        case "everything":
            side.apply(EverythingUnknown("so it is"))
        case "locked":
            side.namenode.locked_out ^= {event.path}
            side.apply(AccessChanged("/w"))
        case "filters":
            side.cache.set_filters({glob: glob for glob in GLOBS[int(event.path)]})
        case _:
            side.cache.close_stream("a gap")
            side.cache.open_stream(TERM)


async def _hold(conversation: Conversation) -> Comparison:
    async with Side(is_quick=True) as quick, Side(is_quick=False) as ordinary:
        talk, held, difference = _Talk(quick, ordinary), 0, ""
        for step in conversation:
            difference = await talk.hold(step)
            held += 1
            if difference:
                break
        at_the_end = await talk.end()
        plain = quick.upstream.plain_answered
        counts = Counter(
            requests=talk.requests,
            quick=quick.fast_path.stats().hits,
            plain=plain,
            fills=quick.upstream.fills_answered,
            handed_over=quick.upstream.plain_begun - plain,
        )
        return Comparison(counts, difference or at_the_end, held)


class _Loop(VirtualLoop):
    """Advances the clock a little at each reading, as in reality: a wait may have no time left."""

    def time(self) -> float:
        """Return the time of the conversation in seconds."""
        self._skipping.skipped_s += _INSTANT_S
        return super().time()


def hold(conversation: Conversation) -> Comparison:
    """Hold a conversation with a new server of each kind."""
    with pytest.MonkeyPatch.context() as patch, asyncio.Runner(loop_factory=_Loop) as runner:
        patch.setattr(pool, "REPLY_PATIENCE_S", PATIENCE_S)  # hands a late reply to the ordinary path sooner
        return runner.run(_hold(conversation))
