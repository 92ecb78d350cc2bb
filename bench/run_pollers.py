"""Reproduce 10,000 pollers on Spark, and show what nncache changes for the NameNode and for them.

    python bench/run_pollers.py --pollers 10000 --duration 60

Runs each mode (the NameNode itself, nncache, nginx as a cache with a time limit) against the same real NameNode, which
it starts; leaves tables, charts and a report in a directory of its own; exits with 1 if a figure falls short.
(bench/run_pollers.py)
"""

import datetime as dt
import shlex
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

import click
import msgspec
from pyspark.sql import SparkSession
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn, TimeRemainingColumn

from bench import limits, machine
from bench.changing.process import ChangerError
from bench.checks import checks
from bench.driving import RefusedChangesError, Show, Stage, Stand, run_mode, warm_up_namenode
from bench.figures import ModeFigures, RunInfo
from bench.judge.reduction import reduce
from bench.polling.collect import ExecutorError, prepare
from bench.report.table import as_text
from bench.report.write import write_report
from bench.servers.nncache import Channel
from bench.settings import Mode, RunSettings
from bench.spark import session
from bench.workload import Workload
from bench.workload_files import WorkloadError, load, names
from testbed import FULL_SPEED_JVM, Cluster, ClusterSpec, TestbedError
from testbed.jars import DEFAULT_HADOOP_VERSION

RESULTS: Final = Path(__file__).parent / "results"
_MAX_STALENESS_S: Final = 3.0  # the proxy's default
_SHORTFALL: Final = 1
_TROUBLE: Final = 2


def _modes(_: click.Context, __: click.Parameter, value: str) -> tuple[Mode, ...]:
    try:
        return tuple(Mode(each.strip()) for each in value.split(","))
    except ValueError as exc:
        raise click.BadParameter(f"{exc}; there are {', '.join(Mode)}") from exc


@click.command(context_settings={"show_default": True})
@click.option(
    "--workload", "workload_name", default="design", help=f"One of {', '.join(names())}, or a file."
)
@click.option(
    "--pollers", type=click.IntRange(min=1), help="So many, and globs, paths and changes in proportion."
)
@click.option("--period", type=click.FloatRange(min=0, min_open=True), help="Seconds between two polls.")
@click.option(
    "--time-factor", type=click.FloatRange(min=0, min_open=True), help="Shortens the workload's times."
)
@click.option("--duration", default=60.0, type=click.FloatRange(min=1), help="Measured seconds of each mode.")
@click.option(
    "--warm-up", type=click.FloatRange(min=0), help="Seconds before; two periods, at least 10, if not given."
)
@click.option(
    "--jvm-warm-up", default=60.0, type=click.FloatRange(min=0), help="Seconds of polls before all modes."
)
@click.option("--modes", default=",".join(Mode), callback=_modes, help="In this order.")
@click.option("--channel", default=Channel.ZOOKEEPER, type=click.Choice(list(Channel)), help="Of nncache.")
@click.option(
    "--nginx-valid", default=3, type=click.IntRange(min=1), help="Seconds for which nginx keeps an answer."
)
@click.option("--seed", default=1)
@click.option("--hadoop", default=DEFAULT_HADOOP_VERSION, help="Hadoop release of the cluster.")
@click.option("--master", default="local[*]", help="Of Spark: where the pollers run.")
@click.option(
    "--out", type=click.Path(path_type=Path), help="Directory of the results; bench/results/DATE-WORKLOAD."
)
def main(  # noqa: PLR0913 - one for each option
    *,
    workload_name: str,
    pollers: int | None,
    period: float | None,
    time_factor: float | None,
    duration: float,
    warm_up: float | None,
    jvm_warm_up: float,
    modes: tuple[Mode, ...],
    channel: Channel,
    nginx_valid: int,
    seed: int,
    hadoop: str,
    master: str,
    out: Path | None,
) -> None:
    """Poll a real NameNode as thousands of clients do: directly, through nncache, through nginx."""
    try:
        workload = _workload(workload_name, pollers, period, time_factor)
    except WorkloadError as exc:
        raise click.UsageError(str(exc)) from exc
    if (
        Mode.NGINX in modes
        and shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin") is None
    ):
        raise click.UsageError("nginx is missing: apt-get install nginx-light, or --modes direct,nncache")
    today = dt.datetime.now(dt.UTC).date()
    settings = RunSettings(
        workload=workload,
        seed=seed,
        modes=modes,
        duration_s=duration,
        warm_up_s=max(10.0, 2 * workload.real_period_s) if warm_up is None else warm_up,
        jvm_warm_up_s=jvm_warm_up,
        channel=Channel(channel),
        nginx_valid_s=nginx_valid,
        bound_s=_MAX_STALENESS_S,
        hadoop=hadoop,
        master=master,
        directory=out or RESULTS / f"{today}-{workload.name}",
        command=shlex.join(["python", "bench/run_pollers.py", *sys.argv[1:]]),
    )
    try:
        said, is_enough = run(settings)
    except (TestbedError, ChangerError, ExecutorError, RefusedChangesError) as exc:
        Console(stderr=True).print(f"run_pollers: {exc}", style="red", markup=False)
        sys.exit(_TROUBLE)
    click.echo(said)
    click.echo(f"report: {settings.directory / 'report.html'}")
    sys.exit(0 if is_enough else _SHORTFALL)


def _workload(name: str, pollers: int | None, period_s: float | None, time_factor: float | None) -> Workload:
    workload = load(name)
    if pollers is not None:
        workload = workload.scaled(pollers=pollers)
    if period_s is not None:
        workload = replace(workload, period_s=period_s)
    if time_factor is not None:
        workload = replace(workload, time_factor=time_factor)
    return workload


def run(settings: RunSettings) -> tuple[str, bool]:
    """Run all modes, reduce what they left, write the report; return its table, and whether all checks are met."""
    settings.directory.mkdir(parents=True, exist_ok=True)
    console = Console(stderr=True)
    with _shown(console) as show, session(settings.master) as spark:
        show(Stage("starting a cluster", 0, 1))
        spec = ClusterSpec(hadoop_version=settings.hadoop, with_zookeeper=True, namenode_jvm=FULL_SPEED_JVM)
        with Cluster.start(spec) as cluster:
            stand = Stand(settings=settings, cluster=cluster, spark=spark)
            prepare(spark, spark.sparkContext.defaultParallelism)
            if settings.jvm_warm_up_s:
                warm_up_namenode(stand, show)
            for mode in settings.modes:
                run_mode(stand, mode, show)
        info = _info(settings, spark)
        (settings.directory / "run.json").write_bytes(msgspec.json.format(msgspec.json.encode(info)))
        figures = tuple(_reduced(spark, settings, mode, show) for mode in settings.modes)
    demanded = checks(figures, settings.workload)
    write_report(settings.directory, info, figures, demanded, limits.LIMITS)
    return as_text(info, figures, demanded), all(check.is_met for check in demanded)


def _reduced(spark: SparkSession, settings: RunSettings, mode: Mode, show: Show) -> ModeFigures:
    show(Stage(f"judging {mode}", 0, 1))
    return reduce(
        spark,
        settings.directory / mode,
        mode,
        duration_s=settings.duration_s,
        bound_s=settings.bound_s,
        period_s=settings.workload.real_period_s,
    )


@contextmanager
def _shown(console: Console) -> Iterator[Show]:
    """Show what goes on: a bar on a terminal, a line for each new stage elsewhere."""
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, TextColumn("{task.fields[said]}"), console=console) as bar:
        known: dict[str, TaskID] = {}

        def show(stage: Stage) -> None:
            if stage.what not in known:
                known[stage.what] = bar.add_task(stage.what, total=stage.total, said="")
                if not console.is_terminal:
                    console.print(stage.what)
            bar.update(known[stage.what], completed=stage.done, total=stage.total, said=stage.said)

        yield show


def _info(settings: RunSettings, spark: SparkSession) -> RunInfo:
    return RunInfo(
        date=dt.datetime.now(dt.UTC).date().isoformat(),
        seed=settings.seed,
        workload=msgspec.to_builtins(settings.workload),
        period_s=settings.workload.real_period_s,
        duration_s=settings.duration_s,
        warm_up_s=settings.warm_up_s,
        modes=tuple(settings.modes),
        bound_s=settings.bound_s,
        nginx_valid_s=settings.nginx_valid_s,
        master=settings.master,
        machine=machine.described(),
        versions=machine.versions(spark, settings.hadoop, has_nginx=Mode.NGINX in settings.modes),
        command=settings.command,
    )


if __name__ == "__main__":
    main()
