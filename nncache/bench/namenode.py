"""The throughput of a namespace in ZooKeeper, compared with a real NameNode on the same machine: `make bench-namenode`.

Concurrent clients, spread over the NameNodes, call each operation: first at a real NameNode, then with one and three
ZooKeeper servers, one and three NameNodes, and a DataNode. With `--files` it fills a namespace to that number of files
in a separate ZooKeeper, and measures memory, a restart, and a listing of 100,000 entries.
"""

import asyncio
import itertools
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Final

import click
from matplotlib.figure import Figure as Chart

from nncache.bench.light import OPERATIONS, MeasuredCluster, Row, measure, real
from nncache.bench.servers.counters import use_of
from nncache.bench.shared.driver import BenchResult, Figure, benchmark
from nncache.coordination.session import KazooSession
from nncache.coordination.settings import ZooKeeperSettings
from nncache.coordination.task_group import each_bounded
from nncache.coordination.zookeeper import CreateOp, ZnodeOp
from nncache.hadoop.feed_znodes import DEFAULT_ROOT
from nncache.hadoop.namenodes.webhdfs import WebHdfs
from nncache.namenode.namespace import layout
from nncache.namenode.namespace.inode import Block, BlockState, Inode, Location, encode
from nncache.namenode.namespace.transaction import MAX_OPERATIONS
from nncache.testbed import ZooKeeperProcess
from nncache.testbed.daemon import OwnDataNode, OwnNameNode
from nncache.testbed.spec import own_user
from nncache.testbed.zookeepers import ZooKeeperEnsemble, ZooKeeperServer

SIZES: Final = ((1, 1), (1, 3), (3, 1), (3, 3))  # ZooKeeper servers, NameNodes

LISTED: Final = 100_000
_PER_DIRECTORY: Final = 1_000
_FIRST_ID: Final = 1_000_000_000  # of the inodes created here: far above those that NameNodes assign
_IN_FLIGHT: Final = 4
_START_S: Final = 600.0


@contextmanager
def _zookeepers(
    number: int, jvm: tuple[str, ...] = ("-Xms256m", "-Xmx512m")
) -> Iterator[tuple[ZooKeeperProcess, ...]]:
    if number == 1:
        with ZooKeeperServer(jvm=jvm, start_timeout_s=_START_S) as server:
            yield (server,)
    else:
        with ZooKeeperEnsemble(jvm=jvm) as ensemble:
            yield ensemble.servers


@contextmanager
def _served(
    servers: Sequence[ZooKeeperProcess], namenodes: int, root: str = DEFAULT_ROOT
) -> Iterator[MeasuredCluster]:
    """Start NameNodes and a DataNode; each NameNode's list starts with a different ZooKeeper server."""
    addresses = [server.address for server in servers]
    began = time.monotonic()
    with ExitStack() as running:
        programs = list[OwnNameNode]()
        for number in range(namenodes):
            turned = addresses[number % len(addresses) :] + addresses[: number % len(addresses)]
            programs.append(
                running.enter_context(OwnNameNode("--zookeeper", ",".join(turned), "--zookeeper-root", root))
            )
        took = time.monotonic() - began
        where = ("--zookeeper", ",".join(addresses), "--zookeeper-root", root)
        datanode = running.enter_context(OwnDataNode(*where))
        yield MeasuredCluster(
            name=f"{len(servers)} ZooKeeper, {namenodes} NameNode",
            https=[program.http for program in programs],
            superuser=own_user(),
            processes={
                kind: [each.process.running_pid for each in some]
                for kind, some in (("NameNodes", programs), ("DataNode", [datanode]), ("ZooKeeper", servers))
            },
            first_answer_s=took,
        )


def _table(rows: Sequence[Row]) -> list[str]:
    """Return operations per second and CPU microseconds by process, in the format of the docs."""
    servers = list(dict.fromkeys(row.server for row in rows))
    found = [f"| | {' | '.join(servers)} |", "|---" * (len(servers) + 1) + "|"]
    for operation in OPERATIONS:
        cells = [row for row in rows if row.operation == operation]
        cpu = [" + ".join(f"{each:,.0f}" for each in row.cpu_of.values()) for row in cells]
        parts = (f"{row.per_s:,.0f}/s, {each} µs" for row, each in zip(cells, cpu, strict=True))
        found.append(f"| {operation} | {' | '.join(parts)} |")
    return found


def _chart(rows: Sequence[Row]) -> Chart:
    servers = list(dict.fromkeys(row.server for row in rows))
    chart = Chart(figsize=(8.0, 4.0), layout="constrained")
    axes = chart.subplots()
    width = 0.8 / len(servers)
    for number, server in enumerate(servers):
        own = [row.per_s for row in rows if row.server == server]
        axes.bar([place + number * width for place in range(len(own))], own, width, label=server)
    axes.set_xticks([place + 0.4 for place in range(len(OPERATIONS))], list(OPERATIONS), rotation=20)
    axes.set_ylabel("operations a second")
    axes.set_yscale("log")
    axes.legend()
    return chart


# ---- growth ----------------------------------------------------------------------------------------------------------


def _file_operations(root: str, number: int, parent: int) -> list[ZnodeOp]:
    """Return the operations that create a closed file of one block, without its replica."""
    inode = _FIRST_ID + 2 * number
    block = Block(inode + 1, 1001, 1000, BlockState.COMPLETE)
    made = Inode(
        id=inode, parent=parent, name=f"f{number}", is_directory=False, owner="root", group="supergroup",
        mode=0o644, replication=1, block_size=134_217_728, blocks=(block,),
    )  # fmt: skip
    return [
        CreateOp(root + layout.inode(inode), encode(made)),
        CreateOp(root + layout.entry(parent, made.name), str(inode).encode()),
        CreateOp(root + layout.location(block.id), encode(Location(file=inode, targets=()))),
    ]


async def _fill(address: str, root: str, http: str, files: int) -> None:
    """Write files directly to the znodes: 100,000 in one directory, the others in directories of 1,000."""
    async with WebHdfs(f"http://{http}", own_user()) as client:
        await client.mkdirs("/grown/large")
        directories = [(await client.status("/grown/large")).file_id]
        for number in range(max(0, files - LISTED + _PER_DIRECTORY - 1) // _PER_DIRECTORY):
            await client.mkdirs(f"/grown/{number}")
            directories.append((await client.status(f"/grown/{number}")).file_id)
    settings = ZooKeeperSettings(zookeeper=(address,), zookeeper_session_timeout_s=30.0)
    async with KazooSession(settings, time.monotonic) as session:
        await session.wait_connected(30.0)
        size = MAX_OPERATIONS // 3

        async def write(begin: int) -> None:
            operations = list[ZnodeOp]()
            for number in range(begin, min(begin + size, files)):
                place = 0 if number < LISTED else 1 + (number - LISTED) // _PER_DIRECTORY
                operations += _file_operations(root, number, directories[place])
            await session.commit(operations)

        await each_bounded(range(0, files, size), write, at_once=_IN_FLIGHT)


async def _timed_listing(http: str) -> tuple[float, int]:
    async with WebHdfs(f"http://{http}", own_user(), timeout_s=300.0) as client:
        began = time.monotonic()
        found = await client.list("/grown/large")
        return time.monotonic() - began, len(found)


def _grown(files: int) -> list[Figure]:
    """Fill a namespace and return its figures."""
    root = f"/grown-{uuid.uuid4().hex[:8]}"
    with _zookeepers(1, ("-Xms512m", "-Xmx6g")) as (zookeeper,), _served([zookeeper], 1, root) as server:
        empty = use_of(zookeeper.process.running_pid)[1]
        began = time.monotonic()
        asyncio.run(_fill(zookeeper.address, root, server.https[0], files))
        filled_s = time.monotonic() - began
        full = use_of(zookeeper.process.running_pid)[1]
        listed_s, entries = asyncio.run(_timed_listing(server.https[0]))
        namenode_mb = use_of(server.processes["NameNodes"][0])[1] / 1e6
        zookeeper.process.kill()
        zookeeper.process.start()
    what = f"{files:,} files"
    return [
        Figure(f"{what}: written to ZooKeeper in", filled_s, "s"),
        Figure(f"{what}: resident memory of ZooKeeper that they take", (full - empty) / 1e6, "MB"),
        Figure(f"{what}: listing of {entries:,} entries", listed_s, "s"),
        Figure(f"{what}: resident memory of a NameNode then", namenode_mb, "MB"),
        Figure(f"{what}: restart of ZooKeeper", zookeeper.process.start_s, "s"),
    ]


@benchmark("bench-namenode")
@click.option(
    "--calls", default=300, type=click.IntRange(1), help="Of each operation, in each of two rounds."
)
@click.option(
    "--files", default=0, type=click.IntRange(0), help="To fill a namespace with; 1000000 takes half an hour."
)
@click.option(
    "--sizes", default=len(SIZES), type=click.IntRange(0, len(SIZES)), help="Measure so many of the four."
)
@click.option("--with-hdfs/--without-hdfs", default=True, help="Measure a real NameNode as well.")
def main(calls: int, files: int, sizes: int, *, with_hdfs: bool) -> BenchResult:
    """Compare a namespace in ZooKeeper with a real NameNode."""
    rows: list[Row] = []
    figures = list[Figure]()
    if with_hdfs:
        with real() as server:
            rows += asyncio.run(measure(server, calls))
    for number, chosen in itertools.groupby(SIZES[:sizes], key=lambda size: size[0]):
        for _, namenodes in chosen:
            with _zookeepers(number) as servers, _served(servers, namenodes) as server:
                rows += asyncio.run(measure(server, calls))
                what = f"{server.name}: seconds to the first answer"
                figures.append(Figure(what, server.first_answer_s, "s"))
    if files:
        figures += _grown(files)
    table = [*_table(rows), "CPU: " + " + ".join(rows[-1].cpu_of) + " (HDFS: all)"] if rows else []
    return BenchResult(figures=figures, table=table, rounds=rows, chart=_chart(rows) if rows else None)


if __name__ == "__main__":
    main()
