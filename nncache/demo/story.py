"""The story of `make demo`: changes and faults while clients poll."""

import asyncio
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from statistics import median
from typing import Final, NamedTuple

from nncache.demo import light
from nncache.demo.clients import (
    BOUND_S,
    EMPTY,
    INTERVAL_S,
    MISSING,
    OWNER,
    PATIENCE_S,
    Clients,
    PolledChange,
    StatusQuestion,
    seen_in_time,
)  # fmt: skip
from nncache.demo.light import FIRST_FILE, GLOB, NAMESERVICE, WORKFLOW
from nncache.demo.terminal import COMMAND, Chapter, Step, Story, Terminal, counted, shown, typed
from nncache.hadoop.namenodes.webhdfs import WebHdfs
from nncache.testbed import Cluster, ClusterSpec, Relay
from nncache.testbed.daemon import ProxyDaemon, PublisherDaemon, Subscriber

FILTER: Final = "workflows"

_JOB: Final = f"{WORKFLOW}/job"
_POLL_S: Final = 2.0
_MAX_CALLS_SHARE: Final = 0.05  # calls per read of a file that does not change
_PARTS: Final = 100
_LEAST_TRANSACTIONS_A_WRITE: Final = 10
_AT_ONCE: Final = 8
_SETTLE_S: Final = 1.0  # wait for unexpected further events and writes
_RESUME_S: Final = 5.0  # limit from the end of an outage until answers come from memory again
_COMMAND_TIMEOUT_S: Final = 30.0
_DROPS_CHANGES: Final = ("--channel", "nncache.demo.dropping_stream:DroppingStream")

_COUNTERS: Final = "Hadoop:service=NameNode,name=NameNodeActivity"
"""org.apache.hadoop.hdfs.server.namenode.metrics.NameNodeMetrics."""

_FIND_BY_NAME: Final = """
import sys, nncache
with nncache.connect(zookeeper=sys.argv[1]) as proxies:
    print(proxies.url())
"""


class DemoSystem(NamedTuple):
    """The whole running system."""

    cluster: Cluster
    relay: Relay  # publisher and proxy reach the NameNode's RPC port through it
    publisher: PublisherDaemon
    proxy: ProxyDaemon
    clients: Clients

    def totals(self) -> Counter[str]:
        """Return the counters of the proxy (`hits`, `shared`) and of the NameNode (`calls` of getFileInfo)."""
        figures = self.proxy.metrics()
        hits, shared = (
            round(figures.get(f'nncache_requests_total{{result="{result}"}}', 0.0))
            for result in ("hit", "collapsed")
        )
        return Counter(hits=hits, shared=shared, calls=self.cluster.calls("getfileinfo"))


@contextmanager
def running(hadoop_version: str, without: str, terminal: Terminal) -> Iterator[Story]:
    """Start all parts but the one that DEMO_WITHOUT names, yield their story, and stop them when the context ends.

    Raises:
        TestbedError: a program is missing or does not start; no part is left running.
        subprocess.SubprocessError: the filter cannot be added.
    """
    with ExitStack() as stack:
        with terminal.working("A real HDFS on this machine, NameNode and DataNode, and a ZooKeeper") as say:
            spec = ClusterSpec(hadoop_version=hadoop_version, with_zookeeper=True, audit_log=True)
            cluster = stack.enter_context(Cluster.start(spec, progress=say))
        zookeeper, http = cluster.zookeeper, cluster.namenodes[0].http
        relay = stack.enter_context(Relay(cluster.namenodes[0].rpc))
        namenode = ("--namenode-http", http, "--user", cluster.superuser)
        with terminal.working("A filter: what is published, and what proxies keep") as say:
            of_filter = ("--name", FILTER, "--glob", GLOB, "--owner", OWNER, "--allow", "bob,carol")
            added = ("filters", "add", *of_filter, *namenode)
            say(f"$ {typed(*added)}")
            _output_of(str(COMMAND), *added)
        flags = (
            *("--nameservice", NAMESERVICE, *namenode),
            *("--namenode-rpc", relay.address, "--zookeeper", zookeeper.address, "--registry"),
        )
        publisher = PublisherDaemon(*flags)
        stack.callback(publisher.close)
        if without != "publisher":
            what = "The publisher: reads the NameNode's edits and writes to ZooKeeper"
            terminal.start(stack, what, publisher, publisher.await_publishing)
        proxy = ProxyDaemon(*flags, *(_DROPS_CHANGES if without == "invalidation" else ()))
        wait = None if without == "publisher" else proxy.await_gate
        terminal.start(stack, "The proxy: answers clients, and follows ZooKeeper", proxy, wait)
        system = DemoSystem(cluster, relay, publisher, proxy, Clients(proxy.address, http))
        yield Story(chapters(system), hints(system), proxy)


def _output_of(*command: str) -> str:
    """Run a command to completion, and return its output; its standard error goes to the terminal.

    Raises:
        subprocess.SubprocessError: the command failed or timed out.
    """
    return subprocess.check_output(command, stdin=subprocess.DEVNULL, text=True, timeout=_COMMAND_TIMEOUT_S)


def chapters(system: DemoSystem) -> tuple[Chapter, ...]:
    """Return the chapters; the last one checks the counts from now on."""
    relay, zookeeper = system.relay, system.cluster.zookeeper.process
    kill, start = system.publisher.kill, partial(_start_publisher, system)
    breaking = partial(partial, _breaking, system.clients)
    return (
        Chapter(
            "Waiting for a file",
            f"A job will write {FIRST_FILE}. alice, bob and carol each ask twice every {INTERVAL_S * 1000:.0f} ms "
            "whether it is there. A hit is answered from memory, a call reaches the NameNode.",
            partial(_waiting, system),
        ),
        *light.chapters(system.clients, lingers=True),
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
    cluster, admin = system.cluster, system.proxy.admin
    namenode, zookeeper = cluster.namenodes[0].http, cluster.zookeeper.address
    target = f"/webhdfs/v1{FIRST_FILE}"
    reading = f"curl -i 'http://{system.proxy.address}{target}?op=GETFILESTATUS&user.name=bob'"
    deleting = f"curl -X DELETE 'http://{namenode}{target}?op=DELETE&user.name={OWNER}'"
    watching = typed("watch", FILTER, "--nameservice", NAMESERVICE, "--zookeeper", zookeeper)
    return (
        ("Read through nncache; ask twice and look at Cache-Status:", reading),
        ("Delete it behind nncache's back, then read again:", deleting),
        ("What the proxy knows of it, and why:", typed("explain", FIRST_FILE, "--admin", admin)),
        ("Follow the filter's events (Ctrl-C ends it):", watching),
        ("The filters that there are:", typed("filters", "list", "--namenode-http", namenode)),
        ("What has registered, and the state of each:", typed("proxies", "--zookeeper", zookeeper)),
        ("The proxy's own pages, for a browser:", f"http://{admin}/"),
        ("The NameNode's counters:", f"http://{namenode}/jmx?qry={_COUNTERS}"),
    )


def _waiting(system: DemoSystem) -> tuple[Step, ...]:
    clients = system.clients
    light.make_home(clients, system.cluster.superuser)
    before = system.totals()
    with clients.polling(StatusQuestion(user, FIRST_FILE) for user in ("alice", "bob", "carol") * 2):
        time.sleep(_POLL_S)
    counts, reads = system.totals() - before, clients.reads
    wrong = [read.view for read in reads if read.view != MISSING]
    took = [read.ended_at - read.started_at for read in reads if read.is_hit]
    hits = f"{counted(counts['hits'], 'hit')} (p50 {shown(median(took or [0.0]))})"
    seen = f"{counted(len(reads), 'read')}, {hits}, {counted(counts['calls'], 'call')}"
    seen += f"; {counted(len(wrong), 'read')} otherwise: {wrong[0]}" if wrong else ""
    came_true = bool(took) and not wrong and counts["calls"] <= _MAX_CALLS_SHARE * len(reads)
    expected = f"{MISSING} each time, {_MAX_CALLS_SHARE:.0%} calls at most"
    return (Step("A missing file, from memory", expected, seen, came_true),)


def _subscribing(system: DemoSystem) -> tuple[Step, ...]:
    mark = f"{_JOB}/_SUCCESS"

    def counters() -> tuple[int, int]:
        return system.cluster.last_txid(), system.cluster.zookeeper.writes()

    after_s: float | None = None
    flags = ("--nameservice", NAMESERVICE, "--zookeeper", system.cluster.zookeeper.address)
    with Subscriber(FILTER, *flags) as subscriber:
        system.clients.write(lambda job: job.mkdirs(f"{_JOB}/_temporary"))
        before = counters()
        system.clients.write(_run_job)
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
    program = (sys.executable, "-c", _FIND_BY_NAME, system.cluster.zookeeper.address)
    found = _output_of(*program).strip()
    url = f"http://{system.proxy.address}/webhdfs/v1"
    expected = f"nncache.connect gives {url}"
    return (Step("The proxy is found by name", expected, found or "nothing", found == url),)


def _breaking(
    clients: Clients,
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
    deleted = PolledChange(lambda owner: owner.delete(storm), there, gone)
    created = PolledChange(lambda owner: owner.create(storm), gone, there)
    clients.write(lambda owner: owner.create(calm))
    clients.write(created.write)
    with clients.polling(there):
        clients.until_in_memory(there)
        begun_at = time.monotonic()
        try:
            breaks()
            broken_at = time.monotonic()
            changes = [clients.change(deleted), clients.change(created)]
        finally:
            mending_at = time.monotonic()
            mends()
        mended_at = time.monotonic()
        is_back = clients.until(there, 2 * _RESUME_S, since=mended_at, from_memory=True)
        resumed_s = time.monotonic() - mended_at
        again = clients.change(deleted)
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


def _start_publisher(system: DemoSystem) -> None:
    system.clients.own_at_most += 1  # it reads the filter's definition, which costs the NameNode a lookup
    system.publisher.start()


def _balancing(system: DemoSystem, before: Counter[str]) -> tuple[Step, ...]:
    counts, reads = system.totals() - before, system.clients.reads
    hits, shared, calls = counts["hits"], counts["shared"], counts["calls"]
    hits_seen = sum(read.is_hit for read in reads)
    own = calls - (len(reads) - hits - shared)
    seen = f"{counted(len(reads), 'read')} = {counted(hits, 'hit')} + {shared:,} shared + "
    seen += f"{counted(calls, 'call')} - {own:,}; by Cache-Status {counted(hits_seen, 'hit')}"
    came_true = bool(reads) and hits == hits_seen and 0 <= own <= system.clients.own_at_most
    return (Step("Three counts agree", "reads = hits + calls - those of its own", seen, came_true),)
