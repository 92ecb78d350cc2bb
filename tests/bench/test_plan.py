"""A workload is parsed strictly, and every process derives the same plan from it."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from nncache.bench.shared.plan import WorkloadPlan
from nncache.bench.shared.workload import NEEDS, Callers, ChangeKind, TimedChange, Workload
from nncache.bench.shared.workload_files import WorkloadError, load, names
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
    """Otherwise the proxy would forward paths that the benchmark takes for cached."""
    workload = load(name).scaled(pollers=100)
    plan = WorkloadPlan(workload, 1)
    globs = [compile_glob(glob) for glob in plan.globs]
    assert len(globs) == workload.globs
    assert len({plan.path(path_id) for path_id in range(workload.paths)}) == workload.paths
    for path_id in range(workload.paths):
        matching = [number for number, glob in enumerate(globs) if glob.matches(plan.path(path_id))]
        assert matching == [path_id % workload.globs]


def test_paths_of_one_directory_know_each_other() -> None:
    """A change of a directory is a change of all of them."""
    plan = WorkloadPlan(SMALL, 1)
    for path_id in range(SMALL.paths):
        here = plan.directory(path_id)
        assert plan.in_directory(path_id) == tuple(
            each for each in range(SMALL.paths) if plan.directory(each) == here
        )


@pytest.mark.parametrize("callers", Callers)
def test_pollers_poll_all_paths_evenly(callers: Callers) -> None:
    """If each glob has a caller of its own, that caller polls the glob."""
    workload = replace(SMALL, callers=callers, paths_per_poller=3)
    plan = WorkloadPlan(workload, 1)
    pollers = [plan.poller(number) for number in range(workload.pollers)]
    asked = Counter(path_id for poller in pollers for path_id in poller.path_ids)
    assert len(asked) == workload.paths
    assert max(asked.values()) - min(asked.values()) <= 2
    assert all(0 <= poller.phase_s < workload.period_s for poller in pollers)
    assert len({poller.caller for poller in pollers}) == (5 if callers is Callers.PER_GLOB else 40)
    if callers is Callers.PER_GLOB:
        assert all(
            plan.caller_of(path_id) == poller.caller for poller in pollers for path_id in poller.path_ids
        )


@pytest.mark.parametrize("name", names())
def test_changes_fit_what_is_there_and_come_at_their_rate(name: str) -> None:
    """Each change is possible when its turn comes; a seed reproduces them, and another seed gives others."""
    workload = load(name)
    plan = WorkloadPlan(workload, 7)
    changes = list(plan.changes(plan.existing(), -10.0, 60.0))
    assert changes == list(WorkloadPlan(workload, 7).changes(plan.existing(), -10.0, 60.0))
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
        other = WorkloadPlan(workload, 8)
        assert changes != list(other.changes(other.existing(), -10.0, 60.0))


def test_events_come_at_their_time_and_to_their_share() -> None:
    """A directory is forbidden once, even by two events; allowing comes later."""
    workload = replace(
        SMALL,
        events=(
            TimedChange(at=0.25, kind=ChangeKind.FORBID, share=1.0),
            TimedChange(at=0.25, kind=ChangeKind.FORBID, share=1.0),
            TimedChange(at=0.5, kind=ChangeKind.ALLOW),
        ),
        changes_per_s=0.0,
    )
    plan = WorkloadPlan(workload, 1)
    changes = list(plan.changes(plan.existing(), 0.0, 40.0))
    directories = {plan.directory(path_id) for path_id in range(workload.paths)}
    assert Counter((change.at_s, change.kind) for change in changes) == {
        (10.0, ChangeKind.FORBID): len(directories),
        (20.0, ChangeKind.ALLOW): 1,
    }


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ("polers = 3", "no such key: polers"),
        ("changes_per_s = 1.0", "kinds: something must change, such as one of create,"),
        ("paths_per_poller = 0", "paths_per_poller: 0 is not above 0"),
        ("[kinds]\nexplode = 1.0", "Invalid enum value 'explode'"),
        ('events = [{ at = 2.0, kind = "touch" }]', "`at` is a share of the measured time (0 to 1)"),
        ("x = ", "Invalid value"),
    ],
)
def test_what_is_wrong_is_named_with_file_and_key(tmp_path: Path, more: str, says: str) -> None:
    """The file is a user's own; keys that it omits have their defaults."""
    file = tmp_path / "mine.toml"
    good = 'description = "some"\npollers = 10\nperiod_s = 1.0\nglobs = 2\npaths = 4\n'
    file.write_text(good, encoding="utf-8")
    assert load(str(file)).paths_per_poller == 1
    file.write_text(good + more, encoding="utf-8")
    with pytest.raises(WorkloadError) as caught:
        load(str(file))
    assert str(caught.value).startswith(str(file))
    assert says in str(caught.value)
