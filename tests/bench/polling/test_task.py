"""A task runs its share of the pollers on the driver's clock."""

import itertools
import threading

import pyarrow as pa
import pytest

from nncache.bench.polling.clock import SAMPLES, ClockError, ClockOffset, boottime, measure, serving_time
from nncache.bench.polling.task import HOST, TaskError, run
from tests.bench.polling_server import Script, orders, serving

SHIFT_S = 500.0
LEAD_S = 5.0


def test_a_task_polls_its_share_on_the_drivers_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """The task runs every second poller, at times relative to the driver's zero, even if its own clock is far off."""
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
    """Otherwise all its polls would be late."""
    with serving_time("127.0.0.1") as clock:
        late = orders(2, "127.0.0.1:1", clock, zero_s=boottime() - 1)
        with pytest.raises(TaskError, match="after the measured time had begun"):
            list(run(late, 0))


# ---- its clock ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shift_s", [0.0, 3.25, -1000.5])
def test_a_clock_that_is_off_is_found_out(shift_s: float) -> None:
    """The offset, own clock minus driver's, is within the reported error. No thread is left behind."""
    with serving_time("127.0.0.1") as address:
        found = measure(address, clock=lambda: boottime() + shift_s)
        again = measure(address, clock=lambda: boottime() + shift_s)
    assert abs(found.offset_s - shift_s) <= found.error_s
    assert abs(again.offset_s - shift_s) <= again.error_s
    assert "clock" not in {thread.name for thread in threading.enumerate()}
    with pytest.raises(ClockError, match=address):
        measure(address)


def test_the_shortest_round_trip_is_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its offset is taken at the trip's middle, so half of the trip bounds the error."""
    trips = [(200.0 + number, 1.0) for number in range(SAMPLES)]
    trips[7] = (300.0, 0.125)
    times = itertools.chain.from_iterable((sent_s, sent_s + took_s) for sent_s, took_s in trips)
    monkeypatch.setattr("nncache.bench.polling.clock.boottime", lambda: 100.0)
    with serving_time("127.0.0.1") as address:
        found = measure(address, clock=lambda: next(times))
    assert found == ClockOffset(offset_s=200.0625, error_s=0.0625)


def test_a_clock_that_drifts_widens_the_error() -> None:
    """Times between two measurements are off by at most the drift and the second measurement's error."""
    assert ClockOffset(1.0, 0.25).then(ClockOffset(1.5, 0.25)) == ClockOffset(1.0, 0.75)
    assert ClockOffset(1.0, 0.25).then(ClockOffset(1.0, 0.125)) == ClockOffset(1.0, 0.25)
