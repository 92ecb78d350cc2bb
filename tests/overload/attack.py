"""What an attack is: what is sent or broken, at which kind of proxy, and what must hold."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import Enum

from tests.overload.real_cluster import RealCluster, Setting


@dataclass(frozen=True, slots=True, kw_only=True)
class Aim:
    """Where the attackers send; "host:port" each. A plain value: it goes to another process."""

    proxy: str
    admin: str
    namenode: str
    rpc: str
    filters_path: str  # of the ZooKeeper channel; else empty
    registry: dict[str, str]  # settings of the service registry, where the proxy serves one; else empty
    seconds: float


@dataclass(slots=True)
class Tally:
    """What was sent so far, which shows that the attack took place."""

    requests: int = 0
    connections: int = 0
    mebibytes: float = 0.0

    def __str__(self) -> str:
        parts = (
            f"{self.requests:,} requests",
            f"{self.connections:,} connections",
            f"{self.mebibytes:,.0f} MiB",
        )
        return ", ".join(part for part in parts if not part.startswith("0 ")) or "nothing sent"


Body = Callable[[Aim, Tally], Awaitable[None]]
"""What the attackers do until they are cancelled; a function of a module, since another process imports it."""

Trouble = Callable[[RealCluster], AbstractContextManager[None]]
"""What is broken for the time of the attack."""


class Forwards(Enum):
    """What may become of others' calls that only the NameNode can answer."""

    ANSWERED = "answered"
    REFUSED_CLEARLY = "answered or 503 with Retry-After"
    MAY_WAIT = "may wait for as long as the attack lasts"  # nobody could answer them


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What must hold under an attack, beside no wrong answer and the bound of memory."""

    hits_go_on: bool = True
    newcomers: bool = True  # new connections are served as well
    forwards: Forwards = Forwards.ANSWERED
    more_calls_s: float | None = None  # statuses and listings at the NameNode, beyond those when quiet
    forward_p99_s: float = 1.0  # of others' forwarded calls, however quick the quiet time was
    stalls: int | None = None  # turns of the event loop of more than 0.1 s; None: any number
    recovery_s: float = 5.0  # hits are back for good, so long after the end
    why: str = ""  # where it is less than everything: the design that says so


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """One attack of the list."""

    name: str
    finding: str  # of the review of attacks, or item 9 of the issue
    what: str
    body: Body | None = None
    trouble: Trouble | None = None
    setting: Setting = field(default_factory=Setting)
    expected: Expected = field(default_factory=Expected)
    connections: int = 0  # that the attackers hold open, where they are hundreds
    head_bytes: int = 0  # of the largest head that each of these has under way, where heads are large
    needs_large: bool = False  # `places.LARGE`
    seconds: float = 12.0
    quick_seconds: float = 5.0
