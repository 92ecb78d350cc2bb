"""What the whole story cost the NameNode. (demo/chapters/counting.py)"""

from dataclasses import dataclass

from nncache.demo.accounts import Answered, accounts, balance
from nncache.demo.chapter import Chapter
from nncache.demo.stage import Stage
from nncache.demo.step import Step


@dataclass(frozen=True, slots=True)
class Opening:
    """What the counters showed before the story."""

    answered: Answered
    calls: int


async def open_books(stage: Stage) -> Opening:
    """Read the counters before anything is read."""
    return Opening(await stage.answered_by_proxy(), await stage.counter.calls())


def chapter(opening: Opening) -> Chapter:
    """Return the chapter that closes what was opened then."""

    async def play(stage: Stage) -> tuple[Step, ...]:
        closing = await open_books(stage)
        answered, calls = (opening.answered, closing.answered), (opening.calls, closing.calls)
        return (balance(accounts(stage.records, answered, calls), own_at_most=stage.own_at_most),)

    return Chapter(
        "The books",
        "The clients counted their reads, nncache its hits, the NameNode its getFileInfo calls. A read was one of its "
        "calls, or shared one, or it was a hit. Calls of nncache's own: before each creation through it the proxy may "
        "ask what is there, and a publisher that starts reads the filter.",
        play,
    )
