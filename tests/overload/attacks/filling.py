"""Finding 10 and a scan: calls that fill memory."""

import asyncio
import itertools
from string import ascii_lowercase
from typing import Final

from tests.http_client import HttpClient, request, webhdfs
from tests.overload import places
from tests.overload.attack import Aim, Tally
from tests.overload.attacks.sending import keep_asking_at_once

_CONNECTIONS: Final = 8
_MAX_CALLS: Final = 20_000
HELD: Final = 600
_AGAIN_S: Final = 6.0
_WAITS: Final = ("Prefer: wait=50", "If-None-Match: *")
_POLLED: Final = f"/webhdfs/v1{places.PRESENT[0]}?op=GETFILESTATUS&user.name=carol"
_TAGS: Final = ",".join("".join(each) for each in itertools.product(ascii_lowercase, repeat=3))[:64_000]
_HEADS: Final = (
    request("GET", _POLLED, _WAITS[0], f"{_WAITS[1]},{_TAGS}"),
    request("GET", _POLLED, *_WAITS, f"X-Large: {'x' * 60_000}"),
    request("GET", _POLLED, *_WAITS, f"X-Large: {'x' * 4_000}"),
)
"""Requests that wait: with entity tags, with a large field, and one small enough to be held."""

_LONG_NAME: Final = "x" * 60_000
_LONG_PATH: Final = "y" * 60_000


async def witnesses(aim: Aim, tally: Tally) -> None:
    """Request paths of a filter, each once, under user names of 60,000 characters."""
    calls = (
        webhdfs("GET", f"{places.POLLED_DIRECTORY}/w{number}", "GETFILESTATUS", f"n{number}{_LONG_NAME}")
        for number in range(_MAX_CALLS)
    )
    await keep_asking_at_once(aim, tally, calls, 0.0, connections=_CONNECTIONS)


async def long_windows(aim: Aim, tally: Tally) -> None:
    """Create files with names of 60,000 characters, first step only, where a filter might match below."""
    await _begin(aim, tally, f"/user/{_LONG_PATH}")


async def long_aside(aim: Aim, tally: Tally) -> None:
    """Create files with such names, first step only, where no filter matches."""
    await _begin(aim, tally, f"/data/carol/{_LONG_PATH}")


async def _begin(aim: Aim, tally: Tally, prefix: str) -> None:
    calls = (webhdfs("PUT", f"{prefix}{number}", "CREATE") for number in range(_MAX_CALLS))
    await keep_asking_at_once(aim, tally, calls, 0.0, connections=_CONNECTIONS)


async def held(aim: Aim, tally: Tally) -> None:
    """Wait for a changed answer, with heads of 64 KB and of 4 KB; wait again after each answer."""

    async def wait(number: int) -> None:
        client, head = (
            HttpClient(aim.proxy, places.ATTACKERS[number % len(places.ATTACKERS)]),
            _HEADS[number % 3],
        )
        while True:
            tally.requests += 1
            tally.mebibytes += len(head) / 2**20
            try:
                await client.exchange(head)
            except (OSError, EOFError, ValueError):
                client.hang_up()
            await asyncio.sleep(_AGAIN_S)

    async with asyncio.TaskGroup() as tasks:
        for number in range(HELD):
            tally.connections += 1
            tasks.create_task(wait(number))
            await asyncio.sleep(_AGAIN_S / HELD)


async def scan(aim: Aim, tally: Tally) -> None:
    """Request an endless sequence of paths of a filter, each once."""
    calls = (
        webhdfs("GET", f"{places.POLLED_DIRECTORY}/scanned-{number:09}", "GETFILESTATUS")
        for number in itertools.count()
    )
    await keep_asking_at_once(aim, tally, calls, 0.0, connections=_CONNECTIONS)
