"""The short form of `make differential`, which also says how soon changes must be seen."""

import math
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from nncache.testbed import Cluster
from tests.differential.exceptions import MAX_ENTRY_AGE_S
from tests.differential.figures import KEEPABLE, Target
from tests.differential.run import GLOBS, TWO_STEP_WINDOW_S, run_for
from tests.real.stand import Channel, proxied
from tests.service import Service

OPERATIONS = 150


@pytest.mark.parametrize("channel", Channel, ids=lambda channel: channel.value)
def test_every_answer_is_the_namenodes_own(cluster: Cluster, channel: Channel) -> None:
    """Verbatim, Bounded and OwnWrites after random operations, with enough hits to mean something."""
    with proxied(
        cluster, *GLOBS, channel=channel, two_step_window_s=TWO_STEP_WINDOW_S, max_entry_age_s=MAX_ENTRY_AGE_S
    ) as simulation:
        figures = run_for(simulation, seed=20261121, operations=OPERATIONS)
    print("\n".join(figures.lines()))  # noqa: T201 - shown when the test fails
    assert figures.shortfalls(Target(p50_ms=math.inf, p99_ms=math.inf)) == []


CHANGING_OPERATIONS = 120

COMING = (*GLOBS, "/differential/*/a/*", "/differential/*/{a,b}/x/*", "/differential/*/*/[fg]")

PAUSES_S = (0.05, 0.2, 0.5)

MOST = 3
"""Filters at once; with more, one goes. With few, most paths are without a filter now and then."""


def test_answers_equal_the_namenodes_while_filters_change(cluster: Cluster) -> None:
    """GapFlush, OwnWrites, Bounded: after random operations, whatever is in force at the time."""
    with proxied(
        cluster, *GLOBS, channel=Channel.ZOOKEEPER, two_step_window_s=TWO_STEP_WINDOW_S
    ) as simulation:
        assert simulation.service is not None
        with coming_and_going(simulation.service, {f"f{number}" for number in range(len(GLOBS))}) as changes:
            figures = run_for(simulation, seed=20261122, operations=CHANGING_OPERATIONS)
        print("\n".join(figures.lines()))  # noqa: T201 - shown when the test fails
    assert figures.wrong == []
    assert figures.share(*KEEPABLE) > 0.05, "too few hits to prove anything"
    assert len(changes) > CHANGING_OPERATIONS / 20, "too few changes of filters to prove anything"


@contextmanager
def coming_and_going(service: Service, there: set[str]) -> Iterator[list[str]]:
    """Add and remove filters at random meanwhile; give what was done so far."""
    done: list[str] = []
    end = threading.Event()
    chance = random.Random(7)

    def change() -> None:
        while not end.wait(chance.choice(PAUSES_S)):
            if there and (len(there) >= MOST or chance.random() < 0.5):
                name = chance.choice(sorted(there))
                service.remove(name)
                there.remove(name)
            else:
                name = f"more{len(done)}"
                service.add(name, chance.choice(COMING))
                there.add(name)
            done.append(name)

    thread = threading.Thread(target=change, name="filters come and go")
    thread.start()
    try:
        yield done
    finally:
        end.set()
        thread.join()
