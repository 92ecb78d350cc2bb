"""Run 10,000 pollers on Spark, and show the effect of nncache on the NameNode and on them.

    python bench/run_pollers.py --pollers 10000 --duration 60

Starts a real NameNode and runs each mode against it: the NameNode itself, nncache, nncache with clients that wait, and
nginx as a cache with a time limit. Writes tables, charts and a report to a new directory. Exits with 1 if a figure
misses its limit.
"""

import datetime as dt
import getpass
import math
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import Final

import click

from nncache.bench.driving import RefusedChangesError
from nncache.bench.polling.collect import ExecutorError
from nncache.bench.run import run
from nncache.bench.servers.counters import NameNodeAt
from nncache.bench.servers.nncache import Channel
from nncache.bench.settings import RunSettings, warm_up_for
from nncache.bench.shared.figures import Mode
from nncache.bench.shared.plan import ROOT
from nncache.bench.shared.workload import Workload
from nncache.bench.shared.workload_files import WorkloadError, load, names
from nncache.bench.spark import SparkStartError
from nncache.invalidation.settings import INOTIFY, JOURNALNODES
from nncache.testbed import MissingToolError, TestbedError
from nncache.testbed.jars import DEFAULT_HADOOP_VERSION
from nncache.testbed.programs import find_program

RESULTS: Final = Path(__file__).parent / "results"
_MAX_STALENESS_S: Final = 3.0  # the proxy's default
_SHORTFALL: Final = 1
_TROUBLE: Final = 2


def _periods(_: click.Context, __: click.Parameter, value: str) -> tuple[float, ...]:
    try:
        periods_s = tuple(float(each) for each in value.split(",") if each.strip())
    except ValueError as exc:
        raise click.BadParameter(f"{exc}; seconds are wanted, such as 1,30") from exc
    if not all(0 < period_s < math.inf for period_s in periods_s):
        raise click.BadParameter(f"{value}: each must be more than 0 seconds")
    return tuple(dict.fromkeys(periods_s))


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
    "--also-periods",
    "also_periods_s",
    default="",
    callback=_periods,
    help="Other seconds between two polls, such as 1,30: direct and nncache are run at each for a short time.",
)
@click.option("--duration", default=60.0, type=click.FloatRange(min=1), help="Measured seconds of each mode.")
@click.option(
    "--warm-up", type=click.FloatRange(min=0), help="Seconds before; two periods, at least 10, if not given."
)
@click.option(
    "--jvm-warm-up", default=60.0, type=click.FloatRange(min=0), help="Seconds of polls before all modes."
)
@click.option("--modes", default=",".join(Mode), callback=_modes, help="In this order.")
@click.option(
    "--channel",
    default=str(Channel.ZOOKEEPER),
    type=click.Choice([str(each) for each in Channel]),
    help="Of nncache.",
)
@click.option(
    "--edits-source",
    default=INOTIFY,
    type=click.Choice([INOTIFY, JOURNALNODES]),
    help="Of nncache; with journalnodes the cluster is an HA pair with three of them.",
)
@click.option(
    "--nginx-valid", default=3, type=click.IntRange(min=1), help="Seconds for which nginx keeps an answer."
)
@click.option("--seed", default=1)
@click.option("--hadoop", default=DEFAULT_HADOOP_VERSION, help="Hadoop release of the cluster.")
@click.option("--master", default="local[*]", help="Of Spark: where the pollers run.")
@click.option(
    "--namenode",
    help="HOST:PORT of a NameNode of one's own (WebHDFS), instead of one that is started.",
)
@click.option(
    "--nncache",
    "proxy",
    help="HOST:PORT of an nncache before it, with filters for ROOT/*/*/*/*/_SUCCESS*.",
)
@click.option(
    "--superuser", default=getpass.getuser, show_default="yourself", help="User that changes files there."
)
@click.option("--root", default=ROOT, help="Directory in HDFS for the files of the run.")
@click.option(
    "--out", type=click.Path(path_type=Path), help="Directory of the results; bench/results/DATE-WORKLOAD."
)
def main(  # noqa: PLR0913 - one for each option
    *,
    workload_name: str,
    pollers: int | None,
    period: float | None,
    also_periods_s: tuple[float, ...],
    duration: float,
    warm_up: float | None,
    jvm_warm_up: float,
    modes: tuple[Mode, ...],
    channel: str,
    edits_source: str,
    nginx_valid: int,
    seed: int,
    hadoop: str,
    master: str,
    namenode: str,
    proxy: str,
    superuser: str,
    root: str,
    out: Path | None,
) -> None:
    """Poll a real NameNode as thousands of clients do: directly, through nncache, through nginx."""
    try:
        workload = _workload(workload_name, pollers, period)
    except WorkloadError as exc:
        raise click.UsageError(str(exc)) from exc
    if Mode.WAITING in modes and workload.paths_per_poller > 1:
        raise click.UsageError(
            f"in mode waiting each poller waits for one path, and in {workload.name} it has "
            f"{workload.paths_per_poller}: leave it out (--modes direct,nncache,nginx)"
        )
    _check_cluster(namenode, proxy, modes)
    if namenode and edits_source != INOTIFY:
        raise click.UsageError("--edits-source is of a cluster that is started, and not of one of your own")
    if Mode.NGINX in modes:
        try:
            find_program("nginx")
        except MissingToolError as exc:
            raise click.UsageError(f"{exc} (or leave it out: --modes direct,nncache)") from exc
    today, variant = dt.datetime.now(dt.UTC).date(), "" if edits_source == INOTIFY else f"-{edits_source}"
    settings = RunSettings(
        workload=workload,
        seed=seed,
        modes=modes,
        duration_s=duration,
        warm_up_s=warm_up_for(workload.period_s) if warm_up is None else warm_up,
        jvm_warm_up_s=jvm_warm_up,
        channel=Channel(channel),
        edits_source=edits_source,
        nginx_valid_s=nginx_valid,
        bound_s=_MAX_STALENESS_S,
        hadoop=hadoop,
        master=master,
        directory=out or RESULTS / f"{today}-{workload.name}{variant}",
        root=root,
        namenode=NameNodeAt(namenode, superuser) if namenode else None,
        proxy=proxy,
        also_periods_s=also_periods_s,
        command=shlex.join(["python", "bench/run_pollers.py", *sys.argv[1:]]),
    )
    try:
        summary, is_enough = run(settings)
    except (TestbedError, OSError, SparkStartError, ExecutorError, RefusedChangesError) as exc:
        click.secho(f"run_pollers: {exc}", err=True, fg="red")
        sys.exit(_TROUBLE)
    click.echo(summary)
    click.echo(f"report: {settings.directory / 'report.html'}")
    sys.exit(0 if is_enough else _SHORTFALL)


def _check_cluster(namenode: str, proxy: str, modes: tuple[Mode, ...]) -> None:
    if proxy and not namenode:
        raise click.UsageError("--nncache stands before a NameNode of your own: name that, too (--namenode)")
    ours = (Mode.NNCACHE, Mode.WAITING)
    if namenode and (Mode.NGINX in modes or not (proxy or set(modes).isdisjoint(ours))):
        message = "with --namenode, use --modes direct, or --modes direct,nncache,waiting and --nncache"
        raise click.UsageError(message)


def _workload(name: str, pollers: int | None, period_s: float | None) -> Workload:
    workload = load(name)
    if pollers is not None:
        workload = workload.scaled(pollers=pollers)
    return workload if period_s is None else replace(workload, period_s=period_s)


if __name__ == "__main__":
    main()
