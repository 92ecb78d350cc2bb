"""Say in the log what an operator waits for: who is active, what the daemon does. (nncache/daemons/announcer.py)"""

import asyncio
import logging
from collections.abc import Callable
from typing import NoReturn, TypeVar

LOOK_EVERY_S = 0.25
"""A state that comes and goes faster than this is not worth a line."""

_log = logging.getLogger(__name__)

SituationT = TypeVar("SituationT")


async def announce(
    look: Callable[[], SituationT],
    lines: Callable[[SituationT | None, SituationT], tuple[str, ...]],
    look_every_s: float = LOOK_EVERY_S,
) -> NoReturn:
    """Log what `lines` says of every change of the situation, forever; at first there is none before."""
    before: SituationT | None = None
    while True:
        await asyncio.sleep(look_every_s)  # first, too: the NameNodes have not been asked yet
        now = look()
        for line in lines(before, now):
            _log.info("%s", line)
        before = now
