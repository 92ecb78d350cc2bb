"""Draw conversations at random."""

from collections.abc import Iterator
from random import Random
from typing import Final

from tests.alike import spelling
from tests.alike.spelling import PATHS, Request
from tests.alike.steps import Connect, Conversation, Event, HalfClose, Lose, Passing, Reading, Send, Step

REQUESTS: Final = 60
"""Average number of requests in a conversation."""

_HIGH_BYTES: Final = (0, 300, 1000, 1000, 65_536, 65_536)
_SHORT_S: Final = (0.001, 0.3, 0.9, 1.1)
_LONG_S: Final = (2.5, 11.0, 21.0, 31.0, 61.0, 141.0)
_ANSWERED_S: Final = 0.0519  # in which the NameNode has answered all requests of one client
_PERIODS_S: Final = (1.1, 5.0, 13.0, 19.0)
_READS: Final = (0.0, 0.08, 0.99)
_LEAVES: Final = 0.02  # share of clients that leave during a call
_TWO_STEPS: Final = 0.01  # share of two-step writes among reads
_NEW: Final = 0.15  # share of reads of a path that is hardly known yet
_ITERATIONS: Final = (0, 0, 1, 2, 3, 5)


def draw(seed: str) -> Conversation:
    """Draw the conversation of a seed."""
    return tuple(_Drawing(Random(seed)).steps())


class _Drawing:
    """One conversation in the making."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._polls = [spelling.poll(rng) for _ in range(rng.choice((1, 1, 2, 3)))]
        self._clients = rng.choice((1, 1, 2, 3))
        self._requests = rng.randrange(2 * REQUESTS)
        self._is_calm = rng.random() < 0.8  # few steps but polls
        self._reads = rng.choice(_READS)  # share of reads among the requests that are no polls
        self._is_steady = (
            self._reads > 0.5 and rng.random() < 0.8
        )  # most requests arrive alone and in one piece
        self._is_slow = rng.random() < 0.1  # many polls take longer than a connection may be idle
        self._pending: dict[int, bytes] = {}  # by client: the rest of a request, not sent yet
        self._patience = rng.choice(
            (0.95,) if self._is_steady else (0.2, 0.8, 1.0)
        )  # share of requests after which a client waits for the reply
        self._is_covered = True

    def steps(self) -> Iterator[Step]:
        rng = self._rng
        for client in range(self._clients):
            yield from self._connecting(client)
        sent = 0
        while sent < self._requests:
            if rng.random() < (0.02 if self._is_steady else 0.05 if self._is_calm else 0.12):
                yield from self._happening()
            client = rng.randrange(self._clients)
            for step in self._sending(client):
                sent += step.requests
                yield step
            if self._is_steady and rng.random() < _LEAVES:
                yield rng.choice((HalfClose(client), Lose(client)))
                continue
            if self._is_slow and rng.random() < 0.3:
                yield Passing(rng.choice(_PERIODS_S), self._is_covered)
            elif rng.random() < self._patience:
                yield Passing(_ANSWERED_S, self._is_covered)
        if rng.random() < 0.1:
            client = rng.randrange(self._clients)
            yield from list(self._deaf(client))[:-1]
            yield rng.choice((Lose(client), Passing(500.0)))

    def _connecting(self, client: int) -> Iterator[Step]:
        """Yield a new connection; its first bytes may not be HTTP, with more bytes before its end is seen."""
        yield Connect(client, self._rng.choice(_HIGH_BYTES))
        if self._rng.random() < 0.1:
            yield Send(client, self._rng.choice(spelling.GARBAGE))
            yield Send(client, self._rng.choice(self._polls).encode(), returns=False)

    def _sending(self, client: int) -> Iterator[Send]:
        rng = self._rng
        count = 1 if rng.random() < (0.98 if self._is_steady else 0.93) else rng.randrange(2, 5)
        requests = [self._request() for _ in range(count)]
        data = self._pending.pop(client, b"") + b"".join(requests)
        if rng.random() < (0.99 if self._is_steady else 0.97 if self._is_calm else 0.9):
            cuts: list[int] = []
        elif rng.random() < 0.1 and len(data) < 300:
            cuts = list(range(1, len(data)))
        else:
            cuts = sorted(rng.randrange(1, max(2, len(data))) for _ in range(rng.choice((1, 1, 2, 3))))
        pieces = [data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]
        if len(pieces) > 1 and rng.random() < 0.3:
            self._pending[client] = pieces.pop()
        for number, piece in enumerate(piece for piece in pieces if piece):
            iterations = rng.choice(_ITERATIONS) if rng.random() < 0.3 else None
            yield Send(client, piece, count if number == 0 else 0, iterations, returns=rng.random() < 0.7)

    def _request(self) -> bytes:
        rng = self._rng
        chance, poll = rng.random(), rng.choice(self._polls)
        if self._is_steady and rng.random() < _TWO_STEPS:
            return spelling.two_step(rng).encode()
        if rng.random() < self._reads:
            if rng.random() < _NEW:
                return spelling.status(rng, poll).encode()
            return spelling.read(rng, poll, opens=0.01 if self._is_steady else 0.5).encode()
        if self._is_calm:
            chance *= 0.87
        if chance < 0.62:
            return poll.encode()
        if chance < 0.78:
            poll = spelling.in_another_case(rng, poll) if rng.random() < 0.04 else poll
            return spelling.traced(rng, poll).encode()
        if chance < 0.87:
            return self._other_field(poll).encode()
        if chance < 0.92:
            other = spelling.with_another_target(rng, poll)
            return (spelling.traced(rng, other) if rng.random() < 0.4 else other).encode()
        if chance < 0.96:
            return spelling.write(rng).encode()
        return spelling.framed_otherwise(rng, poll)

    def _other_field(self, poll: Request) -> Request:
        rng = self._rng
        other = spelling.with_another_field(rng, poll)
        return spelling.traced(rng, other) if rng.random() < 0.2 else other

    def _happening(self) -> Iterator[Step]:
        rng = self._rng
        client = rng.randrange(self._clients)
        match rng.randrange(17):
            case 0 | 1 | 2 | 3:
                yield Event(
                    rng.choice(("touched", "touched", "vanished", "access", "everything", "stream")),
                    rng.choice(PATHS[:4]).decode(),
                )
            case 4:
                yield Event("locked", rng.choice(("alice", "joe")))
            case 5:
                yield Event("filters", rng.choice("0012"))
            case 6 | 7:
                if rng.random() < 0.5:  # it half-closes after its last request
                    yield from self._sending(client)
                yield HalfClose(client)
            case 8:
                yield Lose(client)
            case 9 | 10 | 11 | 12:
                yield from self._deaf(client)
            case 13:
                yield from self._connecting(client)
            case _:
                self._is_covered = rng.random() < 0.85
                yield Passing(rng.choice(_SHORT_S if rng.random() < 0.6 else _LONG_S), self._is_covered)

    def _deaf(self, client: int) -> Iterator[Step]:
        """Yield the steps of a client that sends for a while without reading."""
        yield Reading(client, reads=False)
        repeats, poll = self._rng.random() < 0.5, self._rng.choice(self._polls).encode()
        for _ in range(self._rng.randrange(1, 9)):
            if repeats:
                yield Send(client, poll)
            else:
                yield from self._sending(client)
        yield Reading(client, reads=True)
