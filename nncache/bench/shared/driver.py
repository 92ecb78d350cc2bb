"""The shared parts of all benchmarks: figures with limits, the command, a cluster, and processes that generate load.

A benchmark is a function that measures and returns a `BenchResult`. `benchmark` turns it into a command, which prints
the figures, writes them with rounds and chart to a directory, and exits with 1 if a figure is outside its limits.
"""

import asyncio
import functools
import json
import math
import multiprocessing
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from dataclasses import asdict, dataclass, field, replace
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Final

import click
from matplotlib.figure import Figure as Chart

from nncache.coordination.task_group import each_bounded
from nncache.hadoop.namenodes.webhdfs import WebHdfs
from nncache.hadoop.rpc.namespace_calls import NamespaceCalls
from nncache.invalidation.filters.definition import Filter
from nncache.invalidation.filters.hdfs_store import FilterStore
from nncache.invalidation.filters.quick_hdfs import calls_over_rpc, quick
from nncache.invalidation.settings import JOURNALNODES
from nncache.testbed import Cluster, ClusterSpec, TestbedError
from nncache.testbed.spec import FULL_SPEED_JVM

AT_ONCE: Final = 32  # calls of the NameNode that prepare a benchmark
DEPTH: Final = 20
"""Directories that one call creates, one edit each: so one process makes thousands of edits per second."""
SHORTFALL: Final = 1
_RPC_TIMEOUT_S: Final = 60.0
_WHOLE_FROM: Final = 1_000


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of a run; without limits it is shown but not judged."""

    what: str  # the measured quantity
    value: float
    unit: str = ""  # "" for a count or a ratio
    most: float = math.inf  # the limits
    least: float = -math.inf

    @property
    def is_met(self) -> bool:
        """Whether the value is within the limits; NaN is not."""
        return self.least <= self.value <= self.most

    @property
    def limits(self) -> str:
        """The limits as text; empty without any."""
        bounds = [f"at most {_number(self.most)}"] if self.most < math.inf else []
        bounds += [f"at least {_number(self.least)}"] if self.least > -math.inf else []
        return ", ".join(bounds)

    @property
    def shown(self) -> str:
        """The value as text, with its unit."""
        return f"{_number(self.value)} {self.unit}".rstrip()

    @property
    def line(self) -> str:
        """The figure as a line of text, with verdict and limits."""
        verdict = ("met  " if self.is_met else "SHORT") if self.limits else "     "
        return f"{verdict} {self.what}: {self.shown}{f' ({self.limits})' if self.limits else ''}"


def none_of(what: str, count: float) -> Figure:
    """Return a count whose limit is 0."""
    return Figure(what, count, most=0)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value % 1 == 0 or abs(value) >= _WHOLE_FROM else f"{value:.3g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchResult:
    """The results of a benchmark."""

    figures: Sequence[Figure]
    table: Sequence[str] = ()  # lines to print before the figures
    rounds: Sequence[Any] = field(default=())  # dataclasses, each a row of rounds.json
    chart: Chart | None = None


def benchmark(name: str) -> Callable[[Callable[..., BenchResult]], click.Command]:
    """Return a decorator that turns a function into a command; it writes the results to build/NAME or `--out`."""

    def decorate(measure: Callable[..., BenchResult]) -> click.Command:
        @functools.wraps(measure)
        def command(*, out: Path, **options: object) -> None:
            try:
                result = measure(**options)
            except (TestbedError, OSError, subprocess.CalledProcessError) as error:
                raise click.ClickException(str(error)) from error
            click.echo("\n".join([*result.table, *(each.line for each in result.figures)]))
            write(result, out)
            click.echo(f"results: {out}")
            if not all(each.is_met for each in result.figures):
                sys.exit(SHORTFALL)

        place = click.Path(path_type=Path)
        where = click.option("--out", default=f"build/{name}", type=place, help="Directory of the results.")
        return click.command(context_settings={"show_default": True})(where(command))

    return decorate


def write(result: BenchResult, out: Path) -> None:
    """Write figures, rounds and chart to a directory, which is created if missing."""
    out.mkdir(parents=True, exist_ok=True)
    for name, rows in (("figures", result.figures), ("rounds", result.rounds)):
        (out / f"{name}.json").write_text(
            json.dumps([asdict(each) for each in rows], indent=1), encoding="utf-8"
        )
    if result.chart is not None:
        result.chart.savefig(out / "chart.svg")


def cluster(*, with_zookeeper: bool = False, ha: bool = False) -> AbstractContextManager[Cluster]:
    """Start a cluster whose NameNode runs at full speed, without a DataNode."""
    return Cluster.start(
        ClusterSpec(namenode_jvm=FULL_SPEED_JVM, with_datanode=False, with_zookeeper=with_zookeeper, ha=ha)
    )


def with_journalnodes(spec: ClusterSpec) -> ClusterSpec:
    """Return the spec as an HA pair with three JournalNodes that serve in-progress edits."""
    overrides = {**spec.overrides, "dfs.ha.tail-edits.in-progress": "true"}
    return replace(spec, ha=True, journalnodes=3, overrides=overrides)


def edits_of_journalnodes(of: Cluster) -> tuple[str, ...]:
    """Return the flags with which a publisher or a proxy reads edits from the JournalNodes."""
    return ("--edits-source", JOURNALNODES, "--shared-edits-dir", of.shared_edits_dir)


def hdfs_of(of: Cluster) -> WebHdfs:
    """Return a client of HDFS as its superuser, which finds the active NameNode."""
    first, *others = (f"http://{namenode.http}" for namenode in of.namenodes)
    return WebHdfs(first, of.superuser, others=others)


@asynccontextmanager
async def changing(hdfs: WebHdfs, user: str) -> AsyncIterator[NamespaceCalls]:
    """Yield namespace calls over the NameNode's RPC port, which use little CPU in this process."""
    async with hdfs, calls_over_rpc(hdfs, user, timeout_s=_RPC_TIMEOUT_S) as calls:
        yield calls


def deep(place: str) -> str:
    """Return a path at `place` and DEPTH - 1 levels below, so that creating it takes DEPTH edits."""
    return "/".join((place, *(f"d{level:02}" for level in range(DEPTH - 1))))


async def add_filters(of: Cluster, path: str, filters: Iterable[Filter]) -> None:
    """Add new filters to this directory in HDFS."""
    async with hdfs_of(of) as hdfs, quick(hdfs, of.superuser, timeout_s=_RPC_TIMEOUT_S) as quicker:
        store = FilterStore(quicker, path)
        await store.prepare()
        await each_bounded(filters, store.add_unseen, at_once=AT_ONCE)


def make_directories(of: Cluster, paths: Iterable[str]) -> None:
    """Create these directories in HDFS."""

    async def make() -> None:
        async with hdfs_of(of) as hdfs:
            await each_bounded(paths, hdfs.mkdirs, at_once=AT_ONCE)

    asyncio.run(make())


@contextmanager
def apart(
    run: Callable[..., None], *arguments: object, ready_s: float | None = 60.0, **named: object
) -> Iterator[Connection]:
    """Run a function in a separate process until the end of the block; its first argument is the yielded pipe's end.

    The block begins when the function sends its first message, within `ready_s` seconds; None: immediately.

    Raises:
        OSError: as `next_of`.
    """
    ours, theirs = multiprocessing.Pipe()
    process: BaseProcess = multiprocessing.get_context("spawn").Process(
        target=run, args=(theirs, *arguments), kwargs=named, daemon=True
    )
    process.start()
    theirs.close()
    try:
        if ready_s is not None:
            next_of(ours, ready_s)
        yield ours
    finally:
        ours.close()
        process.terminate()
        process.join()


def next_of(pipe: Connection, timeout_s: float) -> Any:  # noqa: ANN401 - what the other end sends
    """Return the next message of the process at the other end.

    Raises:
        OSError: the process ended, or sent no message in time.
    """
    if not pipe.poll(timeout_s):
        raise TimeoutError("a process that makes load hangs")
    try:
        return pipe.recv()
    except EOFError as error:
        raise ConnectionError("a process that makes load has ended") from error


def answer_of(pipe: Connection, order: object, timeout_s: float) -> Any:  # noqa: ANN401 - what the other end sends
    """Send an order to the process at the other end, and return its answer; raises as `next_of` does."""
    pipe.send(order)
    return next_of(pipe, timeout_s)


def quantile(values: Iterable[float], share: float) -> float:
    """Return the smallest value that this share of the values does not exceed; infinity if there are no values."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else math.inf


def grown(metric: str, before: Mapping[str, float], after: Mapping[str, float]) -> float:
    """Return the increase of a daemon's metric between two readings, summed over all its labels."""
    names = [name for name in after if name.partition("{")[0] == f"nncache_{metric}"]
    assert names, f"there is no metric {metric}"
    return sum(after[name] - before.get(name, 0.0) for name in names)
