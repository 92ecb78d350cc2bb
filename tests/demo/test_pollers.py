"""Clients that ask the same again and again."""

import threading

from nncache.demo.pollers import INTERVAL_S, Pollers
from nncache.demo.sightings import MISSING, Question, View, all_answered
from tests.demo.answers import Answering

ALICE, BOB = Question("alice", "/w/f"), Question("bob", "/w/f")


def poller_threads() -> list[str]:
    """Return the names of those that run."""
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("poller ")]


async def test_each_asks_its_own_question_until_the_end() -> None:
    """Nothing runs on when the context has ended, and what was seen stays."""
    with Answering() as answering:
        async with Pollers(answering.address, (ALICE, BOB, BOB)) as pollers:
            assert len(poller_threads()) == 3
            assert await pollers.until(lambda: all(len(r.sightings) > 3 for r in pollers.records), 10)
        assert not poller_threads()
        asked = len(answering.targets)
        assert sum(len(record.sightings) for record in pollers.records) == asked
    assert [record.question for record in pollers.records] == [ALICE, BOB, BOB]
    assert set(answering.targets) == {ALICE.target, BOB.target}
    assert all_answered(pollers.records, {ALICE: MISSING, BOB: MISSING}, from_memory=True)


async def test_their_rate_is_bounded() -> None:
    """One read an interval at most, however fast the answers come."""
    with Answering() as answering:
        async with Pollers(answering.address, (ALICE,)) as pollers:
            await pollers.until(lambda: len(pollers.records[0].sightings) >= 10, 10)
    sightings = pollers.records[0].sightings
    assert sightings[9].started_at - sightings[0].started_at >= 8 * INTERVAL_S


async def test_a_condition_is_waited_for_as_long_as_said() -> None:
    """True as soon as it holds, False when it does not come."""
    with Answering() as answering:
        async with Pollers(answering.address, (ALICE,)) as pollers:
            assert not await pollers.until(lambda: all_answered(pollers.records, {ALICE: View(200)}), 0.05)
            answering.views[ALICE.path] = View(200)
            assert await pollers.until(lambda: all_answered(pollers.records, {ALICE: View(200)}), 10)
