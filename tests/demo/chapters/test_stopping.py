"""ZooKeeper is stopped, and started again."""

from nncache.demo.chapters.stopping import OUTAGE
from tests.demo.told import Told


def test_it_comes_true(told: Told) -> None:
    """Without ZooKeeper and with it."""
    for title in (
        f"Reads {OUTAGE.meanwhile}",
        f"Changes {OUTAGE.meanwhile}",
        f"Hits {OUTAGE.afterwards}",
        f"A change {OUTAGE.afterwards}",
    ):
        assert told.came_true(title)


def test_the_gate_needs_no_invalidation(told_by_the_deaf: Told) -> None:
    """A change meanwhile is seen by the gate's closing alone; one after it is not."""
    assert told_by_the_deaf.came_true(f"Changes {OUTAGE.meanwhile}")
    assert not told_by_the_deaf.came_true(f"A change {OUTAGE.afterwards}")
