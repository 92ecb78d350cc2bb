"""What a change touches, and what a reply says of a path, in the terms of the tables."""

import pytest

from nncache.bench.changing.namespace import BenchNamespace, State, state_of
from nncache.bench.plan import Change, Plan
from nncache.bench.polling.replies import digest_of
from nncache.bench.workload import ChangeKind, Workload
from tests.bench.polling_server import BODY

WORKLOAD = Workload(
    name="small", description="", pollers=4, period_s=1.0, globs=2, paths=12, paths_per_directory=3
)
OF_DIRECTORIES = {ChangeKind.COMMIT, ChangeKind.RETRACT, ChangeKind.FORBID, ChangeKind.ALLOW}


@pytest.mark.parametrize("kind", ChangeKind)
def test_a_change_of_a_directory_touches_all_that_is_in_it(kind: ChangeKind) -> None:
    """Any other touches its path alone."""
    plan = Plan(WORKLOAD, 1)
    namespace = BenchNamespace(plan, "127.0.0.1:1", "hdfs")
    touched = namespace.touched(Change(0.0, kind, 7))
    assert 7 in touched
    assert len(touched) == (3 if kind in OF_DIRECTORIES else 1)
    assert len({plan.directory(path_id) for path_id in touched}) == 1


def test_the_namenode_is_understood_as_pollers_understand_a_reply() -> None:
    """Else the judge would compare what can't be compared; what is no file has no number."""
    assert state_of(200, BODY) == State(200, digest_of(200, BODY), 16389)
    assert state_of(404, BODY) == State(404, digest_of(404, BODY), 0)
    assert state_of(403, BODY) == State(403, 0, 0)
