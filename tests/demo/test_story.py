"""The chapters in their order, and the telling of them."""

from typing import cast

import pytest

from nncache.demo.chapter import Chapter
from nncache.demo.errors import NotInMemoryError
from nncache.demo.stage import Stage
from nncache.demo.step import Step
from nncache.demo.story import CHAPTERS, played_to_its_end
from tests.demo.told import Told

NO_STAGE = cast("Stage", None)  # for chapters that need none


async def play_and_fail(error: Exception) -> tuple[Step, ...]:
    """Play a chapter that raises this."""

    async def play(_stage: Stage) -> tuple[Step, ...]:
        raise error

    return await played_to_its_end(NO_STAGE, Chapter("A title", "a plot", play))


async def test_a_chapter_that_breaks_off_did_not_come_true() -> None:
    """The story goes on, and the reader is told what happened."""
    (step,) = await play_and_fail(NotInMemoryError("not from memory"))
    assert (step.title, step.seen, step.came_true) == ("A title", "not from memory", False)
    (step,) = await play_and_fail(ConnectionRefusedError("no"))
    assert step.seen == "ConnectionRefusedError: no"


async def test_a_fault_of_the_demo_is_not_a_part_of_the_story() -> None:
    """It shows itself as what it is."""
    with pytest.raises(KeyError):
        await play_and_fail(KeyError("bug"))


def test_the_chapters_are_told_in_their_order(told: Told) -> None:
    """Numbered, the books last."""
    lines = told.out.splitlines()
    titles = [*(chapter.title for chapter in CHAPTERS), "The books"]
    places = [lines.index(f"{number}. {title}") for number, title in enumerate(titles, 1)]
    assert places == sorted(places)
