"""Operations are put into as few transactions as they fit into."""

import pytest

from nncache.coordination.zookeeper import Check, Create, Delete, Operation, SetData
from nncache.invalidation.publisher.packing import MAX_BYTES, MAX_OPERATIONS, pack


@pytest.mark.parametrize(
    ("unit_bytes", "expected"), [(100_000, [9, 1]), (MAX_BYTES * 2, [1] * 10), (10, [10])]
)
def test_units_stay_whole(unit_bytes: int, expected: list[int]) -> None:
    """As few multis as the order allows; one that is too large alone is left to ZooKeeper to refuse."""
    units = [[Create(f"/{number}", b"x" * unit_bytes)] for number in range(10)]
    assert [len(multi) for multi in pack(units)] == expected


def test_operations_are_counted() -> None:
    """With what will be added to each multi."""
    units = [[Delete("/a"), Delete("/b")]] * MAX_OPERATIONS
    assert {len(multi) for multi in pack(units, reserved=[Check("/", 1)])} == {MAX_OPERATIONS - 2, 4}
    assert pack([]) == []


def test_acls_count() -> None:
    """Of what is made; to write a znode brings none."""
    large = MAX_BYTES // 3
    units: list[list[Operation]] = [[Create(f"/{number}", b""), SetData("/x", b"")] for number in range(5)]
    assert [len(each) for each in pack(units)] == [10]
    assert [len(each) for each in pack(units, acl_bytes=lambda _: large)] == [4, 4, 2]
