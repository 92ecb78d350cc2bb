"""The chapters in their order, and the telling of them. (demo/story.py)"""

import http.client
from contextlib import AbstractContextManager
from typing import Final, Protocol

import aiohttp

from nncache.demo.chapter import Chapter
from nncache.demo.chapters import (
    counting,
    cutting,
    finishing,
    killing,
    locking,
    own_writes,
    renaming,
    stopping,
    subscribing,
    waiting,
)
from nncache.demo.errors import DemoError
from nncache.demo.stage import Stage
from nncache.demo.step import Step
from nncache.hadoop.errors import HadoopError
from nncache.testbed import TestbedError

CHAPTERS: Final = (
    waiting.CHAPTER,
    finishing.CHAPTER,
    renaming.CHAPTER,
    locking.CHAPTER,
    own_writes.CHAPTER,
    subscribing.CHAPTER,
    cutting.CHAPTER,
    stopping.CHAPTER,
    killing.CHAPTER,
)

_THE_WORLD: Final = (
    DemoError,
    HadoopError,
    TestbedError,
    aiohttp.ClientError,
    http.client.HTTPException,
    OSError,  # TimeoutError is one
)
"""What can go wrong outside the demo's own code."""


class Teller(Protocol):
    """Who says it to the reader."""

    def chapter(self, number: int, chapter: Chapter) -> AbstractContextManager[None]:
        """Begin a chapter; the context lasts as long as it is played."""

    def step(self, step: Step) -> None:
        """Say what came of a step."""


async def tell(stage: Stage, teller: Teller) -> tuple[Step, ...]:
    """Play all chapters, the last one on what the others cost, and return their steps."""
    opening = await counting.open_books(stage)
    steps: list[Step] = []
    for number, chapter in enumerate((*CHAPTERS, counting.chapter(opening)), 1):
        with teller.chapter(number, chapter):
            played = await played_to_its_end(stage, chapter)
        for step in played:
            teller.step(step)
        steps += played
    return tuple(steps)


async def played_to_its_end(stage: Stage, chapter: Chapter) -> tuple[Step, ...]:
    """Return the chapter's steps; one that breaks off is a step that did not come true."""
    try:
        return await chapter.play(stage)
    except _THE_WORLD as error:
        seen = str(error) if isinstance(error, DemoError) else f"{type(error).__name__}: {error}"
        return (Step(title=chapter.title, expected="it is played to its end", seen=seen, came_true=False),)
