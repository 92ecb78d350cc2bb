"""A directory is closed to all but its owner. (demo/chapters/locking.py)"""

from functools import partial
from typing import Final

from nncache.demo.chapter import Chapter, seen_in_time, watch
from nncache.demo.figures import counted, spoken
from nncache.demo.sightings import DENIED, Question, View, Watched
from nncache.demo.stage import MAX_STALENESS_S, OWNER, WORKFLOW, Stage
from nncache.demo.step import Step

_DIRECTORY: Final = f"{WORKFLOW}/salaries"
_PATH: Final = f"{_DIRECTORY}/_SUCCESS"
_ROUNDS: Final = 3
_LINGER_S: Final = MAX_STALENESS_S + 0.3  # after the last lock: some reads past the bound
_ALICE, _BOB = Question("alice", _PATH), Question("bob", _PATH)


async def play(stage: Stage) -> tuple[Step, ...]:
    """Lock and unlock; stop at the first time that bob still sees it."""
    rounds: list[Watched] = []
    there = View(200, 0)
    async with stage.at_namenode(OWNER) as owner:
        await owner.create(_PATH)
        for number in range(1, _ROUNDS + 1):
            await owner.set_permission(_DIRECTORY, "755")
            rounds.append(
                await watch(
                    stage,
                    partial(owner.set_permission, _DIRECTORY, "700"),
                    before={_ALICE: there, _BOB: there},
                    after={_ALICE: there, _BOB: DENIED},
                    linger_s=_LINGER_S if number == _ROUNDS else 0.0,
                )
            )
            if rounds[-1].blind:
                break
    return seen_in_time("bob gets 403, alice 200", rounds), stays_locked(rounds[-1])


def stays_locked(last: Watched) -> Step:
    """Judge what alice and bob got after the last lock, until past the bound."""
    if last.blind:
        seen = ", ".join(last.blind)
    else:
        seen = f"{counted(last.reads, 'read')} in {spoken(_LINGER_S)}, " + (
            f"the last wrong one after {spoken(last.oldest_s)}" if last.oldest_s else "none wrong"
        )
    if last.failed:
        seen += f", {counted(last.failed, 'read')} failed"
    return Step(
        title="The lock holds",
        expected=f"no other answer after {MAX_STALENESS_S:g} s",
        seen=seen,
        came_true=bool(last.reads)
        and not last.blind
        and not last.failed
        and last.oldest_s <= MAX_STALENESS_S,
    )


CHAPTER: Final = Chapter(
    "A directory is locked",
    f"alice, who owns {_DIRECTORY}, does chmod 700 on it at the NameNode, {_ROUNDS} times. What is in memory about the "
    "file in it is still true, but bob may not know it any more: his right to pass the directory is forgotten.",
    play,
)
