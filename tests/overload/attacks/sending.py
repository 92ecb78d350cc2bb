"""How attackers send: repeatedly, at a given rate, despite errors."""

import asyncio
import itertools
import time
from collections.abc import Iterable
from typing import Final

from tests.http_client import HttpClient
from tests.overload import places
from tests.overload.attack import Aim, Tally

HEAD_BYTES: Final = 65_000
"""Just below the proxy's `max_head_bytes`, with room for the fields that it adds for the NameNode."""

PATIENCE_S: Final = 40.0


async def keep_asking(
    aim: Aim, tally: Tally, requests: Iterable[bytes], every_s: float, *, source: str = places.ATTACKER
) -> None:
    """Send these requests in turn over one connection, each after the reply to the previous one.

    At most one per `every_s`. A broken connection is replaced; replies are ignored.
    """
    client = HttpClient(aim.proxy, source)
    due = time.monotonic()
    for request in requests:
        due = max(due + every_s, time.monotonic())
        tally.requests += 1
        tally.mebibytes += len(request) / 2**20
        try:
            async with asyncio.timeout(PATIENCE_S):
                await client.exchange(request)
        except (OSError, EOFError, ValueError, TimeoutError):
            client.hang_up()
        await asyncio.sleep(due - time.monotonic())


async def keep_asking_at_once(
    aim: Aim, tally: Tally, requests: Iterable[bytes], every_s: float, *, connections: int
) -> None:
    """Share these requests among several connections; each keeps the rate of `keep_asking`."""
    shared = iter(requests)
    async with asyncio.TaskGroup() as tasks:
        for number in range(connections):
            source = places.ATTACKERS[number % len(places.ATTACKERS)]
            tasks.create_task(keep_asking(aim, tally, shared, every_s, source=source))


def again(*requests: bytes) -> Iterable[bytes]:
    """Repeat these requests for ever."""
    return itertools.cycle(requests)


def padded(start: str, unit: str, total: int = HEAD_BYTES) -> str:
    """Return `start` followed by as many units as fit."""
    return start + unit * ((total - len(start)) // len(unit))
