"""What a start may take, and what is said of it."""

import pytest

from nncache.bench.inotify.figures import MAX_RESTART_S, MAX_START_S, Start


def start(in_force_s: float, *, is_restart: bool) -> Start:
    """Return one that took so long."""
    return Start(
        is_restart=is_restart,
        filters=5_000,
        in_force_s=in_force_s,
        compared_s=9.5,
        zookeeper_calls=113,
        namenode_calls=89,
        attribute_calls=5_000,
        cpu_s=1.5,
        waited_s=4.25,
        load=9.0,
    )


@pytest.mark.parametrize(("is_restart", "most_s"), [(False, MAX_START_S), (True, MAX_RESTART_S)])
def test_a_start_that_takes_too_long_falls_short(is_restart: bool, most_s: float) -> None:
    """A restart may take less; what counts is when the filters are in force."""
    in_time, late = start(most_s, is_restart=is_restart), start(most_s + 0.001, is_restart=is_restart)
    assert (in_time.is_good, late.is_good) == (True, False)
    assert in_time.line().startswith("met ")
    assert late.line().startswith("SHORT")


def test_its_line_says_all_of_it() -> None:
    """With what it may take, and how busy the machine was."""
    assert start(1.25, is_restart=True).line() == (
        "met   restart with 5000 filters: in force after 1.25 s (at most 2 s), read from HDFS after 9.50 s, with 89 "
        "calls of the NameNode, 5000 for attributes and 113 of ZooKeeper, 1.50 s of CPU, "
        "4.25 s of waiting for one (load 9.0)"
    )
