"""Say in the log what an operator waits for: who is active, what the daemon does. (nncache/daemons/announcer.py)"""

import asyncio
import logging
from collections.abc import Callable
from typing import NoReturn, TypeVar

from nncache.hadoop.election_view import Active

LOOK_EVERY_S = 0.25
"""A state that comes and goes faster than this is not worth a line."""

_log = logging.getLogger(__name__)

SituationT = TypeVar("SituationT")


def about_active(
    before: Active | None, now: Active | None, *, is_first: bool, without: str
) -> tuple[str, ...]:
    """Return the line about who is active, if that is news; `without` says what happens while nobody is."""
    if not is_first and _identity(before) == _identity(now):
        return ()
    if now is None:
        return (f"no active NameNode is known; {without}",)
    return (f"NameNode {now.namenode.http} is active (term {now.term})",)


def _identity(active: Active | None) -> object:
    return None if active is None else (active.namenode, active.term)


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
