"""Say in the log what an operator waits for: who is active, whether answers come from memory. (nncache/announcer.py)"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass

from hadoop.election_view import Active

LOOK_EVERY_S = 0.25
"""A state that comes and goes faster than this is not worth a line."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Situation:
    """What the log tells about."""

    active: Active | None
    is_gate_open: bool


def lines(before: Situation | None, now: Situation) -> tuple[str, ...]:
    """Return what there is to say about the change from one situation to the next; None: nothing was said yet."""
    said = []
    if before is None or _identity(before.active) != _identity(now.active):
        if now.active is None:
            said.append("no active NameNode is known; calls wait for one, then get 503")
        else:
            said.append(f"NameNode {now.active.namenode.http} is active (term {now.active.term})")
    if before is None or before.is_gate_open != now.is_gate_open:
        said.append(
            "the gate is open: what is cached may be answered from memory"
            if now.is_gate_open
            else "the gate is closed: every call goes to the NameNode"
        )
    return tuple(said)


def _identity(active: Active | None) -> object:
    return None if active is None else (active.namenode, active.term)


async def announce(look: Callable[[], Situation], look_every_s: float = LOOK_EVERY_S) -> None:
    """Log every change of the situation, forever."""
    before: Situation | None = None
    while True:
        await asyncio.sleep(look_every_s)  # first, too: the NameNodes have not been asked yet
        now = look()
        for line in lines(before, now):
            _log.info("%s", line)
        before = now
