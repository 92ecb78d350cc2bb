"""A chapter of the story, and what several of them do: change something and look on. (demo/chapter.py)"""

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from nncache.demo.errors import NotInMemoryError
from nncache.demo.figures import counted, spoken, spread
from nncache.demo.pollers import Pollers
from nncache.demo.sightings import Expected, Question, Watched, all_answered, watched
from nncache.demo.stage import MAX_STALENESS_S, Stage
from nncache.demo.step import Step

PATIENCE_S: Final = MAX_STALENESS_S + 1.0
"""How long a change is waited for: past the bound, so that a broken promise is seen and not supposed."""

_REMEMBER_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class Chapter:
    """A title, what happens in it, and how it is played.

    `play` returns its steps; an error that it raises is one that did not come true.
    """

    title: str
    plot: str
    play: Callable[[Stage], Awaitable[tuple[Step, ...]]]


class Polled(Protocol):
    """What has pollers of a proxy; `Stage` does."""

    def pollers(self, questions: Sequence[Question]) -> Pollers:
        """Return pollers that ask these."""

    async def gate(self) -> str:
        """Return what the proxy says of itself: whether it answers from memory, and if not, why."""


async def until_in_memory(stage: Polled, pollers: Pollers, expected: Expected) -> None:
    """Wait until every poller is answered like this, from memory.

    Raises:
        NotInMemoryError: that does not come.
    """
    if await pollers.until(lambda: all_answered(pollers.records, expected, from_memory=True), _REMEMBER_S):
        return
    said = [
        f"{record.question.user} gets {record.sightings[-1].view if record.sightings else 'nothing'}"
        f" for {record.question.path}"
        for record in pollers.records
        if not all_answered((record,), expected, from_memory=True)
    ]
    others = f" (and {counted(len(said) - 1, 'other')})" if said[1:] else ""
    raise NotInMemoryError(
        f"not answered from memory as it should be after {_REMEMBER_S:.0f} s: {said[0]}{others}; "
        f"the proxy's gate: {await stage.gate()}"
    )


async def watch(
    stage: Polled,
    write: Callable[[], Awaitable[object]],
    *,
    before: Expected,
    after: Expected,
    linger_s: float = 0.0,
    patience_s: float = PATIENCE_S,
) -> Watched:
    """Let pollers be answered from memory, write, and return what they see of it.

    They go on until all see it or `patience_s` is over, and at least `linger_s` after the acknowledgement.

    Raises:
        NotInMemoryError: they are not answered from memory before.
    """
    async with stage.pollers(tuple(before)) as pollers:
        await until_in_memory(stage, pollers, before)
        await write()
        acknowledged_at = time.monotonic()
        await pollers.until(lambda: all_answered(pollers.records, after, since=acknowledged_at), patience_s)
        linger_until = acknowledged_at + linger_s
        await pollers.until(
            lambda: all(record.sightings[-1].started_at > linger_until for record in pollers.records),
            linger_s + patience_s,
        )
    return watched(pollers.records, acknowledged_at, before=before, after=after)


def seen_in_time(title: str, rounds: Sequence[Watched]) -> Step:
    """Judge changes by the guarantee Bounded."""
    delays = [delay for each in rounds for delay in each.delays_s]
    blind = [line for each in rounds for line in each.blind]
    oldest_s = max((each.oldest_s for each in rounds), default=0.0)
    failed = sum(each.failed for each in rounds)
    if blind:
        seen = f"after {spoken(oldest_s)}: {', '.join(blind)}"
    elif delays:
        seen = f"{len(delays)} of {len(delays)}, {spread(delays)}"
        if oldest_s > max(delays):
            seen += f", an old answer again after {spoken(oldest_s)}"
    else:
        seen = "nobody looked"
    if failed:
        seen += f"; {counted(failed, 'read')} failed"
    return Step(
        title=title,
        expected=f"all within {MAX_STALENESS_S:g} s, no read fails",
        seen=seen,
        came_true=bool(delays) and not blind and not failed and oldest_s <= MAX_STALENESS_S,
    )
