"""Something breaks while pollers read, and is mended: what each such chapter does. (demo/outage.py)"""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from nncache.demo.chapter import PATIENCE_S, seen_in_time, until_in_memory
from nncache.demo.figures import counted, spoken
from nncache.demo.pollers import Pollers
from nncache.demo.sightings import (
    MISSING,
    Expected,
    Question,
    Record,
    View,
    Watched,
    all_answered,
    between,
    watched,
)
from nncache.demo.stage import MAX_STALENESS_S, OWNER, WORKFLOW, Stage
from nncache.demo.step import Step

Act = Callable[[], Awaitable[object]]

_THERE: Final = View(200, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage:
    """What is broken, and how it is called.

    Attributes:
        directory: name of the directory of day files that this outage is about; no other chapter uses it.
        meanwhile, afterwards: ends of "Reads ..." and "A change ...".
        resume_s: how long after it is mended answers may take to come from memory again.
    """

    directory: str
    meanwhile: str
    afterwards: str
    resume_s: float

    @property
    def calm(self) -> str:
        """A file that nobody changes."""
        return f"{WORKFLOW}/{self.directory}-calm/_SUCCESS"

    @property
    def storm(self) -> str:
        """A file that is deleted and written."""
        return f"{WORKFLOW}/{self.directory}-storm/_SUCCESS"

    def expected(self, storm: View) -> Expected:
        """Return what pollers should be answered when the changing file is like that."""
        return {
            Question("bob", self.calm): _THERE,
            Question("alice", self.storm): storm,
            Question("bob", self.storm): storm,
        }


async def live_through(stage: Stage, outage: Outage, breaks: Act, mends: Act) -> tuple[Step, ...]:
    """Break it, change twice, mend it, and change again once answers come from memory, with pollers all the time.

    `breaks` and `mends` return when that is done; it is mended whatever happens in between.
    """
    there, gone = outage.expected(_THERE), outage.expected(MISSING)
    async with stage.at_namenode(OWNER) as owner:
        await owner.create(outage.calm)
        await owner.create(outage.storm)
        async with stage.pollers(tuple(there)) as pollers:
            await until_in_memory(stage, pollers, there)
            begun_at = time.monotonic()
            try:
                await breaks()
                broken_at = time.monotonic()
                at_once = await _change(pollers, owner.delete(outage.storm), there, gone)
                later_on = await _change(pollers, owner.create(outage.storm), gone, there)
            finally:
                mending_at = time.monotonic()
                await mends()
            mended_at = time.monotonic()
            resumed = await pollers.until(
                lambda: all_answered(pollers.records, there, since=mended_at, from_memory=True),
                2 * outage.resume_s,
            )
            resumed_at = time.monotonic()
            again = await _change(pollers, owner.delete(outage.storm), there, gone)
    return (
        reads(outage, between(pollers.records, begun_at, mended_at), broken_at, mending_at),
        seen_in_time(f"Changes {outage.meanwhile}", (at_once, later_on)),
        resumption(outage, resumed_at - mended_at if resumed else None),
        seen_in_time(f"A change {outage.afterwards}", (again,)),
    )


async def _change(pollers: Pollers, write: Awaitable[object], before: Expected, after: Expected) -> Watched:
    """Write under the eyes of pollers that go on, and return what they saw of it."""
    begun_at = time.monotonic()
    await write
    acknowledged_at = time.monotonic()
    await pollers.until(lambda: all_answered(pollers.records, after, since=acknowledged_at), PATIENCE_S)
    records = between(pollers.records, begun_at, time.monotonic())
    return watched(records, acknowledged_at, before=before, after=after)


def reads(outage: Outage, records: tuple[Record, ...], broken_at: float, mending_at: float) -> Step:
    """Judge the reads that were begun from the moment it began to break until it was mended.

    Once it is being mended nobody outside knows when a hit is right again.
    """
    sightings = [sighting for record in records for sighting in record.sightings]
    failed = sum(sighting.view.is_failure for sighting in sightings)
    hits = [sighting.started_at for sighting in sightings if sighting.is_hit]
    last_hit_s = max([0.0, *(hit_at - broken_at for hit_at in hits if hit_at < mending_at)])
    return Step(
        title=f"Reads {outage.meanwhile}",
        expected=f"none fails, no hit after {MAX_STALENESS_S:g} s",
        seen=f"{counted(len(sightings), 'read')}, {failed:,} failed, last hit after {spoken(last_hit_s)}",
        came_true=bool(sightings) and not failed and last_hit_s <= MAX_STALENESS_S,
    )


def resumption(outage: Outage, after_s: float | None) -> Step:
    """Judge whether answers came from memory again; None: they did not."""
    in_time = after_s is not None and after_s <= outage.resume_s
    return Step(
        title=f"Hits {outage.afterwards}",
        expected=f"for all within {outage.resume_s:.0f} s",
        seen=f"not within {2 * outage.resume_s:.0f} s" if after_s is None else f"after {spoken(after_s)}",
        came_true=in_time,
    )
