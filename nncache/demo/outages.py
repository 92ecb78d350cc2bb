"""Something breaks while clients poll, and is mended."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from nncache.demo.options import DemoError
from nncache.demo.reads import EMPTY, MISSING, Expected, Question, View
from nncache.demo.steps import BOUND_S, Step, hits_resumed, reads_during, seen_in_time
from nncache.demo.system import OWNER, WORKFLOW, System
from nncache.demo.watching import change, until_in_memory
from nncache.testbed.daemon import Publisher

_RESUME_S: Final = 5.0
"""How long after it is mended answers may take to come from memory again."""


def _storm(name: str) -> str:
    """Return the file that changes while that of the name is broken."""
    return f"{WORKFLOW}/{name}-storm/_SUCCESS"


def _publisher(system: System) -> Publisher:
    if system.publisher is None:
        raise DemoError("there is no publisher to be killed")
    system.own_at_most += 1  # a new one reads the filter's definition: the NameNode looks it up for that
    return system.publisher


@dataclass(frozen=True, slots=True)
class Outage:
    """What is broken, and what it is called.

    Attributes:
        name: of its files; no other chapter uses them.
        breaks, mends: return when that is done.
        meanwhile, afterwards: ends of "Reads ..." and "A change ...".
    """

    name: str
    title: str
    plot: str
    breaks: Callable[[System], object]
    mends: Callable[[System], object]
    meanwhile: str
    afterwards: str

    async def play(self, system: System) -> tuple[Step, ...]:
        """Break it, change twice, mend it, and change again once answers come from memory; clients poll throughout.

        It is mended whatever happens in between.
        """
        calm, storm = f"{WORKFLOW}/{self.name}-calm/_SUCCESS", _storm(self.name)

        def expected(view: View) -> Expected:
            polled = dict.fromkeys((Question("alice", storm), Question("bob", storm)), view)
            return {Question("bob", calm): EMPTY} | polled

        there, gone = expected(EMPTY), expected(MISSING)
        async with system.at_namenode(OWNER) as owner:
            await owner.create(calm)
            await owner.create(storm)
            async with system.pollers(tuple(there)) as pollers:
                await until_in_memory(system, pollers, there)
                begun_at = time.monotonic()
                try:
                    await asyncio.to_thread(self.breaks, system)
                    broken_at = time.monotonic()
                    deleted = await change(pollers, partial(owner.delete, storm), before=there, after=gone)
                    written = await change(pollers, partial(owner.create, storm), before=gone, after=there)
                finally:
                    mending_at = time.monotonic()
                    await asyncio.to_thread(self.mends, system)
                mended_at = time.monotonic()
                is_back = await pollers.until_answered(
                    there, 2 * _RESUME_S, since=mended_at, from_memory=True
                )
                resumed_at = time.monotonic()
                again = await change(pollers, partial(owner.delete, storm), before=there, after=gone)
        during = [record.between(begun_at, mended_at) for record in pollers.records]
        return (
            reads_during(f"Reads {self.meanwhile}", during, broken_at, mending_at),
            seen_in_time(f"Changes {self.meanwhile}", (deleted, written)),
            hits_resumed(f"Hits {self.afterwards}", resumed_at - mended_at if is_back else None, _RESUME_S),
            seen_in_time(f"A change {self.afterwards}", (again,)),
        )


OUTAGES: Final = (
    Outage(
        "cut",
        "The stream of edits is cut",
        "The NameNode's RPC port cannot be reached, so the publisher reads no edits. The proxy sees over HTTP that the "
        f"NameNode goes on, and answers from memory only as long as nothing can be older than {BOUND_S:g} s; then it "
        f"asks the NameNode each time. Meanwhile {_storm('cut')} is deleted and written again; then the cut is "
        "mended and it is deleted once more.",
        lambda system: system.relay.cut(),
        lambda system: system.relay.restore(),
        "while it is cut",
        "once it is mended",
    ),
    Outage(
        "zookeeper",
        "ZooKeeper is stopped and started again",
        "Neither publisher nor proxy can do anything about it. Reads go on, from memory for as long as that is safe "
        f"and then from the NameNode, while {_storm('zookeeper')} is deleted and written again. The time of the hits "
        "counts from the moment when ZooKeeper serves again.",
        lambda system: system.zookeeper.stop(),
        lambda system: system.zookeeper.start_again(),
        "while ZooKeeper is away",
        "once ZooKeeper is back",
    ),
    Outage(
        "publisher",
        "The publisher is killed and started again",
        "SIGKILL: it cannot close its session, and ZooKeeper takes it for alive until that expires. Its successor, on "
        "the same admin address, knows better and continues where the last record ends. Meanwhile "
        f"{_storm('publisher')} is deleted and written again. The time of the hits counts from the moment when the new "
        "process is up.",
        lambda system: _publisher(system).kill(),
        lambda system: system.publisher and system.publisher.start(),
        "while no publisher runs",
        "once the publisher is back",
    ),
)
