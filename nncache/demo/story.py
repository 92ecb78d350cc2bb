"""The chapters of the story: changes and faults while clients poll."""

import asyncio
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from statistics import median
from typing import Any, Final, NamedTuple

from nncache.demo.clients import (
    BOUND_S,
    DENIED,
    EMPTY,
    INTERVAL_S,
    MISSING,
    PATIENCE_S,
    DemoError,
    Expected,
    Observed,
    ReplyView,
    StatusQuestion,
    seen_in_time,
)  # fmt: skip
from nncache.demo.system import (
    BEAN,
    FILTER,
    NAMESERVICE,
    OWNER,
    WORKFLOW,
    DemoSystem,
    ProxiedNameNode,
    output_of,
    started,
    started_light,
    typed,
)  # fmt: skip
from nncache.demo.terminal import Chapter, Step, Story, Terminal, counted, shown
from nncache.hadoop.namenodes.webhdfs import WebHdfs
from nncache.testbed.daemon import Subscriber

_CONTENT: Final = b"42317 rows\n"
_FIRST_FILE: Final = f"{WORKFLOW}/day-1/_SUCCESS"

_JOB: Final = f"{WORKFLOW}/job"

_WHOLE: Final = ReplyView(200, len(_CONTENT))
_POLL_S: Final = 2.0
_MAX_CALLS_SHARE: Final = 0.05  # calls per read of a file that does not change
_DAYS: Final = 5
_RENAMES: Final = 6  # even: the directory ends with its first name
_LOCKS: Final = 3
_LINGER_S: Final = BOUND_S + 0.3  # polling after the last lock, so that some reads are past the bound
_OWN_WRITES: Final = 20
_PARTS: Final = 100
_LEAST_TRANSACTIONS_A_WRITE: Final = 10
_AT_ONCE: Final = 8
_SETTLE_S: Final = 1.0  # wait for unexpected further events and writes
_RESUME_S: Final = 5.0  # limit from the end of an outage until answers come from memory again

_FIND_BY_NAME: Final = """
import sys, nncache
with nncache.connect(zookeeper=sys.argv[1]) as proxies:
    print(proxies.url())
"""


def make_home(system: ProxiedNameNode) -> None:
    """Create the owner's home and the directory of the first file."""
    home = f"/user/{OWNER}"
    system.write(lambda root: root.mkdirs(home), user=system.superuser)
    system.write(lambda root: root.set_owner(home, OWNER), user=system.superuser)
    system.write(lambda owner: owner.mkdirs(_FIRST_FILE.rpartition("/")[0]))


def _waiting(system: DemoSystem) -> tuple[Step, ...]:
    make_home(system)
    before = system.totals()
    with system.clients.polling(StatusQuestion(user, _FIRST_FILE) for user in ("alice", "bob", "carol") * 2):
        time.sleep(_POLL_S)
    counts, reads = system.totals() - before, system.clients.reads
    wrong = [read.view for read in reads if read.view != MISSING]
    took = [read.ended_at - read.started_at for read in reads if read.is_hit]
    hits = f"{counted(counts['hits'], 'hit')} (p50 {shown(median(took or [0.0]))})"
    seen = f"{counted(len(reads), 'read')}, {hits}, {counted(counts['calls'], 'call')}"
    seen += f"; {counted(len(wrong), 'read')} otherwise: {wrong[0]}" if wrong else ""
    came_true = bool(took) and not wrong and counts["calls"] <= _MAX_CALLS_SHARE * len(reads)
    expected = f"{MISSING} each time, {_MAX_CALLS_SHARE:.0%} calls at most"
    return (Step("A missing file, from memory", expected, seen, came_true),)


class _Change(NamedTuple):
    """A write at the NameNode, and the right answers before and after it."""

    write: Callable[[WebHdfs], Any]
    before: Expected
    after: Expected
    linger_s: float = 0.0


def _observe(system: ProxiedNameNode, changes: Iterable[_Change]) -> list[Observed]:
    """Make each change while pollers get answers from memory; stop after the first change that a client misses."""
    seen: list[Observed] = []
    for change in changes:
        clients, write = system.clients, partial(system.write, change.write)
        with clients.polling(change.before):
            clients.until_in_memory(change.before)
            seen.append(clients.change(write, change.before, change.after, change.linger_s))
        if seen[-1].wrong:
            break
    return seen


def _finishing(system: ProxiedNameNode) -> tuple[Step, ...]:
    def day(number: int) -> _Change:
        path = f"{WORKFLOW}/day-{number}/_SUCCESS"
        questions = [StatusQuestion(user, path) for user in ("alice", "bob", "carol")]
        system.write(lambda job: job.mkdirs(path.rpartition("/")[0]))
        before, after = dict.fromkeys(questions, MISSING), dict.fromkeys(questions, _WHOLE)
        return _Change(lambda job: job.create(path, _CONTENT), before, after)

    days = _observe(system, map(day, range(1, _DAYS + 1)))
    return (seen_in_time("The finished file is seen", *days),)


def _renaming(system: ProxiedNameNode) -> tuple[Step, ...]:
    names = f"{WORKFLOW}/draft", f"{WORKFLOW}/final"
    system.write(lambda owner: owner.create(f"{names[0]}/_SUCCESS"))

    def rename(number: int) -> _Change:
        old, new = names if number % 2 == 0 else names[::-1]
        gone, come = (
            [StatusQuestion(user, f"{name}/_SUCCESS") for user in ("alice", "bob")] for name in (old, new)
        )
        before = dict.fromkeys(gone, EMPTY) | dict.fromkeys(come, MISSING)
        after = dict.fromkeys(gone, MISSING) | dict.fromkeys(come, EMPTY)
        return _Change(lambda owner: owner.rename(old, new), before, after)

    renames = _observe(system, map(rename, range(_RENAMES)))
    return (seen_in_time("Old name 404, new name 200", *renames),)


def _locking(system: ProxiedNameNode, linger_s: float) -> tuple[Step, ...]:
    directory = f"{WORKFLOW}/salaries"
    alice, bob = (
        StatusQuestion("alice", f"{directory}/_SUCCESS"),
        StatusQuestion("bob", f"{directory}/_SUCCESS"),
    )
    system.write(lambda owner: owner.create(alice.path))

    def lock(number: int) -> _Change:
        system.write(lambda owner: owner.set_permission(directory, "755"))
        before, after = {alice: EMPTY, bob: EMPTY}, {alice: EMPTY, bob: DENIED}
        last_s = linger_s if number == _LOCKS else 0.0
        return _Change(lambda owner: owner.set_permission(directory, "700"), before, after, last_s)

    locks = _observe(system, map(lock, range(1, _LOCKS + 1)))
    is_seen, last = seen_in_time("bob gets 403, alice 200", *locks), locks[-1]
    if not linger_s:
        return (is_seen,)
    late = f"the last wrong one after {shown(last.oldest_s)}" if last.oldest_s else "none wrong"
    seen = ", ".join(last.wrong) or f"{counted(last.reads, 'read')} in {shown(_LINGER_S)}, {late}"
    came_true = bool(last.reads) and not last.wrong and not last.failed and last.oldest_s <= BOUND_S
    holds = Step("The lock holds", f"no other answer after {BOUND_S:g} s", seen, came_true)
    return is_seen, holds


def _writing(system: ProxiedNameNode) -> tuple[Step, ...]:
    bob = StatusQuestion("bob", f"{WORKFLOW}/own/_SUCCESS")
    system.write(lambda owner: owner.mkdirs(bob.path.rpartition("/")[0]))
    stale: list[ReplyView] = []
    for number in range(_OWN_WRITES):
        is_there = number % 2 == 1
        now, then = (_WHOLE, MISSING) if is_there else (MISSING, _WHOLE)
        deadline = time.monotonic() + PATIENCE_S
        while not ((seen := system.clients.read(bob)).is_hit and seen.view == now):
            if time.monotonic() > deadline:
                raise DemoError(f"after {number} writes bob's {now} is no longer answered from memory")
            time.sleep(INTERVAL_S)
        if is_there:
            system.write(lambda writer: writer.delete(bob.path), through_proxy=True)
        else:
            system.write(lambda writer: writer.create(bob.path, _CONTENT), through_proxy=True)
            system.own_at_most += bob.path.count("/") + 1  # one for each level, including the root
        if (view := system.clients.read(bob).view) != then:
            stale.append(view)
    seen_by_bob = f"{_OWN_WRITES - len(stale)} of {counted(_OWN_WRITES, 'write')}"
    seen_by_bob += f"; another read got {stale[0]}" if stale else ""
    expected = f"{_OWN_WRITES} of {_OWN_WRITES} writes"
    return (Step("The very next read sees it", expected, seen_by_bob, not stale),)


def _subscribing(system: DemoSystem) -> tuple[Step, ...]:
    mark = f"{_JOB}/_SUCCESS"

    def counters() -> tuple[int, int]:
        return system.cluster.last_txid(), system.zookeeper.writes()

    after_s: float | None = None
    flags = ("--nameservice", NAMESERVICE, "--zookeeper", system.zookeeper.address)
    with Subscriber(FILTER, *flags) as subscriber:
        system.write(lambda job: job.mkdirs(f"{_JOB}/_temporary"))
        before = counters()
        system.write(_run_job)
        acknowledged_at = time.monotonic()
        while after_s is None and time.monotonic() < acknowledged_at + PATIENCE_S:
            if any(event["type"] == "CLOSE" for event in subscriber.events()):
                after_s = time.monotonic() - acknowledged_at
            time.sleep(INTERVAL_S / 2)
        time.sleep(_SETTLE_S)
        after, events = counters(), subscriber.events()
    of_file = [str(event["type"]) for event in events if event.get("path") == mark]
    others = len(events) - len(of_file)
    seen = f"{' and '.join(of_file) or 'nothing'} of it, {counted(others, 'other event')}"
    seen += "" if after_s is None else f"; after {shown(after_s)}"
    is_all = of_file == ["CREATE", "CLOSE"] and not others and after_s is not None and after_s <= BOUND_S
    transactions, writes = after[0] - before[0], after[1] - before[1]
    cost = f"{counted(writes, 'write')} for the NameNode's {counted(transactions, 'transaction')}"
    is_cheap = 0 < writes <= transactions / _LEAST_TRANSACTIONS_A_WRITE
    all_of_it = f"CREATE and CLOSE of it, nothing else, within {BOUND_S:g} s"
    at_most = f"1 write for {_LEAST_TRANSACTIONS_A_WRITE} transactions at most"
    return (
        Step("The subscriber sees _SUCCESS", all_of_it, seen, is_all),
        Step("What it cost ZooKeeper", at_most, cost, is_cheap),
    )


async def _run_job(job: WebHdfs) -> None:
    """Write the part files, a few concurrently, and rename each into place, as FileOutputCommitter does."""
    a_few = asyncio.Semaphore(_AT_ONCE)

    async def write(number: int) -> None:
        name = f"part-{number:05}"
        async with a_few:
            await job.create(f"{_JOB}/_temporary/{name}")
            await job.rename(f"{_JOB}/_temporary/{name}", f"{_JOB}/{name}")

    await asyncio.gather(*map(write, range(_PARTS)))
    await job.delete(f"{_JOB}/_temporary", recursive=True)
    await job.create(f"{_JOB}/_SUCCESS")


def _finding(system: DemoSystem) -> tuple[Step, ...]:
    program = (sys.executable, "-c", _FIND_BY_NAME, system.zookeeper.address)
    found = output_of(*program).strip()
    url = f"http://{system.proxy.address}/webhdfs/v1"
    expected = f"nncache.connect gives {url}"
    return (Step("The proxy is found by name", expected, found or "nothing", found == url),)


def _breaking(
    system: DemoSystem,
    name: str,
    breaks: Callable[[], object],
    mends: Callable[[], object],
    meanwhile: str,
    afterwards: str,
) -> tuple[Step, ...]:
    """Break a part, make two changes, mend it, and make another once answers come from memory; clients poll throughout.

    The part is mended even after an error. `name` makes the chapter's file names unique.
    """
    calm, storm = f"{WORKFLOW}/{name}-calm/_SUCCESS", f"{WORKFLOW}/{name}-storm/_SUCCESS"
    there, gone = (
        {
            StatusQuestion("bob", calm): EMPTY,
            StatusQuestion("alice", storm): view,
            StatusQuestion("bob", storm): view,
        }
        for view in (EMPTY, MISSING)
    )
    create = partial(system.write, lambda owner: owner.create(storm))
    delete = partial(system.write, lambda owner: owner.delete(storm))
    system.write(lambda owner: owner.create(calm))
    create()
    clients = system.clients
    with clients.polling(there):
        clients.until_in_memory(there)
        begun_at = time.monotonic()
        try:
            breaks()
            broken_at = time.monotonic()
            changes = [clients.change(delete, there, gone), clients.change(create, gone, there)]
        finally:
            mending_at = time.monotonic()
            mends()
        mended_at = time.monotonic()
        is_back = clients.until(there, 2 * _RESUME_S, since=mended_at, from_memory=True)
        resumed_s = time.monotonic() - mended_at
        again = clients.change(delete, there, gone)
    # During the mend, an outside observer cannot tell from when on a hit is valid again.
    reads = [read for read in clients.reads if begun_at <= read.started_at <= mended_at]
    failed = sum(read.failed for read in reads)
    hits_s = [read.started_at - broken_at for read in reads if read.is_hit and read.started_at < mending_at]
    last_s = max([0.0, *hits_s])
    seen = f"{counted(len(reads), 'read')}, {failed:,} failed, last hit after {shown(last_s)}"
    is_bounded = bool(reads) and not failed and last_s <= BOUND_S
    back = f"after {shown(resumed_s)}" if is_back else f"not within {2 * _RESUME_S:.0f} s"
    in_time = f"for all within {_RESUME_S:.0f} s"
    return (
        Step(f"Reads while {meanwhile}", f"none fails, no hit after {BOUND_S:g} s", seen, is_bounded),
        seen_in_time(f"Changes while {meanwhile}", *changes),
        Step(f"Hits once {afterwards}", in_time, back, is_back and resumed_s <= _RESUME_S),
        seen_in_time(f"A change once {afterwards}", again),
    )


def _kill_publisher(system: DemoSystem) -> None:
    if system.publisher is None:
        raise DemoError("there is no publisher to be killed")
    system.publisher.kill()


def _start_publisher(system: DemoSystem) -> None:
    if system.publisher is not None:
        system.own_at_most += 1  # it reads the filter's definition, which costs the NameNode a lookup
        system.publisher.start()


def _balancing(system: DemoSystem, before: Counter[str]) -> tuple[Step, ...]:
    counts, reads = system.totals() - before, system.clients.reads
    hits, shared, calls = counts["hits"], counts["shared"], counts["calls"]
    hits_seen = sum(read.is_hit for read in reads)
    own = calls - (len(reads) - hits - shared)
    seen = f"{counted(len(reads), 'read')} = {counted(hits, 'hit')} + {shared:,} shared + "
    seen += f"{counted(calls, 'call')} - {own:,}; by Cache-Status {counted(hits_seen, 'hit')}"
    came_true = bool(reads) and hits == hits_seen and 0 <= own <= system.own_at_most
    return (Step("Three counts agree", "reads = hits + calls - those of its own", seen, came_true),)


@contextmanager
def running(hadoop_version: str, without: str, terminal: Terminal) -> Iterator[Story]:
    """Start the system without the part that DEMO_WITHOUT names, and yield its story; see `started`."""
    with started(hadoop_version, without, terminal) as system:
        yield Story(chapters(system), hints(system), system.proxy)


@contextmanager
def running_light(terminal: Terminal) -> Iterator[Story]:
    """Start a light cluster and a proxy, without Java, and yield the story that needs no other parts."""
    with started_light(terminal) as system:
        make_home(system)
        http, proxy = system.namenode_http, system.proxy
        target = f"/webhdfs/v1{_FIRST_FILE}?op=GETFILESTATUS&user.name="
        asking = f"curl -i 'http://{proxy.address}{target}bob'"
        of_light = (
            ("Read through nncache; ask twice and look at Cache-Status:", asking),
            ("Ask the light NameNode itself:", f"curl 'http://{http}{target}{OWNER}'"),
            ("The proxy's own pages, for a browser:", f"http://{proxy.admin}/"),
        )
        yield Story(changing(system), of_light, proxy)


def changing(system: ProxiedNameNode, linger_s: float = 0.0) -> tuple[Chapter, ...]:
    """Return the chapters that need only a NameNode and a proxy; clients poll for `linger_s` after the last lock."""
    return (
        Chapter(
            "The job finishes",
            f"The job writes the file at the NameNode, not through nncache; {_DAYS} days, one after the other. Times "
            "count from the acknowledgement to the start of the first read that shows the whole file.",
            partial(_finishing, system),
        ),
        Chapter(
            "A directory is renamed",
            f"{WORKFLOW}/draft becomes {WORKFLOW}/final, and back, {_RENAMES} times, at the NameNode. alice and bob "
            "ask for _SUCCESS under both names: one is there and the other is not, both from memory.",
            partial(_renaming, system),
        ),
        Chapter(
            "A directory is locked",
            f"alice does chmod 700 on {WORKFLOW}/salaries at the NameNode, {_LOCKS} times. The status of the file in "
            "it that is in memory is still true, but bob may not see it any more.",
            partial(_locking, system, linger_s),
        ),
        Chapter(
            "A write through the proxy",
            f"alice creates {WORKFLOW}/own/_SUCCESS through the proxy and deletes it again, {_OWN_WRITES // 2} times. "
            "bob has each old answer from memory just before, and reads once just after.",
            partial(_writing, system),
        ),
    )


def chapters(system: DemoSystem) -> tuple[Chapter, ...]:
    """Return the chapters; the last one checks the counts from now on."""
    relay, zookeeper = system.relay, system.zookeeper.process
    kill, start = partial(_kill_publisher, system), partial(_start_publisher, system)
    breaking = partial(partial, _breaking, system)
    return (
        Chapter(
            "Waiting for a file",
            f"A job will write {_FIRST_FILE}. alice, bob and carol each ask twice every {INTERVAL_S * 1000:.0f} ms "
            "whether it is there. A hit is answered from memory, a call reaches the NameNode.",
            partial(_waiting, system),
        ),
        *changing(system, _LINGER_S),
        Chapter(
            "A subscriber",
            f"`nncache watch {FILTER}` follows the filter's events through ZooKeeper. A job writes {_PARTS} part "
            f"files, moves each to its place, then writes {_JOB}/_SUCCESS, the only one that the filter matches.",
            partial(_subscribing, system),
        ),
        Chapter(
            "Found by name",
            "Publisher and proxy have registered in the service registry. A Python program that knows ZooKeeper "
            "alone asks where a proxy is (nncache.connect).",
            partial(_finding, system),
        ),
        Chapter(
            "The stream of edits is cut",
            "The NameNode's RPC port cannot be reached, so the publisher reads no edits. The proxy answers from "
            f"memory only as long as nothing can be older than {BOUND_S:g} s. A file is deleted and written again; "
            "then the cut is mended, and it is deleted once more.",
            breaking("cut", relay.cut, relay.restore, "it is cut", "it is mended"),
        ),
        Chapter(
            "ZooKeeper is stopped and started again",
            "The same with ZooKeeper: reads go on, from memory for as long as that is safe, then from the NameNode.",
            breaking("zookeeper", zookeeper.stop, zookeeper.start, "ZooKeeper is away", "ZooKeeper is back"),
        ),
        Chapter(
            "The publisher is killed and started again",
            "The same with SIGKILL: it cannot close its session, and ZooKeeper takes it for alive until that expires. "
            "Its successor, on the same admin address, continues where the last record ends.",
            breaking("publisher", kill, start, "no publisher runs", "the publisher is back"),
        ),
        Chapter(
            "The books",
            "A read was a hit, shared a call, or was one of the NameNode's getFileInfo calls. Calls of nncache's own: "
            "before a creation through it the proxy may ask what is there; a publisher that starts reads filters.",
            partial(_balancing, system, system.totals()),
        ),
    )


def hints(system: DemoSystem) -> tuple[tuple[str, str], ...]:
    """Return suggestions for the running system: a purpose, and a line to copy."""
    namenode, zookeeper, admin = system.namenode_http, system.zookeeper.address, system.proxy.admin
    target = f"/webhdfs/v1{_FIRST_FILE}"
    reading = f"curl -i 'http://{system.proxy.address}{target}?op=GETFILESTATUS&user.name=bob'"
    deleting = f"curl -X DELETE 'http://{namenode}{target}?op=DELETE&user.name={OWNER}'"
    watching = typed("watch", FILTER, "--nameservice", NAMESERVICE, "--zookeeper", zookeeper)
    return (
        ("Read through nncache; ask twice and look at Cache-Status:", reading),
        ("Delete it behind nncache's back, then read again:", deleting),
        ("What the proxy knows of it, and why:", typed("explain", _FIRST_FILE, "--admin", admin)),
        ("Follow the filter's events (Ctrl-C ends it):", watching),
        ("The filters that there are:", typed("filters", "list", "--namenode-http", namenode)),
        ("What has registered, and the state of each:", typed("proxies", "--zookeeper", zookeeper)),
        ("The proxy's own pages, for a browser:", f"http://{admin}/"),
        ("The NameNode's counters:", f"http://{namenode}/jmx?qry={BEAN}"),
    )
