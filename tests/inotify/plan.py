"""Draw the faults of an inotify service, and their times."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Final

from tests.real.faults import Break

QUIET_S: Final = 2.0
"""The time that a service needs to recover; kept free at the beginning and between measured faults."""


class Kind(Enum):
    """A kind of fault. "leader" and "standby" mean the publishers that lead or stand by when it begins."""

    LEADER_KILLED = "leader killed"
    LEADER_STOPPED = "leader stopped"  # SIGSTOP, and SIGCONT later
    LEADER_HANDS_OVER = "leader hands over"  # SIGTERM
    LEADER_DEPOSED = "leader deposed"  # another is elected while the leader's ZooKeeper connections are held
    LEADER_WITHOUT_ZOOKEEPER = "leader without ZooKeeper"
    LEADER_WITHOUT_NAMENODE = "leader without NameNode"
    STANDBY_KILLED = "standby killed"
    ZOOKEEPER_LEADER_KILLED = "ZooKeeper's leader killed"
    SUBSCRIBER_STOPPED = "subscriber stopped"
    FILTER_MODIFIED = "filter modified"  # no fault, but it must work during all of them
    STREAMS_BROKEN = "streams over HTTP broken"
    PROXY_KILLED = "proxy killed"
    PROXY_WITHOUT_ZOOKEEPER = "proxy without ZooKeeper"


OF_STREAMS: Final = frozenset({Kind.STREAMS_BROKEN, Kind.PROXY_KILLED, Kind.PROXY_WITHOUT_ZOOKEEPER})
"""Faults that affect only events over HTTP: no publisher can notice them."""

OF_SERVICE: Final = tuple(kind for kind in Kind if kind not in OF_STREAMS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A fault of a history."""

    at_s: float  # since the history began
    kind: Kind
    lasts_s: float
    way: Break = Break.CUT  # of a connection


def draw(seed: int, seconds: float) -> tuple[Fault, ...]:
    """Return the faults of a history: those of the service, and independently those of events over HTTP alone.

    In half of all histories the faults of the service come one at a time; in the others they may overlap. Faults of
    events over HTTP always come one at a time: a proxy needs time to restart, and some events must get through.
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
    """Return a function that draws each kind once before it repeats any."""
    waiting: list[Kind] = []

    def take() -> Kind:
        if not waiting:
            waiting.extend(chance.sample(kinds, len(kinds)))
        return waiting.pop()

    return take
