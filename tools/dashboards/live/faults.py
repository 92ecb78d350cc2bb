"""Faults to cause while the load runs, so that the dashboards show them."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from tools.dashboards.live.stand import Needs, Stand

TAKEOVER_S: Final = 10.0
"""No NameNode is active for so long: as with a ZKFC, by `ha.zookeeper.session-timeout.ms`."""

FEW_ENTRIES: Final = 60
"""Fewer than the load asks for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What goes wrong, and how it is mended.

    Attributes:
        meaning: in one line.
        begin: causes it; may block. None: it is there from the start, to the end.
        end: mends it; may block.
        needs: what must be there from the start.
    """

    meaning: str
    begin: Callable[[Stand], None] | None = None
    end: Callable[[Stand], None] | None = None
    needs: Needs = field(default_factory=Needs)


def _fail_over(stand: Stand) -> None:
    stand.cluster.namenodes[0].process.kill()
    time.sleep(TAKEOVER_S)
    stand.cluster.transition_to_active(1)


def _stop_zookeeper(stand: Stand) -> None:
    assert stand.cluster.zookeeper is not None
    stand.cluster.zookeeper.stop()


def _start_zookeeper(stand: Stand) -> None:
    assert stand.cluster.zookeeper is not None
    stand.cluster.zookeeper.start_again()


def _start_publisher(stand: Stand) -> None:
    stand.publisher.start()


FAULTS: Final[Mapping[str, Fault]] = {
    "failover": Fault(
        meaning="the active NameNode is killed, and the other one becomes active 10 s later",
        begin=_fail_over,
        end=lambda stand: stand.cluster.namenodes[0].process.start(),
        needs=Needs(is_pair=True),
    ),
    "zookeeper-outage": Fault(
        meaning="ZooKeeper is stopped, and started again",
        begin=_stop_zookeeper,
        end=_start_zookeeper,
    ),
    "publisher-killed": Fault(
        meaning="the only publisher is killed, and started again",
        begin=lambda stand: stand.publisher.kill(),
        end=_start_publisher,
    ),
    "cache-too-small": Fault(
        meaning=f"one of the two proxies may keep {FEW_ENTRIES} entries of the 100 that its clients ask for",
        needs=Needs(flags_of_first_proxy=("--max-cache-entries", str(FEW_ENTRIES))),
    ),
}
"""By name, as on the command line."""
