"""What follows from a workload's numbers."""

from nncache.bench.workload import Workload

HUGE = Workload(
    name="huge",
    description="",
    pollers=10_000,
    period_s=30.0,
    globs=1_000,
    paths=6_000,
    paths_per_poller=2,
    changes_per_s=10.0,
)


def test_a_time_factor_shortens_all_times() -> None:
    """Periods are shorter, and so there is more of everything in a second."""
    quick = Workload(
        name="quick", description="", pollers=6, period_s=30.0, globs=1, paths=1, time_factor=10.0
    )
    assert (quick.real_period_s, quick.real_changes_per_s) == (3.0, 0.0)
    assert (HUGE.real_period_s, HUGE.real_changes_per_s) == (30.0, 10.0)


def test_a_tenth_of_the_pollers_is_a_tenth_of_all() -> None:
    """So that each poller and each path meets the same."""
    tenth = HUGE.scaled(pollers=1_000)
    assert (tenth.pollers, tenth.globs, tenth.paths, tenth.changes_per_s) == (1_000, 100, 600, 1.0)
    assert (tenth.period_s, tenth.paths_per_poller) == (HUGE.period_s, HUGE.paths_per_poller)


def test_something_is_left_of_everything() -> None:
    """One poller polls one path of one glob."""
    one = HUGE.scaled(pollers=1)
    assert (one.pollers, one.globs, one.paths) == (1, 1, 1)
