"""Log changes of state for operators: which NameNode is active, and what the daemon does.

The start of a bad state is a WARNING, its end is INFO. A token bucket limits the lines of a state that flaps.
`nncache.net.log_throttle` does not fit, since the last state must always be logged.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Final, NoReturn, TypeVar

from nncache.daemons.state_change import StateLine
from nncache.net.token_bucket import TokenBucket

LOOK_EVERY_S = 0.25
"""Seconds between two checks. A state that ends sooner may not be logged."""

STARTS_WITHIN_S: Final = 5.0
"""For this many seconds after its start a daemon may know nothing, without a warning."""

BURST: Final = 6
"""Changes that are logged without a delay: a failover, or a restart of everything around the daemon."""

CHANGE_EVERY_S: Final = 10.0
"""Seconds between two logged changes after a burst."""

_log = logging.getLogger(__name__)

StateT = TypeVar("StateT")


async def log_changes(
    look: Callable[[], StateT],
    lines: Callable[[StateT | None, StateT], tuple[StateLine, ...]],
    *,
    look_every_s: float = LOOK_EVERY_S,
    starts_within_s: float = STARTS_WITHIN_S,
) -> NoReturn:
    """Log the result of `lines` for each change of state, forever; its first call has no earlier state.

    At start, a bad state has `starts_within_s` to become good. While the rate limit holds lines back, each state is
    compared with the last logged state, until a line is allowed.
    """
    clock = asyncio.get_running_loop().time
    started_by = clock() + starts_within_s
    bucket = TokenBucket(1 / CHANGE_EVERY_S, BURST, clock())
    logged: StateT | None = None
    while True:
        await asyncio.sleep(look_every_s)  # also at first: the NameNodes have not been asked yet
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
