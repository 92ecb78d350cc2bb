"""The form of an attack: what is sent or broken, at which kind of proxy, and what must hold."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import Enum

from tests.overload.real_cluster import RealCluster, Setting


@dataclass(frozen=True, slots=True, kw_only=True)
class Aim:
    """The targets of the attackers, each "host:port". A plain value: it is sent to another process."""

    proxy: str
    admin: str
    namenode: str
    rpc: str
    filters_path: str  # on the ZooKeeper channel, otherwise empty
    registry: dict[str, str]  # settings of the service registry that the proxy serves, otherwise empty
    seconds: float


@dataclass(slots=True)
class Tally:
    """Counts what was sent so far, as evidence of the attack."""

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
"""The attackers' work until they are cancelled; a function of a module, since another process imports it."""

Trouble = Callable[[RealCluster], AbstractContextManager[None]]
"""A fault for the duration of the attack."""


class Forwards(Enum):
    """The permitted fate of others' calls that only the NameNode can answer."""

    ANSWERED = "answered"
    REFUSED_CLEARLY = "answered or 503 with Retry-After"
    MAY_WAIT = "may wait for as long as the attack lasts"  # no one could answer them


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """The requirements under an attack, in addition to no wrong answer and the memory bound."""

    hits_go_on: bool = True
    newcomers: bool = True  # new connections get hits as well
    forwards: Forwards = Forwards.ANSWERED
    more_calls_s: float | None = None  # calls beyond those before the attack
    forward_p99_s: float = 1.0  # of others' forwarded calls, even if they were faster before the attack
    stalls: int | None = None  # iterations of the event loop of more than 0.1 s; None: any number
    recovery_s: float = 5.0  # seconds after the end by which hits have returned for good
    why: str = ""  # the design that justifies lower requirements


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """One attack of the table."""

    name: str
    finding: str  # of the review of attacks, or item 9 of the issue
    what: str
    body: Body | None = None
    trouble: Trouble | None = None
    setting: Setting = field(default_factory=Setting)
    expected: Expected = field(default_factory=Expected)
    connections: int = 0  # held open by the attackers, if there are hundreds
    head_bytes: int = 0  # the largest incomplete head on each of them, if heads are large
    needs_large: bool = False  # `places.LARGE`
    seconds: float = 12.0
    quick_seconds: float = 5.0
