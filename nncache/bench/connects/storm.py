"""Many connects at once, each with one request, from a process of its own.

One thread and one epoll: what a connect costs here competes with the server for the machine's cores. The connections
stay open until all have their answers, and then end together.
"""

import gc
import select
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Final

from nncache.bench.connects.heads import as_new, heads_for, is_good, is_hit, is_whole
from nncache.bench.wrk import let_open

TIMEOUT_S: Final = 30.0
"""After which what has no answer has failed."""

_AT_A_TURN: Final = 32  # connects between two looks at the answers
_LOCALS: Final = 8  # addresses from which they come: ephemeral ports are counted for each
_BIND_NO_PORT: Final = 24  # IP_BIND_ADDRESS_NO_PORT, ip(7): the port is chosen by connect
_READ_BYTES: Final = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Stormed:
    """What became of the connects; times in seconds, moments on the monotonic clock that all processes share.

    Attributes:
        begun: when the first connect was made.
        connects_s: until the last one was made.
        answered_s: until the last answer was there.
        failed: connects and requests without an answer, or with another one than a status.
        forwarded: answers that did not come from memory.
        took: by connection, from its connect to its answer.
        cpu_s: of this process.
    """

    begun: float
    connects_s: float
    answered_s: float
    failed: int
    forwarded: int
    took: Sequence[float]
    cpu_s: float


class _Connect:
    """One of them."""

    __slots__ = ("begun", "head", "read", "sock")

    def __init__(self, number: int, head: bytes) -> None:
        self.sock = socket.socket()
        self.sock.settimeout(0)
        self.sock.setsockopt(socket.IPPROTO_IP, _BIND_NO_PORT, 1)
        self.sock.bind((f"127.0.0.{2 + number % _LOCALS}", 0))
        self.head = head
        self.begun = 0.0
        self.read = b""  # of the answer

    def send(self) -> bool:
        """Send the request; false if it is not connected yet."""
        try:
            self.sock.send(self.head)
        except BlockingIOError:
            return False
        except OSError:  # reading will meet it again
            return True
        return True


class Storm:
    """Connects to one address."""

    def __init__(self, address: str, count: int, *, is_cold: bool) -> None:
        """Make the sockets and the requests, so that the storm itself has less to do."""
        host, _, port = address.rpartition(":")
        self._at = host, int(port)
        heads, first = heads_for(address), time.monotonic_ns()
        self._made: dict[int, _Connect] = {}
        for number in range(count):
            head = heads[number % len(heads)]
            made = _Connect(number, as_new(head, first + number) if is_cold else head)
            self._made[made.sock.fileno()] = made
        self._epoll = select.epoll()
        self._waiting = count
        self._took: list[float] = []
        self._failed = 0
        self._forwarded = 0

    def run(self) -> Stormed:
        """Connect, ask, read and close."""
        began = time.monotonic()
        cpu_s = time.process_time()
        for number, each in enumerate(self._made.values()):
            self._connect(each)
            if number % _AT_A_TURN == 0:
                self._look(0)
        connects_s = time.monotonic() - began
        while self._waiting and time.monotonic() < began + TIMEOUT_S:
            self._look(0.1)
        answered_s = time.monotonic() - began
        for each in self._made.values():
            each.sock.close()
        self._epoll.close()
        return Stormed(
            begun=began,
            connects_s=connects_s,
            answered_s=answered_s,
            failed=self._failed + self._waiting,
            forwarded=self._forwarded,
            took=self._took,
            cpu_s=time.process_time() - cpu_s,
        )

    def _connect(self, each: _Connect) -> None:
        each.begun = time.monotonic()
        each.sock.connect_ex(self._at)
        # Over the loopback it is connected by now, unless the server's backlog is full.
        self._epoll.register(each.sock, select.EPOLLIN if each.send() else select.EPOLLOUT)

    def _look(self, timeout_s: float) -> None:
        for descriptor, events in self._epoll.poll(timeout_s):
            each = self._made[descriptor]
            if events & select.EPOLLOUT:
                if each.send():
                    self._epoll.modify(descriptor, select.EPOLLIN)
                continue
            try:
                data = each.sock.recv(_READ_BYTES)
            except OSError:
                data = b""
            each.read += data
            if not data or is_whole(each.read):
                self._end(each)

    def _end(self, each: _Connect) -> None:
        self._epoll.unregister(each.sock)
        self._waiting -= 1
        self._took.append(time.monotonic() - each.begun)
        if not is_good(each.read):
            self._failed += 1
        elif not is_hit(each.read):
            self._forwarded += 1


def run(pipe: Connection, address: str, count: int, *, is_cold: bool = False) -> None:
    """Say that this process is ready, begin when the parent says so, and send back a `Stormed`."""
    let_open(count + 100)
    storm = Storm(address, count, is_cold=is_cold)
    gc.disable()
    pipe.send(None)
    pipe.recv()
    pipe.send(storm.run())
