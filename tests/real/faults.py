"""What breaks for a while: each fault is there while its block lasts, and mended at its end."""

import resource
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import Enum

from nncache.testbed import Relay
from nncache.testbed.process import ServerProcess


class Break(Enum):
    """How a connection is broken."""

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
    """Break these connections."""
    for relay in relays:
        _BREAKS[way](relay)
    try:
        yield
    finally:
        for relay in relays:
            relay.restore()


@contextmanager
def slowed(relay: Relay, seconds: float) -> Iterator[None]:
    """Deliver each byte so much later, each way."""
    relay.delay(seconds)
    try:
        yield
    finally:
        relay.restore()


@contextmanager
def paused(process: ServerProcess) -> Iterator[None]:
    """Stop a process with SIGSTOP, and let it go on."""
    process.pause()
    try:
        yield
    finally:
        process.resume()


@contextmanager
def killed(process: ServerProcess) -> Iterator[None]:
    """Kill a process, and launch it again; it is not awaited."""
    process.kill()
    try:
        yield
    finally:
        process.launch()


@contextmanager
def handed_over(process: ServerProcess) -> Iterator[None]:
    """Let a process end of its own accord, and launch it again."""
    process.terminate()
    try:
        yield
    finally:
        process.stop()
        process.launch()


@contextmanager
def limited(process: ServerProcess, which: int, soft: int) -> Iterator[None]:
    """Lower a limit of a running process (setrlimit(2))."""
    before = resource.prlimit(process.running_pid, which)
    resource.prlimit(process.running_pid, which, (soft, before[1]))
    try:
        yield
    finally:
        if process.pid is not None:
            resource.prlimit(process.pid, which, before)
