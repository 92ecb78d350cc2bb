"""The chapters of the story: what is done, under the eyes of polling clients."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Generic, TypeVar

from nncache.demo.outages import OUTAGES
from nncache.demo.reads import DENIED, EMPTY, INTERVAL_S, MISSING, Expected, Question, Read, View
from nncache.demo.steps import (
    BOUND_S,
    Observed,
    Step,
    Totals,
    answered_from_memory,
    balance,
    cost,
    found_by_name,
    lock_holds,
    own_writes,
    seen_in_time,
    subscriber_saw,
)
from nncache.demo.system import FILTER, OWNER, WORKFLOW, System
from nncache.demo.watching import PATIENCE_S, watch
from nncache.hadoop.webhdfs import WebHdfs

CONTENT: Final = b"42317 rows\n"
FIRST_FILE: Final = f"{WORKFLOW}/day-1/_SUCCESS"

_WHOLE: Final = View(200, len(CONTENT))
_POLL_S: Final = 2.0
_DAYS: Final = 5
_RENAMES: Final = 6  # even: in the end the directory has its first name again
_LOCKS: Final = 3
_LINGER_S: Final = BOUND_S + 0.3  # after the last lock: some reads past the bound
_OWN_WRITES: Final = 20
_TRIES: Final = 200
_PARTS: Final = 100
_AT_ONCE: Final = 8
_SETTLE_S: Final = 1.0  # for other events and writes that might come


SystemT = TypeVar("SystemT")


@dataclass(frozen=True, slots=True)
class Chapter(Generic[SystemT]):
    """A title, what happens, and how it is played; an error that `play` raises is a step that did not come true."""

    title: str
    plot: str
    play: Callable[[SystemT], Coroutine[Any, Any, tuple[Step, ...]]]


async def waiting(system: System) -> tuple[Step, ...]:
    """Poll for a file that is not there yet."""
    async with system.at_namenode(system.superuser) as root, system.at_namenode(OWNER) as owner:
        await root.mkdirs(f"/user/{OWNER}")
        await root.set_owner(f"/user/{OWNER}", OWNER)
        await owner.mkdirs(FIRST_FILE.rpartition("/")[0])
    before = await system.totals()
    async with system.pollers(
        [Question(user, FIRST_FILE) for user in ("alice", "bob", "carol") * 2]
    ) as pollers:
        await asyncio.sleep(_POLL_S)
    return (answered_from_memory(pollers.records, MISSING, await system.totals() - before),)


async def finishing(system: System) -> tuple[Step, ...]:
    """Write one day's file after the other; stop at the first that a client does not see."""
    rounds: list[Observed] = []
    async with system.at_namenode(OWNER) as job:
        for day in range(1, _DAYS + 1):
            path = f"{WORKFLOW}/day-{day}/_SUCCESS"
            questions = [Question(user, path) for user in ("alice", "bob", "carol")]
            await job.mkdirs(path.rpartition("/")[0])
            before, after = dict.fromkeys(questions, MISSING), dict.fromkeys(questions, _WHOLE)
            rounds.append(await watch(system, partial(job.create, path, CONTENT), before=before, after=after))
            if rounds[-1].wrong:
                break
    return (seen_in_time("The finished file is seen", rounds),)


async def renaming(system: System) -> tuple[Step, ...]:
    """Rename there and back; stop at the first time that a client does not see it."""
    rounds: list[Observed] = []
    old, new = f"{WORKFLOW}/draft", f"{WORKFLOW}/final"
    async with system.at_namenode(OWNER) as owner:
        await owner.create(f"{old}/_SUCCESS")
        for _ in range(_RENAMES):
            gone = [Question(user, f"{old}/_SUCCESS") for user in ("alice", "bob")]
            come = [Question(user, f"{new}/_SUCCESS") for user in ("alice", "bob")]
            before = dict.fromkeys(gone, EMPTY) | dict.fromkeys(come, MISSING)
            after = dict.fromkeys(gone, MISSING) | dict.fromkeys(come, EMPTY)
            rounds.append(await watch(system, partial(owner.rename, old, new), before=before, after=after))
            if rounds[-1].wrong:
                break
            old, new = new, old
    return (seen_in_time("Old name 404, new name 200", rounds),)


async def locking(system: System) -> tuple[Step, ...]:
    """Lock and unlock; stop at the first time that bob still sees the file."""
    rounds: list[Observed] = []
    directory = f"{WORKFLOW}/salaries"
    alice, bob = Question("alice", f"{directory}/_SUCCESS"), Question("bob", f"{directory}/_SUCCESS")
    async with system.at_namenode(OWNER) as owner:
        await owner.create(alice.path)
        for number in range(1, _LOCKS + 1):
            await owner.set_permission(directory, "755")
            rounds.append(
                await watch(
                    system,
                    partial(owner.set_permission, directory, "700"),
                    before={alice: EMPTY, bob: EMPTY},
                    after={alice: EMPTY, bob: DENIED},
                    linger_s=_LINGER_S if number == _LOCKS else 0.0,
                )
            )
            if rounds[-1].wrong:
                break
    return seen_in_time("bob gets 403, alice 200", rounds), lock_holds(rounds[-1], _LINGER_S)


async def writing(system: System) -> tuple[Step, ...]:
    """Create and delete through the proxy; bob reads before, from memory, and once after each."""
    bob = Question("bob", f"{WORKFLOW}/own/_SUCCESS")
    pairs: list[tuple[View, Read]] = []
    trouble = ""
    async with system.at_namenode(OWNER) as owner, system.through_proxy(OWNER) as writer:
        await owner.mkdirs(bob.path.rpartition("/")[0])
        for number in range(_OWN_WRITES):
            is_there = number % 2 == 1
            now, then = (_WHOLE, MISSING) if is_there else (MISSING, _WHOLE)
            if not await _in_memory(system, {bob: now}):
                trouble = f"then bob's {now} is no longer answered from memory"
                break
            if is_there:
                await writer.delete(bob.path)
            else:
                await writer.create(bob.path, CONTENT)
                system.own_at_most += bob.path.count("/") + 1  # one for each level, the root's too
            pairs.append((then, await system.read(bob)))
    return (own_writes(pairs, _OWN_WRITES, trouble),)


async def _in_memory(system: System, expected: Expected) -> bool:
    (question,) = expected
    for _ in range(_TRIES):
        seen = await system.read(question)
        if seen.is_hit and seen.view == expected[question]:
            return True
        await asyncio.sleep(INTERVAL_S)
    return False


async def subscribing(system: System) -> tuple[Step, ...]:
    """Run a job while `nncache watch` runs, with the counters read before and after."""
    output = f"{WORKFLOW}/job"
    mark = f"{output}/_SUCCESS"
    subscriber = system.subscriber()
    try:
        await asyncio.to_thread(subscriber.start)
        async with system.at_namenode(OWNER) as job:
            await job.mkdirs(f"{output}/_temporary")
            transactions, writes = await system.last_txid(), await asyncio.to_thread(system.zookeeper.writes)
            await _write_parts(job, output)
            await job.delete(f"{output}/_temporary", recursive=True)
            await job.create(mark)
            acknowledged_at = time.monotonic()
            seen_after_s: float | None = None
            while seen_after_s is None and time.monotonic() < acknowledged_at + PATIENCE_S:
                if any(event["type"] == "CLOSE" for event in subscriber.events()):
                    seen_after_s = time.monotonic() - acknowledged_at
                await asyncio.sleep(INTERVAL_S / 2)
            await asyncio.sleep(_SETTLE_S)
            transactions = await system.last_txid() - transactions
            writes = await asyncio.to_thread(system.zookeeper.writes) - writes
        events = subscriber.events()
    finally:
        await asyncio.to_thread(subscriber.close)
    return subscriber_saw(mark, events, seen_after_s), cost(transactions=transactions, writes=writes)


async def finding(system: System) -> tuple[Step, ...]:
    """Ask the service registry where a proxy is."""
    return (found_by_name(await system.found_by_name(), system.proxy.address),)


async def _write_parts(job: WebHdfs, output: str) -> None:
    """Write the part files, a few at a time, and move each to its place, as FileOutputCommitter does."""
    numbers = iter(range(_PARTS))

    async def one_after_the_other() -> None:
        for number in numbers:
            name = f"part-{number:05}"
            await job.create(f"{output}/_temporary/{name}")
            await job.rename(f"{output}/_temporary/{name}", f"{output}/{name}")

    async with asyncio.TaskGroup() as tasks:
        for _ in range(_AT_ONCE):
            tasks.create_task(one_after_the_other())


def books(before: Totals) -> Chapter[System]:
    """Return the last chapter, given the counts before the first."""

    async def play(system: System) -> tuple[Step, ...]:
        return (balance(system.records, await system.totals() - before, own_at_most=system.own_at_most),)

    return Chapter(
        "The books",
        "The clients counted their reads, nncache its hits, the NameNode its getFileInfo calls. A read was one of its "
        "calls, or shared one, or it was a hit. Calls of nncache's own: before each creation through it the proxy may "
        "ask what is there, and a publisher that starts reads the filter.",
        play,
    )


CHAPTERS: Final = (
    Chapter(
        "Waiting for a file",
        f"A job will write {FIRST_FILE} when it is done. alice, bob and carol each ask twice "
        f"every {INTERVAL_S * 1000:.0f} ms whether it is there. It is not, and the NameNode need not say so each "
        "time: a hit is answered from memory, a call reaches the NameNode.",
        waiting,
    ),
    Chapter(
        "The job finishes",
        "The job writes the file and closes it: to the NameNode and a DataNode, as any HDFS client would, not through "
        f"nncache; {_DAYS} days, one after the other. When do the three see the whole file? Each looks every 10 ms, "
        "and the time counts from the job's acknowledgement to the start of the first read that shows it. (While a "
        "file is open, nncache asks the NameNode each time.)",
        finishing,
    ),
    Chapter(
        "A directory is renamed",
        f"{WORKFLOW}/draft becomes {WORKFLOW}/final, and back, {_RENAMES} times, at the NameNode. alice and bob ask "
        "for _SUCCESS under both names: one is there and the other is not, both from memory. HDFS announces the "
        "rename in one event; everything below either name is forgotten.",
        renaming,
    ),
    Chapter(
        "A directory is locked",
        f"alice, who owns {WORKFLOW}/salaries, does chmod 700 on it at the NameNode, {_LOCKS} times. What is in memory "
        "about the file in it is still true, but bob may not know it any more: his right to pass the directory is "
        "forgotten.",
        locking,
    ),
    Chapter(
        "A write through the proxy",
        f"alice takes the proxy for the NameNode: she creates {WORKFLOW}/own/_SUCCESS through it (the data goes to the "
        f"DataNode) and deletes it again, {_OWN_WRITES // 2} times. bob has each old answer from memory just before, "
        "and reads once just after.",
        writing,
    ),
    Chapter(
        "A subscriber",
        f"`nncache watch {FILTER}` follows the filter's events through ZooKeeper, without a question to the NameNode "
        f"and without a right to its edits. A job writes {_PARTS} part files, moves each to its place and then writes "
        f"{WORKFLOW}/job/_SUCCESS, the only one that the filter matches. What does the subscriber see, and what does "
        "ZooKeeper have to write for it?",
        subscribing,
    ),
    Chapter(
        "Found by name",
        "Publisher and proxy have registered in the service registry, in ZooKeeper. A Python program that knows "
        "ZooKeeper alone asks where a proxy is (nncache.connect).",
        finding,
    ),
    *(Chapter(outage.title, outage.plot, outage.play) for outage in OUTAGES),
)
