"""A few thousand of the model's forced races: of each kind, at each place, without a violation."""

import pytest

from tests.quiet import be_quiet
from tests.races import model
from tests.races.figures import MIN_DECISIVE_SHARE, Figures
from tests.races.fills import PART, tell
from tests.races.fills_happenings import HAPPENINGS, Moment

pytestmark = pytest.mark.timeout(900)  # a minute of work, and the machine may have much else to do

_WORLDS = {0: 20, 24: 6, 8: 6, 9: 8, 6: 16, 5: 20, 29: 6, 20: 20, 1: 20}
"""Some of each kind: which worlds, and how many rounds of each."""

_RARE = {
    "invalidation.edits.confirmed_namenode.ConfirmedNameNode.confirm: await self._rpc.confirm_namespace",
    "invalidation.edits.confirmed_namenode.ConfirmedNameNode.confirm: await self._namenodes.wait_probed",
}
"""Places on the way of a few races in ten thousand: the long form insists on them."""

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
"""Told until each place has been visited: clients' calls in the third, elsewhere mostly the way of a change by chance.

Six or seven are enough as a rule; the last ones are there so that chance alone fails nobody's build.
"""


@pytest.fixture(autouse=True)
def quiet() -> None:
    """Races are full of troubles, of which the product's log would tell at length."""
    be_quiet()


def test_races_of_each_kind_are_held_everywhere_and_lose_nothing() -> None:
    """NoLateFill, OwnWrites and the others, whatever happens wherever a task waits."""
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
    """So that a line of the long run can be looked into."""
    once, again = model.tell(7, 3, rounds=4), model.tell(7, 3, rounds=4)
    assert (once.races, once.held, once.kept, once.spoiled) == (
        again.races,
        again.held,
        again.kept,
        again.spoiled,
    )


def test_no_fill_keeps_or_serves_stale_data() -> None:
    """NoLateFill, ProvenGrant, OwnWrites, Bounded, OpenFileUncached: everything that can happen, at every moment."""
    figures = Figures(PART)
    for simulation in range(2):
        figures.add(tell(1, simulation))
    print("\n".join(figures.lines()))  # noqa: T201 - shown when the test fails
    assert figures.races > len(HAPPENINGS) * len(Moment) * 5
    assert figures.spoiled > figures.races / 20
    assert figures.shortfalls(races=4_000) == []
