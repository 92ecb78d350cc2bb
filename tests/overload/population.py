"""Well-behaved clients in a process of their own: open loop, each from its own address.

Their requests are cheap and limited: about 300 a second in total.
"""

import asyncio
import itertools
import math
import os
import random
import time
from collections.abc import Coroutine, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any, Final

import uvloop

from tests.http_client import HttpClient, Reply, webhdfs
from tests.overload import places
from tests.overload.samples import Kind, Sample, SampleResult
from tests.real.beside import child, received

BOUND_S = 3.0
"""The guarantee Bounded: the default of `max_staleness_s`."""

PATIENCE_S: Final = 10.0
"""Seconds after which a client without a reply gives up."""

FLIP_EVERY_S: Final = 4.0
"""More than the bound, so that an outdated answer can be detected after either change."""

_POLL_EVERY_S: Final = 0.05
_SELDOM_S: Final = 0.2
_TAKE_TIMEOUT_S: Final = 30.0


@dataclass(slots=True)
class Flip:
    """One change of the path. Times are `time.monotonic()`; it took effect between the two."""

    is_there: bool  # after this change
    sent: float
    acknowledged: float = math.inf


def explains(flips: list[Flip], saw_it: bool, sent: float, ended: float, bound_s: float = BOUND_S) -> bool:
    """Whether an answer was true at some moment from `bound_s` before its request until its arrival.

    `flips` alternate. The state before the first is unknown: no answer from that time counts as wrong.
    """
    if not flips or sent - bound_s <= flips[0].acknowledged:
        return True
    following = [*flips[1:], None]
    for flip, after in zip(flips, following, strict=True):
        true_until = math.inf if after is None else after.acknowledged
        if flip.is_there == saw_it and flip.sent <= ended and true_until >= sent - bound_s:
            return True
    return False


@dataclass(frozen=True, slots=True)
class Question:
    """A request with its correct status; None: the path is created and deleted in turn."""

    request: bytes
    status: int | None


def polled(user: str, below: str = "/") -> list[Question]:
    """Return one poller's requests for paths below a directory."""
    answers = [(path, 404) for path in places.ABSENT] + [(path, 200) for path in places.PRESENT]
    return [
        Question(webhdfs("GET", path, "GETFILESTATUS", user), status)
        for path, status in answers
        if path.startswith(below)
    ]


def forwarded(user: str) -> list[Question]:
    """Return requests that only the NameNode can answer."""
    return [Question(webhdfs("GET", places.OUTSIDE, op, user), 200) for op in ("GETFILESTATUS", "LISTSTATUS")]


def outcome_of(answer: Reply, right: int) -> SampleResult:
    """Judge a reply by the correct status."""
    if answer.status == right:
        return SampleResult.HIT if answer.is_hit else SampleResult.ANSWERED
    if answer.status in {200, 404}:
        return SampleResult.WRONG
    if answer.status in {429, 503} and "retry-after" in answer.fields:
        return SampleResult.REFUSED
    return SampleResult.FAILED


@dataclass(slots=True)
class _Crowd:
    """All clients of one process, and their samples since the parent last fetched them."""

    proxy: str
    namenode: str
    superuser: str
    samples: list[Sample] = field(default_factory=list)
    flips: list[Flip] = field(default_factory=list)

    async def live(self, parent: Connection) -> None:
        """Send requests, and send the parent the samples on request, until the parent ends."""
        ending = asyncio.Event()

        def hear() -> None:
            try:
                parent.recv()
            except EOFError:
                ending.set()  # the parent has ended
                return
            parent.send(self.samples)
            self.samples = []

        asyncio.get_running_loop().add_reader(parent.fileno(), hear)
        os.set_blocking(
            parent.fileno(), True
        )  # uvloop has made it non-blocking, which does not suit large messages
        async with asyncio.TaskGroup() as tasks:
            clients = [tasks.create_task(work) for work in self._work()]
            await ending.wait()
            for client in clients:
                client.cancel()

    def _work(self) -> Iterator[Coroutine[Any, Any, None]]:
        for number, source in enumerate(places.POLLERS):
            questions = polled(f"poller{number}")
            start = number * len(questions) // len(places.POLLERS)
            rotated = questions[start:] + questions[:start]
            yield self._ask(Kind.POLLER, source, rotated, _POLL_EVERY_S)
        for number, source in enumerate(places.FORWARDERS):
            yield self._ask(Kind.FORWARDED, source, forwarded(f"reader{number}"), _SELDOM_S)
        fresh = polled("newcomer", places.POLLED_DIRECTORY)  # one directory: one right to be proven
        for source in places.NEWCOMERS:
            yield self._ask(Kind.NEWCOMER, source, fresh, _SELDOM_S)
        witness = [Question(webhdfs("GET", places.FLIPPED, "GETFILESTATUS", "poller0"), None)]
        for source in places.WITNESSES:
            yield self._ask(Kind.WITNESS, source, witness, _SELDOM_S)
        yield self._flip()

    async def _ask(self, kind: Kind, source: str, questions: Iterable[Question], every_s: float) -> None:
        client = HttpClient(self.proxy, source)
        due = time.monotonic() + every_s * random.random()
        for question in itertools.cycle(questions):
            await asyncio.sleep(due - time.monotonic())
            sent = time.monotonic()
            try:
                async with asyncio.timeout(PATIENCE_S):
                    answer = await client.exchange(question.request)
            except (OSError, EOFError, ValueError, TimeoutError):
                outcome = SampleResult.SILENT
            else:
                outcome = self._judge(answer, question.status, sent)
            if kind is Kind.NEWCOMER:
                client.hang_up()
            ended = time.monotonic()
            self.samples.append(Sample(kind, due, ended, outcome))
            due += every_s
            while due <= ended:
                self.samples.append(Sample(kind, due, ended, SampleResult.DELAYED))
                due += every_s

    def _judge(self, answer: Reply, right: int | None, sent: float) -> SampleResult:
        if right is not None:
            return outcome_of(answer, right)
        outcome = outcome_of(answer, 200 if answer.status == 200 else 404)
        if answer.status in {200, 404} and not explains(
            self.flips, answer.status == 200, sent, time.monotonic()
        ):
            return SampleResult.WRONG
        return outcome

    async def _flip(self) -> None:
        """Create and delete the path behind the proxy's back, for ever."""
        client = HttpClient(self.namenode, "127.0.0.1")
        for is_there in itertools.cycle((False, True)):
            change = ("PUT", "MKDIRS") if is_there else ("DELETE", "DELETE")
            flip = Flip(is_there, time.monotonic())
            self.flips.append(flip)
            answer = await client.exchange(webhdfs(change[0], places.FLIPPED, change[1], self.superuser))
            assert answer.status == 200, answer
            flip.acknowledged = time.monotonic()
            await asyncio.sleep(FLIP_EVERY_S)


def _live(crowd: _Crowd, parent: Connection) -> None:
    uvloop.run(crowd.live(parent))


@dataclass(slots=True)
class Population:
    """The process of the well-behaved clients, and their samples so far."""

    _pipe: Connection
    samples: list[Sample] = field(default_factory=list)

    def take(self) -> list[Sample]:
        """Return all samples so far.

        Raises:
            AssertionError: the process does not answer.
        """
        self._pipe.send(None)
        self.samples += received(self._pipe, _TAKE_TIMEOUT_S, "the clients' process does not answer")
        return self.samples


@contextmanager
def population(proxy: str, namenode: str, superuser: str) -> Iterator[Population]:
    """Run the clients until the block ends."""
    with child(_live, _Crowd(proxy, namenode, superuser)) as pipe:
        yield Population(pipe)
