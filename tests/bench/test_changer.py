"""Changes are made when they are due, and each is recorded with its effect."""

import asyncio
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from nncache.bench.changer import Changer, Order
from nncache.bench.driving import RefusedChangesError, lay_out
from nncache.bench.namespace import BenchNamespace, PathState
from nncache.bench.servers.counters import NameNodeAt
from nncache.bench.shared.plan import PlannedChange, WorkloadPlan
from nncache.bench.shared.workload import ChangeKind, TimedChange, Workload
from tests.http_server import Answer, serving
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
    events=(TimedChange(at=0.5, kind=ChangeKind.FORBID),),
)


SEED = 1308
"""A seed for which no change is due shortly before the measured time begins or ends."""


@pytest.fixture(autouse=True)
def _on_their_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nncache.bench.changer.boottime", clock)


def order() -> Order:
    """Return an order for 0.4 s of warm-up and 0.6 s of measured time."""
    return Order(
        plan=WorkloadPlan(FORBIDDING, SEED),
        namenode=NameNodeAt("127.0.0.1:1", "hdfs"),
        warm_up_s=0.4,
        duration_s=0.6,
        directory=Path(),
    )


@pytest.mark.parametrize("made", ["nothing", "-aside"])
def test_files_that_may_not_be_made_are_named(made: str) -> None:
    """The user is no superuser, or may not write there: one line, and not the exit code of figures that fall short."""

    def answer(request: BaseHTTPRequestHandler) -> Answer:
        if made in request.path:
            return 200, {}, b'{"boolean": true}'
        return (
            403,
            {},
            b'{"RemoteException": {"exception": "AccessControlException", "message": "Permission denied"}}',
        )

    with (
        serving(answer) as address,
        pytest.raises(RefusedChangesError, match=r"cannot be made: .* Permission"),
    ):
        asyncio.run(lay_out(replace(order(), namenode=NameNodeAt(address, "joe"))))


class FakeNamespace(BenchNamespace):
    """Changes nothing; a path's state is the number of state() calls so far."""

    def __init__(self, given: Order) -> None:
        super().__init__(given.plan, given.namenode)
        self.made_s: list[float] = []

    async def prepare(self, change: PlannedChange) -> None:
        """Do nothing."""

    async def carry_out(self, change: PlannedChange) -> None:
        """Record the time of the change."""
        self.made_s.append(clock())

    async def state(self, path_id: int) -> PathState:
        """Return a new state each time."""
        self.asked += 1
        return PathState(200, self.asked, path_id)


def test_each_change_is_written_down_when_it_is_due() -> None:
    """Each path of a directory has a row; the acknowledgement follows the sending; state calls count while measured."""
    given = order()
    namespace = FakeNamespace(given)
    changer = Changer(given, namespace)
    zero_s = 0.0

    async def work() -> None:  # in virtual time: no change comes late because the machine is busy
        nonlocal zero_s
        zero_s = clock() + 0.45
        await changer.note_first()
        await changer.change_all(zero_s)

    virtual_time.run(work())
    due_s = [change.at_s for change in given.changes()]
    assert len(due_s) > 10
    assert due_s[0] < 0 < due_s[-1]
    made_s = [at_s - zero_s for at_s in namespace.made_s]
    by_number: dict[Any, Any] = {row["change_id"]: row for row in changer.rows}
    for number, (due, made) in enumerate(zip(due_s, made_s, strict=True)):
        row = by_number[number]
        assert row["due_s"] == due <= made + 1e-9
        assert row["sent_s"] <= made <= row["acked_s"]
    forbidden = [row for row in changer.rows if row["kind"] == "forbid"]
    assert sorted(str(row["path_id"]) for row in forbidden) == ["0", "2", "4"]
    assert len({(row["change_id"], row["sent_s"], row["acked_s"]) for row in forbidden}) == 1
    assert len({row["digest"] for row in forbidden}) == 3
    assert (
        0
        < changer.asked
        == sum(isinstance(row["due_s"], float) and row["due_s"] >= 0 for row in changer.rows)
    )
