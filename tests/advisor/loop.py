"""`make advise-loop`: compare a forecast with what a proxy then saves, on a real NameNode with its own audit log.

Pollers, jobs and listings run directly against the NameNode. The advisor reads the resulting audit log; its
`filters.toml` is applied; and the same load runs again, with the pollers now behind a proxy.
"""

import asyncio
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo

import aiohttp
import click
from rich.console import Console

from nncache.testbed import Cluster, ClusterSpec
from nncache.testbed.jars import DEFAULT_HADOOP_VERSION
from tests.advisor.twin import read_line
from tests.cluster import make_directory, settle, webhdfs
from tests.service import InotifyService

TEAMS: Final = ("amber", "basil", "cedar", "delta", "ember", "fable", "grove", "haven")
PATHS_OF_A_TEAM: Final = 6
CHANGES_PER_S: Final = 1.5
SAVINGS_POINTS: Final = 5.0
MEMORY_SHARE: Final = 0.2


@dataclass(frozen=True, slots=True)
class Step:
    """One read or change.

    Attributes:
        at: seconds from the beginning.
        what: "read", "list" or a kind of change.
    """

    at: float
    what: str
    path: str
    user: str


def paths() -> Iterator[tuple[str, str]]:
    """Yield each polled path with its team."""
    for team in TEAMS:
        for number in range(PATHS_OF_A_TEAM):
            yield team, f"/data/{team}/flow/{number}/_SUCCESS"


def steps(seed: int, seconds: float) -> list[Step]:
    """Return the steps of the load, in order of time."""
    chance = random.Random(seed)
    found: list[Step] = []
    for team, path in paths():
        for user in (team, f"{team}-watch"):
            period = chance.choice((0.5, 1.0, 1.5))
            at = chance.random() * period
            while at < seconds:
                found.append(Step(at, "read", path, user))
                at += period
    at, number, all_paths = 0.0, 0, [path for _, path in paths()]
    there: set[str] = set()
    while (at := at + chance.expovariate(CHANGES_PER_S)) < seconds:
        path = chance.choice(all_paths)
        what = chance.choice(("touch", "delete", "forbid") if path in there else ("create", "rename"))
        there.add(path) if what in {"create", "rename"} else there.discard(path) if what == "delete" else None
        found.append(Step(at, what, path, "job"))
        found.append(Step(at, "list", path.rpartition("/")[0], "job"))
        number += 1
        found.append(Step(at, "read", f"/once/{number}/x{chance.random()}", "job"))
    return sorted(found, key=lambda step: step.at)


async def run_steps(todo: list[Step], reads_at: str, changes_at: str) -> Counter[str]:
    """Run each step at its time; return the number of reads, and of hits among them."""
    loop = asyncio.get_running_loop()
    counts: Counter[str] = Counter()
    began = loop.time() + 0.5
    connector = aiohttp.TCPConnector(limit=200)
    async with aiohttp.ClientSession(connector=connector) as session, asyncio.TaskGroup() as tasks:
        for step in todo:
            await asyncio.sleep(max(0.0, began + step.at - loop.time()))
            is_polled = step.what == "read" and step.path.startswith("/data/")
            address = reads_at if is_polled else changes_at
            tasks.create_task(_do(session, step, address, counts if is_polled else Counter()))
    return counts


async def _do(session: aiohttp.ClientSession, step: Step, address: str, counts: Counter[str]) -> None:
    async def call(method: str, path: str, op: str, **more: str) -> None:
        parameters = {"op": op, "user.name": step.user} | more
        async with session.request(method, f"http://{address}/webhdfs/v1{path}", params=parameters) as reply:
            await reply.read()
            counts["reads"] += op == "GETFILESTATUS"
            counts["hits"] += reply.headers.get("Cache-Status", "").startswith("nncache; hit")

    match step.what:
        case "read":
            await call("GET", step.path, "GETFILESTATUS")
        case "list":
            await call("GET", step.path, "LISTSTATUS")
        case "create":
            await call("PUT", step.path, "CREATE", overwrite="true")
        case "rename":
            ready = f"{step.path.rpartition('/')[0]}/_ready"
            await call("PUT", ready, "CREATE", overwrite="true")
            await call("PUT", ready, "RENAME", destination=step.path, renameoptions="OVERWRITE")
        case "touch":
            await call("PUT", step.path, "SETTIMES", modificationtime="1000")
        case "delete":
            await call("DELETE", step.path, "DELETE")
        case _:
            await call("PUT", step.path.rpartition("/")[0], "SETPERMISSION", permission="777")


def lay_out(cluster: Cluster) -> None:
    """Create the polled directories, empty."""
    webhdfs(cluster, "DELETE", "/data", "DELETE", recursive="true")
    for directory in (
        "/data",
        *(f"/data/{team}" for team in TEAMS),
        *(f"/data/{team}/flow" for team in TEAMS),
    ):
        make_directory(cluster, directory)
    for _, path in paths():
        make_directory(cluster, path.rpartition("/")[0])


@dataclass(frozen=True, slots=True)
class Range:
    """The two ends of a forecast, and the measured value."""

    low: float
    high: float
    measured: float

    @property
    def off(self) -> float:
        """The distance of the measured value from the forecast; 0 within it."""
        return max(0.0, self.low - self.measured, self.measured - self.high)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The forecast and the measurement."""

    filters: tuple[str, ...]
    reads: tuple[int, int]  # in the log of the first run, and by clients in the second run
    hits: Range
    savings: Range  # percent of the polled reads
    memory: Range  # bytes

    def lines(self) -> Iterator[str]:
        """Yield the figures as lines of text."""
        yield f"filters: {', '.join(self.filters)}"
        yield f"polls: {self.reads[0]} in the audit log, {self.reads[1]} in the second run"
        for name, each, unit in (
            ("hits", self.hits, ""),
            ("savings", self.savings, " %"),
            ("memory", self.memory, " bytes"),
        ):
            yield f"{name}: forecast {each.low:.1f} to {each.high:.1f}{unit}, measured {each.measured:.1f}{unit}"

    def shortfalls(self) -> Iterator[str]:
        """Yield each figure that is too far from its forecast."""
        if self.savings.off > SAVINGS_POINTS:
            yield f"the savings are {self.savings.off:.1f} points from the forecast"
        if self.memory.off > MEMORY_SHARE * self.memory.measured:
            yield f"the memory is {self.memory.off:.0f} bytes from the forecast"


def run_loop(cluster: Cluster, scratch: Path, *, seconds: float, seed: int = 1) -> Outcome:
    """Forecast, apply and measure once, on a cluster with an audit log and a ZooKeeper."""
    log = cluster.logs / "hdfs-audit.log"
    namenode = cluster.namenodes[0].http
    todo = steps(seed, seconds)
    lay_out(cluster)
    began = log.stat().st_size
    asyncio.run(run_steps(todo, namenode, namenode))
    first = scratch / "hdfs-audit.log"
    first.write_bytes(log.read_bytes()[began:])
    out = scratch / "advice"
    zone = os.environ.get("TZ", "UTC")
    _nncache(
        "advise", str(first), "--out", str(out), "--warm-up", "0", "--time-zone", zone, "--master", "local[2]"
    )
    figures = json.loads((out / "figures.json").read_text())
    lay_out(cluster)
    service = InotifyService.of(cluster)
    program = (
        "--filters-path",
        service.filters_path,
        "--user",
        cluster.superuser,
        "--namenode-http",
        namenode,
    )
    _nncache("filters", "apply", str(out / "filters.toml"), *program)
    with service.publisher(), service.proxy() as proxy:
        proxy.await_gate()
        settle(cluster, proxy)
        before = proxy.metrics()
        began = log.stat().st_size
        counts = asyncio.run(run_steps(todo, proxy.address, namenode))
        settle(cluster, proxy)
        after = proxy.metrics()
        calls = asked(log.read_bytes()[began:])
    calls += int(after["nncache_closed_queries_total"] - before["nncache_closed_queries_total"])
    filters = figures["filters"]
    reads = counts["reads"]

    def ends(what: str) -> tuple[float, float]:
        low, high = (sum(each["web"][what][end] for each in filters) for end in ("low", "high"))
        return low, high

    of = sum(each["web"]["reads"] for each in filters)
    low, high = ends("saved")
    return Outcome(
        tuple(each["glob"] for each in filters),
        (of, reads),
        Range(*ends("hits"), counts["hits"]),
        Range(100 * low / of, 100 * high / of, 100 * (reads - calls) / reads),
        Range(*ends("memory"), after["nncache_cache_bytes"]),
    )


def asked(log: bytes) -> int:
    """Return the number of GETFILESTATUS calls for polled paths over WebHDFS in an audit log."""
    zone = ZoneInfo("UTC")
    lines = (read_line(line, zone) for line in log.splitlines())
    polled = re.compile(r"/data/.*/_SUCCESS")
    return sum(
        line is not None
        and line.cmd == "getfileinfo"
        and line.proto == "webhdfs"
        and bool(polled.fullmatch(line.src or ""))
        for line in lines
    )


def _nncache(*arguments: str) -> None:
    program = (sys.executable, "-m", "nncache.commands.cli", *arguments)
    ran = subprocess.run(program, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, (arguments, ran.stdout, ran.stderr[-3000:])


@click.command()
@click.option("--seconds", default=60.0, show_default=True, help="Of each of the two runs.")
@click.option("--seed", default=1, show_default=True)
def main(seconds: float, seed: int) -> None:
    """Forecast from a real audit log, apply the advised filters, and measure the savings."""
    spec = ClusterSpec(
        hadoop_version=os.environ.get("HADOOP") or DEFAULT_HADOOP_VERSION, with_zookeeper=True, audit_log=True
    )
    with (
        Cluster.start(spec, progress=Console(stderr=True).print) as cluster,
        tempfile.TemporaryDirectory() as scratch,
    ):
        outcome = run_loop(cluster, Path(scratch), seconds=seconds, seed=seed)
    for line in outcome.lines():
        click.echo(line)
    shortfalls = list(outcome.shortfalls())
    for each in shortfalls:
        click.echo(f"FALLS SHORT: {each}")
    click.echo(f"repeat: python -m tests.advisor.loop --seconds {seconds:g} --seed {seed}")
    sys.exit(bool(shortfalls))


if __name__ == "__main__":
    main()
