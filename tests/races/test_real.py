"""The short form of the races on the real stack; `make races` runs the long form."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import SimpleNamespace
from typing import cast

import pytest

from nncache.cache.entries import Ticket
from nncache.hadoop.calls import StatusRequest
from nncache.proxy.decide.flights import Flight
from nncache.testbed import Cluster
from tests.races import kinds, parts, real
from tests.races.changes import Hdfs
from tests.races.figures import Figures
from tests.races.lane import Lane, Shared
from tests.races.proxied import Proxied
from tests.races.real import Part
from tests.races.steering import LABEL

RACES = 80

OFTEN = (
    "proxy.decide.reads.StatusReads._fetched: await asked.flight.answer",
    "proxy.decide.flights.Flights._run: await self._fetch",
    "proxy.upstream.exchange.CallExchange._receive_head: await self._connection.protocol.read_head",
    "proxy.upstream.client.Upstream._shielded: await asyncio.shield",
)
"""Places that every fill or every write reaches: few races suffice for these."""


@pytest.mark.parametrize("make", [parts.direct, parts.zookeeper], ids=["direct", "zookeeper"])
def test_no_race_is_lost(cluster: Cluster, make: Callable[[Cluster], AbstractContextManager[Part]]) -> None:
    """NoLateFill, OwnWrites, Verbatim and FailToNameNode hold while tasks are held where they wait."""
    with make(cluster) as part:
        figures = real.run(part, races=RACES, seed=20261121, progress=lambda _: None)
    print("\n".join(figures.lines()))  # noqa: T201 - shown when the test fails
    assert figures.shortfalls(races=RACES) == []
    held = {place.key for place, times in figures.held.items() if times}
    assert held >= set(OFTEN)


async def test_a_question_begun_by_a_callback_has_its_own_lane() -> None:
    """Such a call starts in a change's callback, or in one for bytes on another client's connection."""
    hdfs, namenode = Hdfs("hdfs"), "127.0.0.1:1"
    shared = Shared(
        cast("Proxied", SimpleNamespace(address=namenode)), hdfs, namenode, Figures("none"), (), {}, ()
    )
    lanes = {f"/races/1/{number}": Lane(shared, f"/races/1/{number}", str(number)) for number in range(11)}
    own, other = lanes["/races/1/1"], lanes["/races/1/10"]
    shared.errands.update({1: own.joining, 10: other.reading})
    label_of = real.labels(shared, lanes)

    async def asking(flight: Flight) -> None:
        """Do nothing."""

    plain = cast("StatusRequest", SimpleNamespace(path="/races/1/1/5/f"))
    question = asking(Flight(cast("Ticket", None), plain, None))
    try:
        for label, wanted in ((None, own.reading), (10, own.reading), (1, None), (2, None)):
            LABEL.set(label)
            assert label_of(question) is wanted
        LABEL.set(10)
        nothing = asyncio.sleep(0)
        assert label_of(nothing) is None
        await nothing
    finally:
        question.close()


def test_what_was_not_visited_falls_short() -> None:
    """Each place needs a race or a reason, and the reason must be true."""
    places = sorted(real.PLACES.all)
    nothing = Figures("nothing").unvisited(places)
    assert len(nothing) > 100
    figures = Figures("all")
    for place in places:
        figures.held[place] += 1
        figures.stood[place] += 1
    wrong = figures.unvisited(places)
    assert wrong
    assert all("exemptions" in line for line in wrong)
    assert all(line.startswith("no race was held") for line in nothing)


def test_fills_that_prove_nothing_fall_short() -> None:
    """If no reply could have been cached, a run without late fills proves nothing."""
    figures = Figures("some", races=10, fills=10, kept=1, spoiled=1)
    assert any("prove something" in line for line in figures.shortfalls(races=10))
    figures.spoiled = 9
    assert figures.shortfalls(races=10) == []
    assert figures.shortfalls(races=11)
    figures.violations.append("a late fill")
    assert figures.shortfalls(races=10)


def test_what_races_aim_at_by_name_is_there() -> None:
    """Otherwise a race waits for a place that is never reached, and the places behind it are never raced."""
    names = {place.in_function for place in real.PLACES.all}
    assert names >= kinds.NAMED
