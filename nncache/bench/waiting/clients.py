"""Connections that wait, all of one process.

The process that measures has it connect, ask, and return what was answered, over a pipe. It reads on all connections
with one epoll, and notes when an answer was there on the monotonic clock that all processes of a host share.
"""

import gc
import heapq
import select
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Final

from nncache.bench.waiting.questions import Series, is_granted, is_there, is_whole
from nncache.bench.wrk import let_open

_READ_BYTES: Final = 65_536
_LOOK_S: Final = 0.05
_LOOK_SOON_S: Final = 0.002
_AT_A_TURN: Final = 256  # connects between two rests, so that no backlog is full
_REST_S: Final = 0.02
ASKED_PER_S: Final = 1_000
"""Requests that one process sends in a second: a crowd that comes, not a flood."""

PAUSE_S: Final = 1.0
"""Of a client whose wait was not granted, before it asks again."""

_BIND_NO_PORT: Final = 24  # IP_BIND_ADDRESS_NO_PORT, ip(7): the port is chosen by connect


@dataclass(frozen=True, slots=True)
class Ask:
    """An order: every client is to wait for its file of this series."""

    series: Series


@dataclass(frozen=True, slots=True)
class Collect:
    """An order: return what was answered when all have an answer, or at `until` of the monotonic clock."""

    until: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """What the clients of one process were answered.

    Attributes:
        at: by number of the client, in the order in which they connected; None: no answer.
        is_there: by the same, whether it shows the file.
        again: answers that granted no wait and did not show the file, after which the client asked again.
        not_granted: the last of these; b"" of none.
        cpu_s: of this process, since it had asked.
    """

    at: Sequence[float | None]
    is_there: Sequence[bool]
    again: int
    not_granted: bytes
    cpu_s: float


class Clients:
    """Connections `first`, `first + step`, ... of all."""

    def __init__(self, address: str, numbers: range, local: str) -> None:
        """Connect from this local address: ephemeral ports are counted for each."""
        host, _, port = address.rpartition(":")
        self._address = address
        self._numbers = numbers
        self._epoll = select.epoll()
        self._socks: dict[int, socket.socket] = {}
        self._places: dict[int, int] = {}  # by file descriptor
        for place in range(len(numbers)):
            sock = socket.socket()
            sock.setsockopt(socket.IPPROTO_IP, _BIND_NO_PORT, 1)
            sock.bind((local, 0))
            sock.connect((host, int(port)))
            sock.settimeout(0)
            self._epoll.register(sock, select.EPOLLIN)
            self._socks[sock.fileno()] = sock
            self._places[sock.fileno()] = place
            if place % _AT_A_TURN == 0:
                time.sleep(_REST_S)
        self._at: list[float | None] = []
        self._is_there: list[bool] = []
        self._read: dict[int, bytes] = {}
        self._left = 0
        self._requests: list[bytes] = []
        self._due: list[
            tuple[float, int]
        ] = []  # a heap: when, and by which file descriptor, something is asked
        self._again = 0
        self._not_granted = b""
        self._cpu_s = 0.0

    def run(self, orders: Connection) -> None:
        """Carry orders out until the other end closes, then close all connections."""
        try:
            self._run(orders)
        finally:
            self._epoll.close()
            for sock in self._socks.values():
                sock.close()

    def _run(self, orders: Connection) -> None:
        self._epoll.register(orders, select.EPOLLIN)
        collects: Collect | None = None
        while True:
            for descriptor, _ in self._epoll.poll(_LOOK_S if not self._due else _LOOK_SOON_S):
                if descriptor != orders.fileno():
                    self._take(descriptor)
                    continue
                try:
                    order = orders.recv()
                except EOFError:
                    return
                match order:
                    case Ask(series):
                        self._ask(series)
                        orders.send(None)
                    case Collect():
                        collects = order
            while self._due and self._due[0][0] <= time.monotonic():
                self._send(heapq.heappop(self._due)[1])
            if collects is not None and (not self._left or time.monotonic() >= collects.until):
                orders.send(
                    Answered(
                        at=self._at,
                        is_there=self._is_there,
                        again=self._again,
                        not_granted=self._not_granted,
                        cpu_s=time.process_time() - self._cpu_s,
                    )
                )
                collects = None

    def _ask(self, series: Series) -> None:
        self._requests = [series.request(number, self._address) for number in self._numbers]
        self._left = len(self._requests)
        self._at, self._is_there = [None] * self._left, [False] * self._left
        self._again, self._not_granted = 0, b""
        now = time.monotonic()
        self._due = [(now + place / ASKED_PER_S, descriptor) for descriptor, place in self._places.items()]
        heapq.heapify(self._due)
        self._cpu_s = time.process_time()

    def _send(self, descriptor: int) -> None:
        self._read[descriptor] = b""
        self._socks[descriptor].send(self._requests[self._places[descriptor]])

    def _take(self, descriptor: int) -> None:
        try:
            data = self._socks[descriptor].recv(_READ_BYTES)
        except OSError:
            data = b""
        now, place = time.monotonic(), self._places[descriptor]
        if not data:  # no answer, and none of the next series
            self._epoll.unregister(descriptor)
            del self._places[descriptor]
            self._due = [each for each in self._due if each[1] != descriptor]
            heapq.heapify(self._due)
            self._left -= bool(self._requests) and self._at[place] is None
            return
        read = self._read[descriptor] = self._read.get(descriptor, b"") + data
        if not is_whole(read):
            return
        if not (is_granted(read) or is_there(read)):
            self._again += 1
            self._not_granted = read
            heapq.heappush(self._due, (now + PAUSE_S, descriptor))
        elif self._at[place] is None:
            self._at[place], self._is_there[place] = now, is_there(read)
            self._left -= 1


def run(pipe: Connection, address: str, numbers: range, local: str) -> None:
    """Connect, say so, and carry out what is ordered."""
    let_open(len(numbers) + 100)
    clients = Clients(address, numbers, local)
    gc.disable()
    pipe.send(None)
    clients.run(pipe)
