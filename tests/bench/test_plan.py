"""Everybody works the same plan out, and it is the workload's."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from nncache.bench.servers.nncache import Channel
from nncache.bench.settings import Mode, RunSettings
from nncache.bench.shared.plan import Plan
from nncache.bench.shared.workload import NEEDS, Callers, ChangeKind, Event, Workload
from nncache.bench.shared.workload_files import load, names
from nncache.hadoop.globs import compile_glob

SMALL = Workload(
    name="small",
    description="",
    pollers=40,
    period_s=2.0,
    globs=5,
    paths=30,
    paths_per_directory=3,
    changes_per_s=5.0,
    kinds={ChangeKind.RENAME: 1.0, ChangeKind.DELETE: 1.0},
)


@pytest.mark.parametrize("name", names())
def test_each_glob_matches_the_paths_of_its_own_and_no_others(name: str) -> None:
    """Else the proxy would forward what the benchmark takes for cached."""
    workload = load(name).scaled(pollers=100)
    plan = Plan(workload, 1)
    globs = [compile_glob(glob) for glob in plan.globs]
    assert len(globs) == workload.globs
    assert len({plan.path(path_id) for path_id in range(workload.paths)}) == workload.paths
    for path_id in range(workload.paths):
        matching = [number for number, glob in enumerate(globs) if glob.matches(plan.path(path_id))]
        assert matching == [path_id % workload.globs]


def test_paths_of_one_directory_know_each_other() -> None:
    """What happens to a directory happens to all of them."""
    plan = Plan(SMALL, 1)
    for path_id in range(SMALL.paths):
        here = plan.directory(path_id)
        assert plan.in_directory(path_id) == tuple(
            each for each in range(SMALL.paths) if plan.directory(each) == here
        )


@pytest.mark.parametrize("callers", Callers)
def test_pollers_poll_all_paths_evenly(callers: Callers) -> None:
    """And a poller of a glob is the user of that glob, where there is one for each."""
    workload = replace(SMALL, callers=callers, paths_per_poller=3)
    plan = Plan(workload, 1)
    pollers = [plan.poller(number) for number in range(workload.pollers)]
    asked = Counter(path_id for poller in pollers for path_id in poller.path_ids)
    assert len(asked) == workload.paths
    assert max(asked.values()) - min(asked.values()) <= 2
    assert all(0 <= poller.phase_s < workload.real_period_s for poller in pollers)
    assert len({poller.caller for poller in pollers}) == (5 if callers is Callers.PER_GLOB else 40)
    if callers is Callers.PER_GLOB:
        assert all(
            plan.caller_of(path_id) == poller.caller for poller in pollers for path_id in poller.path_ids
        )


@pytest.mark.parametrize("name", names())
def test_changes_fit_what_is_there_and_come_at_their_rate(name: str) -> None:
    """Each can be made when its turn comes; a seed gives the same ones again, another seed others."""
    workload = load(name)
    plan = Plan(workload, 7)
    changes = list(plan.changes(plan.existing(), -10.0, 60.0))
    assert changes == list(Plan(workload, 7).changes(plan.existing(), -10.0, 60.0))
    there = set(plan.existing())
    for change in changes:
        paths = set(plan.in_directory(change.path_id))
        match change.kind:
            case ChangeKind.COMMIT:
                assert not there & paths
                there |= paths
            case ChangeKind.RETRACT:
                there -= paths
            case kind if NEEDS[kind] is not None:
                assert (change.path_id in there) is NEEDS[kind]
                there ^= {change.path_id} if kind is not ChangeKind.TOUCH else set()
            case _:
                pass
    assert [change.at_s for change in changes] == sorted(change.at_s for change in changes)
    drawn = [change for change in changes if change.kind in workload.kinds]
    if workload.changes_per_s:
        assert 0.3 * 70 * workload.changes_per_s < len(drawn) < 1.3 * 70 * workload.changes_per_s
        other = Plan(workload, 8)
        assert changes != list(other.changes(other.existing(), -10.0, 60.0))


def test_events_come_at_their_time_and_to_their_share() -> None:
    """Forbidding happens once, and allowing after it."""
    workload = replace(
        SMALL,
        events=(
            Event(at=0.25, kind=ChangeKind.FORBID, share=1.0),
            Event(at=0.25, kind=ChangeKind.FORBID, share=1.0),
            Event(at=0.5, kind=ChangeKind.ALLOW),
        ),
        changes_per_s=0.0,
    )
    plan = Plan(workload, 1)
    changes = list(plan.changes(plan.existing(), 0.0, 40.0))
    directories = {plan.directory(path_id) for path_id in range(workload.paths)}
    assert Counter((change.at_s, change.kind) for change in changes) == {
        (10.0, ChangeKind.FORBID): len(directories),
        (20.0, ChangeKind.ALLOW): 1,
    }


# ---- a short run at another poll period -----------------------------------------------------------------------------

LONG = RunSettings(
    workload=load("design"),
    seed=7,
    modes=(Mode.DIRECT, Mode.NNCACHE, Mode.NGINX),
    duration_s=300.0,
    warm_up_s=150.0,
    jvm_warm_up_s=60.0,
    channel=Channel.ZOOKEEPER,
    nginx_valid_s=3,
    bound_s=3.0,
    hadoop="3.5.0",
    master="local[*]",
    directory=Path("results"),
    command="",
    also_periods_s=(1.0, 30.0),
)


def test_a_long_period_has_time_for_two_polls() -> None:
    """While the cache fills and in the measured time, however short the run is."""
    short = replace(LONG, duration_s=20.0, warm_up_s=5.0)
    assert (short.at_period(0.5).duration_s, short.at_period(0.5).warm_up_s) == (20.0, 5.0)
    assert (short.at_period(30.0).duration_s, short.at_period(30.0).warm_up_s) == (60.0, 60.0)


def test_a_period_is_meant_as_it_is_run() -> None:
    """A workload whose times are shortened polls that often nevertheless."""
    tenfold = replace(LONG, workload=replace(LONG.workload, time_factor=10.0))
    assert tenfold.at_period(0.5).workload.real_period_s == pytest.approx(0.5)
