"""A directory gets another name. (demo/chapters/renaming.py)"""

from functools import partial
from typing import Final

from nncache.demo.chapter import Chapter, seen_in_time, watch
from nncache.demo.sightings import MISSING, Question, View, Watched
from nncache.demo.stage import OWNER, WORKFLOW, Stage
from nncache.demo.step import Step

_DRAFT: Final = f"{WORKFLOW}/draft"
_FINAL: Final = f"{WORKFLOW}/final"
_ROUNDS: Final = 6  # even: in the end it has its first name again
_READERS: Final = ("alice", "bob")


async def play(stage: Stage) -> tuple[Step, ...]:
    """Rename there and back; stop at the first time that somebody does not see."""
    rounds: list[Watched] = []
    async with stage.at_namenode(OWNER) as owner:
        await owner.create(f"{_DRAFT}/_SUCCESS")
        old, new = _DRAFT, _FINAL
        for _ in range(_ROUNDS):
            gone = [Question(user, f"{old}/_SUCCESS") for user in _READERS]
            come = [Question(user, f"{new}/_SUCCESS") for user in _READERS]
            rounds.append(
                await watch(
                    stage,
                    partial(owner.rename, old, new),
                    before=dict.fromkeys(gone, View(200, 0)) | dict.fromkeys(come, MISSING),
                    after=dict.fromkeys(gone, MISSING) | dict.fromkeys(come, View(200, 0)),
                )
            )
            if rounds[-1].blind:
                break
            old, new = new, old
    return (seen_in_time("Old name 404, new name 200", rounds),)


CHAPTER: Final = Chapter(
    "A directory is renamed",
    f"{_DRAFT} becomes {_FINAL}, and back, {_ROUNDS} times, at the NameNode. alice and bob ask for _SUCCESS under "
    "both names: one is there and the other is not, both from memory. HDFS announces the rename in one event; "
    "everything below either name is forgotten.",
    play,
)
