"""Keep background work going, whatever happens to it. (nncache/supervision.py)"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import NoReturn

PAUSE_S = 1.0
"""Before work that failed is begun again."""

_log = logging.getLogger(__name__)


async def keep_running(
    what: str, work: Callable[[], Awaitable[object]], pause_s: float = PAUSE_S
) -> NoReturn:
    """Run the work, and again when it ends or fails, until cancelled.

    A fault of ours must cost cached answers, not the process (FailToNameNode): the gate closes by time alone
    when nobody watches the NameNodes or reads their changes.
    """
    while True:
        try:
            await work()
        except Exception:  # noqa: BLE001 - supervised: see the docstring
            _log.exception("%s failed; it starts again in %g s", what, pause_s)
        else:
            _log.error("%s ended by itself; it starts again in %g s", what, pause_s)
        await asyncio.sleep(pause_s)
