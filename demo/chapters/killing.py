"""The publisher is killed, and started again. (demo/chapters/killing.py)"""

import asyncio
from typing import Final

from nncache.demo.chapter import Chapter
from nncache.demo.errors import NoPublisherError
from nncache.demo.outage import Outage, live_through
from nncache.demo.stage import Stage
from nncache.demo.step import Step

OUTAGE: Final = Outage(
    directory="publisher",
    meanwhile="while nobody publishes",
    afterwards="once the publisher is back",
    resume_s=5.0,
)


async def play(stage: Stage) -> tuple[Step, ...]:
    """Kill it with SIGKILL; it is back when its process serves its pages."""
    publisher = stage.publisher
    if publisher is None:
        raise NoPublisherError("there is no publisher to be killed")
    stage.own_at_most += 1  # the new one reads the filter's definition: the NameNode looks it up for that
    return await live_through(
        stage,
        OUTAGE,
        lambda: asyncio.to_thread(publisher.kill),
        lambda: asyncio.to_thread(publisher.start),
    )


CHAPTER: Final = Chapter(
    "The publisher is killed and started again",
    "SIGKILL: it says goodbye to nobody, and ZooKeeper takes it for alive until its session expires. Its successor, on "
    "the same admin address, knows better and goes on where the last record ends. The time of the hits counts from the "
    "moment when the new process is up.",
    play,
)
