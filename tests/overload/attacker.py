"""The body of one attack in a process of its own, niced, for a bounded time."""

import asyncio
import os
import traceback
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Final

import uvloop

from tests.overload.attack import Aim, Body, Tally

_NICE: Final = 5


@dataclass(frozen=True, slots=True)
class Done:
    """What the attackers did, and the fault of theirs that ended it early, if one did."""

    tally: Tally
    fault: str = ""


def attack(body: Body, aim: Aim, parent: Connection) -> None:
    """Say that the process is there, wait for a word, attack, and say what was done."""
    os.nice(_NICE)
    tally, fault = Tally(), ""
    parent.send(None)
    parent.recv()

    async def bounded() -> None:
        try:
            async with asyncio.timeout(aim.seconds):
                await body(aim, tally)
        except TimeoutError:
            pass

    try:
        uvloop.run(bounded())
    except Exception:  # noqa: BLE001 - told to the parent, whatever it is
        fault = traceback.format_exc()
    parent.send(Done(tally, fault))
