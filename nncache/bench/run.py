"""A whole run: cluster, Spark, all modes, verdict and report."""

import datetime as dt
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from typing import Final

import msgspec
from pyspark.sql import SparkSession
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn, TimeRemainingColumn

from nncache.bench import machine
from nncache.bench.bystander import TIME_UNIT
from nncache.bench.checks import also_checks, checks
from nncache.bench.driving import Show, Stage, Stand, run_mode, warm_up_namenode
from nncache.bench.figures import AtPeriod, ModeFigures, RunInfo
from nncache.bench.judge.reduction import reduce
from nncache.bench.limits import LIMITS
from nncache.bench.plan import Plan
from nncache.bench.polling.collect import prepare
from nncache.bench.report.table import as_text
from nncache.bench.report.write import write_report
from nncache.bench.settings import Mode, RunSettings
from nncache.bench.spark import session
from nncache.testbed import Cluster, ClusterSpec

NAMENODE_JVM: Final = ("-Xms4g", "-Xmx4g")
"""Room for the buffers of 10,000 kept connections."""

GROUPS: Final = "hadoop.user.group.static.mapping.overrides"
"""Says which groups the callers are in. Else the NameNode asks the operating system (it starts a process) about each
unknown user, and again every 30 s (hadoop.security.groups.negative-cache.secs): with 1,000 of them it stands still.
"""


def run(settings: RunSettings) -> tuple[str, bool]:
    """Run all modes, reduce what they left, write the report; return its table, and whether all checks are met."""
    settings.directory.mkdir(parents=True, exist_ok=True)
    console = Console(stderr=True)
    with _shown(console) as show, session(settings.master) as spark:
        with _cluster(settings, show) as cluster:
            stand = Stand(settings=settings, cluster=cluster, spark=spark)
            prepare(spark, spark.sparkContext.defaultParallelism)
            if settings.jvm_warm_up_s:
                warm_up_namenode(stand, show)
            _run_modes(stand, show)
            shorter = {period_s: settings.at_period(period_s) for period_s in settings.also_periods_s}
            for period_s, each in shorter.items():
                _run_modes(replace(stand, settings=each), _named(show, period_s))
        info = _info(settings, spark)
        (settings.directory / "run.json").write_bytes(msgspec.json.format(msgspec.json.encode(info)))
        figures = _figures(spark, settings, show)
        also = tuple(
            AtPeriod(period_s=period_s, modes=_figures(spark, each, _named(show, period_s)))
            for period_s, each in shorter.items()
        )
    demanded = (*checks(figures, settings.workload), *also_checks(also))
    write_report(settings.directory, info, figures, demanded, LIMITS, also)
    return as_text(info, figures, demanded, also), all(check.is_met for check in demanded)


def _run_modes(stand: Stand, show: Show) -> None:
    for mode in stand.settings.modes:
        run_mode(stand, mode, show)


def _figures(spark: SparkSession, settings: RunSettings, show: Show) -> tuple[ModeFigures, ...]:
    return tuple(_reduced(spark, settings, mode, show) for mode in settings.modes)


def _named(show: Show, period_s: float) -> Show:
    """Say of each stage at which poll period it is."""
    return lambda stage: show(replace(stage, what=f"{stage.what}, poll period {period_s:g} s"))


def _cluster(settings: RunSettings, show: Show) -> AbstractContextManager[Cluster | None]:
    if settings.elsewhere is not None:
        return nullcontext()
    show(Stage("starting a cluster", 0, 1))
    plan = Plan(settings.workload, settings.seed)
    callers = {plan.caller_of(path_id) for path_id in range(settings.workload.paths)}
    callers |= {plan.poller(number).caller for number in range(settings.workload.pollers)}
    spec = ClusterSpec(
        hadoop_version=settings.hadoop,
        with_zookeeper=True,
        namenode_jvm=NAMENODE_JVM,
        overrides={GROUPS: ";".join(f"{caller}=pollers" for caller in sorted(callers)), **TIME_UNIT},
    )
    return Cluster.start(spec)


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
