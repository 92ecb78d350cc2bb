"""Runs the body of one attack in a process of its own, niced, for a bounded time."""

import asyncio
import multiprocessing
import os
import traceback
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Final, Self

import uvloop

from tests.overload.attack import Aim, Body, Tally

_NICE: Final = 5
_START_S: Final = 30.0
_END_S: Final = 15.0


@dataclass(frozen=True, slots=True)
class Done:
    """What the attackers did, and the fault of theirs that ended it early, if one did."""

    tally: Tally
    fault: str = ""


def _attack(body: Body, aim: Aim, parent: Connection) -> None:
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


class Attacker:
    """The process, while the `with` block lasts; it waits for `go()`."""

    def __init__(self, body: Body, aim: Aim) -> None:
        self._pipe, theirs = multiprocessing.Pipe()
        self._process = multiprocessing.get_context("spawn").Process(
            target=_attack, args=(body, aim, theirs), daemon=True
        )
        self._seconds = aim.seconds

    def __enter__(self) -> Self:
        self._process.start()
        assert self._pipe.poll(_START_S), "the attackers' process does not start"
        self._pipe.recv()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.join()

    def go(self) -> None:
        """Begin; the time counts from here."""
        self._pipe.send(None)

    def done(self) -> Done:
        """Wait until the time is over and return what was done."""
        if not self._pipe.poll(self._seconds + _END_S):
            return Done(Tally(), "the attackers did not end in time")
        done = self._pipe.recv()
        assert isinstance(done, Done)
        return done
