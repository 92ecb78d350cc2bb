"""Make a change while clients poll, and note what they see of it."""

import time
from collections.abc import Awaitable, Callable
from typing import Final

from nncache.demo.options import DemoError
from nncache.demo.reads import Expected, Pollers
from nncache.demo.steps import BOUND_S, Observed, counted, observe
from nncache.demo.system import System

PATIENCE_S: Final = BOUND_S + 1.0
"""How long a change is waited for: past the bound, so that a broken promise is seen and not supposed."""

_REMEMBER_S: Final = 5.0


async def until_in_memory(system: System, pollers: Pollers, expected: Expected) -> None:
    """Wait until every poller is answered like this, from memory: else seeing a change would prove nothing.

    Raises:
        DemoError: that does not come.
    """
    if await pollers.until_answered(expected, _REMEMBER_S, from_memory=True):
        return
    said = [
        f"{record.question.user} gets {record.reads[-1].view if record.reads else 'nothing'}"
        f" for {record.question.path}"
        for record in pollers.records
        if not record.reads
        or not record.reads[-1].is_hit
        or record.reads[-1].view != expected[record.question]
    ]
    first, others = said[0] if said else "", f" (and {counted(len(said) - 1, 'other')})" if said[1:] else ""
    raise DemoError(
        f"not answered from memory as it should be after {_REMEMBER_S:.0f} s: {first}{others}; "
        f"the proxy's gate: {await system.gate()}"
    )


async def change(
    pollers: Pollers, write: Callable[[], Awaitable[object]], *, before: Expected, after: Expected
) -> Observed:
    """Write while these pollers go on, and return what they see of it."""
    begun_at = time.monotonic()
    await write()
    acknowledged_at = time.monotonic()
    await pollers.until_answered(after, PATIENCE_S, since=acknowledged_at)
    records = [record.between(begun_at, time.monotonic()) for record in pollers.records]
    return observe(records, acknowledged_at, before=before, after=after)


async def watch(
    system: System,
    write: Callable[[], Awaitable[object]],
    *,
    before: Expected,
    after: Expected,
    linger_s: float = 0.0,
) -> Observed:
    """Let pollers be answered from memory, write, and return what they see of it.

    They go on until all see it or PATIENCE_S is over, and at least `linger_s` after the acknowledgement.

    Raises:
        DemoError: they are not answered from memory before.
    """
    async with system.pollers(tuple(before)) as pollers:
        await until_in_memory(system, pollers, before)
        await write()
        acknowledged_at = time.monotonic()
        await pollers.until_answered(after, PATIENCE_S, since=acknowledged_at)
        linger_until = acknowledged_at + linger_s
        await pollers.until(
            lambda: all(record.reads[-1].started_at > linger_until for record in pollers.records),
            linger_s + PATIENCE_S,
        )
    return observe(pollers.records, acknowledged_at, before=before, after=after)
