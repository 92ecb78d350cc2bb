"""A whole run: cluster, Spark, all modes, verdict and report."""

import datetime as dt
import importlib.metadata
import os
import platform
import subprocess
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Final

import click
import msgspec
import psutil
from pyspark.sql import SparkSession

from nncache.bench.bystander import TIME_UNIT
from nncache.bench.checks import also_checks, checks
from nncache.bench.driving import Stand, run_mode, warm_up_namenode
from nncache.bench.judge.reduction import reduce
from nncache.bench.polling.collect import prepare
from nncache.bench.report.report import as_text, write_report
from nncache.bench.settings import RunSettings
from nncache.bench.shared.driver import with_journalnodes
from nncache.bench.shared.figures import AtPeriod, Mode, ModeFigures, RunFigures, RunInfo
from nncache.bench.shared.plan import WorkloadPlan
from nncache.bench.spark import session
from nncache.invalidation.settings import JOURNALNODES
from nncache.testbed import Cluster, ClusterSpec
from nncache.testbed.programs import find_program

NAMENODE_JVM: Final = ("-Xms4g", "-Xmx4g")  # enough for the buffers of 10,000 kept connections

GROUPS: Final = "hadoop.user.group.static.mapping.overrides"
"""Defines the callers' groups. Otherwise the NameNode starts a process to ask the operating system about each unknown
user, again every 30 s (hadoop.security.groups.negative-cache.secs): 1,000 such users block it.
"""


def run(settings: RunSettings) -> tuple[str, bool]:
    """Run all modes, reduce their tables, write the report; return its table, and whether all checks are met."""
    settings.directory.mkdir(parents=True, exist_ok=True)
    runs = [settings, *map(settings.at_period, settings.also_periods_s)]
    with session(settings.master) as spark:
        with _cluster(settings) as cluster:
            stand = Stand(settings=settings, cluster=cluster, spark=spark)
            prepare(spark, spark.sparkContext.defaultParallelism)
            if settings.jvm_warm_up_s:
                warm_up_namenode(stand, _show)
            for each in runs:
                _show(f"poll period {each.workload.period_s:g} s")
                for mode in each.modes:
                    run_mode(replace(stand, settings=each), mode, _show)
        info = _info(settings, spark)
        (settings.directory / "run.json").write_bytes(msgspec.json.format(msgspec.json.encode(info)))
        figures, *shorter = [_figures(spark, each) for each in runs]
    also = tuple(
        AtPeriod(period_s=period_s, modes=modes)
        for period_s, modes in zip(settings.also_periods_s, shorter, strict=True)
    )
    demanded = (*checks(figures, settings.workload), *also_checks(also))
    found = RunFigures(info, figures, also)
    write_report(settings.directory, found, demanded)
    return as_text(found, demanded), all(check.is_met for check in demanded)


def _show(what: str) -> None:
    click.echo(what, err=True)


def _figures(spark: SparkSession, settings: RunSettings) -> tuple[ModeFigures, ...]:
    _show("judging")
    times = {"duration_s": settings.duration_s, "bound_s": settings.bound_s}
    period_s = settings.workload.period_s
    return tuple(
        reduce(spark, settings.directory / mode, mode, period_s=period_s, **times) for mode in settings.modes
    )


def _cluster(settings: RunSettings) -> AbstractContextManager[Cluster | None]:
    if settings.namenode is not None:
        return nullcontext()
    plan = WorkloadPlan(settings.workload, settings.seed)
    callers = {plan.caller_of(path_id) for path_id in range(settings.workload.paths)}
    callers |= {plan.poller(number).caller for number in range(settings.workload.pollers)}
    spec = ClusterSpec(
        hadoop_version=settings.hadoop,
        with_zookeeper=True,
        namenode_jvm=NAMENODE_JVM,
        overrides={GROUPS: ";".join(f"{caller}=pollers" for caller in sorted(callers)), **TIME_UNIT},
    )
    return Cluster.start(with_journalnodes(spec) if settings.edits_source == JOURNALNODES else spec)


def _info(settings: RunSettings, spark: SparkSession) -> RunInfo:
    return RunInfo(
        date=dt.datetime.now(dt.UTC).date().isoformat(),
        seed=settings.seed,
        workload=msgspec.to_builtins(settings.workload),
        period_s=settings.workload.period_s,
        duration_s=settings.duration_s,
        warm_up_s=settings.warm_up_s,
        modes=tuple(settings.modes),
        bound_s=settings.bound_s,
        edits_source=settings.edits_source,
        nginx_valid_s=settings.nginx_valid_s,
        master=settings.master,
        machine=machine(),
        versions=versions(spark, settings.hadoop, has_nginx=Mode.NGINX in settings.modes),
        command=settings.command,
    )


def machine() -> dict[str, str]:
    """Return a description of the machine for readers, without its name."""
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    return {
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "memory": f"{psutil.virtual_memory().total / 2**30:.0f} GiB",
        "system": f"{platform.system()} {platform.release().partition('-')[0]}",
        "load at the end (1, 5, 15 min)": load,
    }


def versions(spark: SparkSession, hadoop: str, *, has_nginx: bool) -> dict[str, str]:
    """Return the versions of all programs of the run."""
    java = spark.sparkContext._jvm  # noqa: SLF001 - PySpark has no other way to ask its JVM
    found = {
        "nncache": importlib.metadata.version("nncache"),
        "Hadoop": hadoop,
        "Python": platform.python_version(),
        "Spark": spark.version,
        "Java": java.System.getProperty("java.version") if java is not None else "",
    }
    if has_nginx:
        printed = subprocess.run((find_program("nginx"), "-v"), capture_output=True, text=True, check=False)
        found["nginx"] = printed.stderr.strip().rpartition("/")[2]
    return found


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.machine()
