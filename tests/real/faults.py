"""Temporary faults: each lasts for its block and is mended at the end."""

import heapq
import resource
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from enum import Enum
from functools import partial
from itertools import count
from typing import Protocol, TypeVar

from nncache.testbed import Relay
from nncache.testbed.process import ServerProcess


class Timed(Protocol):
    """A fault of a history, with its start in seconds since the history's start, and its duration."""

    @property
    def at_s(self) -> float:
        """The start."""

    @property
    def lasts_s(self) -> float:
        """The duration in seconds."""


FaultT = TypeVar("FaultT", bound=Timed)


def carry_out(
    faults: Sequence[FaultT], seconds: float, trouble: Callable[[FaultT], AbstractContextManager[None]]
) -> None:
    """Start and end each fault at its time; return after this many seconds, or later if faults are late.

    `trouble` returns a context manager during which the fault lasts. All are mended at the end, even after an error.
    """
    began, order = time.monotonic(), count()
    due: list[tuple[float, int, Callable[[], object]]] = []

    def later(at_s: float, act: Callable[[], object]) -> None:
        heapq.heappush(due, (at_s, next(order), act))

    def begin(fault: FaultT) -> None:
        going_on = all_going_on.enter_context(ExitStack())
        going_on.enter_context(trouble(fault))
        later(fault.at_s + fault.lasts_s, going_on.close)

    for fault in faults:
        later(fault.at_s, partial(begin, fault))
    later(seconds, lambda: None)
    with ExitStack() as all_going_on:
        while due:
            at_s, _, act = heapq.heappop(due)
            time.sleep(max(0.0, began + at_s - time.monotonic()))
            act()


class Break(Enum):
    """The ways to break a connection."""

    CUT = "cut"
    SILENT = "silent"
    HELD = "held"


_BREAKS: dict[Break, Callable[[Relay], None]] = {
    Break.CUT: Relay.cut,
    Break.SILENT: Relay.black_hole,
    Break.HELD: Relay.hold,
}


@contextmanager
def broken(relays: Sequence[Relay], way: Break) -> Iterator[None]:
    """Break these connections during the block."""
    for relay in relays:
        _BREAKS[way](relay)
    try:
        yield
    finally:
        for relay in relays:
            relay.restore()


@contextmanager
def slowed(relay: Relay, seconds: float) -> Iterator[None]:
    """Delay each byte by this many seconds in both directions, during the block."""
    relay.delay(seconds)
    try:
        yield
    finally:
        relay.restore()


@contextmanager
def paused(process: ServerProcess) -> Iterator[None]:
    """Pause a process with SIGSTOP during the block."""
    process.pause()
    try:
        yield
    finally:
        process.resume()


@contextmanager
def killed(process: ServerProcess) -> Iterator[None]:
    """Kill a process; launch it again after the block, without waiting for it."""
    process.kill()
    try:
        yield
    finally:
        process.launch()


@contextmanager
def handed_over(process: ServerProcess) -> Iterator[None]:
    """Terminate a process; launch it again after the block."""
    process.terminate()
    try:
        yield
    finally:
        process.stop()
        process.launch()


@contextmanager
def limited(process: ServerProcess, which: int, soft: int) -> Iterator[None]:
    """Lower a resource limit of a running process during the block (setrlimit(2))."""
    before = resource.prlimit(process.running_pid, which)
    resource.prlimit(process.running_pid, which, (soft, before[1]))
    try:
        yield
    finally:
        if process.pid is not None:
            resource.prlimit(process.pid, which, before)
