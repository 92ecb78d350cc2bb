"""The attacker in the model: the short form of `make hostile`."""

from tests.hostile.attacker.figures import tell_chunk
from tests.hostile.attacker.history import tell

HISTORIES = 80


def test_a_strangers_call_costs_no_hit_and_leaks_nothing() -> None:
    """Any cheap calls; each invariant holds, and the histories are full enough to mean something."""
    figures = tell_chunk(range(1, HISTORIES + 1))
    print("\n".join(figures.lines()))  # noqa: T201 - shown when the test fails
    assert figures.shortfalls(histories=HISTORIES) == []


def test_a_seed_tells_the_same_again() -> None:
    """What is found can be told again."""
    assert tell(5) == tell(5)
