"""A task runs its share of the pollers on the driver's clock."""

import resource

import pyarrow as pa
import pytest

from nncache.bench.polling.clock import boottime, serving_time
from nncache.bench.polling.task import HOST, TaskError, allow_files, run
from tests.bench.example_orders import orders
from tests.bench.polling_server import Script, serving

SHIFT_S = 500.0
LEAD_S = 5.0


def test_a_task_polls_its_share_on_the_drivers_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every second poller, at times relative to the driver's zero, though its own clock is far off."""
    script = Script()
    monkeypatch.setattr("nncache.bench.polling.clock.boottime", lambda: boottime() - SHIFT_S)
    with serving(script) as server, serving_time("127.0.0.1") as clock:
        given = orders(20, server, clock, zero_s=boottime() + LEAD_S - SHIFT_S)
        table = pa.Table.from_batches(run(given, 1))
    rows = [row for row in table.to_pylist() if row[HOST] is None]
    phases = {poller.number: poller.phase_s for poller in given.pollers(1)}
    assert set(phases) == set(range(1, 20, 2))
    measured = [row for row in rows if row["due_s"] >= 0]
    assert {row["poller"] for row in measured} == set(phases)
    assert all(
        (row["due_s"] - phases[row["poller"]] + 0.5) % 1 == pytest.approx(0, abs=1e-6)
        or (row["due_s"] - phases[row["poller"]] + 0.5) % 1 == pytest.approx(1, abs=1e-6)
        for row in rows
    )
    assert all(row["due_s"] <= row["sent_s"] <= row["replied_s"] for row in rows)
    assert all("?op=GETFILESTATUS&user.name=u000" in target for target in script.targets)
    assert set(script.targets) == {
        request.decode().split(" ")[1] for poller in given.pollers(1) for request in given.requests(poller)
    }


def test_a_task_that_comes_too_late_says_so() -> None:
    """All its polls would be late."""
    with serving_time("127.0.0.1") as clock:
        late = orders(2, "127.0.0.1:1", clock, zero_s=boottime() - 1)
        with pytest.raises(TaskError, match="after the measured time had begun"):
            list(run(late, 0))


def test_too_few_open_files_are_refused_before_anything_is_sent() -> None:
    """The message says how many there are and how many are needed."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allow_files(hard)
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == (hard, hard)
    with pytest.raises(TaskError, match=f"{hard} open files, but {hard + 1} are needed"):
        allow_files(hard + 1)
