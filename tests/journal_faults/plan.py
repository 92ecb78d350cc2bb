"""Draw the faults of an HA pair's JournalNodes and NameNodes, and their times."""

import random
from dataclasses import dataclass
from enum import Enum
from typing import Final

from tests.real.faults import Break
from tests.real.proxied_cluster import MAX_STALENESS_S

JOURNALNODES: Final = 3
QUIET_S: Final = 1.5
"""The time without faults at the beginning, and between faults that come one at a time."""

LEFT_BEHIND_S: Final = MAX_STALENESS_S + 2.0
"""How long a reader gets nothing new: longer than the cache may answer from memory then."""


class Kind(Enum):
    """A kind of fault. `Fault.which` names the JournalNode; the NameNode is the one that is active when it begins."""

    JOURNALNODE_KILLED = "JournalNode killed"
    JOURNALNODE_STOPPED = "JournalNode stopped"  # SIGSTOP, and SIGCONT later
    JOURNALNODE_WIPED = (
        "JournalNode wiped"  # its disk is replaced, and it is formatted as an administrator does
    )
    ACTIVE_CUT_OFF = "active NameNode cut off from a JournalNode"
    READER_CUT_OFF = "readers cut off from a JournalNode"
    READER_LEFT_BEHIND = "readers cut off from all JournalNodes but one, which misses edits"
    NAMENODE_KILLED = "active NameNode killed"
    NAMENODE_HANDS_OVER = "active NameNode hands over"
    NAMENODE_NOT_FENCED = "the other NameNode becomes active beside it"  # the old one exits at its next edit
    CHANGE_DISCARDED = "a change that one JournalNode alone has is discarded"  # by a failover
    EDITS_ROLLED = "edits rolled"  # no fault: a restarted JournalNode takes edits again from here


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A fault of a history."""

    at_s: float  # since the history began
    kind: Kind
    lasts_s: float
    which: int = 0  # JournalNode, counted from 0
    way: Break = Break.CUT  # of connections


def draw(seed: int, seconds: float) -> tuple[Fault, ...]:
    """Return the faults of a history: one at a time in half of all histories, otherwise free to overlap."""
    chance = random.Random(seed)
    one_by_one = chance.random() < 0.5
    waiting: list[Kind] = []
    faults: list[Fault] = []
    at_s = QUIET_S
    while at_s < seconds - QUIET_S:
        waiting = waiting or chance.sample(list(Kind), len(Kind))
        kind = waiting.pop()
        lasts_s = LEFT_BEHIND_S if kind is Kind.READER_LEFT_BEHIND else chance.choice((0.3, 1.0, 2.0, 4.0))
        fault = Fault(
            at_s=at_s,
            kind=kind,
            lasts_s=min(lasts_s, seconds - QUIET_S - at_s),
            which=chance.randrange(JOURNALNODES),
            way=chance.choice(tuple(Break)),
        )
        faults.append(fault)
        at_s += (fault.lasts_s + QUIET_S) if one_by_one else chance.uniform(0.5, 3.0)
    return tuple(faults)
