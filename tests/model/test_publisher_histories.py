"""Random histories of a publisher, against an auditor that knows what happened, but no publisher code."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.invalidation import virtual_time
from tests.invalidation.publisher.simulation import ACTS, Simulation

HISTORIES = st.lists(
    st.tuples(
        st.sampled_from([*ACTS, *["write", "burst", "put filter"] * 4]),
        st.integers(0, 11),
        st.sampled_from([0.0, 0.001, 0.003, 0.02, 0.3, 3.0, 12.0]),
    ),
    max_size=30,
)


@settings(max_examples=60)
@given(st.booleans(), st.booleans(), HISTORIES)
def test_whatever_happens_nothing_is_missed_unnoticed(
    rivals: bool, limited: bool, history: list[tuple[str, int, float]]
) -> None:
    """P1, P2, P3 (GapFlush): the auditor checks each ZooKeeper transaction; all faults end at the end."""

    async def story() -> None:
        await Simulation(rivals=rivals, limited=limited).tell(history)

    virtual_time.run(story())
