"""The way to the NameNode's edits is cut, and mended. (demo/chapters/cutting.py)"""

import asyncio
from typing import Final

from nncache.demo.chapter import Chapter
from nncache.demo.outage import Outage, live_through
from nncache.demo.stage import MAX_STALENESS_S, Stage
from nncache.demo.step import Step

OUTAGE: Final = Outage(
    directory="cut", meanwhile="while it is cut", afterwards="once it is mended", resume_s=5.0
)


async def play(stage: Stage) -> tuple[Step, ...]:
    """Cut it with connections reset."""
    return await live_through(
        stage,
        OUTAGE,
        lambda: asyncio.to_thread(stage.relay.cut),
        lambda: asyncio.to_thread(stage.relay.restore),
    )


CHAPTER: Final = Chapter(
    "The stream of edits is cut",
    "Nobody can reach the NameNode's RPC port, so the publisher reads no edits. The proxy sees over HTTP that the "
    f"NameNode goes on, and answers from memory only as long as nothing can be older than {MAX_STALENESS_S:g} s; then "
    f"it asks the NameNode each time. Meanwhile {OUTAGE.storm} is deleted and written anew; when the cut is mended it "
    "is deleted once more.",
    play,
)
