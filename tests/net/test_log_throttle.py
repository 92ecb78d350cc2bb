"""The log stays small however often an error repeats."""

import asyncio
import logging

import pytest

from nncache.hadoop.calls import parse_call
from nncache.net.log_throttle import COMPLAIN_EVERY_S, ThrottledLog
from nncache.proxy.decide.writes import Writes
from nncache.proxy.messages import RequestHead
from tests.proxy.doubles import (
    FakeClock,
    HeldNameNode,
    ManualSignal,
    ScriptedStreamer,
    let_tasks_run,
    make_cache,
    request_of,
    script,
    settled,
)
from tests.proxy.write_fixture import METHOD


def test_the_first_is_written_at_once_and_the_others_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    """A line has the number of errors since the last one."""
    clock = FakeClock()
    complaints = ThrottledLog(logging.getLogger("test"), clock)
    for text in ("one", "two", "three"):
        complaints.warn(text)
    assert caplog.messages == ["one"]
    clock.now += COMPLAIN_EVERY_S
    complaints.warn("four")
    assert caplog.messages == ["one", "four (2 more like this since the last)"]
    clock.now += COMPLAIN_EVERY_S
    complaints.warn("five")
    assert caplog.messages[2:] == ["five"]


async def test_refused_questions_of_writes_do_not_fill_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """Without superuser rights each creation would log two lines, while the proxy runs."""
    clock, namenode = FakeClock(), HeldNameNode()
    streamer = ScriptedStreamer(script(settled(307, None)))
    writes = Writes(
        make_cache(clock),
        streamer.stream,
        namenode,
        ManualSignal(),
        clock,
        tasks=asyncio.TaskGroup(),
        query_timeout_s=5.0,
        two_step_timeout_s=5.0,
    )
    writes.stop()  # no question is repeated in the background
    target = "/webhdfs/v1/w/f?op=CREATE"
    for _ in range(5):
        async with asyncio.TaskGroup() as group:
            group.create_task(
                writes.pass_through(
                    request_of(target, method="PUT"),
                    RequestHead("PUT", target, ()),
                    parse_call("PUT", target),
                    lambda _: (METHOD,),
                )
            )
            for held in (namenode.existing, namenode.existing, namenode.txids):
                await let_tasks_run()
                held.answer(PermissionError("not the superuser"))
    assert writes.query_failures == 15
    assert [record.name for record in caplog.records] == [
        "nncache.proxy.decide.existing_path",
        "nncache.proxy.decide.writes",
    ]
