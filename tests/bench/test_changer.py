"""Changes are made when they are due, and each is written down with what it brought about."""

from pathlib import Path

import pytest

from nncache.bench.changer import Changer, Order
from nncache.bench.namespace import BenchNamespace, State
from nncache.bench.shared.plan import Change
from nncache.bench.shared.workload import ChangeKind, Event, Workload
from tests.invalidation import virtual_time
from tests.invalidation.virtual_time import clock

FORBIDDING = Workload(
    name="small",
    description="",
    pollers=4,
    period_s=1.0,
    globs=2,
    paths=12,
    paths_per_directory=3,
    exist_share=1.0,
    changes_per_s=20.0,
    kinds={ChangeKind.TOUCH: 1.0},
    events=(Event(at=0.5, kind=ChangeKind.FORBID),),
)


SEED = 1308
"""Of changes none of which is due shortly before the measured time begins or ends."""


@pytest.fixture(autouse=True)
def _on_their_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nncache.bench.changer.boottime", clock)


def order(workload: Workload = FORBIDDING) -> Order:
    """Return an order for 0.4 s of warm-up and 0.6 s of measured time."""
    return Order(
        workload=workload,
        seed=SEED,
        root="/bench",
        namenode="127.0.0.1:1",
        superuser="hdfs",
        warm_up_s=0.4,
        duration_s=0.6,
        directory=Path(),
    )


class FakeNamespace(BenchNamespace):
    """Changes nothing; a path's state is how often somebody has asked for one."""

    def __init__(self, given: Order) -> None:
        super().__init__(given.plan(), given.namenode, given.superuser)
        self.made_s: list[float] = []

    async def prepare(self, change: Change) -> None:
        """Need nothing."""

    async def carry_out(self, change: Change) -> None:
        """Note when it is made."""
        self.made_s.append(clock())

    async def state(self, path_id: int) -> State:
        """Say a new one each time."""
        self.asked += 1
        return State(200, self.asked, path_id)


def change_all(changer: Changer, *, notes_first: bool = False) -> float:
    """Let it do its work, in virtual time: no change comes late because the machine is busy. Return time 0."""
    zero_s = 0.0

    async def work() -> None:
        nonlocal zero_s
        zero_s = clock() + 0.45
        if notes_first:
            await changer.note_first()
        await changer.change_all(zero_s)

    virtual_time.run(work())
    return zero_s


def test_each_change_is_made_when_it_is_due() -> None:
    """Never sooner; it is acknowledged after it was sent, and its states are asked for after that."""
    given = order()
    namespace = FakeNamespace(given)
    changer = Changer(given, namespace)
    zero_s = change_all(changer)
    due_s = [change.at_s for change in given.changes()]
    assert len(due_s) > 10
    assert due_s[0] < 0 < due_s[-1]
    made_s = [at_s - zero_s for at_s in namespace.made_s]
    assert all(due <= made + 1e-9 for due, made in zip(due_s, made_s, strict=True))
    by_number = {row["change_id"]: row for row in changer.rows}
    for number, made in enumerate(made_s):
        row = by_number[number]
        assert row["due_s"] == due_s[number]
        assert isinstance(row["sent_s"], float)
        assert isinstance(row["acked_s"], float)
        assert row["sent_s"] <= made <= row["acked_s"]


def test_a_change_of_a_directory_has_a_row_for_each_path_in_it() -> None:
    """All of one number, with the same times and each with its own state."""
    given = order()
    changer = Changer(given, FakeNamespace(given))
    change_all(changer)
    forbidden = [row for row in changer.rows if row["kind"] == "forbid"]
    assert sorted(str(row["path_id"]) for row in forbidden) == ["0", "2", "4"]
    assert len({(row["change_id"], row["sent_s"], row["acked_s"]) for row in forbidden}) == 1
    assert len({row["digest"] for row in forbidden}) == 3


def test_only_questions_of_the_measured_time_are_counted() -> None:
    """They are taken off the NameNode's count, which is of that time."""
    given = order()
    changer = Changer(given, FakeNamespace(given))
    change_all(changer, notes_first=True)
    measured = [row for row in changer.rows if isinstance(row["due_s"], float) and row["due_s"] >= 0]
    assert 0 < len(measured) < len(changer.rows) - 12
    assert changer.asked == len(measured)
