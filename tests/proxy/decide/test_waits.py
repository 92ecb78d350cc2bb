"""Which waiters need an answer, and which answer serves which waiter."""

import asyncio
from typing import TypeAlias

from nncache.net.http1.conditional import Conditions
from nncache.proxy.decide.waits import Group, Waiter, WaitTerms
from tests.patience import HANG_S

Wait: TypeAlias = Waiter[str, str]
Waiting: TypeAlias = Group[str, str]


def kept(group: Waiting, looked: list[Wait], wait_s: int = 60) -> Wait:
    """Add a waiter whose terms do not matter."""
    terms = WaitTerms(key="/a", holder="h")
    wait = Waiter(group, "/a", Conditions(None, wait_s), terms, looked.append)
    group.kept[wait] = None
    return wait


def say(group: Waiting) -> None:
    """Give the group an answer."""
    group.answer = "it", 0


async def test_own_writes_an_answer_is_for_those_who_had_to_look() -> None:
    """A waiter queued after the question needs the next answer."""
    group, looked = Waiting("/a"), list[Wait]()
    before, after = kept(group, looked), kept(group, looked)
    group.queue_up(before)
    group.rounds += 1
    group.queue_up(after)
    say(group)
    assert [group.pop_next() for _ in range(2)] == [before, None]
    assert group.answer is None
    assert list(group.queue) == [after]
    for each in (before, after):
        each.timer.cancel()


async def test_one_that_is_gone_is_passed_over() -> None:
    """The client left while it was queued."""
    group, looked = Waiting("/a"), list[Wait]()
    gone, there = kept(group, looked), kept(group, looked)
    for each in (gone, there):
        group.queue_up(each)
    gone.abandon()
    assert looked == [gone]
    assert group.first() is there
    there.abandon()
    assert group.first() is None
    there.abandon()
    assert looked == [gone, there], "once"


async def test_one_has_to_look_once() -> None:
    """A waiter queued twice is in the queue once."""
    group, looked = Waiting("/a"), list[Wait]()
    wait = kept(group, looked)
    group.queue_up(wait)
    group.queue_up(wait)
    assert list(group.queue) == [wait]
    wait.timer.cancel()


async def test_the_end_of_its_time_lets_it_look() -> None:
    """It gets an answer then, whatever the status is."""
    group, looked = Waiting("/a"), list[Wait]()
    wait = kept(group, looked, wait_s=0)
    assert not wait.is_over
    async with asyncio.timeout(HANG_S):
        while not looked:  # noqa: ASYNC110 - a list of a test tells no one
            await asyncio.sleep(0)
    assert looked == [wait]
    assert wait.is_over
