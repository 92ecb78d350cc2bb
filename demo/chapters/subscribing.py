"""A subscriber is told of the one file that it waits for. (demo/chapters/subscribing.py)"""

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from nncache.demo.chapter import PATIENCE_S, Chapter
from nncache.demo.figures import counted, spoken
from nncache.demo.stage import FILTER, MAX_STALENESS_S, OWNER, WORKFLOW, Stage
from nncache.demo.step import Step
from nncache.hadoop.webhdfs import WebHdfs
from nncache.testbed.subscriber import Subscriber

PARTS: Final = 100
MARK: Final = f"{WORKFLOW}/job/_SUCCESS"

_OUTPUT: Final = MARK.rpartition("/")[0]
_TEMPORARY: Final = f"{_OUTPUT}/_temporary"
_AT_ONCE: Final = 8
_TRANSACTIONS_A_WRITE: Final = 10  # at least
_LOOK_S: Final = 0.005
_LINGER_S: Final = 1.0  # for what else might be told or written


async def play(stage: Stage) -> tuple[Step, ...]:
    """Run a job under the eyes of a subscriber, with the counters read before and after."""
    subscriber = stage.subscriber()
    try:
        await asyncio.to_thread(subscriber.start)
        async with stage.at_namenode(OWNER) as job:
            await job.mkdirs(_TEMPORARY)
            transactions, writes = await stage.last_txid(), await asyncio.to_thread(stage.zookeeper.writes)
            await write_parts(job)
            acknowledged_at = await commit(job)
            seen_after_s = await _told(subscriber, acknowledged_at)
            await asyncio.sleep(_LINGER_S)
            transactions = await stage.last_txid() - transactions
            writes = await asyncio.to_thread(stage.zookeeper.writes) - writes
        events = subscriber.events()
    finally:
        await asyncio.to_thread(subscriber.close)
    return told(events, seen_after_s), cost(transactions=transactions, writes=writes)


async def write_parts(job: WebHdfs) -> None:
    """Write the part files, a few at a time, and move each to its place, as FileOutputCommitter does."""
    numbers = iter(range(PARTS))

    async def one_after_the_other() -> None:
        for number in numbers:
            name = f"part-{number:05}"
            await job.create(f"{_TEMPORARY}/{name}")
            await job.rename(f"{_TEMPORARY}/{name}", f"{_OUTPUT}/{name}")

    async with asyncio.TaskGroup() as tasks:
        for _ in range(_AT_ONCE):
            tasks.create_task(one_after_the_other())


async def commit(job: WebHdfs) -> float:
    """Delete what is temporary and write the mark; return when that was acknowledged."""
    await job.delete(_TEMPORARY, recursive=True)
    await job.create(MARK)
    return time.monotonic()


async def _told(subscriber: Subscriber, acknowledged_at: float) -> float | None:
    """Wait until the mark's last event is told; return how long after the acknowledgement, None if it is not."""
    while not any(event["type"] == "CLOSE" for event in subscriber.events()):
        if time.monotonic() > acknowledged_at + PATIENCE_S:
            return None
        await asyncio.sleep(_LOOK_S)
    return time.monotonic() - acknowledged_at


def told(events: Sequence[Mapping[str, Any]], seen_after_s: float | None) -> Step:
    """Judge what the subscriber was told: the mark's making and closing, and nothing else."""
    of_mark = [str(event["type"]) for event in events if event.get("path") == MARK]
    others = len(events) - len(of_mark)
    seen = f"{' and '.join(of_mark) or 'nothing'} of it, {counted(others, 'other event')}"
    if seen_after_s is not None:
        seen += f"; after {spoken(seen_after_s)}"
    return Step(
        title="The subscriber sees _SUCCESS",
        expected=f"CREATE and CLOSE of it, nothing else, within {MAX_STALENESS_S:g} s",
        seen=seen,
        came_true=of_mark == ["CREATE", "CLOSE"]
        and not others
        and seen_after_s is not None
        and seen_after_s <= MAX_STALENESS_S,
    )


def cost(*, transactions: int, writes: int) -> Step:
    """Judge what the job cost ZooKeeper."""
    return Step(
        title="What it cost ZooKeeper",
        expected=f"1 write for {_TRANSACTIONS_A_WRITE} transactions at most",
        seen=f"{counted(writes, 'write')} for the NameNode's {counted(transactions, 'transaction')}",
        came_true=0 < writes <= transactions / _TRANSACTIONS_A_WRITE,
    )


CHAPTER: Final = Chapter(
    "Somebody subscribes",
    f"`nncache watch {FILTER}` follows the filter's events through ZooKeeper, without a question to the NameNode and "
    f"without a right to its edits. A job writes {PARTS} part files, moves each to its place and then writes {MARK}, "
    "the only one that the filter matches. What is the subscriber told, and what does ZooKeeper have to write for it?",
    play,
)
