"""The short form of `make differential`, which also judges latencies."""

import math
import random
import threading
from collections.abc import Iterator
from functools import partial

import pytest

from nncache.invalidation.settings import JOURNALNODES
from nncache.testbed import Cluster
from tests.cluster import JOURNALED
from tests.differential.figures import KEEPABLE, Target
from tests.differential.operation import FLUSHED
from tests.differential.run import GLOBS, SETTINGS, SETTINGS_ON_LOG, TWO_STEP_WINDOW_S, run_for
from tests.real.beside import beside
from tests.real.stand import Channel, proxied
from tests.service import InotifyService

OPERATIONS = 150


@pytest.mark.parametrize("channel", Channel, ids=lambda channel: channel.value)
def test_every_answer_is_the_namenodes_own(cluster: Cluster, channel: Channel) -> None:
    """Verbatim, Bounded and OwnWrites hold after random operations, with enough hits to prove it."""
    with proxied(cluster, *GLOBS, channel=channel, **SETTINGS) as simulation:
        figures = run_for(simulation, seed=20261121, operations=OPERATIONS)
    print("\n".join(figures.lines()))  # noqa: T201 - shown when the test fails
    assert figures.shortfalls(Target(p50_ms=math.inf, p99_ms=math.inf)) == []


@pytest.fixture(scope="module")
def journaled() -> Iterator[Cluster]:
    """An HA pair with three JournalNodes that serve edits in progress."""
    with Cluster.start(JOURNALED) as started:
        yield started


@pytest.mark.parametrize("channel", Channel, ids=lambda channel: channel.value)
def test_the_edit_log_says_what_events_leave_out(journaled: Cluster, channel: Channel) -> None:
    """Bounded holds without its exceptions for policies and snapshots, also for files that grow while they are open."""
    polling = {"edits_source": JOURNALNODES, "shared_edits_dir": journaled.shared_edits_dir}
    with proxied(journaled, *GLOBS, channel=channel, polling=polling, **SETTINGS_ON_LOG) as simulation:
        figures = run_for(simulation, seed=20261329, operations=OPERATIONS, reads_log=True)
    print("\n".join(figures.lines()))  # noqa: T201 - shown when the test fails
    assert figures.shortfalls(Target(p50_ms=math.inf, p99_ms=math.inf)) == []
    assert {"ALLOWSNAPSHOT", FLUSHED} <= {*figures.accepted}


CHANGING_OPERATIONS = 120

COMING = (*GLOBS, "/differential/*/a/*", "/differential/*/{a,b}/x/*", "/differential/*/*/[fg]")

PAUSES_S = (0.05, 0.2, 0.5)

MOST = 3
"""The most filters at a time. With so few, most paths are without a filter now and then."""


def test_answers_equal_the_namenodes_while_filters_change(cluster: Cluster) -> None:
    """GapFlush, OwnWrites and Bounded hold after random operations, whichever filters are in force."""
    changes: list[str] = []
    with proxied(
        cluster, *GLOBS, channel=Channel.ZOOKEEPER, two_step_window_s=TWO_STEP_WINDOW_S
    ) as simulation:
        assert simulation.service is not None
        with beside(partial(come_and_go, simulation.service, changes)):
            figures = run_for(simulation, seed=20261122, operations=CHANGING_OPERATIONS)
        print("\n".join(figures.lines()))  # noqa: T201 - shown when the test fails
    assert figures.wrong == []
    assert figures.share(*KEEPABLE) > 0.05, "too few hits to prove anything"
    assert len(changes) > CHANGING_OPERATIONS / 20, "too few changes of filters to prove anything"


def come_and_go(service: InotifyService, done: list[str], ending: threading.Event) -> None:
    """Add and remove filters at random, and record the name of each."""
    there = {f"f{number}" for number in range(len(GLOBS))}
    chance = random.Random(7)
    while not ending.wait(chance.choice(PAUSES_S)):
        if there and (len(there) >= MOST or chance.random() < 0.5):
            name = chance.choice(sorted(there))
            service.remove(name)
            there.remove(name)
        else:
            name = f"more{len(done)}"
            service.add(name, chance.choice(COMING))
            there.add(name)
        done.append(name)
