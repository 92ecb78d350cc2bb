"""A server that is loaded, as long as it runs, and what it has answered so far by its own count."""

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
class Progress:
    """One look at a server."""

    answered: int = 0  # requests since its start; of nncache those from memory alone
    connections: int = 0  # that are open
    entries: int = 0  # replies that it holds; 0 where it does not say


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """What the run needs to know of it."""

    address: str  # "host:port" that is polled
    # whose CPU and memory count, by source (bench/shared/tables.py, COUNTERS), without the NameNode's
    processes: Mapping[str, int] = field(default_factory=dict)
    # calls that it makes to the NameNode without any poll and that the NameNode does not count, by name
    # ("upkeep:..."); so far, since it began
    upkeep: Callable[[], Mapping[str, float]] = dict
    progress: Callable[[], Progress] = Progress  # looks at what it has answered; 0 if it does not count that
    # its own figures, by name (`nncache.testbed.daemon.Daemon.metrics`); empty for a server that is not
    # nncache
    metrics: Callable[[], Mapping[str, float]] = dict

    def cpu_s(self) -> float:
        """Return the CPU seconds that its processes have used so far."""
        return sum(use_of(pid)[0] for pid in self.processes.values())

    def resident(self) -> int:
        """Return the bytes of memory that they take."""
        return sum(use_of(pid)[1] for pid in self.processes.values())


@contextmanager
def server(
    name: str,
    command: Callable[[Path, str], Sequence[str]],
    progress: Callable[[str], Progress] = lambda _: Progress(),
) -> Iterator[Running]:
    """Run a program of one process, perhaps with children, until the end of the block.

    Its command is made of a directory of its own and the address that it is to listen on, where `progress` looks at it.
    """
    with ExitStack() as close:
        place = Path(close.enter_context(tempfile.TemporaryDirectory(prefix=f"nncache-{name}-")))
        address = f"127.0.0.1:{close.enter_context(PortLease()).take()}"
        words = tuple(command(place, address))
        with Program(
            program=words, name=name, is_up=lambda: accepts(address), start_timeout_s=20.0
        ) as program:
            processes = {name: program.process.running_pid}
            yield Running(address=address, processes=processes, progress=lambda: progress(address))
