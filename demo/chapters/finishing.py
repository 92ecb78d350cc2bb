"""A job writes the file that is waited for, straight to the NameNode. (demo/chapters/finishing.py)"""

from functools import partial
from typing import Final

from nncache.demo.chapter import Chapter, seen_in_time, watch
from nncache.demo.sightings import MISSING, Question, View, Watched
from nncache.demo.stage import OWNER, WORKFLOW, Stage
from nncache.demo.step import Step

CONTENT: Final = b"42317 rows\n"

_ROUNDS: Final = 5
_READERS: Final = ("alice", "bob", "carol")


async def play(stage: Stage) -> tuple[Step, ...]:
    """Write one day's file after the other; stop at the first that somebody does not see."""
    rounds: list[Watched] = []
    async with stage.at_namenode(OWNER) as job:
        for day in range(1, _ROUNDS + 1):
            path = f"{WORKFLOW}/day-{day}/_SUCCESS"
            questions = [Question(user, path) for user in _READERS]
            await job.mkdirs(path.rpartition("/")[0])
            rounds.append(
                await watch(
                    stage,
                    partial(job.create, path, CONTENT),
                    before=dict.fromkeys(questions, MISSING),
                    after=dict.fromkeys(questions, View(200, len(CONTENT))),
                )
            )
            if rounds[-1].blind:
                break
    return (seen_in_time("The finished file is seen", rounds),)


CHAPTER: Final = Chapter(
    "The job finishes",
    "The job writes the file and closes it: to the NameNode and a DataNode, as any HDFS client would, "
    f"not through nncache; {_ROUNDS} days, one after the other. When do the three see the whole file? "
    "Each looks every 10 ms, and the time counts from the job's acknowledgement to the start of the first read that "
    "shows it. (While a file is open, nncache asks the NameNode each time.)",
    play,
)
