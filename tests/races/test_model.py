"""A few thousand of the model's forced races: of each kind, at each place, without a violation."""

from tests.races import model
from tests.races.figures import MIN_DECISIVE_SHARE, Figures

_WORLDS = (0, 1, 2, 5, 9, 19, 20, 22, 25)
"""One of each kind of world, and so many that each place is visited."""


def test_races_of_each_kind_are_held_everywhere_and_lose_nothing() -> None:
    """NoLateFill, OwnWrites and the others, whatever happens wherever a task waits."""
    figures = Figures("model, short")
    for number in _WORLDS:
        figures.add(model.tell(1, number))
    assert not figures.violations
    assert figures.races > 3_000
    assert figures.decisive_share > MIN_DECISIVE_SHARE
    assert figures.kept > figures.fills / 10
    assert figures.spoiled > figures.fills / 10
    assert not model.unvisited(figures)


def test_the_same_world_is_told_again() -> None:
    """So that a line of the long run can be looked into."""
    once, again = model.tell(7, 3), model.tell(7, 3)
    assert (once.races, once.held, once.kept, once.spoiled) == (
        again.races,
        again.held,
        again.kept,
        again.spoiled,
    )
