"""Who has to look, and which answer is for whom."""

import asyncio
from typing import cast

from nncache.cache.clock_eviction import Caller
from nncache.proxy.conditional import Conditions
from nncache.proxy.reads import Read
from nncache.proxy.wait_groups import Group, GroupKey, Keepable, KeptWait, wake
from tests.patience import HANG_S

NO_KEY = GroupKey("/a", Caller(""), "")


def kept(group: Group, entered: int, looked: list[KeptWait], wait_s: int = 60) -> KeptWait:
    """Keep one of which nothing matters but when it came."""
    wait = KeptWait(
        group,
        cast("Read", None),
        Conditions(None, wait_s),
        cast("Keepable", None),
        entered=entered,
        began=asyncio.get_running_loop().time(),
        deadline=asyncio.get_running_loop().time() + wait_s,
        let_look=looked.append,
    )
    group.kept[wait] = None
    return wait


async def test_own_writes_an_answer_is_for_earlier_members() -> None:
    """The others look at the next one."""
    group, looked = Group(NO_KEY), list[KeptWait]()
    before, after = kept(group, 0, looked), kept(group, 1, looked)
    for each in (before, after):
        group.queue_up(each)
    assert list(group.split_off(1)) == [before]
    assert list(group.queue) == [after]
    for each in (before, after):
        each.release()


async def test_one_that_is_gone_is_passed_over() -> None:
    """Its client left while it was queued."""
    group, looked = Group(NO_KEY), list[KeptWait]()
    gone, there = kept(group, 0, looked), kept(group, 0, looked)
    for each in (gone, there):
        group.queue_up(each)
    gone.abandon()
    assert looked == [gone]
    assert group.first() is there
    there.abandon()
    assert group.first() is None
    there.abandon()
    assert looked == [gone, there], "once"


async def test_one_with_a_task_is_woken_once() -> None:
    """The first word counts."""
    woken: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
    wake(woken, leaves=True)
    wake(woken)
    assert await woken is True


async def test_one_has_to_look_once() -> None:
    """However often it is said."""
    group, looked = Group(NO_KEY), list[KeptWait]()
    wait = kept(group, 0, looked)
    group.queue_up(wait)
    group.queue_up(wait)
    assert list(group.queue) == [wait]
    wait.release()


async def test_the_end_of_its_time_lets_it_look() -> None:
    """And it is answered then, whatever there is to say."""
    group, looked = Group(NO_KEY), list[KeptWait]()
    wait = kept(group, 0, looked, wait_s=0)
    assert not wait.is_over
    async with asyncio.timeout(HANG_S):
        while not looked:  # noqa: ASYNC110 - a list of a test tells no one
            await asyncio.sleep(0)
    assert looked == [wait]
    assert wait.is_over
