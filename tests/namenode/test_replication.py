"""Decisions about a block's replicas, about a block report, and about the death of an absent DataNode."""

from collections.abc import Mapping

import pytest

from nncache.namenode.namespace.inode import Block, BlockState, DataNodeRecord, Location, Replica, encode
from nncache.namenode.namespace.inventory import (
    ABSENT,
    BUCKETS,
    Report,
    bucket_of,
    differences,
    parse_bucket,
    parse_report,
)
from nncache.namenode.namespace.replication import (
    MAX_FAILURES,
    ReplicationPlan,
    Situation,
    fewest_transfers,
    plan,
)
from nncache.namenode.namespace.view import BlockReplicas
from nncache.namenode.node.observer_clocks import Absences

WHOLE = Block(7, 1001, 10, BlockState.COMPLETE)
GOOD = Replica(stamp=1001, length=10)
CORRUPT = Replica(stamp=1001, length=10, is_corrupt=True)
OLD = Replica(stamp=1000, length=10)
SHORT = Replica(stamp=1001, length=9)


def load(free: int = 2**63 - 1, transfers: int = 0) -> DataNodeRecord:
    """Return what a DataNode says of itself."""
    return DataNodeRecord(http="", free=free, transfers=transfers)


def situation(
    held: Mapping[str, Replica],
    *,
    there: str = "abcd",
    factor: int = 2,
    block: Block = WHOLE,
    copying: Mapping[str, int] | None = None,
    deleting: str = "",
    failed: str = "",
    loads: Mapping[str, DataNodeRecord] | None = None,
) -> Situation:
    """Return a situation; DataNodes are letters."""
    return Situation(
        block=block,
        factor=factor,
        replicas=BlockReplicas(Location(file=1, targets=()), held),
        there={name: (loads or {}).get(name, load()) for name in there},
        copying=copying or {},
        deleting=set(deleting),
        failed=frozenset(failed),
    )


def test_a_block_that_is_as_its_file_wants_is_done() -> None:
    """Also while a DataNode that holds a replica is absent: no needless copy is made."""
    assert plan(situation({"a": GOOD, "b": GOOD})) == ReplicationPlan(keep=("a", "b"), is_done=True)
    assert plan(situation({"a": GOOD, "z": GOOD})) == ReplicationPlan(keep=("a",), is_done=True)


def test_a_block_that_is_written_is_left_alone() -> None:
    """No plan is made, whatever replicas the block has."""
    for state in BlockState:
        if state is not BlockState.COMPLETE:
            assert plan(situation({}, block=Block(7, 1001, 10, state), failed="a")) == ReplicationPlan(
                failed=frozenset("a")
            )


@pytest.mark.parametrize("other", [CORRUPT, OLD, SHORT])
def test_what_is_not_what_was_written_does_not_count(other: Replica) -> None:
    """Z11: another copy is made, and the bad replica is deleted only after it."""
    planned = plan(situation({"a": GOOD, "b": other}))
    assert (planned.copy_to, planned.delete, planned.is_done) == (("c",), (), False)
    planned = plan(situation({"a": GOOD, "b": other, "c": GOOD}))
    assert (planned.copy_to, planned.delete, planned.keep) == ((), ("b",), ("a", "c"))
    assert not planned.is_done


def test_the_last_copy_is_never_deleted() -> None:
    """Z11: nor is any of several replicas that are all corrupt; without a good replica there is no copy."""
    for held in ({"a": CORRUPT}, {"a": CORRUPT, "b": OLD}, {}):
        planned = plan(situation(held))
        assert (planned.copy_to, planned.delete, planned.is_done) == ((), (), False)


def test_a_corrupt_replica_is_overwritten_where_there_is_no_other_place() -> None:
    """The corrupt replica stays until the copy is complete."""
    planned = plan(situation({"a": GOOD, "b": CORRUPT}, there="ab"))
    assert (planned.copy_to, planned.delete) == (("b",), ())


def test_a_copy_needs_a_good_replica_that_is_there() -> None:
    """A replica at an absent DataNode counts, but cannot be copied."""
    assert plan(situation({"z": GOOD})).copy_to == ()


def test_copies_under_way_count() -> None:
    """Only missing copies are ordered, and an unneeded order is withdrawn."""
    assert plan(situation({"a": GOOD}, factor=3, copying={"b": 0})).copy_to == ("c",)
    planned = plan(situation({"a": GOOD, "b": GOOD}, copying={"c": 0}))
    assert (planned.withdraw, planned.delete, planned.is_done) == (("c",), (), False)


def test_a_copy_that_fails_is_made_elsewhere() -> None:
    """Z17: after MAX_FAILURES attempts, or if its DataNode is absent; when all have failed, all are tried again."""
    planned = plan(situation({"a": GOOD}, copying={"b": MAX_FAILURES}))
    assert (planned.withdraw, planned.copy_to, planned.failed) == (("b",), ("c",), frozenset("b"))
    planned = plan(situation({"a": GOOD}, copying={"z": 0}))
    assert (planned.withdraw, planned.copy_to, planned.failed) == (("z",), ("b",), frozenset())
    planned = plan(situation({"a": GOOD}, there="abc", copying={"b": MAX_FAILURES}, failed="c"))
    assert (planned.withdraw, planned.failed) == (("b",), frozenset())
    assert planned.copy_to == ("b",)


def test_no_copy_goes_where_a_replica_is_to_be_deleted() -> None:
    """Nor to a DataNode without room."""
    full = {"c": load(free=9)}
    assert plan(situation({"a": GOOD}, deleting="b", loads=full)).copy_to == ("d",)


def test_too_many_replicas_go_from_the_fullest_datanodes() -> None:
    """Z19: enough good replicas stay, at present DataNodes, for the file's replication."""
    held = dict.fromkeys("abcd", GOOD)
    loads = {"a": load(free=5), "b": load(free=9), "c": load(free=1), "d": load(free=7)}
    planned = plan(situation(held, loads=loads))
    assert (set(planned.delete), set(planned.keep)) == ({"a", "c"}, {"b", "d"})
    planned = plan(situation(dict.fromkeys("abz", GOOD), there="abcd"))
    assert planned.delete == ()
    assert not planned.is_done
    assert plan(situation(dict.fromkeys("ayz", GOOD), there="abcd")).delete == ()


def test_the_fewest_transfers_are_chosen() -> None:
    """`first` comes before all, `last` after all; the given order breaks ties."""
    loads = {"a": load(transfers=2), "b": load(transfers=1), "c": load(transfers=1), "d": load()}
    assert fewest_transfers("abcd", loads, 3) == ("d", "b", "c")
    assert fewest_transfers("acbd", loads, 3, first="a") == ("a", "d", "c")
    assert fewest_transfers("abcd", loads, 3, last={"d"}) == ("b", "c", "a")


def test_a_report_is_compared_with_what_is_known() -> None:
    """Z14: the difference has missing blocks, and unknown or different replicas."""
    report = Report(version=ABSENT, contents={1: (1001, 5), 2: (1002, 6), 3: (1001, 7)})
    known = {1: (1001, 5), 2: (1001, 6), 9: (1001, 9)}
    found = {2: Replica(stamp=1002, length=6), 3: Replica(stamp=1001, length=7)}
    assert differences(known, report) == ([9], found)
    assert parse_report(encode(report)) == report
    assert parse_bucket(encode(known)) == known
    assert {bucket_of(block) for block in range(10**6)} == set(range(BUCKETS))


def test_a_datanode_is_dead_after_its_absence_alone() -> None:
    """Z16: the absence starts when it is first seen; a return resets it."""
    clock = Absences(630.0)
    everyone = {"a", "b"}
    assert clock.look(everyone, {"a"}, 1000.0) == frozenset()
    assert clock.look(everyone, {"a"}, 1630.0) == frozenset()
    assert clock.look(everyone, {"a"}, 1630.1) == {"b"}
    assert clock.look(everyone, everyone, 1631.0) == frozenset()
    assert clock.look(everyone, {"a"}, 1632.0) == frozenset()
    assert clock.look(everyone, {"a"}, 2262.0) == frozenset()
    assert Absences(630.0).look(everyone, set(), 10**9) == frozenset()
