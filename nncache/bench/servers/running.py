"""A running server under load, and its own count of answers."""

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from nncache.bench.servers.counters import use_of
from nncache.testbed.daemon import Program
from nncache.testbed.ports import PortLease
from nncache.testbed.readiness import accepts


@dataclass(frozen=True, slots=True)
class ServerProgress:
    """A reading of a server's counters."""

    answered: int = 0  # requests since start (counter); for nncache, those from memory only
    connections: int = 0  # open connections
    entries: int = 0  # cached replies; 0 if not reported


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningServer:
    """A running server: its address, its processes and its counters."""

    address: str  # the polled "host:port"
    # the pids whose CPU and memory count, by source (bench/shared/tables.py, COUNTERS), without the NameNode's
    processes: Mapping[str, int] = field(default_factory=dict)
    # the server's own calls to the NameNode since start, if no poll caused them and the NameNode does not count them,
    # by name ("upkeep:...")
    upkeep: Callable[[], Mapping[str, float]] = dict
    progress: Callable[[], ServerProgress] = (
        ServerProgress  # reads the counters; 0 if the server does not report them
    )
    # reads the metrics, by name (`nncache.testbed.daemon.Daemon.metrics`); empty for a server other than nncache
    metrics: Callable[[], Mapping[str, float]] = dict

    def cpu_s(self) -> float:
        """Return the CPU seconds of its processes since start."""
        return sum(use_of(pid)[0] for pid in self.processes.values())

    def resident(self) -> int:
        """Return the resident bytes of its processes."""
        return sum(use_of(pid)[1] for pid in self.processes.values())


@contextmanager
def server(
    name: str,
    command: Callable[[Path, str], Sequence[str]],
    progress: Callable[[str], ServerProgress] = lambda _: ServerProgress(),
) -> Iterator[RunningServer]:
    """Run a program of one process, perhaps with children, until the end of the block.

    `command` gets a new directory and the address to listen on, and returns the command line. `progress` gets the
    address, and reads the counters there.
    """
    with ExitStack() as close:
        place = Path(close.enter_context(tempfile.TemporaryDirectory(prefix=f"nncache-{name}-")))
        address = f"127.0.0.1:{close.enter_context(PortLease()).take()}"
        words = tuple(command(place, address))
        with Program(
            program=words, name=name, is_up=lambda: accepts(address), start_timeout_s=20.0
        ) as program:
            processes = {name: program.process.running_pid}
            yield RunningServer(address=address, processes=processes, progress=lambda: progress(address))
