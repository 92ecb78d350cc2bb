"""Pollers ask for a file that is not there yet. (demo/chapters/waiting.py)"""

import time
from typing import Final

from nncache.demo.accounts import Accounts, accounts
from nncache.demo.chapter import Chapter
from nncache.demo.figures import counted, percentile, spoken
from nncache.demo.pollers import INTERVAL_S
from nncache.demo.sightings import MISSING, Question, Record, Sighting
from nncache.demo.stage import OWNER, WORKFLOW, Stage
from nncache.demo.step import Step

PATH: Final = f"{WORKFLOW}/day-1/_SUCCESS"

_QUESTIONS: Final = tuple(Question(user, PATH) for user in ("alice", "bob", "carol") * 2)
_LASTS_S: Final = 2.0
_MAY_ASK: Final = 0.05  # share of the reads that may reach the NameNode: the first of each user, and a few


async def play(stage: Stage) -> tuple[Step, ...]:
    """Poll for a while, with all counters read before and after."""
    async with stage.at_namenode(stage.superuser) as root, stage.at_namenode(OWNER) as owner:
        await root.mkdirs(f"/user/{OWNER}")
        await root.set_owner(f"/user/{OWNER}", OWNER)
        await owner.mkdirs(PATH.rpartition("/")[0])
    answered, calls = await stage.answered_by_proxy(), await stage.counter.calls()
    async with stage.pollers(_QUESTIONS) as pollers:
        end = time.monotonic() + _LASTS_S
        await pollers.until(lambda: time.monotonic() > end, _LASTS_S + 1)
    books = accounts(
        pollers.records,
        (answered, await stage.answered_by_proxy()),
        (calls, await stage.counter.calls()),
    )
    return (judge(books, pollers.records),)


def judge(books: Accounts, records: tuple[Record, ...]) -> Step:
    """Judge that they got the truth, and nearly all of it from memory."""
    sightings: list[Sighting] = [sighting for record in records for sighting in record.sightings]
    wrong = [sighting for sighting in sightings if sighting.view != MISSING]
    took = [sighting.ended_at - sighting.started_at for sighting in sightings if sighting.is_hit]
    seen = f"{counted(books.reads, 'read')}, {counted(books.hits, 'hit')}"
    seen += f" (p50 {spoken(percentile(took, 0.5))})" if took else ""
    seen += f", {counted(books.calls, 'call')}"
    if wrong:
        seen += f"; {counted(len(wrong), 'read')} not 404, such as {wrong[0].view}"
    return Step(
        title="A missing file, from memory",
        expected=f"404 each time, {_MAY_ASK:.0%} calls at most",
        seen=seen,
        came_true=bool(took) and not wrong and books.calls <= _MAY_ASK * books.reads,
    )


CHAPTER: Final = Chapter(
    "Waiting for a file",
    f"A job will write {PATH} when it is done. alice, bob and carol each ask twice "
    f"every {INTERVAL_S * 1000:.0f} ms whether it is there. It is not, and "
    "the NameNode need not say so each time: a hit is answered from memory, a call reaches the NameNode.",
    play,
)
