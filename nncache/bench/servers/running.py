"""A server that pollers are pointed at, as long as it runs."""

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from nncache.bench.servers.progress import Progress
from nncache.testbed.ports import PortLease
from nncache.testbed.process import Lifeline, ServerProcess
from nncache.testbed.readiness import accepts


def _none() -> Mapping[str, float]:
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """What the run needs to know of it.

    Attributes:
        address: "host:port" that is polled.
        processes: whose CPU and memory count, by source (bench/tables.py, COUNTERS); the NameNode's is not among them.
        upkeep: calls that it makes to the NameNode without any poll and that the NameNode does not count, by name
            ("upkeep:..."); so far, since it began.
        progress: looks at what it has answered; None if it does not count that.
        audited: answers from memory that it compared with the NameNode's own since it began, by outcome
            (`nncache.proxy.audit_judge`); empty for a server that does not.
        metrics: its own figures, by name (`nncache.testbed.daemon.Daemon.metrics`); empty for a server that is not
            nncache.
    """

    address: str
    processes: Mapping[str, int] = field(default_factory=dict)
    upkeep: Callable[[], Mapping[str, float]] = _none
    progress: Callable[[], Progress] | None = None
    audited: Callable[[], Mapping[str, float]] = _none
    metrics: Callable[[], Mapping[str, float]] = _none


@contextmanager
def server(name: str, command: Callable[[Path, str], Sequence[str]]) -> Iterator[Running]:
    """Run a program of one process, perhaps with children, until the end of the block.

    Args:
        name: of the program, and of its process.
        command: given a directory of its own and the address that it is to listen on.

    Raises:
        StartError: it does not listen in time.
    """
    with ExitStack() as close:
        place = Path(close.enter_context(tempfile.TemporaryDirectory(prefix=f"nncache-{name}-")))
        address = f"127.0.0.1:{close.enter_context(PortLease()).take()}"
        lifeline = Lifeline(place / "guard.lock", None)
        close.callback(lifeline.close)
        process = ServerProcess(
            name,
            tuple(command(place, address)),
            log=place / f"{name}.log",
            environ=os.environ,
            lifeline=lifeline,
            is_up=lambda: accepts(address),
            timeout_s=20.0,
        )
        close.callback(process.stop)
        process.start()
        yield Running(address=address, processes={name: process.running_pid})
