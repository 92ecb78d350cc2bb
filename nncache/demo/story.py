"""The chapters of the story: what is done, under the eyes of polling clients."""

import asyncio
import sys
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any, Final, Generic, TypeVar

from nncache.demo.polling import (
    BOUND_S,
    DENIED,
    EMPTY,
    INTERVAL_S,
    MISSING,
    PATIENCE_S,
    DemoError,
    Expected,
    Observed,
    Question,
    Read,
    View,
    seen_in_time,
)  # fmt: skip
from nncache.demo.system import FILTER, OWNER, WORKFLOW, System, Totals, output_of
from nncache.demo.terminal import Step, counted, shown
from nncache.hadoop.jmx import JOURNAL_QUERY, parse_last_txid
from nncache.hadoop.webhdfs import WebHdfs
from nncache.testbed.asker import Asker
from nncache.testbed.daemon import Publisher

CONTENT: Final = b"42317 rows\n"
FIRST_FILE: Final = f"{WORKFLOW}/day-1/_SUCCESS"

_WHOLE: Final = View(200, len(CONTENT))
_POLL_S: Final = 2.0
_MAX_CALLS_SHARE: Final = 0.05  # of the reads of a file that does not change
_DAYS: Final = 5
_RENAMES: Final = 6  # even: in the end the directory has its first name again
_LOCKS: Final = 3
_LINGER_S: Final = BOUND_S + 0.3  # after the last lock: some reads past the bound
_OWN_WRITES: Final = 20
_PARTS: Final = 100
_LEAST_TRANSACTIONS_A_WRITE: Final = 10
_AT_ONCE: Final = 8
_SETTLE_S: Final = 1.0  # for other events and writes that might come
_RESUME_S: Final = 5.0
"""How long after an outage answers may take to come from memory again."""

_FIND_BY_NAME: Final = """
import sys, nncache
with nncache.connect(zookeeper=sys.argv[1]) as proxies:
    print(proxies.url())
"""

SystemT = TypeVar("SystemT")


@dataclass(frozen=True, slots=True)
class Chapter(Generic[SystemT]):
    """A title, what happens, and how it is played; an error that `play` raises is a step that did not come true."""

    title: str
    plot: str
    play: Callable[[SystemT], Coroutine[Any, Any, tuple[Step, ...]]]


async def waiting(system: System) -> tuple[Step, ...]:
    """Poll for a file that is not there yet."""
    async with system.at_namenode(system.cluster.superuser) as root, system.at_namenode(OWNER) as owner:
        await root.mkdirs(f"/user/{OWNER}")
        await root.set_owner(f"/user/{OWNER}", OWNER)
        await owner.mkdirs(FIRST_FILE.rpartition("/")[0])
    before = await system.totals()
    async with system.pollers(
        [Question(user, FIRST_FILE) for user in ("alice", "bob", "carol") * 2]
    ) as pollers:
        await asyncio.sleep(_POLL_S)
    totals, reads = await system.totals(before), [read for each in pollers.records for read in each.reads]
    wrong = [read.view for read in reads if read.view != MISSING]
    took = [read.ended_at - read.started_at for read in reads if read.is_hit]
    seen = (
        f"{counted(len(reads), 'read')}, {counted(totals.hits, 'hit')} (p50 {shown(median(took or [0.0]))}), "
    )
    seen += counted(totals.calls, "call") + (
        f"; {counted(len(wrong), 'read')} otherwise: {wrong[0]}" if wrong else ""
    )
    came_true = bool(took) and not wrong and totals.calls <= _MAX_CALLS_SHARE * len(reads)
    expected = f"{MISSING} each time, {_MAX_CALLS_SHARE:.0%} calls at most"
    return (Step("A missing file, from memory", expected, seen, came_true),)


async def _watch(
    system: System,
    write: Callable[[], Coroutine[Any, Any, object]],
    before: Expected,
    after: Expected,
    linger_s: float = 0.0,
) -> Observed:
    """Let pollers be answered from memory, write, and return what they see of it."""
    async with system.pollers(tuple(before)) as pollers:
        await pollers.until_in_memory(before)
        return await pollers.change(write, before, after, linger_s)


async def finishing(system: System) -> tuple[Step, ...]:
    """Write one day's file after the other; stop at the first that a client does not see."""
    rounds: list[Observed] = []
    async with system.at_namenode(OWNER) as job:
        for day in range(1, _DAYS + 1):
            path = f"{WORKFLOW}/day-{day}/_SUCCESS"
            questions = [Question(user, path) for user in ("alice", "bob", "carol")]
            await job.mkdirs(path.rpartition("/")[0])
            before, after = dict.fromkeys(questions, MISSING), dict.fromkeys(questions, _WHOLE)
            rounds.append(await _watch(system, partial(job.create, path, CONTENT), before, after))
            if rounds[-1].wrong:
                break
    return (seen_in_time("The finished file is seen", *rounds),)


async def renaming(system: System) -> tuple[Step, ...]:
    """Rename there and back; stop at the first time that a client does not see it."""
    rounds: list[Observed] = []
    old, new = f"{WORKFLOW}/draft", f"{WORKFLOW}/final"
    async with system.at_namenode(OWNER) as owner:
        await owner.create(f"{old}/_SUCCESS")
        for _ in range(_RENAMES):
            gone, come = (
                [Question(user, f"{name}/_SUCCESS") for user in ("alice", "bob")] for name in (old, new)
            )
            before = dict.fromkeys(gone, EMPTY) | dict.fromkeys(come, MISSING)
            after = dict.fromkeys(gone, MISSING) | dict.fromkeys(come, EMPTY)
            rounds.append(await _watch(system, partial(owner.rename, old, new), before, after))
            if rounds[-1].wrong:
                break
            old, new = new, old
    return (seen_in_time("Old name 404, new name 200", *rounds),)


async def locking(system: System) -> tuple[Step, ...]:
    """Lock and unlock; stop at the first time that bob still sees the file."""
    rounds: list[Observed] = []
    directory = f"{WORKFLOW}/salaries"
    alice, bob = Question("alice", f"{directory}/_SUCCESS"), Question("bob", f"{directory}/_SUCCESS")
    before, after = {alice: EMPTY, bob: EMPTY}, {alice: EMPTY, bob: DENIED}
    async with system.at_namenode(OWNER) as owner:
        await owner.create(alice.path)
        for number in range(1, _LOCKS + 1):
            await owner.set_permission(directory, "755")
            lock = partial(owner.set_permission, directory, "700")
            linger_s = _LINGER_S if number == _LOCKS else 0.0
            rounds.append(await _watch(system, lock, before, after, linger_s))
            if rounds[-1].wrong:
                break
    last = rounds[-1]
    late = f"the last wrong one after {shown(last.oldest_s)}" if last.oldest_s else "none wrong"
    seen = ", ".join(last.wrong) or f"{counted(last.reads, 'read')} in {shown(_LINGER_S)}, {late}"
    came_true = bool(last.reads) and not last.wrong and not last.failed and last.oldest_s <= BOUND_S
    holds = Step("The lock holds", f"no other answer after {BOUND_S:g} s", seen, came_true)
    return seen_in_time("bob gets 403, alice 200", *rounds), holds


async def writing(system: System) -> tuple[Step, ...]:
    """Create and delete through the proxy; bob reads before, from memory, and once after each."""
    bob = Question("bob", f"{WORKFLOW}/own/_SUCCESS")
    pairs: list[tuple[View, Read]] = []
    through_proxy = WebHdfs(f"http://{system.proxy.address}", OWNER)
    async with system.at_namenode(OWNER) as owner, through_proxy as writer:
        await owner.mkdirs(bob.path.rpartition("/")[0])
        for number in range(_OWN_WRITES):
            is_there = number % 2 == 1
            now, then = (_WHOLE, MISSING) if is_there else (MISSING, _WHOLE)
            deadline = time.monotonic() + PATIENCE_S
            while not ((seen := await asyncio.to_thread(system.read, bob)).is_hit and seen.view == now):
                if time.monotonic() > deadline:
                    raise DemoError(f"after {number} writes bob's {now} is no longer answered from memory")
                await asyncio.sleep(INTERVAL_S)
            if is_there:
                await writer.delete(bob.path)
            else:
                await writer.create(bob.path, CONTENT)
                system.own_at_most += bob.path.count("/") + 1  # one for each level, the root's too
            pairs.append((then, await asyncio.to_thread(system.read, bob)))
    stale = [read.view for view, read in pairs if read.view != view]
    seen_by_bob = f"{len(pairs) - len(stale)} of {counted(len(pairs), 'write')}"
    seen_by_bob += f"; another read got {stale[0]}" if stale else ""
    return (
        Step("The very next read sees it", f"{_OWN_WRITES} of {_OWN_WRITES} writes", seen_by_bob, not stale),
    )


async def subscribing(system: System) -> tuple[Step, ...]:
    """Run a job while `nncache watch` runs, with the counters read before and after."""
    output, mark = f"{WORKFLOW}/job", f"{WORKFLOW}/job/_SUCCESS"

    def counters() -> tuple[int, int]:
        with Asker(system.cluster.namenodes[0].http) as asker:
            return parse_last_txid(asker.ask("GET", JOURNAL_QUERY).body), system.zookeeper.writes()

    subscriber = system.subscriber()
    try:
        await asyncio.to_thread(subscriber.start)
        async with system.at_namenode(OWNER) as job:
            await job.mkdirs(f"{output}/_temporary")
            before = await asyncio.to_thread(counters)
            await _write_parts(job, output)
            await job.delete(f"{output}/_temporary", recursive=True)
            await job.create(mark)
            acknowledged_at, after_s = time.monotonic(), None
            while after_s is None and time.monotonic() < acknowledged_at + PATIENCE_S:
                if any(event["type"] == "CLOSE" for event in subscriber.events()):
                    after_s = time.monotonic() - acknowledged_at
                await asyncio.sleep(INTERVAL_S / 2)
            await asyncio.sleep(_SETTLE_S)
            after = await asyncio.to_thread(counters)
        events = subscriber.events()
    finally:
        await asyncio.to_thread(subscriber.close)
    of_file = [str(event["type"]) for event in events if event.get("path") == mark]
    others = len(events) - len(of_file)
    seen = f"{' and '.join(of_file) or 'nothing'} of it, {counted(others, 'other event')}"
    seen += "" if after_s is None else f"; after {shown(after_s)}"
    is_all = of_file == ["CREATE", "CLOSE"] and not others and after_s is not None and after_s <= BOUND_S
    transactions, writes = after[0] - before[0], after[1] - before[1]
    cost = f"{counted(writes, 'write')} for the NameNode's {counted(transactions, 'transaction')}"
    is_cheap = 0 < writes <= transactions / _LEAST_TRANSACTIONS_A_WRITE
    return (
        Step(
            "The subscriber sees _SUCCESS",
            f"CREATE and CLOSE of it, nothing else, within {BOUND_S:g} s",
            seen,
            is_all,
        ),
        Step(
            "What it cost ZooKeeper",
            f"1 write for {_LEAST_TRANSACTIONS_A_WRITE} transactions at most",
            cost,
            is_cheap,
        ),
    )


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


async def finding(system: System) -> tuple[Step, ...]:
    """Ask the service registry where a proxy is, in a process of its own, which knows where ZooKeeper is."""
    program = (sys.executable, "-c", _FIND_BY_NAME, system.zookeeper.address)
    found = (await asyncio.to_thread(output_of, program, "nncache.connect")).strip()
    url = f"http://{system.proxy.address}/webhdfs/v1"
    return (
        Step("The proxy is found by name", f"nncache.connect gives {url}", found or "nothing", found == url),
    )


@dataclass(frozen=True, slots=True)
class Outage:
    """What is broken, and what it is called.

    Attributes:
        name: of its files; no other chapter uses them.
        breaks, mends: return when that is done.
        meanwhile, afterwards: ends of "Reads ..." and "A change ...".
    """

    name: str
    breaks: Callable[[System], object]
    mends: Callable[[System], object]
    meanwhile: str
    afterwards: str

    async def play(self, system: System) -> tuple[Step, ...]:
        """Break it, change twice, mend it, and change again once answers come from memory; clients poll throughout.

        It is mended whatever happens in between.
        """
        calm, storm = f"{WORKFLOW}/{self.name}-calm/_SUCCESS", f"{WORKFLOW}/{self.name}-storm/_SUCCESS"
        there, gone = (
            {Question("bob", calm): EMPTY, Question("alice", storm): view, Question("bob", storm): view}
            for view in (EMPTY, MISSING)
        )
        async with system.at_namenode(OWNER) as owner:
            create, delete = partial(owner.create, storm), partial(owner.delete, storm)
            await owner.create(calm)
            await create()
            async with system.pollers(tuple(there)) as pollers:
                await pollers.until_in_memory(there)
                begun_at = time.monotonic()
                try:
                    await asyncio.to_thread(self.breaks, system)
                    broken_at = time.monotonic()
                    changes = [
                        await pollers.change(delete, there, gone),
                        await pollers.change(create, gone, there),
                    ]
                finally:
                    mending_at = time.monotonic()
                    await asyncio.to_thread(self.mends, system)
                mended_at = time.monotonic()
                is_back = await pollers.until(there, 2 * _RESUME_S, since=mended_at, from_memory=True)
                resumed_s = time.monotonic() - mended_at if is_back else None
                again = await pollers.change(delete, there, gone)
        # Once it is being mended it is not known outside when a hit is right again.
        reads = [r for each in pollers.records for r in each.reads if begun_at <= r.started_at <= mended_at]
        failed = sum(read.view.is_failure for read in reads)
        hits_s = [
            read.started_at - broken_at for read in reads if read.is_hit and read.started_at < mending_at
        ]
        last_s = max([0.0, *hits_s])
        seen = f"{counted(len(reads), 'read')}, {failed:,} failed, last hit after {shown(last_s)}"
        back = f"not within {2 * _RESUME_S:.0f} s" if resumed_s is None else f"after {shown(resumed_s)}"
        return (
            Step(
                f"Reads {self.meanwhile}",
                f"none fails, no hit after {BOUND_S:g} s",
                seen,
                bool(reads) and not failed and last_s <= BOUND_S,
            ),
            seen_in_time(f"Changes {self.meanwhile}", *changes),
            Step(
                f"Hits {self.afterwards}",
                f"for all within {_RESUME_S:.0f} s",
                back,
                resumed_s is not None and resumed_s <= _RESUME_S,
            ),
            seen_in_time(f"A change {self.afterwards}", again),
        )


def _publisher(system: System) -> Publisher:
    if system.publisher is None:
        raise DemoError("there is no publisher to be killed")
    return system.publisher


def _start_publisher(system: System) -> None:
    if system.publisher is not None:
        system.own_at_most += 1  # it reads the filter's definition: the NameNode looks it up for that
        system.publisher.start()


_CUT: Final = Outage(
    "cut",
    lambda system: system.relay.cut(),
    lambda system: system.relay.restore(),
    "while it is cut",
    "once it is mended",
)
_ZOOKEEPER_AWAY: Final = Outage(
    "zookeeper",
    lambda system: system.zookeeper.stop(),
    lambda system: system.zookeeper.start_again(),
    "while ZooKeeper is away",
    "once ZooKeeper is back",
)
_NO_PUBLISHER: Final = Outage(
    "publisher",
    lambda system: _publisher(system).kill(),
    _start_publisher,
    "while no publisher runs",
    "once the publisher is back",
)

CHAPTERS: Final = (
    Chapter(
        "Waiting for a file",
        f"A job will write {FIRST_FILE}. alice, bob and carol each ask twice every {INTERVAL_S * 1000:.0f} ms whether "
        "it is there. A hit is answered from memory, a call reaches the NameNode.",
        waiting,
    ),
    Chapter(
        "The job finishes",
        f"The job writes the file at the NameNode, not through nncache; {_DAYS} days, one after the other. The time "
        "counts from the acknowledgement to the start of the first read that shows the whole file.",
        finishing,
    ),
    Chapter(
        "A directory is renamed",
        f"{WORKFLOW}/draft becomes {WORKFLOW}/final, and back, {_RENAMES} times, at the NameNode. alice and bob ask "
        "for _SUCCESS under both names: one is there and the other is not, both from memory.",
        renaming,
    ),
    Chapter(
        "A directory is locked",
        f"alice does chmod 700 on {WORKFLOW}/salaries at the NameNode, {_LOCKS} times. What is in memory about the "
        "file in it is still true, but bob may not know it any more.",
        locking,
    ),
    Chapter(
        "A write through the proxy",
        f"alice creates {WORKFLOW}/own/_SUCCESS through the proxy and deletes it again, {_OWN_WRITES // 2} times. bob "
        "has each old answer from memory just before, and reads once just after.",
        writing,
    ),
    Chapter(
        "A subscriber",
        f"`nncache watch {FILTER}` follows the filter's events through ZooKeeper. A job writes {_PARTS} part files, "
        f"moves each to its place and then writes {WORKFLOW}/job/_SUCCESS, the only one that the filter matches.",
        subscribing,
    ),
    Chapter(
        "Found by name",
        "Publisher and proxy have registered in the service registry. A Python program that knows ZooKeeper alone "
        "asks where a proxy is (nncache.connect).",
        finding,
    ),
    Chapter(
        "The stream of edits is cut",
        "The NameNode's RPC port cannot be reached, so the publisher reads no edits. The proxy answers from memory "
        f"only as long as nothing can be older than {BOUND_S:g} s. A file is deleted and written again; then the cut "
        "is mended, and it is deleted once more.",
        _CUT.play,
    ),
    Chapter(
        "ZooKeeper is stopped and started again",
        "The same with ZooKeeper: reads go on, from memory for as long as that is safe, then from the NameNode.",
        _ZOOKEEPER_AWAY.play,
    ),
    Chapter(
        "The publisher is killed and started again",
        "The same with SIGKILL: it cannot close its session, and ZooKeeper takes it for alive until that expires. Its "
        "successor, on the same admin address, continues where the last record ends.",
        _NO_PUBLISHER.play,
    ),
)


def books(before: Totals) -> Chapter[System]:
    """Return the last chapter, given the counts before the first."""

    async def play(system: System) -> tuple[Step, ...]:
        totals, reads = await system.totals(before), [read for each in system.records for read in each.reads]
        hits_seen = sum(read.is_hit for read in reads)
        own = totals.calls - (len(reads) - totals.hits - totals.joined)
        seen = f"{counted(len(reads), 'read')} = {counted(totals.hits, 'hit')} + {totals.joined:,} shared + "
        seen += f"{counted(totals.calls, 'call')} - {own:,}; by Cache-Status {counted(hits_seen, 'hit')}"
        came_true = bool(reads) and totals.hits == hits_seen and 0 <= own <= system.own_at_most
        return (Step("Three counts agree", "reads = hits + calls - those of its own", seen, came_true),)

    return Chapter(
        "The books",
        "A read was a hit, shared a call, or was one of the NameNode's getFileInfo calls. Calls of nncache's own: "
        "before each creation through it the proxy may ask what is there, and a publisher that starts reads filters.",
        play,
    )
