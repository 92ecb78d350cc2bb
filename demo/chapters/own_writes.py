"""Writes through the proxy, each followed by a read at once. (demo/chapters/own_writes.py)"""

import asyncio
from typing import Final

from nncache.demo.chapter import Chapter
from nncache.demo.chapters.finishing import CONTENT
from nncache.demo.figures import counted
from nncache.demo.reader import Reader
from nncache.demo.sightings import MISSING, Question, Sighting, View
from nncache.demo.stage import OWNER, WORKFLOW, Stage
from nncache.demo.step import Step

_PATH: Final = f"{WORKFLOW}/own/_SUCCESS"
_ROUNDS: Final = 10  # of two writes each
_TRIES: Final = 200
_PAUSE_S: Final = 0.01
_BOB: Final = Question("bob", _PATH)


async def play(stage: Stage) -> tuple[Step, ...]:
    """Create and delete through the proxy; bob reads before, from memory, and after each."""
    pairs: list[tuple[View, Sighting]] = []
    complaint = ""
    async with stage.at_namenode(OWNER) as owner, stage.through_proxy(OWNER) as writer:
        await owner.mkdirs(_PATH.rpartition("/")[0])
        with stage.reader() as reader:
            for number in range(2 * _ROUNDS):
                is_there = number % 2 == 1
                views = (MISSING, View(200, len(CONTENT)))
                if not await _in_memory(stage, reader, views[is_there]):
                    complaint = f"then bob's {views[is_there]} is no longer answered from memory"
                    break
                await (writer.delete(_PATH) if is_there else writer.create(_PATH, CONTENT))
                stage.own_at_most += (
                    0 if is_there else _PATH.count("/") + 1
                )  # one for each level, the root's too
                sighting = stage.note(_BOB, await asyncio.to_thread(reader.read, _BOB))
                pairs.append((views[not is_there], sighting))
    return (judge(pairs, complaint),)


async def _in_memory(stage: Stage, reader: Reader, view: View) -> bool:
    """Read until bob is answered like this from memory; False when that does not come."""
    for _ in range(_TRIES):
        sighting = stage.note(_BOB, await asyncio.to_thread(reader.read, _BOB))
        if sighting.is_hit and sighting.view == view:
            return True
        await asyncio.sleep(_PAUSE_S)
    return False


def judge(pairs: list[tuple[View, Sighting]], complaint: str) -> Step:
    """Judge by the guarantee OwnWrites: pairs of what should be read after a write, and what was."""
    stale = [sighting for view, sighting in pairs if sighting.view != view]
    seen = f"{len(pairs) - len(stale)} of {counted(len(pairs), 'write')}"
    if stale:
        seen += f"; another read got {stale[0].view}"
    if complaint:
        seen += f"; {complaint}"
    return Step(
        title="The very next read sees it",
        expected=f"{2 * _ROUNDS} of {2 * _ROUNDS} writes",
        seen=seen,
        came_true=len(pairs) == 2 * _ROUNDS and not stale and not complaint,
    )


CHAPTER: Final = Chapter(
    "A write through the proxy",
    f"alice takes the proxy for the NameNode: she creates {_PATH} through it (the data goes to the DataNode) and "
    f"deletes it again, {_ROUNDS} times. bob has each old answer from memory just before, and reads once just after.",
    play,
)
