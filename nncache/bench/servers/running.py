"""A server that is loaded, as long as it runs, and what it has answered so far by its own count."""

import http.client
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from nncache.testbed.daemon import Program
from nncache.testbed.ports import PortLease
from nncache.testbed.readiness import accepts

PAGE_TIMEOUT_S: Final = 60.0
"""For the page that says it: under load it waits behind some laps round all connections."""


@dataclass(frozen=True, slots=True)
class Progress:
    """One look at a server.

    Attributes:
        answered: requests since its start; of nncache those from memory alone.
        connections: that are open.
        entries: replies that it holds; 0 where it does not say.
    """

    answered: int
    connections: int
    entries: int = 0


def page_of(address: str, path: str) -> str:
    """Return the page that says it."""
    connection = http.client.HTTPConnection(address, timeout=PAGE_TIMEOUT_S)
    try:
        connection.request("GET", path)
        return connection.getresponse().read().decode()
    finally:
        connection.close()


def _none() -> Mapping[str, float]:
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """What the run needs to know of it.

    Attributes:
        address: "host:port" that is polled.
        processes: whose CPU and memory count, by source (bench/shared/tables.py, COUNTERS), without the NameNode's.
        upkeep: calls that it makes to the NameNode without any poll and that the NameNode does not count, by name
            ("upkeep:..."); so far, since it began.
        progress: looks at what it has answered; None if it does not count that.
        audited: answers from memory that it compared with the NameNode's own since it began, by outcome
            (`nncache.auditing.audit_judge`); empty for a server that does not.
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
        words = tuple(command(place, address))
        with Program(
            program=words, name=name, is_up=lambda: accepts(address), start_timeout_s=20.0
        ) as program:
            yield Running(address=address, processes={name: program.process.running_pid})
