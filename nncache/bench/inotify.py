"""The cost and the delays of the inotify service: `make bench-inotify`.

First a publisher starts with many filters: with an empty ZooKeeper, and again without changes. On a second cluster it
delivers events to subscribers during many other edits, and reads the edits made while it did not run. On a third one
tenant floods its filter while another does not.
"""

import asyncio
import math
import os
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, AsyncExitStack, ExitStack, closing, contextmanager
from dataclasses import dataclass
from itertools import pairwise
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

import click

import nncache
from nncache.bench.servers.counters import settled_calls, use_of
from nncache.bench.shared.driver import (
    DEPTH,
    BenchResult,
    Figure,
    add_filters,
    answer_of,
    apart,
    benchmark,
    changing,
    deep,
    grown,
    next_of,
    none_of,
    quantile,
)
from nncache.bench.shared.driver import cluster as bench_cluster
from nncache.hadoop.events import Create
from nncache.hadoop.namenodes.webhdfs import WebHdfs
from nncache.hadoop.rpc.namenode import NameNodeRpc
from nncache.invalidation.filters.definition import Filter
from nncache.testbed import Cluster, TestbedError
from nncache.testbed.daemon import PublisherDaemon

PARTS: Final = ("starts", "delivery", "catch-up", "overload")

MAX_START_S: Final = 5.0  # with 5,000 filters in HDFS and an empty ZooKeeper, until all are in force
MAX_RESTART_S: Final = 2.0  # without changes, until all are in force again
MAX_P50_S: Final = 0.03
MAX_P99_S: Final = 0.25
"""Limit from the NameNode's acknowledgement of a change until a subscriber has its event."""
MIN_EDITS_PER_CPU_S: Final = 50_000  # matched against the globs of all filters
MAX_GROWN_MIB: Final = 64.0  # growth of resident memory by a flood
MAX_NORMAL_S: Final = 5.0  # after a flood, until events are no longer late
MAX_QUIET_P99_S: Final = 1.0  # during a flood, for a tenant within its limit

MARK: Final = "_SUCCESS"
PER_S: Final = 10.0
EDITS_PER_S: Final = 2_000.0
LOUD: Final = "loud"
QUIET: Final = "quiet"
WRITES_PER_S: Final = 20.0
"""The publisher's limit of ZooKeeper transactions, and here also the limit of each filter's events."""
TIMES: Final = 20  # the rate of the flood, as a multiple of that limit
QUIET_PER_S: Final = 2.0
BEFORE_S: Final = 15.0
AFTER_S: Final = 15.0
SOON_S: Final = 1.0
"""The delay above which an event is late."""

_FILTERS_PATH: Final = "/filters"
_LOOK_S: Final = 0.02
_LOOK_AT_FLOOD_S: Final = 0.2
_SETTLE_S: Final = 3.0  # after the last edit; events not delivered by then are lost
_TIMEOUT_S: Final = 180.0
_RPC_TIMEOUT_S: Final = 30.0
_READY_S: Final = 60.0
_CATCH_UP_CALLS_PER_S: Final = 1_000.0
_TXID: Final = "publisher_published_txid"

_QUICK: Final = (*("--poll-budget-share", "0.25"), *("--roll-after-txids", "4000", "--roll-interval-s", "2"))
"""For events within tens of milliseconds during 2,000 edits a second (docs/inotify.md).

A poll reads the open segment from its start; for a short segment this takes 3 ms.
"""
_UNBOUNDED: Final = ("--poll-budget-share", "1")
"""Catching up measures the publisher's CPU, so the NameNode's needs no budget."""


@benchmark("bench-inotify")
@click.option("--filters", "count", default=5_000, type=click.IntRange(1), help="How many there are.")
@click.option("--restarts", default=3, type=click.IntRange(1), help="With nothing changed.")
@click.option(
    "--delivering", default=1_000, type=click.IntRange(1), help="Filters while events are delivered."
)
@click.option("--subscribers", default=50, type=click.IntRange(1), help="Of these, with one each.")
@click.option("--seconds", default=60.0, type=click.FloatRange(1), help="Of events, and of the flood.")
@click.option("--backlog", default=200_000, type=click.IntRange(1_000), help="Edits to be read at once.")
@click.option(
    "--part", "parts", multiple=True, type=click.Choice(PARTS), default=PARTS, help="What is measured."
)
def main(
    *,
    count: int,
    restarts: int,
    delivering: int,
    subscribers: int,
    seconds: float,
    backlog: int,
    parts: tuple[str, ...],
) -> BenchResult:
    """Measure an inotify service: starts with many filters, delivery, catching up, a flood."""
    found = list[Figure]()

    def note(figures: Iterable[Figure]) -> None:
        for each in figures:
            found.append(each)
            click.echo(each.line)

    if "starts" in parts:
        with _cluster(*_many(count)) as cluster, _publisher(cluster) as publisher:
            for number in range(1 + restarts):
                note(start(cluster, publisher, count, number))
    if {"delivery", "catch-up"} & {*parts}:
        with _cluster(*_many(delivering)) as cluster:
            if "delivery" in parts:
                with _publisher(cluster, *_QUICK) as publisher:
                    start(cluster, publisher, delivering, 0)
                    names = [_name(number) for number in range(min(subscribers, delivering))]
                    note(delivery(cluster, publisher, names, seconds))
            if "catch-up" in parts:
                with _publisher(cluster, *_UNBOUNDED) as publisher:
                    start(cluster, publisher, delivering, 1)
                    *_, idle_cpu_s = start(cluster, publisher, delivering, 2)
                    note(catch_up(cluster, publisher, backlog, idle_cpu_s.value))
    if "overload" in parts:
        tenants = [Filter(name, f"/{name}/{{*,after/*}}/*/x/{MARK}", name) for name in (LOUD, QUIET)]
        limit = ("--max-events-per-s-per-filter", str(WRITES_PER_S))
        with _cluster(*tenants) as cluster, _publisher(cluster, *limit) as publisher:
            start(cluster, publisher, len(tenants), 0)
            note(overload(cluster, publisher, seconds))
    return BenchResult(figures=found)


# ---- starts ----------------------------------------------------------------------------------------------------------


def start(cluster: Cluster, publisher: PublisherDaemon, count: int, number: int) -> list[Figure]:
    """Start the publisher, wait until all filters are in force and read from HDFS, and return the figures, CPU last.

    `number` is 0 for an empty ZooKeeper, else the number of the restart.
    """
    publisher.stop()
    http = cluster.namenodes[0].http
    before, began = settled_calls(http), time.monotonic()
    publisher.process.launch()
    in_force_s = 0.0
    while True:
        seen = publisher.readiness() and publisher.metrics()
        now_s = time.monotonic() - began
        if now_s > _TIMEOUT_S:
            raise TestbedError(f"not started in {now_s:.0f} s: {publisher.process.last_words()}")
        if seen and seen["nncache_publisher_filters"] == count and not in_force_s:
            in_force_s = now_s
        if in_force_s and seen["nncache_publisher_filters_read_total"] >= count:
            break
        time.sleep(_LOOK_S)
    pid = publisher.process.running_pid
    cpu_s, waited_s, load = use_of(pid)[0], _waited_s(pid), os.getloadavg()[0]
    calls = settled_calls(http) - before
    what = f"restart {number} with {count:,} filters" if number else f"start with {count:,} filters"
    return [
        Figure(f"{what}: in force after", in_force_s, "s", most=MAX_RESTART_S if number else MAX_START_S),
        Figure(f"{what}: read from HDFS after", now_s, "s"),
        Figure(f"{what}: calls of the NameNode", calls["TotalFileOps"]),
        Figure(f"{what}: calls of it for attributes", calls["GetXAttrsNumOps"]),
        Figure(f"{what}: calls of ZooKeeper", seen["nncache_zookeeper_calls_total"]),
        Figure(f"{what}: waiting for a CPU", waited_s, "s"),
        Figure(f"{what}: load of the machine in its last minute", load),
        Figure(f"{what}: CPU of the publisher", cpu_s, "s"),
    ]


def _waited_s(pid: int) -> float:
    """Return the seconds that a process's threads waited for a CPU (Linux's sched-stats.txt)."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text(encoding="ascii").split()[1]) for task in tasks) / 1e9


# ---- delivery and catching up ----------------------------------------------------------------------------------------


def delivery(cluster: Cluster, publisher: PublisherDaemon, names: list[str], seconds: float) -> list[Figure]:
    """Return the figures of delivering events, to one subscriber per filter, during many edits that match no filter."""
    namenode_pid, publisher_pid = cluster.namenodes[0].process.running_pid, publisher.process.running_pid
    with ExitStack() as stack:
        subscribers = stack.enter_context(apart(follow, cluster.zookeeper.address, names))
        load = {"per_s": PER_S, "places": len(names), "beside_per_s": EDITS_PER_S}
        making = stack.enter_context(_making(cluster, seconds, **load))
        before, began = publisher.metrics(), time.monotonic()
        cpu_before_s, namenode_before_s = use_of(publisher_pid)[0], use_of(namenode_pid)[0]
        made = answer_of(making, None, seconds + _TIMEOUT_S)
        took_s = time.monotonic() - began
        after = _await_published(publisher, max(created_in(cluster).values()))
        time.sleep(_SETTLE_S)
        cpu_s = use_of(publisher_pid)[0] - cpu_before_s
        namenode_s = use_of(namenode_pid)[0] - namenode_before_s
        received: dict[str, list[Received]] = answer_of(subscribers, None, _READY_S)
    seen = {each.path: each.at for some in received.values() for each in some}
    delays_s = [max(0.0, seen[path] - at) for path, at in made.items() if path in seen]
    counted = ("events_matched", "coverage_records", "writes")
    matched, coverage, writes = (grown(f"publisher_{name}_total", before, after) for name in counted)
    of_what = f"{matched:.0f} events and {coverage:.0f} records of coverage"

    def a_second(metric: str) -> float:
        return grown(metric, before, after) / took_s

    return [
        Figure(f"events to {len(received)} subscribers", len(made)),
        none_of("events that are lost", len(made) - len(delays_s)),
        Figure("events, p50 after the acknowledgement", quantile(delays_s, 0.5), "s", most=MAX_P50_S),
        Figure("events, p99 after the acknowledgement", quantile(delays_s, 0.99), "s", most=MAX_P99_S),
        Figure(f"writes to ZooKeeper for {of_what}", writes, most=matched + coverage),
        Figure("edits beside", a_second(_TXID), "a second"),
        Figure("polls of the edits", a_second("channel_polls_total"), "a second"),
        Figure(
            "of a core of the NameNode, as the publisher estimates what its polls take",
            a_second("channel_poll_charged_seconds_total"),
        ),
        Figure("cores that the NameNode took in all", namenode_s / took_s),
        Figure("cores that the publisher took", cpu_s / took_s),
    ]


def catch_up(cluster: Cluster, publisher: PublisherDaemon, edits: int, idle_cpu_s: float) -> list[Figure]:
    """Return the figures of a publisher that reads the edits made while none ran.

    `idle_cpu_s` is the CPU time of the same start with no edits to read.
    """
    publisher.stop()
    beside_per_s = _CATCH_UP_CALLS_PER_S * DEPTH
    seconds = edits / beside_per_s
    with _making(cluster, seconds, beside_per_s=beside_per_s, directory="/backlog") as making:
        answer_of(making, None, seconds + _TIMEOUT_S)
    publisher.start()
    seen = _await_published(publisher, max(created_in(cluster).values()))
    cpu_s = max(1e-9, use_of(publisher.process.running_pid)[0] - idle_cpu_s)
    return [
        Figure("edits read after an absence, in a second of CPU", edits / cpu_s, least=MIN_EDITS_PER_CPU_S),
        Figure("edits read in all", edits),
        Figure("polls for them", seen["nncache_channel_polls_total"]),
    ]


# ---- a flood ---------------------------------------------------------------------------------------------------------


def overload(cluster: Cluster, publisher: PublisherDaemon, seconds: float) -> list[Figure]:
    """Flood the filter LOUD for this duration; return the figures of its subscriber and of QUIET's."""
    pid, most, waiting = publisher.process.running_pid, 0, 0.0
    in_all = BEFORE_S + seconds + AFTER_S
    with ExitStack() as stack:
        subscribers = stack.enter_context(apart(follow, cluster.zookeeper.address, (LOUD, QUIET)))
        quiet = stack.enter_context(_making(cluster, in_all, per_s=QUIET_PER_S, directory=f"/{QUIET}"))
        load = {"per_s": WRITES_PER_S * TIMES, "directory": f"/{LOUD}"}
        loud = stack.enter_context(_making(cluster, seconds, **load))
        load = {"per_s": QUIET_PER_S, "directory": f"/{LOUD}/after"}
        later = stack.enter_context(_making(cluster, AFTER_S, **load))
        quiet.send(None)
        time.sleep(BEFORE_S)
        resident, before = use_of(pid)[1], publisher.metrics()
        began = time.monotonic()
        loud.send(None)
        while not loud.poll(_LOOK_AT_FLOOD_S):
            most = max(most, use_of(pid)[1])
            waiting = max(waiting, publisher.metrics()["nncache_publisher_events_waiting"])
        ended = time.monotonic()
        later.send(None)
        made_loud, made_after, made_quiet = (
            next_of(each, in_all + _TIMEOUT_S) for each in (loud, later, quiet)
        )
        txids = created_in(cluster)
        after = _await_published(publisher, max(txids.values()))
        time.sleep(_SETTLE_S)
        received: dict[str, list[Received]] = answer_of(subscribers, None, _READY_S)
    loud_account = account(received[LOUD], {path: txids[path] for path in made_loud})
    to_loud, to_quiet = ({each.path: each.at for each in received[name]} for name in (LOUD, QUIET))
    delays_s = {path: max(0.0, to_quiet.get(path, math.inf) - at) for path, at in made_quiet.items()}
    during = {path for path, at in made_quiet.items() if began <= at <= ended}
    normal_s = normal_after(made_after, to_loud, ended)
    over_limit = grown("publisher_events_over_limit_total", before, after)
    quiet_p99_s = quantile((delays_s[path] for path in during), 0.99)
    other_p99_s = quantile((late for path, late in delays_s.items() if path not in during), 0.99)
    what = f"flood of {len(made_loud) / (ended - began):.0f} events a second at a limit of {WRITES_PER_S:g}"
    return [
        Figure(f"{what}: made", len(made_loud)),
        Figure(f"{what}: delivered", loud_account.delivered),
        Figure(f"{what}: within gaps that were named", loud_account.covered, least=1),
        none_of(f"{what}: missing in silence", loud_account.silent),
        none_of(f"{what}: delivered twice or out of order", loud_account.wrong),
        Figure(f"{what}: left out, as the publisher says", over_limit),
        Figure(f"{what}: memory grown by", (most - resident) / 2**20, "MiB", most=MAX_GROWN_MIB),
        Figure(f"{what}: events waiting at most", waiting),
        Figure(f"{what}: as before it after", normal_s, "s", most=MAX_NORMAL_S),
        Figure("the other tenant's events meanwhile", len(during)),
        none_of("the other tenant's gaps", sum(not each.path for each in received[QUIET])),
        Figure("the other tenant's p99 meanwhile", quiet_p99_s, "s", most=MAX_QUIET_P99_S),
        Figure("the other tenant's p99 before and after", other_p99_s, "s"),
    ]


def normal_after(made: Mapping[str, float], received: Mapping[str, float], ended: float) -> float:
    """Return the time from the end of a flood until the first event after the last late one; 0 if none was late."""
    late = [at for path, at in made.items() if received.get(path, math.inf) - at > SOON_S]
    if not late:
        return 0.0
    return min((at - ended for at in made.values() if at > max(late)), default=math.inf)


@dataclass(frozen=True, slots=True)
class Received:
    """A created path, or a gap of missing events (path ""), as a subscriber received it."""

    at: float  # time.monotonic() of the receipt
    first_txid: int
    last_txid: int
    path: str = ""


@dataclass(frozen=True, slots=True)
class DeliveryAccount:
    """The delivered and the missing events of a subscriber."""

    delivered: int
    covered: int  # not delivered, but within a reported gap
    silent: int  # neither delivered nor within a reported gap
    wrong: int  # delivered twice or out of order


def account(received: Sequence[Received], made: Mapping[str, int]) -> DeliveryAccount:
    """Compare the items that a subscriber received with the created paths, given with their transaction ids."""
    gaps = [each for each in received if not each.path]
    missing = made.keys() - {each.path for each in received}
    covered = sum(any(gap.first_txid <= made[path] <= gap.last_txid for gap in gaps) for path in missing)
    order = [each.last_txid for each in received]
    return DeliveryAccount(
        delivered=len(made) - len(missing),
        covered=covered,
        silent=len(missing) - covered,
        wrong=sum(later <= earlier for earlier, later in pairwise(order)),
    )


# ---- subscribers, edits, servers -------------------------------------------------------------------------------------


def follow(pipe: Connection, zookeeper: str, names: Sequence[str]) -> None:
    """Subscribe to filters until a message from the parent, then send it the items that each filter received."""
    asyncio.run(_follow(pipe, zookeeper, {name: [] for name in names}))


async def _follow(pipe: Connection, zookeeper: str, received: Mapping[str, list[Received]]) -> None:

    async def note(events: nncache.FilterEvents, seen: list[Received]) -> None:
        while True:
            try:
                async for batch in events:
                    now = time.monotonic()
                    created = (event.path for event in batch.events if isinstance(event, Create))
                    seen.extend(Received(now, batch.txid, batch.txid, path) for path in created)
            except nncache.MissingEventsError as gap:
                seen.append(Received(time.monotonic(), gap.first_txid or 0, gap.last_txid or 0))

    async with AsyncExitStack() as stack:
        subscriptions = (nncache.subscribe(name, zookeeper=zookeeper, nameservice="ns1") for name in received)
        subscribed = [await stack.enter_async_context(each) for each in subscriptions]
        async with asyncio.TaskGroup() as tasks:
            each_with_its_own = zip(subscribed, received.values(), strict=True)
            noting = [tasks.create_task(note(*each)) for each in each_with_its_own]
            pipe.send(None)
            await asyncio.to_thread(pipe.recv)
            for each in noting:
                each.cancel()
    pipe.send(received)


def make(
    pipe: Connection,
    http: str,
    user: str,
    *,
    seconds: float,
    per_s: float = 0.0,
    places: int = 1,
    directory: str = "/team",
    beside_per_s: float = 0.0,
) -> None:
    """Make edits for `seconds` after the parent's message; then send the acknowledgement time of each recorded path.

    Times are CLOCK_MONOTONIC, which all processes share. It records `per_s` paths per second, spread among `places`
    directories. It also makes `beside_per_s` edits per second of paths that match no filter.
    """
    acknowledged: dict[str, float] = {}

    async def run() -> None:
        async with changing(WebHdfs(f"http://{http}", user), user) as namenode:

            async def note(number: int) -> None:
                path = f"{directory}/{number % places}/{number}/x/{MARK}"  # matches the glob of one filter
                await namenode.mkdirs(path)
                acknowledged[path] = time.monotonic()

            async def fill(number: int) -> None:
                await namenode.mkdirs(deep(f"/load{directory}/{number}"))

            pipe.send(None)
            await asyncio.to_thread(pipe.recv)
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(_at_rate(per_s, seconds, note))
                tasks.create_task(_at_rate(beside_per_s / DEPTH, seconds, fill))

    asyncio.run(run())
    pipe.send(acknowledged)


async def _at_rate(per_s: float, seconds: float, act: Callable[[int], Coroutine[Any, Any, None]]) -> None:
    """Call `act` at this rate, even if earlier calls are still in progress; skip none when late."""
    began = time.monotonic()
    async with asyncio.TaskGroup() as tasks:
        for number in range(round(per_s * seconds)):
            await asyncio.sleep(max(0.0, began + number / per_s - time.monotonic()))
            tasks.create_task(act(number))


def created_in(cluster: Cluster) -> dict[str, int]:
    """Return the id of the creating transaction of each path in the NameNode's edits."""

    async def read() -> dict[str, int]:
        namenode = NameNodeRpc(cluster.namenodes[0].rpc, cluster.superuser, timeout_s=_RPC_TIMEOUT_S)
        try:
            found, txid, end = dict[str, int](), 1, await namenode.get_current_edit_log_txid()
            while txid <= end:
                page = await namenode.get_edits(txid)
                for batch in page.batches:
                    found |= {each.path: batch.txid for each in batch.events if isinstance(each, Create)}
                txid = page.last_txid + 1
            return found
        finally:
            await namenode.close()

    return asyncio.run(read())


def _await_published(publisher: PublisherDaemon, txid: float) -> dict[str, float]:
    """Wait until the publisher has published this transaction, and return its metrics."""
    began = time.monotonic()
    while (seen := publisher.metrics())[f"nncache_{_TXID}"] < txid:
        if time.monotonic() - began > _TIMEOUT_S:
            raise TestbedError(f"transaction {txid:.0f} was not published in {_TIMEOUT_S:g} s")
        time.sleep(_LOOK_S)
    return seen


@contextmanager
def _cluster(*filters: Filter) -> Iterator[Cluster]:
    """Start a cluster with these filters."""
    with bench_cluster(with_zookeeper=True) as cluster:
        asyncio.run(add_filters(cluster, _FILTERS_PATH, filters))
        yield cluster


def _making(cluster: Cluster, seconds: float, **load: Any) -> AbstractContextManager[Connection]:  # noqa: ANN401 - `make`'s
    """Run `make` in a separate process; it starts at a message, and sends the times of its paths at the end."""
    return apart(make, cluster.namenodes[0].http, cluster.superuser, seconds=seconds, **load)


def _publisher(cluster: Cluster, *arguments: str) -> closing[PublisherDaemon]:
    """Return a publisher that `start` starts; the context closes it."""
    places = ("--zookeeper", cluster.zookeeper.address, "--filters-path", _FILTERS_PATH)
    return closing(PublisherDaemon(*cluster.flags, *places, *arguments))


def _many(count: int) -> Iterator[Filter]:
    """Yield filters of many teams, each with up to two allowed users."""
    for number in range(count):
        users = tuple(f"user{number % 97 + other}" for other in range(number % 3))
        yield Filter(_name(number), f"/team/{number}/*/*/_SUCCESS", f"user{number % 89}", users)


def _name(number: int) -> str:
    return f"team{number:05}"


if __name__ == "__main__":
    main()
