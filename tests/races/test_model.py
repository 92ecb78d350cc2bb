"""A few thousand forced races of the model, of each kind and at each place, violate nothing."""

import pytest

from tests.quiet import be_quiet
from tests.races import model
from tests.races.figures import MIN_DECISIVE_SHARE, Figures
from tests.races.fills import PART, tell
from tests.races.fills_happenings import HAPPENINGS, Moment

pytestmark = pytest.mark.timeout(900)  # a minute of work, on a machine that may be busy

_WORLDS = {0: 20, 24: 6, 8: 6, 9: 8, 6: 16, 5: 20, 29: 6, 20: 20, 1: 20}
"""The simulations, by number, and the rounds of each: some of each kind."""

_RARE = {
    "invalidation.edits.confirmed_namenode.ConfirmedNameNode.confirm: await self._rpc.confirm_namespace",
    "invalidation.edits.confirmed_namenode.ConfirmedNameNode.confirm: await self._namenodes.wait_probed",
}
"""Places that a few races in ten thousand reach: the long form requires them."""

_MORE = (
    3,
    22,
    59,
    34,
    62,
    19,
    45,
    *(40 * lap + position for lap in range(2, 10) for position in (5, 10, 19, 22, 34)),
)
"""Further simulations, run until each place was visited: the third races clients' calls, most others changes.

Six or seven usually suffice; the last ones are there so that no build fails by chance.
"""


@pytest.fixture(autouse=True)
def quiet() -> None:
    """Silence the product's log: races are full of faults, each of which it reports."""
    be_quiet()


def test_races_of_each_kind_are_held_everywhere_and_lose_nothing() -> None:
    """NoLateFill, OwnWrites and the others hold, wherever a task waits and whatever happens then."""
    figures = Figures("model, short")
    for number, rounds in _WORLDS.items():
        figures.add(model.tell(1, number, rounds=rounds))
    for number in _MORE:
        if _unvisited(figures):
            figures.add(model.tell(1, number))
    assert not figures.violations
    assert figures.races > 2_000
    assert figures.decisive_share > MIN_DECISIVE_SHARE
    assert figures.kept > figures.fills / 10
    assert figures.spoiled > figures.fills / 10
    assert not _unvisited(figures)


def _unvisited(figures: Figures) -> set[str]:
    assert {place.key for place in model.PLACES.all} > _RARE
    return {place.key for place in model.unvisited(figures)} - _RARE


def test_the_same_seed_makes_the_same_races() -> None:
    """A seed reproduces its races, so that a line of the long run can be investigated."""
    once, again = model.tell(7, 3, rounds=4), model.tell(7, 3, rounds=4)
    assert (once.races, once.held, once.kept, once.spoiled) == (
        again.races,
        again.held,
        again.kept,
        again.spoiled,
    )


def test_no_fill_keeps_or_serves_stale_data() -> None:
    """NoLateFill, ProvenGrant, OwnWrites, Bounded, OpenFileUncached hold for every event at every moment."""
    figures = Figures(PART)
    for simulation in range(2):
        figures.add(tell(1, simulation))
    print("\n".join(figures.lines()))  # noqa: T201 - shown when the test fails
    assert figures.races > len(HAPPENINGS) * len(Moment) * 5
    assert figures.spoiled > figures.races / 20
    assert figures.shortfalls(races=4_000) == []
