"""ZooKeeper is stopped, and started again. (demo/chapters/stopping.py)"""

import asyncio
from typing import Final

from nncache.demo.chapter import Chapter
from nncache.demo.outage import Outage, live_through
from nncache.demo.stage import Stage
from nncache.demo.step import Step

OUTAGE: Final = Outage(
    directory="zookeeper",
    meanwhile="while ZooKeeper is away",
    afterwards="once ZooKeeper is back",
    resume_s=5.0,
)


async def play(stage: Stage) -> tuple[Step, ...]:
    """Stop the process; it is back when it serves clients."""
    return await live_through(
        stage,
        OUTAGE,
        lambda: asyncio.to_thread(stage.zookeeper.stop),
        lambda: asyncio.to_thread(stage.zookeeper.start_again),
    )


CHAPTER: Final = Chapter(
    "ZooKeeper is stopped and started again",
    "Neither publisher nor proxy can do anything about it. Reads go on, from memory for as long as that is safe and "
    f"then from the NameNode, while {OUTAGE.storm} is deleted and written anew. The time of the hits counts from the "
    "moment when ZooKeeper serves again.",
    play,
)
