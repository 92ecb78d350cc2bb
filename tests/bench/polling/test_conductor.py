"""The conductor tells the time and knows how far the tasks are."""

import socket
import threading

import pytest

from nncache.bench.polling.clock import ClockError, boottime, endpoint, measure
from nncache.bench.polling.conductor import Conductor, Progress


@pytest.mark.parametrize("shift_s", [0.0, 3.25, -1000.5])
def test_a_clock_that_is_off_is_found_out_within_the_error_that_is_told(shift_s: float) -> None:
    """The offset is ours minus the driver's."""
    with Conductor("127.0.0.1", clock=lambda: boottime() - shift_s) as conductor:
        found = measure(conductor.address)
    assert abs(found.offset_s - shift_s) <= found.error_s
    assert 0 < found.error_s < 0.05


def test_progress_is_what_all_tasks_said_last() -> None:
    """Summed over the tasks; a line that makes no sense ends its connection alone."""
    with Conductor("127.0.0.1") as conductor:
        assert conductor.progress() == Progress()
        for lines in (
            (Progress(5, 1, 0).line(0), Progress(7, 2, 1).line(0)),
            (b"{}\n",),
            (Progress(10, 0, 3).line(1),),
        ):
            with socket.create_connection(endpoint(conductor.address)) as told:
                told.sendall(b"".join(lines))
                told.shutdown(socket.SHUT_WR)
                assert told.recv(1) == b"", "it has read all"
        assert conductor.progress() == Progress(17, 2, 4)


def test_a_conductor_that_is_closed_leaves_nothing_behind() -> None:
    """Its thread and its port."""
    with Conductor("127.0.0.1") as conductor:
        address = conductor.address
    assert "conductor" not in {thread.name for thread in threading.enumerate()}
    with pytest.raises(ClockError):
        measure(address)
