"""Measure what many connects at once cost those who are connected already: `make bench-connects`.

Starts a real NameNode and nncache, lets some connections poll, and makes many connects within a second, several
times; prints a table, leaves the rounds in a directory, and exits with 1 when a line falls short.
(bench/connects/command.py)
"""

import asyncio
import json
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Final

import click

from nncache.bench.apart import apart, next_of
from nncache.bench.at_once import at_once
from nncache.bench.connects import pollers, storm
from nncache.bench.connects.figures import Round, lines, times_between, times_of, verdicts
from nncache.bench.connects.heads import PATHS, ROOT, path_of
from nncache.bench.connects.pollers import Polled
from nncache.bench.connects.storm import Stormed
from nncache.bench.servers.counters import use_of
from nncache.bench.wrk import let_open
from nncache.hadoop.webhdfs import WebHdfs
from nncache.testbed import Cluster, ClusterSpec, TestbedError
from nncache.testbed.daemon import Proxy
from nncache.testbed.spec import FULL_SPEED_JVM

_OURS: Final = "nncache"
_OTHER: Final = "other"
_QUIET_S: Final = 1.0  # before each storm, for comparison
_AFTER_S: Final = 1.0  # after its end, while the connections go
_START_TIMEOUT_S: Final = 60.0
_END_TIMEOUT_S: Final = 60.0
_TRIES: Final = 2  # for each round that is wanted: a busy machine makes some too slowly
_SHORTFALL: Final = 1


@click.command(context_settings={"show_default": True})
@click.option("--connects", default=10_000, type=click.IntRange(1), help="In each round.")
@click.option("--rounds", default=5, type=click.IntRange(1), help="How many of them, made in time.")
@click.option("--cold", is_flag=True, help="No two heads are alike, so that each is parsed.")
@click.option(
    "--other",
    type=click.Path(exists=True, dir_okay=False, resolve_path=True),
    help="Another nncache program, measured in turn with this one; it is not judged.",
)
@click.option(
    "--out", default="build/bench-connects", type=click.Path(path_type=Path), help="Directory of the rounds."
)
def main(connects: int, rounds: int, other: str | None, out: Path, *, cold: bool) -> None:
    """Measure what many connects at once cost those who are connected already."""
    programs: dict[str, tuple[str, ...]] = {_OURS: ()}
    if other:
        programs[_OTHER] = (other,)
    found = list[Round]()
    try:
        let_open(connects + 100)
        with ExitStack() as running:
            spec = ClusterSpec(namenode_jvm=FULL_SPEED_JVM, with_datanode=False)
            cluster = running.enter_context(Cluster.start(spec))
            asyncio.run(_make(cluster))
            proxies = {
                name: running.enter_context(_proxy(cluster, words)) for name, words in programs.items()
            }
            for number in range(1, _TRIES * rounds + 1):
                for name, proxy in proxies.items():
                    found.append(measure(name, proxy, connects, is_cold=cold))
                    click.echo(f"round {number}, {name}: made in {found[-1].connects_s:.2f} s")
                if sum(each.is_in_time for each in found if each.program == _OURS) >= rounds:
                    break
    except (TestbedError, OSError) as error:
        raise click.ClickException(str(error)) from error
    click.echo("\n".join(lines(found)))
    judged = verdicts([each for each in found if each.program == _OURS], rounds)
    for verdict in judged:
        click.echo(f"{'met  ' if verdict.is_met else 'SHORT'} {verdict.what}: {verdict.seen}")
    out.mkdir(parents=True, exist_ok=True)
    (out / "rounds.json").write_text(json.dumps([asdict(each) for each in found], indent=1), encoding="utf-8")
    if not all(verdict.is_met for verdict in judged):
        sys.exit(_SHORTFALL)


def measure(name: str, proxy: Proxy, connects: int, *, is_cold: bool = False) -> Round:
    """Let some poll, then make that many connects."""
    pid = proxy.process.running_pid
    with (
        apart(pollers.run, proxy.address) as polling,
        apart(storm.run, proxy.address, connects, is_cold=is_cold) as storming,
    ):
        next_of(polling, _START_TIMEOUT_S)
        next_of(storming, _START_TIMEOUT_S)
        quiet, begin = proxy.metrics(), time.monotonic()
        time.sleep(_QUIET_S)
        end_of_quiet = time.monotonic()
        before, cpu_s = proxy.metrics(), use_of(pid)[0]
        storming.send(None)
        stormed = next_of(storming, storm.TIMEOUT_S + _END_TIMEOUT_S)
        assert isinstance(stormed, Stormed)
        time.sleep(_AFTER_S)  # unobserved: its pages cost the proxy more than what is measured
        end = time.monotonic()
        proxy.process.await_that(
            lambda: proxy.metrics()["nncache_connections_open"] <= pollers.POLLERS, "keeps connections"
        )
        cpu_s = use_of(pid)[0] - cpu_s
        after = proxy.metrics()
        polling.send(None)
        polled = next_of(polling, _END_TIMEOUT_S)
        assert isinstance(polled, Polled)

    answered = stormed.begun + stormed.answered_s
    return Round(
        program=name,
        connects_s=stormed.connects_s,
        answered_s=stormed.answered_s,
        connected=times_of(stormed.took),
        before=times_between(polled.due, polled.took_s, begin, end_of_quiet),
        meanwhile=times_between(polled.due, polled.took_s, stormed.begun, answered),
        after=times_between(polled.due, polled.took_s, answered, end),
        late_p99_s=times_between(polled.due, polled.late_s, stormed.begun, answered).p99_s,
        failed=stormed.failed + polled.failed,
        forwarded=stormed.forwarded + polled.forwarded,
        probes=_counted("namenode_probes", before, after),
        probes_failed=_counted("namenode_probes_failed", before, after),
        edits=_counted("channel_polls", before, after),
        edits_failed=_counted("channel_polls_failed", before, after),
        edits_before_s=_seconds_of_a_poll(quiet, before),
        edits_meanwhile_s=_seconds_of_a_poll(before, after),
        stalls=_counted("event_loop_stalls", before, after),
        cpu_s=cpu_s,
        storm_cpu_s=stormed.cpu_s,
        pollers_cpu_s=polled.cpu_s,
    )


def _counted(metric: str, before: Mapping[str, float], after: Mapping[str, float]) -> int:
    return int(after[f"nncache_{metric}_total"] - before[f"nncache_{metric}_total"])


def _seconds_of_a_poll(before: Mapping[str, float], after: Mapping[str, float]) -> float:
    took_s = after["nncache_channel_poll_seconds_total"] - before["nncache_channel_poll_seconds_total"]
    return took_s / max(1, _counted("channel_polls", before, after))


async def _make(cluster: Cluster) -> None:
    async with WebHdfs(f"http://{cluster.namenodes[0].http}", cluster.superuser) as hdfs:
        await at_once(hdfs.mkdirs(path_of(number)) for number in range(PATHS))


@contextmanager
def _proxy(cluster: Cluster, program: tuple[str, ...]) -> Iterator[Proxy]:
    """Run a proxy that reads the edits itself, so that probes and polls are its own."""
    namenode = cluster.namenodes[0]
    proxy = Proxy(
        *("--nameservice", "ns1", "--channel", "direct", "--glob", f"{ROOT}/*"),
        *("--namenode-http", namenode.http, "--namenode-rpc", namenode.rpc),
        program=program,
    )
    with proxy:
        proxy.await_gate()
        yield proxy
