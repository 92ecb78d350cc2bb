"""The publisher is killed, and started again."""

from typing import cast

import pytest

from nncache.demo.chapters.killing import OUTAGE, play
from nncache.demo.errors import NoPublisherError
from nncache.demo.stage import Stage
from tests.demo.told import Told


class NoPublisher:
    """A stage of a story that is told without one."""

    publisher = None


def test_it_comes_true(told: Told) -> None:
    """Without a publisher and with one."""
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


async def test_without_a_publisher_there_is_nothing_to_kill() -> None:
    """The reader is told so."""
    with pytest.raises(NoPublisherError):
        await play(cast("Stage", NoPublisher()))
