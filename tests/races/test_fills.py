"""The short form of the races of fills alone."""

from tests.quiet import be_quiet
from tests.races.figures import Figures
from tests.races.fills import PART, tell
from tests.races.fills_happenings import HAPPENINGS, Moment


def test_no_fill_keeps_or_serves_stale_data() -> None:
    """NoLateFill, ProvenGrant, OwnWrites, Bounded, OpenFileUncached: everything that can happen, at every moment."""
    be_quiet()  # errors of ours are thrown in, of which the log would tell at length
    figures = Figures(PART)
    for simulation in range(2):
        figures.add(tell(1, simulation))
    print("\n".join(figures.lines()))  # noqa: T201 - shown when the test fails
    assert figures.races > len(HAPPENINGS) * len(Moment) * 5
    assert figures.spoiled > figures.races / 20
    assert figures.shortfalls(races=4_000) == []
