"""The zone follows what a watch of the registry tells."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from nncache.daemons.dns_following import DnsFollowing
from nncache.registry.dns_zone import Zone
from nncache.registry.record import EntryStatus, ServiceRecord
from nncache.registry.tree_watch import Change, Current, Gap, Present, Removed
from tests.registry.worlds import WEBHDFS


def present(name: str, record: ServiceRecord | None = WEBHDFS) -> Present:
    """Say that an entry is there."""
    path = f"/services/{name}"
    return Present(EntryStatus(path=path, time_ms=0, size_bytes=0, children=0, version=0), record)


async def told(following: DnsFollowing, zone: Zone, *changes: Change) -> list[tuple[int, bool, bool]]:
    """Follow these; return after each how many entries there are, and whether the zone is loaded and current."""
    seen: list[tuple[int, bool, bool]] = []

    async def each() -> AsyncIterator[Change]:
        for change in changes:
            yield change
            seen.append((zone.entries, zone.is_loaded, following.is_current))

    await following.follow(each())
    zone.check()
    return seen


@pytest.fixture
def zone() -> Zone:
    """Return an empty one."""
    return Zone(18)


async def test_the_zone_is_loaded_when_everything_was_read(zone: Zone) -> None:
    """Not before: a name that was not read yet would be one that is not there."""
    following = DnsFollowing(zone)
    assert await told(
        following,
        zone,
        present("a"),
        present("b", None),
        Current(),
        Removed("/services/a"),
        present("c"),
        present("c", None),
    ) == [
        (1, False, False),
        (1, False, False),
        (1, True, True),
        (0, True, True),
        (1, True, True),
        (0, True, True),
    ]


async def test_what_was_known_stays_through_a_gap(zone: Zone) -> None:
    """And is not called current until everything was read again."""
    following = DnsFollowing(zone)
    assert await told(
        following, zone, present("a"), Current(), Gap("lost"), Removed("/services/a"), Current()
    ) == [
        (1, False, False),
        (1, True, True),
        (1, True, False),
        (0, True, False),
        (0, True, True),
    ]
    assert not following.is_current  # the watch has ended


async def test_another_watch_tells_what_is_gone(zone: Zone) -> None:
    """By not naming it; until it has named everything, all stays."""
    following = DnsFollowing(zone)
    await told(following, zone, present("a"), present("b"), Current())
    assert await told(following, zone, present("b"), present("c"), Removed("/services/c"), Current()) == [
        (2, True, False),
        (3, True, False),
        (2, True, False),
        (1, True, True),
    ]


async def test_a_large_registry_does_not_hold_up_answers(zone: Zone) -> None:
    """Others get their turn in between."""
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async with asyncio.TaskGroup() as tasks:
        counting = tasks.create_task(count())
        await told(DnsFollowing(zone), zone, *(present(f"s{number}") for number in range(320)), Current())
        counting.cancel()
    assert turns >= 20


async def test_a_registry_that_is_not_there_is_noticed(zone: Zone) -> None:
    """All was read, and not even its root was there."""
    following = DnsFollowing(zone)
    found = []
    root = Present(EntryStatus(path="/", time_ms=0, size_bytes=0, children=0, version=0), None)
    steps: tuple[tuple[Present | Removed, ...], ...] = ((), (root,), (root, Removed("/")))
    for news in steps:
        await told(following, zone, *news, Current())
        found.append(following.has_root)
    assert found == [False, True, False]
