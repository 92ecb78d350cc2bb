"""Finding 10 and a scan: calls that fill memory. (tests/overload/attacks/filling.py)"""

import itertools
from typing import Final

from tests.overload import places
from tests.overload.attack import Aim, Tally
from tests.overload.attacks.sending import keep_asking_at_once
from tests.overload.client import webhdfs

_CONNECTIONS: Final = 8
_MAX_CALLS: Final = 20_000
_LONG_NAME: Final = "x" * 60_000
_LONG_PATH: Final = "y" * 60_000


async def witnesses(aim: Aim, tally: Tally) -> None:
    """Ask for paths of a filter under names of 60,000 characters, each once."""
    calls = (
        webhdfs("GET", f"{places.POLLED_DIRECTORY}/w{number}", "GETFILESTATUS", f"n{number}{_LONG_NAME}")
        for number in range(_MAX_CALLS)
    )
    await keep_asking_at_once(aim, tally, calls, 0.0, connections=_CONNECTIONS)


async def long_windows(aim: Aim, tally: Tally) -> None:
    """Begin files with names of 60,000 characters where a filter might match below."""
    await _begin(aim, tally, f"/user/{_LONG_PATH}")


async def long_aside(aim: Aim, tally: Tally) -> None:
    """Begin files with such names where no filter matches."""
    await _begin(aim, tally, f"/data/carol/{_LONG_PATH}")


async def _begin(aim: Aim, tally: Tally, prefix: str) -> None:
    calls = (webhdfs("PUT", f"{prefix}{number}", "CREATE") for number in range(_MAX_CALLS))
    await keep_asking_at_once(aim, tally, calls, 0.0, connections=_CONNECTIONS)


async def scan(aim: Aim, tally: Tally) -> None:
    """Ask for ever further paths of a filter, each once."""
    calls = (
        webhdfs("GET", f"{places.POLLED_DIRECTORY}/scanned-{number:09}", "GETFILESTATUS")
        for number in itertools.count()
    )
    await keep_asking_at_once(aim, tally, calls, 0.0, connections=_CONNECTIONS)
