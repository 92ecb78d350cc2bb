"""A few requests start immediately, a few more in each loop iteration, in order of arrival."""

import asyncio
from dataclasses import dataclass, field
from typing import cast

from nncache.proxy.clients.connection import ClientConnection
from nncache.proxy.clients.paced_work import ARRIVALS_PER_ITERATION as PER_ITERATION
from nncache.proxy.clients.paced_work import CHECKS_PER_ITERATION, Arrivals


@dataclass
class _Row:
    """Records the requests that were started, in order."""

    gone_on: list[int] = field(default_factory=list)

    def newcomer(
        self, number: int, *, is_costly: bool = True, is_closed: bool = False, holder: str = "127.0.0.1"
    ) -> ClientConnection:
        newcomer = _Newcomer(self, number, is_costly=is_costly, is_closed=is_closed, holder=holder)
        return cast("ClientConnection", newcomer)


@dataclass
class _Newcomer:
    """A connection that waits."""

    row: _Row
    number: int
    is_costly: bool
    is_closed: bool
    holder: str

    def end(self) -> None:
        """Do nothing: no connection fails in these tests."""

    def has_closed(self) -> bool:
        return self.is_closed

    def go_on(self) -> bool:
        self.row.gone_on.append(self.number)
        return self.is_costly


async def test_each_iteration_lets_a_few_in() -> None:
    """The first requests start immediately; a later one queues after those that wait."""
    arrivals, row = Arrivals(), _Row()
    assert [arrivals.may_enter() for _ in range(PER_ITERATION + 1)] == [True] * PER_ITERATION + [False]
    for number in range(2 * PER_ITERATION + 1):
        arrivals.add(row.newcomer(number))
    seen = []
    for _ in range(4):
        await asyncio.sleep(0)
        seen.append(len(row.gone_on))
        if seen[-1] < 2 * PER_ITERATION + 1:
            assert not arrivals.may_enter()
    assert seen == [PER_ITERATION, 2 * PER_ITERATION, 2 * PER_ITERATION + 1, 2 * PER_ITERATION + 1]
    assert row.gone_on == list(range(2 * PER_ITERATION + 1))
    assert arrivals.may_enter()


async def test_a_crowd_of_one_address_holds_no_other_up() -> None:
    """Addresses take turns, each in order of arrival; the last requests of the crowd wait only for the crowd."""
    arrivals, row = Arrivals(), _Row()
    crowd = 10 * PER_ITERATION
    for number in range(crowd):
        arrivals.add(row.newcomer(number))
    for number, holder in ((1000, "127.0.0.2"), (1001, "127.0.0.3"), (1002, "127.0.0.3")):
        arrivals.add(row.newcomer(number, holder=holder))
    await asyncio.sleep(0)
    assert row.gone_on == [0, 1000, 1001, 1, 1002, *range(2, PER_ITERATION - 3)]
    for _ in range(10):
        await asyncio.sleep(0)
    assert [number for number in row.gone_on if number < crowd] == list(range(crowd))


async def test_those_who_cost_little_by_then_take_no_place() -> None:
    """But one iteration checks a bounded number of them."""
    arrivals, row = Arrivals(), _Row()
    for number in range(CHECKS_PER_ITERATION + 5):
        arrivals.add(row.newcomer(number, is_costly=False))
    await asyncio.sleep(0)
    assert len(row.gone_on) == CHECKS_PER_ITERATION
    await asyncio.sleep(0)
    assert len(row.gone_on) == CHECKS_PER_ITERATION + 5
    await asyncio.sleep(0)
    assert arrivals.may_enter()


async def test_who_has_probably_left_goes_on_when_no_other_waits() -> None:
    """Such requests also start in order of arrival, and a few in each iteration."""
    arrivals, row = Arrivals(), _Row()
    for number in range(2 * PER_ITERATION + 2):
        arrivals.add(row.newcomer(number, is_closed=number < PER_ITERATION + 1))
    await asyncio.sleep(0)
    assert row.gone_on == list(range(PER_ITERATION + 1, 2 * PER_ITERATION + 1))
    arrivals.add(row.newcomer(100))
    assert not arrivals.may_enter()
    await asyncio.sleep(0)
    assert row.gone_on[PER_ITERATION:] == [2 * PER_ITERATION + 1, 100, *range(PER_ITERATION - 2)]
    await asyncio.sleep(0)
    assert row.gone_on[2 * PER_ITERATION :] == [PER_ITERATION - 2, PER_ITERATION - 1, PER_ITERATION]
    await asyncio.sleep(0)
    assert arrivals.may_enter()


async def test_places_are_free_again_in_the_next_iteration() -> None:
    """This also holds if no request has waited."""
    arrivals = Arrivals()
    for _ in range(3):
        assert [arrivals.may_enter() for _ in range(PER_ITERATION + 1)].count(True) == PER_ITERATION
        await asyncio.sleep(0)
