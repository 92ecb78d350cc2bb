"""Changing something and looking on."""

from collections.abc import Awaitable, Callable, Sequence

import pytest

from nncache.demo.chapter import seen_in_time, watch
from nncache.demo.errors import NotInMemoryError
from nncache.demo.pollers import Pollers
from nncache.demo.sightings import MISSING, Question, View, Watched
from nncache.demo.stage import MAX_STALENESS_S
from tests.demo.answers import Answering
from tests.patience import HANG_S

ALICE, BOB = Question("alice", "/w/f"), Question("bob", "/w/f")
THERE = View(200, 3)
BEFORE, AFTER = {ALICE: MISSING, BOB: MISSING}, {ALICE: THERE, BOB: THERE}
SEEN = Watched(delays_s=(0.010, 0.030), blind=(), oldest_s=0.025, reads=9, failed=0)


class Polled:
    """A stage with nothing but a server."""

    def __init__(self, address: str) -> None:
        self._address = address

    def pollers(self, questions: Sequence[Question]) -> Pollers:
        """Return pollers of that server."""
        return Pollers(self._address, questions)

    async def gate(self) -> str:
        """Say why."""
        return "closed: it rains"


def writer(answering: Answering) -> Callable[[], Awaitable[None]]:
    """Return what makes the file appear."""

    async def write() -> None:
        answering.views[ALICE.path] = THERE

    return write


async def test_what_all_see_is_watched_no_longer_than_needed() -> None:
    """Each reader has his delay."""
    with Answering() as answering:
        seen = await watch(Polled(answering.address), writer(answering), before=BEFORE, after=AFTER)
    assert len(seen.delays_s) == 2
    assert not seen.blind
    assert max(seen.delays_s) < HANG_S


async def test_who_lingers_reads_on() -> None:
    """For a promise about what comes later."""
    with Answering() as answering:
        seen = await watch(
            Polled(answering.address), writer(answering), before=BEFORE, after=AFTER, linger_s=0.3
        )
    assert seen.reads > 10


async def test_patience_ends() -> None:
    """Who does not see it until then is named."""

    async def write() -> None:
        """Change nothing."""

    with Answering() as answering:
        seen = await watch(Polled(answering.address), write, before=BEFORE, after=AFTER, patience_s=0.1)
    assert seen.delays_s == ()
    assert len(seen.blind) == 2


async def test_nothing_is_changed_that_is_not_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seeing a change of what the NameNode is asked about each time would prove nothing."""
    monkeypatch.setattr("nncache.demo.chapter._REMEMBER_S", 0.1)
    with Answering() as answering:
        answering.is_hit = False
        with pytest.raises(
            NotInMemoryError, match=r"alice gets 404 for /w/f \(and 1 other\); .*: closed: it rains"
        ):
            await watch(Polled(answering.address), writer(answering), before=BEFORE, after=AFTER)
        assert not answering.views


@pytest.mark.parametrize(
    ("rounds", "came_true", "seen"),
    [
        ((SEEN, SEEN), True, "4 of 4, p50 10 ms, max 30 ms"),
        ((), False, "nobody looked"),
        (
            (SEEN, Watched(delays_s=(), blind=("bob still gets 404",), oldest_s=4.0, reads=9, failed=0)),
            False,
            "after 4.0 s: bob still gets 404",
        ),
        (
            (Watched(delays_s=(0.01,), blind=(), oldest_s=MAX_STALENESS_S + 0.5, reads=9, failed=0),),
            False,
            "1 of 1, p50 10 ms, max 10 ms, an old answer again after 3.5 s",
        ),
        (
            (Watched(delays_s=(0.01,), blind=(), oldest_s=MAX_STALENESS_S, reads=9, failed=0),),
            True,
            "1 of 1, p50 10 ms, max 10 ms, an old answer again after 3.0 s",
        ),
        (
            (Watched(delays_s=(0.01,), blind=(), oldest_s=0.0, reads=9, failed=1),),
            False,
            "1 of 1, p50 10 ms, max 10 ms; 1 read failed",
        ),
    ],
)
def test_a_change_is_seen_by_all_within_the_bound(
    rounds: tuple[Watched, ...], came_true: bool, seen: str
) -> None:
    """Guarantee Bounded; and nobody is let down meanwhile (FailToNameNode)."""
    step = seen_in_time("a change", rounds)
    assert (step.came_true, step.seen) == (came_true, seen)
