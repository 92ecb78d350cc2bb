"""Draw what befalls the parts of an inotify service, and when."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Final

from tests.real.faults import Break

QUIET_S: Final = 2.0
"""At the beginning and between faults that are measured: so long a service needs to be itself again."""


class Kind(Enum):
    """What befalls a part. "leader" and "standby" are publishers, as they are at that moment."""

    LEADER_KILLED = "leader killed"
    LEADER_STOPPED = "leader stopped"  # SIGSTOP, and SIGCONT later
    LEADER_HANDS_OVER = "leader hands over"  # SIGTERM
    LEADER_DEPOSED = "leader deposed"  # another is elected while what it sends and hears is held
    LEADER_WITHOUT_ZOOKEEPER = "leader without ZooKeeper"
    LEADER_WITHOUT_NAMENODE = "leader without NameNode"
    STANDBY_KILLED = "standby killed"
    ZOOKEEPER_LEADER_KILLED = "ZooKeeper's leader killed"
    SUBSCRIBER_STOPPED = "subscriber stopped"
    FILTER_MODIFIED = "filter modified"  # no fault, but what must hold beside all of them
    STREAMS_BROKEN = "streams over HTTP broken"
    PROXY_KILLED = "proxy killed"
    PROXY_WITHOUT_ZOOKEEPER = "proxy without ZooKeeper"


OF_STREAMS: Final = frozenset({Kind.STREAMS_BROKEN, Kind.PROXY_KILLED, Kind.PROXY_WITHOUT_ZOOKEEPER})
"""What befalls events over HTTP alone: no publisher can notice."""

OF_SERVICE: Final = tuple(kind for kind in Kind if kind not in OF_STREAMS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One of them."""

    at_s: float  # since the history began
    kind: Kind
    lasts_s: float
    way: Break = Break.CUT  # of a connection


def draw(seed: int, seconds: float) -> tuple[Fault, ...]:
    """Return the faults of a history: those of the service, and beside them those of events over HTTP alone.

    Those of the service come one after the other in half of all histories, as they come in the others. A proxy takes
    its time to be there again, and events are to go over HTTP as well: there one comes after the other.
    """
    chance = random.Random(seed)
    one_by_one = chance.random() < 0.5
    return (
        *_drawn(chance, seconds, OF_SERVICE, (0.3, 1.0, 2.0, 4.0, 6.0), one_by_one=one_by_one),
        *_drawn(
            random.Random(f"streams of {seed}"),
            seconds,
            (*(kind for kind in Kind if kind in OF_STREAMS), Kind.STREAMS_BROKEN, Kind.STREAMS_BROKEN),
            (0.3, 0.3, 1.0, 4.0),
            one_by_one=True,
        ),
    )


def _drawn(
    chance: random.Random,
    seconds: float,
    kinds: tuple[Kind, ...],
    lasts_s: tuple[float, ...],
    *,
    one_by_one: bool,
) -> tuple[Fault, ...]:
    next_kind = _shuffled(chance, kinds)
    faults: list[Fault] = []
    at_s = QUIET_S
    while at_s < seconds - QUIET_S:
        fault = Fault(
            at_s=at_s,
            kind=next_kind(),
            lasts_s=min(chance.choice(lasts_s), seconds - QUIET_S - at_s),
            way=chance.choice(tuple(Break)),
        )
        faults.append(fault)
        at_s += (fault.lasts_s + QUIET_S) if one_by_one else chance.uniform(0.2, 4.0)
    return tuple(faults)


def _shuffled(chance: random.Random, kinds: tuple[Kind, ...]) -> Callable[[], Kind]:
    """Return what gives each kind once before any comes again."""
    waiting: list[Kind] = []

    def take() -> Kind:
        if not waiting:
            waiting.extend(chance.sample(kinds, len(kinds)))
        return waiting.pop()

    return take
