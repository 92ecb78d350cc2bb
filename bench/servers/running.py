"""A server that pollers are pointed at, as long as it runs. (bench/servers/running.py)"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field


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
    """

    address: str
    processes: Mapping[str, int] = field(default_factory=dict)
    upkeep: Callable[[], Mapping[str, float]] = _none
