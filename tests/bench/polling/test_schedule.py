"""The open loop: polls are due at fixed times, whatever the server does, and each poll has a row."""

import asyncio
import math
from collections.abc import Callable, Coroutine
from typing import Any

import pyarrow as pa
import pytest
import uvloop

from nncache.bench.polling.replies import digest_of
from nncache.bench.polling.rows import Rows
from nncache.bench.polling.schedule import Schedule, Times
from nncache.bench.shared.figures import SCHEDULE_S
from nncache.bench.shared.plan import Poller
from nncache.bench.shared.tables import POLLS
from tests.bench.patient_loop import PatientLoop, clock
from tests.bench.polling_server import BODY, Act, RawServer, Script, reply

Row = dict[str, Any]
Beside = Callable[[RawServer], Coroutine[None, None, None]]

LOOPS = pytest.mark.parametrize("loop", [PatientLoop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
MISSING = b'{"RemoteException":{"exception":"FileNotFoundException"}}'


def requests_of(poller: Poller) -> tuple[bytes, ...]:
    """Return the requests of a poller whose paths are /0, /1 and so on."""
    return tuple(f"GET /webhdfs/v1/{path_id}?op=X HTTP/1.1\r\n\r\n".encode() for path_id in poller.path_ids)


def polled(  # the cases name their parameters
    script: Script,
    *pollers: Poller,
    period_s: float = 0.1,
    times: Times | None = None,
    loop: Callable[[], asyncio.AbstractEventLoop] = PatientLoop,
    beside: Beside | None = None,
) -> list[Row]:
    """Run a schedule against the script; return its rows by poller and due time.

    On a PatientLoop, the machine's load does not matter. On another loop, polls may be sent late; but time 0 is the
    first reading of the clock, so every poll that is due has a row.
    """
    rows = Rows()

    async def run() -> None:
        async with RawServer(script) as server, asyncio.TaskGroup() as tasks:
            schedule = Schedule(
                ((poller, requests_of(poller)) for poller in pollers),
                period_s,
                times or Times(begins_s=0.02, ends_s=0.32),
                now=from_zero(),
                rows=rows,
            )
            if beside is not None:
                tasks.create_task(beside(server))
            await schedule.run(server.endpoint)

    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(run())
    table = pa.Table.from_batches(rows.batches(0.001), POLLS)
    found: list[Row] = table.to_pylist()
    return sorted(found, key=lambda row: (row["poller"], row["due_s"]))


def from_zero() -> Callable[[], float]:
    """Return a clock of the running loop that reads 0 at first."""
    zero_s: list[float] = []

    def now() -> float:
        if not zero_s:
            zero_s.append(clock())
        return clock() - zero_s[0]

    return now


def one(*path_ids: int, phase_s: float = 0.0) -> Poller:
    """Return a poller."""
    return Poller(7, "joe", path_ids, phase_s)


@LOOPS
def test_polls_are_due_evenly_from_the_phase_on(loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
    """Each path is polled once a period, in turn, until the end; on either event loop."""
    script = Script()
    rows = polled(script, one(4, 5, phase_s=0.03), loop=loop)
    assert [row["due_s"] for row in rows] == pytest.approx([0.05, 0.1, 0.15, 0.2, 0.25, 0.3])
    assert [row["path_id"] for row in rows] == [4, 5, 4, 5, 4, 5]
    assert [target[12:14] for target in script.targets] == ["4?", "5?"] * 3
    assert script.connections == 1


def test_a_row_says_all_about_its_poll() -> None:
    """Each column of the table is checked, for an existing file, a missing one, and a refusal."""
    script = Script(
        {
            "/0": (Act(data=reply(fields=("Cache-Status: nncache; hit",)), delay_s=0.01),),
            "/1": (
                Act(
                    data=reply(MISSING, "404 Not Found", ("X-Cache-Status: MISS",), is_chunked=True), split=90
                ),
            ),
            "/2": (Act(data=reply(b"joe may not", "403 Forbidden")),),
            "/3": (Act(data=reply(b"", "500 Server Error")),),
        }
    )
    there, missing, refused, broken = polled(script, one(0, 1, 2, 3), times=Times(begins_s=0.02, ends_s=0.12))
    assert there | {"sent_s": 0, "replied_s": 0} == {
        "poller": 7,
        "path_id": 0,
        "due_s": pytest.approx(0.02),
        "sent_s": 0,
        "replied_s": 0,
        "status": 200,
        "digest": digest_of(200, BODY),
        "file_id": 16389,
        "served": "hit",
        "error": None,
        "clock_error_s": pytest.approx(0.001),
    }
    assert there["due_s"] <= there["sent_s"] <= there["replied_s"] - 0.01 + 1e-9
    assert (missing["status"], missing["digest"]) == (404, digest_of(404, MISSING))
    assert (missing["file_id"], missing["served"]) == (0, "miss")
    assert (refused["status"], refused["digest"], refused["served"]) == (403, 0, "")
    assert (broken["status"], broken["error"]) == (500, None)


def test_a_slow_reply_makes_the_later_polls_late() -> None:
    """In an open loop, a server's pause delays all polls that are due during it."""
    script = Script({"/0": (Act(delay_s=0.25), Act())})
    rows = polled(script, one(0), period_s=0.05)
    first, *later = rows
    held = [row for row in later if row["due_s"] < first["replied_s"]]
    assert len(rows) == 6
    assert len(held) >= 4
    assert all(row["sent_s"] >= first["replied_s"] for row in held)
    latencies = [row["replied_s"] - row["due_s"] for row in held]
    assert latencies == sorted(latencies, reverse=True)
    assert latencies[0] >= 0.19


def test_a_generator_that_falls_behind_says_so() -> None:
    """Its polls are sent late although their connections were free."""

    async def hog(server: RawServer) -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, PatientLoop)
        await server.script.heard.wait()
        loop.call_later(0.08, loop.busy, 0.15)

    rows = polled(Script(), one(0), period_s=0.05, beside=hog)
    late = [row for row in rows if row["sent_s"] - row["due_s"] > SCHEDULE_S]
    assert late
    assert len(rows) == 6, "none is left out"


def test_what_would_have_been_due_before_it_is_ready_is_left_out() -> None:
    """A task that starts during the warm-up does not send the missed polls in a burst."""
    rows = polled(Script(), one(0), times=Times(begins_s=-50.0, ends_s=0.2))
    assert [row["due_s"] for row in rows] == pytest.approx([0.0, 0.1], abs=1e-6)


def test_what_is_not_answered_by_the_end_has_failed() -> None:
    """This includes polls that were never sent because the previous reply never came; their `sent_s` is NaN."""
    script = Script({"/0": (Act(data=b""),)})
    rows = polled(script, one(0), times=Times(begins_s=0.02, ends_s=0.25, grace_s=0.1))
    assert [row["error"] for row in rows] == ["no reply before the end", "not sent", "not sent"]
    assert [math.isnan(row["sent_s"]) for row in rows] == [False, True, True]
    assert {(row["status"], row["digest"], row["file_id"], row["served"]) for row in rows} == {(0, 0, 0, "")}
    assert all(row["replied_s"] >= 0.34 for row in rows)


def test_a_reply_that_takes_too_long_is_none() -> None:
    """The next poll uses a new connection."""
    script = Script({"/0": (Act(data=b""), Act())})
    rows = polled(script, one(0), times=Times(begins_s=0.02, ends_s=0.5, timeout_s=0.15))
    first, *later = rows
    assert (first["status"], first["error"]) == (0, "no reply within 0.15 s")
    assert first["replied_s"] - first["sent_s"] >= 0.15
    assert {row["status"] for row in later} == {200}
    assert script.connections == 2


def test_a_schedule_that_is_stopped_ends_with_its_replies() -> None:
    """Polls due by then are sent and answered, even queued ones; no later poll becomes due."""
    script, rows = Script({"/1": (Act(delay_s=0.5), Act())}), Rows()

    async def run() -> None:
        async with RawServer(script) as server, asyncio.TaskGroup() as tasks:
            pollers = [(poller, requests_of(poller)) for poller in (one(0), Poller(8, "joe", (1,), 0.01))]
            times = Times(begins_s=0.02, ends_s=1e5)
            schedule = Schedule(pollers, 0.1, times, now=from_zero(), rows=rows)
            running = tasks.create_task(schedule.run(server.endpoint))
            await asyncio.sleep(0.25)
            schedule.stop()
            await running

    with asyncio.Runner(loop_factory=PatientLoop) as runner:
        runner.run(run())
    found = pa.Table.from_batches(rows.batches(0.0), POLLS).to_pylist()
    due = {poller: [row["due_s"] for row in found if row["poller"] == poller] for poller in (7, 8)}
    assert due[7] == pytest.approx([0.02, 0.12, 0.22])
    assert due[8] == pytest.approx([0.03, 0.13, 0.23])
    assert {row["status"] for row in found} == {200}


def test_a_bug_in_a_callback_ends_the_run() -> None:
    """Otherwise it would look like a server that does not answer."""

    class Broken(Rows):
        def add_reply(self, *_: object) -> None:
            raise ZeroDivisionError

    async def run() -> None:
        async with RawServer(Script()) as server:
            schedule = Schedule(
                [(one(0), requests_of(one(0)))],
                0.1,
                Times(begins_s=0.0, ends_s=60.0),
                now=from_zero(),
                rows=Broken(),
            )
            await schedule.run(server.endpoint)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner, pytest.raises(ZeroDivisionError):
        runner.run(run())
