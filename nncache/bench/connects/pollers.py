"""Kept connections that poll while others connect, from a process of their own.

Each asks every PERIOD_S, whatever became of the others. What a poll took counts from when it was due, so that a
stalled server is not asked less often for it; how late this process itself was is reported as well.
"""

import gc
import select
import socket
import time
from array import array
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Final

from nncache.bench.connects.heads import heads_for, is_good, is_hit, is_whole

POLLERS: Final = 64
PERIOD_S: Final = 0.05
_TIMES_ASKED: Final = 3  # before: a miss, a hit that is remembered, a hit by the quick way
_TIMEOUT_S: Final = 20.0
_READ_BYTES: Final = 4096


@dataclass(frozen=True, slots=True)
class Polled:
    """What the polls saw; moments on the monotonic clock that all processes share.

    Attributes:
        due: when each answered poll was due.
        took_s: how long after that its answer was there.
        late_s: of that, how late it was sent because this process was late.
        failed: polls with another answer than a status, and those that never had one.
        forwarded: answers that did not come from memory.
        cpu_s: of this process.
    """

    due: Sequence[float] = field(default_factory=lambda: array("d"))
    took_s: Sequence[float] = field(default_factory=lambda: array("d"))
    late_s: Sequence[float] = field(default_factory=lambda: array("d"))
    failed: int = 0
    forwarded: int = 0
    cpu_s: float = 0.0


class _Poller:
    """One connection."""

    def __init__(self, sock: socket.socket, number: int, due: float) -> None:
        self.sock = sock
        self.number = number  # of its next path
        self.due = due  # its next poll, or the one that it waits for
        self.late_s = 0.0
        self.free_at = due  # when it could have sent the poll that is due
        self.is_waiting = False
        self.read = b""


class Pollers:
    """All connections to one address."""

    def __init__(self, address: str, count: int = POLLERS) -> None:
        """Connect, and ask for each path until it is answered the quick way."""
        host, _, port = address.rpartition(":")
        self._heads = heads_for(address)
        with ExitStack() as undo:
            sockets = [
                undo.enter_context(socket.create_connection((host, int(port)), timeout=_TIMEOUT_S))
                for _ in range(count)
            ]
            for head in self._heads:
                for _ in range(_TIMES_ASKED):
                    _ask(sockets[0], head)
            undo.pop_all()
        now = time.monotonic()
        self._pollers: dict[int, _Poller] = {}
        self._epoll = select.epoll()
        for number, sock in enumerate(sockets):
            sock.settimeout(0)
            self._pollers[sock.fileno()] = _Poller(sock, number, now + PERIOD_S * number / count)
            self._epoll.register(sock, select.EPOLLIN)
        self._due = array("d")
        self._took_s = array("d")
        self._late_s = array("d")
        self._failed = 0
        self._forwarded = 0

    def run(self, end: Connection) -> Polled:
        """Poll until something can be read there, then until all polls have their answers."""
        cpu_s = time.process_time()
        self._epoll.register(end, select.EPOLLIN)
        until = float("inf")
        while time.monotonic() < until and self._is_at_work(until):
            free = [poller.due for poller in self._pollers.values() if not poller.is_waiting]
            wait_s = min(free, default=0.1 + time.monotonic()) - time.monotonic()
            for descriptor, _ in self._epoll.poll(max(0.0, min(wait_s, 0.1))):
                if descriptor == end.fileno():
                    self._epoll.unregister(end)
                    until = time.monotonic() + _TIMEOUT_S
                else:
                    self._read(self._pollers[descriptor])
            if until == float("inf"):
                self._send_what_is_due()
        self._failed += sum(poller.is_waiting for poller in self._pollers.values())
        for poller in self._pollers.values():
            poller.sock.close()
        self._epoll.close()
        cpu_s = time.process_time() - cpu_s
        return Polled(self._due, self._took_s, self._late_s, self._failed, self._forwarded, cpu_s)

    def _is_at_work(self, until: float) -> bool:
        return until == float("inf") or any(poller.is_waiting for poller in self._pollers.values())

    def _send_what_is_due(self) -> None:
        for poller in self._pollers.values():
            now = time.monotonic()
            if not poller.is_waiting and poller.due <= now:
                poller.late_s = now - max(poller.due, poller.free_at)
                poller.is_waiting = True
                poller.sock.send(self._heads[poller.number % len(self._heads)])

    def _read(self, poller: _Poller) -> None:
        try:
            data = poller.sock.recv(_READ_BYTES)
        except OSError:
            data = b""
        poller.read += data
        if data and not is_whole(poller.read):
            return
        now = time.monotonic()
        if not is_good(poller.read):
            self._failed += 1
        elif not is_hit(poller.read):
            self._forwarded += 1
        self._due.append(poller.due)
        self._took_s.append(now - poller.due)
        self._late_s.append(poller.late_s)
        poller.number += 1
        poller.due += PERIOD_S
        poller.free_at = now
        poller.read, poller.is_waiting = b"", False
        if not data:  # it is gone, and each poll that it would have made with it
            self._epoll.unregister(poller.sock)
            poller.sock.close()
            self._pollers = {at: each for at, each in self._pollers.items() if each is not poller}


def _ask(sock: socket.socket, head: bytes) -> None:
    sock.sendall(head)
    reply = b""
    while not is_whole(reply):
        data = sock.recv(_READ_BYTES)
        if not data:
            raise ConnectionError(f"no status but {reply!r}")
        reply += data


def run(pipe: Connection, address: str, count: int = POLLERS) -> None:
    """Say when polling begins, poll until the parent says stop, and send back a `Polled`."""
    pollers = Pollers(address, count)
    gc.disable()
    pipe.send(None)
    pipe.send(pollers.run(pipe))
