"""Log what an operator waits for: which NameNode is active, what the daemon does.

The beginning of a bad state is a WARNING, its end is INFO. A state that comes and goes all the time is not logged each
time: there is a bucket of lines. `nncache.net.log_throttle` would not do: the last state must always be logged.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Final, NoReturn, TypeVar

from nncache.daemons.state_change import StateChange
from nncache.net.token_bucket import TokenBucket

LOOK_EVERY_S = 0.25
"""A state that comes and goes faster than this is not worth a line."""

STARTS_WITHIN_S: Final = 5.0
"""A daemon that has just begun knows nothing yet, and that is no bad state."""

BURST: Final = 6
"""Changes that are logged at once: a failover, or a restart of everything around the daemon."""

CHANGE_EVERY_S: Final = 10.0
"""After those, a change is logged at most this often."""

_log = logging.getLogger(__name__)

StateT = TypeVar("StateT")


async def log_changes(
    look: Callable[[], StateT],
    lines: Callable[[StateT | None, StateT], tuple[StateChange, ...]],
    *,
    look_every_s: float = LOOK_EVERY_S,
    starts_within_s: float = STARTS_WITHIN_S,
) -> NoReturn:
    """Log what `lines` says of every change of the state, forever; the first call has no earlier state.

    At the start a bad state has a while to become good. While too many changes come, the state that was logged last is
    compared with, until there is room for a line.
    """
    clock = asyncio.get_running_loop().time
    started_by = clock() + starts_within_s
    bucket = TokenBucket(1 / CHANGE_EVERY_S, BURST, clock())
    logged: StateT | None = None
    while True:
        await asyncio.sleep(look_every_s)  # first, too: the NameNodes have not been asked yet
        now = look()
        changes = lines(logged, now)
        if changes:
            if logged is None and any(each.is_bad for each in changes) and clock() < started_by:
                continue
            if bucket.left(clock()) < 1:
                continue
            bucket.charge(1, clock())
        for each in changes:
            _log.log(logging.WARNING if each.is_bad else logging.INFO, "%s", each.text)
        logged = now
