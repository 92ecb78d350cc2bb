"""How attackers send: over and over, paced, in spite of errors."""

import asyncio
import itertools
import time
from collections.abc import Iterable
from typing import Final

from tests.http_client import HttpClient
from tests.overload import places
from tests.overload.attack import Aim, Tally

HEAD_BYTES: Final = 65_000
"""Nearly the proxy's `max_head_bytes`, with room for what is added on the way to the NameNode."""

PATIENCE_S: Final = 40.0


async def keep_asking(
    aim: Aim, tally: Tally, requests: Iterable[bytes], every_s: float, *, source: str = places.ATTACKER
) -> None:
    """Send these one after another over one connection, each when the reply to the last is there.

    At most one each `every_s`. A connection that breaks is made again; an answer is not looked at.
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
    """Share these among several connections; each keeps the pace of `keep_asking`."""
    shared = iter(requests)
    async with asyncio.TaskGroup() as tasks:
        for number in range(connections):
            source = places.ATTACKERS[number % len(places.ATTACKERS)]
            tasks.create_task(keep_asking(aim, tally, shared, every_s, source=source))


def again(*requests: bytes) -> Iterable[bytes]:
    """Repeat these for ever."""
    return itertools.cycle(requests)


def padded(start: str, unit: str, total: int = HEAD_BYTES) -> str:
    """Return `start` and as many units behind it as fit."""
    return start + unit * ((total - len(start)) // len(unit))
