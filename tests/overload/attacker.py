"""The work of one attack in a process of its own, niced, for a limited time."""

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
    """What the attackers sent, and the error that ended the attack early, if any."""

    tally: Tally
    fault: str = ""


def attack(body: Body, aim: Aim, parent: Connection) -> None:
    """Report readiness, wait for the start, attack, and report the outcome."""
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
    except Exception:  # noqa: BLE001 - reported to the parent, whatever it is
        fault = traceback.format_exc()
    parent.send(Done(tally, fault))
