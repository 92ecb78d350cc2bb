"""Load on one server of one size, and what a hit costs it.

All connections are open before the first request. The server's own count of what it has answered is read twice while
the load goes on, together with its CPU time: what it costs to begin connections is not in it.
"""

import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from nncache.bench.growth.asked import Asked, filling, script
from nncache.bench.growth.figures import Growth, Round, Way
from nncache.bench.request_cost.load import Target
from nncache.bench.servers.counters import NameNodeAt, sample
from nncache.bench.servers.progress import Progress
from nncache.bench.wrk import Load, ask_times, held, loading
from nncache.testbed.errors import StartError

SETTLE_S: Final = 0.5
"""Of load on all connections before anything is counted."""
AT_ONCE: Final = 2_000
"""Connections that are begun at a time, fewer than the kernel holds for a listener: it drops what is more, and the
clients try again only after seconds."""
WARM_UP: Final = 4
"""How often each request is made before: it is fetched, answered from memory, and by then known."""
MIN_PER_S: Final = 100
"""Requests that any machine answers; fewer, and the measurement ends."""
_CONNECTED_S: Final = 60.0
_FILLED_S: Final = 60.0
HELD_S: Final = 300
"""After which the load begins in any case: it is to end when nothing is left that measures."""
_LOOK_S: Final = 0.1
FILLERS: Final = 64
"""Connections that fill a cache."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A server at one size, with what is asked of it.

    Attributes:
        progress: looks at its own count.
    """

    growth: Growth
    size: int
    target: Target
    progress: Callable[[], Progress]
    namenode: NameNodeAt
    asked: Asked
    connections: int


def warm_up(subject: Subject) -> None:
    """Make each request until it is known."""
    ask(subject.target.address, script(subject.asked, Way.KNOWN), WARM_UP * subject.asked.paths)


def fill(subject: Subject) -> None:
    """Have it keep as many replies as its size says, and wait until those who asked have gone.

    What it did not keep is asked for again: on a machine that stands still its gate is closed for a moment.

    Raises:
        StartError: it keeps fewer.
    """
    until = time.monotonic() + _FILLED_S
    while True:
        ask(subject.target.address, filling(subject.size), subject.size)
        now = subject.progress()
        while now.connections and time.monotonic() < until:  # the last may still be under way
            time.sleep(_LOOK_S)
            now = subject.progress()
        if now.entries >= subject.size and not now.connections:
            return
        if time.monotonic() > until:
            raise StartError(
                f"{subject.target.name} holds {now.entries:,} replies of {subject.size:,}, "
                f"with {now.connections} connections"
            )


def ask(address: str, what: str, requests: int) -> None:
    """Make so many requests at least, and wait for their answers."""
    more = 2 * FILLERS  # some of the first may be under way when the last of as many is answered
    ask_times(
        address,
        what,
        connections=FILLERS,
        requests=requests + more,
        within_s=60 + requests // MIN_PER_S,
    )


def measure(subject: Subject, way: Way, number: int, seconds: float) -> Round:
    """Load it for so long, and say what it did and what that cost."""
    target = subject.target
    asked_before = _asked_of(subject.namenode)
    loads = list[Load]()
    with ExitStack() as close:
        gate = Path(close.enter_context(tempfile.TemporaryDirectory(prefix="nncache-gate-"))) / "open"
        what = held(script(subject.asked, way), gate, HELD_S)
        for first in range(0, subject.connections, AT_ONCE):
            some = min(AT_ONCE, subject.connections - first)
            loads.append(close.enter_context(loading(target.address, what, connections=some)))
            _await_connections(subject, first + some)
        gate.touch()
        time.sleep(SETTLE_S)
        before = subject.progress().answered, target.cpu_s()
        time.sleep(seconds)
        after = subject.progress(), target.cpu_s()
    counted = [each.counted for each in loads if each.counted is not None]
    return Round(
        growth=subject.growth,
        way=way,
        name=target.name,
        size=subject.size,
        number=number,
        hits=after[0].answered - before[0],
        failed=sum(each.failed for each in counted),
        requests=sum(each.requests for each in counted),
        misses=_asked_of(subject.namenode) - asked_before,
        cpu_s=after[1] - before[1],
        entries=after[0].entries,
    )


def _await_connections(subject: Subject, wanted: int) -> None:
    until = time.monotonic() + _CONNECTED_S
    while (connected := subject.progress().connections) < wanted:
        if time.monotonic() > until:
            raise StartError(
                f"{subject.target.name} has {connected:,} connections of {wanted:,} after {_CONNECTED_S:.0f} s"
            )
        time.sleep(_LOOK_S)


def _asked_of(namenode: NameNodeAt) -> int:
    """Return how often it was asked for a status so far."""
    return int(sample(namenode, {}, dict).values["namenode", "getFileInfo", "calls"])
