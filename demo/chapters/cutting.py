"""The stream of edits is cut, and comes back. (demo/chapters/cutting.py)"""

import time
from collections.abc import Awaitable
from typing import Final

from demo.chapter import PATIENCE_S, Chapter, seen_in_time, until_in_memory
from demo.figures import counted, spoken
from demo.pollers import Pollers
from demo.sightings import MISSING, Expected, Question, Record, View, Watched, all_answered, between, watched
from demo.stage import MAX_STALENESS_S, OWNER, WORKFLOW, Stage
from demo.step import Step

_THERE: Final = View(200, 0)
_CALM: Final = Question("bob", f"{WORKFLOW}/calm/_SUCCESS")  # nobody changes it
_STORM: Final = f"{WORKFLOW}/storm/_SUCCESS"
WITHOUT: Final[Expected] = {
    _CALM: _THERE,
    Question("alice", _STORM): MISSING,
    Question("bob", _STORM): MISSING,
}
WITH: Final[Expected] = dict.fromkeys(WITHOUT, _THERE)
_RESUME_S: Final = 10.0


async def play(stage: Stage) -> tuple[Step, ...]:
    """Cut, change twice, restore, change again, with pollers all the time."""
    async with stage.at_namenode(OWNER) as owner:
        await owner.create(_CALM.path)
        await owner.create(_STORM)
        async with stage.pollers(tuple(WITHOUT)) as pollers:
            await until_in_memory(pollers, WITH)
            stage.relay.cut()
            cut_at = time.monotonic()
            try:
                at_once = await _change(pollers, owner.delete(_STORM), WITH, WITHOUT)
                later_on = await _change(pollers, owner.create(_STORM), WITHOUT, WITH)
            finally:
                restored_at = time.monotonic()
                stage.relay.restore()
            resumed = await pollers.until(
                lambda: all_answered(pollers.records, WITH, since=restored_at, from_memory=True),
                _RESUME_S,
            )
            resumed_at = time.monotonic()
            again = await _change(pollers, owner.delete(_STORM), WITH, WITHOUT)
    return (
        outage(between(pollers.records, cut_at, restored_at), cut_at),
        seen_in_time("A change right after the cut", (at_once,)),
        seen_in_time("A change later on", (later_on,)),
        resumption(resumed_at - restored_at if resumed else None),
        seen_in_time("A change after that", (again,)),
    )


async def _change(pollers: Pollers, write: Awaitable[object], before: Expected, after: Expected) -> Watched:
    """Write under the eyes of pollers that go on, and return what they saw of it."""
    begun_at = time.monotonic()
    await write
    acknowledged_at = time.monotonic()
    await pollers.until(lambda: all_answered(pollers.records, after, since=acknowledged_at), PATIENCE_S)
    records = between(pollers.records, begun_at, time.monotonic())
    return watched(records, acknowledged_at, before=before, after=after)


def outage(records: tuple[Record, ...], cut_at: float) -> Step:
    """Judge the reads that were begun while the stream was cut."""
    sightings = [sighting for record in records for sighting in record.sightings]
    failed = sum(sighting.view.is_failure for sighting in sightings)
    hits = [sighting.started_at - cut_at for sighting in sightings if sighting.is_hit]
    last_hit_s = max(hits, default=0.0)
    return Step(
        title="Reads while it is cut",
        expected=f"none fails, no hit after {MAX_STALENESS_S:g} s",
        seen=f"{counted(len(sightings), 'read')}, {failed:,} failed, last hit after {spoken(last_hit_s)}",
        came_true=bool(sightings) and not failed and last_hit_s <= MAX_STALENESS_S,
    )


def resumption(after_s: float | None) -> Step:
    """Judge whether answers came from memory again; None: they did not."""
    return Step(
        title="Hits resume by themselves",
        expected=f"for all within {_RESUME_S:.0f} s",
        seen=f"not within {_RESUME_S:.0f} s" if after_s is None else f"after {spoken(after_s)}",
        came_true=after_s is not None,
    )


CHAPTER: Final = Chapter(
    "The stream of edits is cut",
    "nncache can no longer reach the NameNode's RPC port, so it learns of no change. It answers from memory only as "
    f"long as it knows that nothing can be older than {MAX_STALENESS_S:g} s, then it asks the NameNode each time. "
    f"Meanwhile {_STORM} is deleted and written anew; when the cut is mended it is deleted once more.",
    play,
)
