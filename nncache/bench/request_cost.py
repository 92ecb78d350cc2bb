"""The cost of a request by its shape, compared with nginx, HAProxy and the `floor` of Python: `make bench-http`.

`wrk` loads kept connections. If each request has its own connection, a few threads of this process send them. They use
more CPU than the server, which does not matter: only the server's CPU counts.
"""

import math
import socket
import threading
import time
import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from enum import StrEnum
from statistics import median
from typing import Final

import click
from matplotlib.figure import Figure as Chart

from nncache.bench.cost import (
    COLOURS,
    LoadRound,
    Name,
    Target,
    by_server,
    each_s,
    in_rounds,
    measured,
    panels,
    table,
)
from nncache.bench.polling.client import allow_connections
from nncache.bench.polling.clock import endpoint
from nncache.bench.report.rounding import ratio
from nncache.bench.servers.caches import haproxy, nginx
from nncache.bench.servers.floor import floor
from nncache.bench.servers.nncache import Channel, nncache
from nncache.bench.servers.running import RunningServer
from nncache.bench.shared.driver import BenchResult, Figure, benchmark, cluster, make_directories, none_of
from nncache.bench.wrk import Counted, ask_for, round_robin
from nncache.testbed.programs import find_programs


class Shape(StrEnum):
    """The kind of request and of its connections."""

    REPEATED = "repeated heads, 64 connections"
    REPEATED_BY_MANY = "repeated heads, 10,000 new connections"
    VARYING = "a header that differs each time, 64 connections"
    CONNECTION_EACH = "a connection for each request"
    CLOSE = "a connection for each request, Connection: close"
    HTTP_1_0 = "a connection for each request, HTTP/1.0"
    FORWARDED = "forwarded LISTSTATUS, 32 connections"
    OUTSIDE = "GETFILESTATUS outside the filters, 32 connections"
    MISS = "a miss that is kept, 32 connections"
    ALONE = "forwarded LISTSTATUS, one connection"


SERVERS: Final = {
    Shape.REPEATED: (Name.NGINX, Name.HAPROXY, Name.FLOOR, Name.NNCACHE),
    Shape.REPEATED_BY_MANY: (Name.NGINX, Name.NNCACHE),
    Shape.VARYING: (Name.NGINX, Name.HAPROXY, Name.NNCACHE),
    Shape.CONNECTION_EACH: (Name.NGINX, Name.HAPROXY, Name.NNCACHE),
    Shape.CLOSE: (Name.NGINX, Name.NNCACHE),
    Shape.HTTP_1_0: (Name.NGINX, Name.NNCACHE),
    Shape.FORWARDED: (Name.NAMENODE, Name.NGINX, Name.NNCACHE),
    Shape.OUTSIDE: (Name.NGINX, Name.NNCACHE),
    Shape.MISS: (Name.NGINX, Name.NNCACHE),
    Shape.ALONE: (Name.NAMENODE, Name.NGINX, Name.NNCACHE),
}
"""The servers that are loaded in turn for each shape."""
WITHOUT_A_CACHE: Final = (Shape.FORWARDED, Shape.OUTSIDE, Shape.ALONE)
"""Shapes whose replies are not cached: nginx runs without a cache."""
AT_THE_NAMENODE: Final = (*WITHOUT_A_CACHE, Shape.MISS)  # shapes in which each request reaches the NameNode
CONNECTIONS: Final = {
    Shape.REPEATED: 64,
    Shape.REPEATED_BY_MANY: 10_000,
    Shape.VARYING: 64,
    Shape.FORWARDED: 32,
    Shape.OUTSIDE: 32,
    Shape.MISS: 32,
    Shape.ALONE: 1,
}

RATIOS: Final = (
    (Shape.REPEATED, Name.NGINX, 1.5, 1.3),
    (Shape.REPEATED, Name.HAPROXY, 1.0, 0.85),
    (Shape.REPEATED_BY_MANY, Name.NGINX, 1.1, 0.9),
    (Shape.VARYING, Name.NGINX, 1.2, 0.0),
    (Shape.VARYING, Name.HAPROXY, 0.5, 0.0),
    (Shape.CONNECTION_EACH, Name.NGINX, 0.7, 0.0),
    (Shape.CLOSE, Name.NGINX, 0.73, 0.0),
    (Shape.HTTP_1_0, Name.NGINX, 0.73, 0.0),
)
"""Least requests per CPU second of nncache, relative to the peer's median: in the median and worst round (0: any)."""
MAX_CPU: Final = {Shape.FORWARDED: 100 / 32, Shape.OUTSIDE: 100 / 32, Shape.MISS: 1.3}
"""Maximum CPU per call that reaches the NameNode, relative to nginx: the target was 100 µs where nginx used 32. For a
miss that nginx caches as well, it is 1.3 times nginx's CPU."""
MAX_NAMENODE: Final = 1.1
"""Maximum CPU of the NameNode per call that nncache forwards, relative to a call that nginx forwards."""
MAX_ADDED: Final = 150 / 59
"""Maximum added latency of a forwarded call, relative to nginx: the target was 150 µs where nginx added 59."""
MAX_IDLE_BYTES: Final = 3_100  # half of the 6,223 bytes of a connection when aiohttp served all of them
IDLE: Final = "an idle connection after a few requests"
IDLE_CONNECTIONS: Final = 5_000

PATHS: Final = 1_000
ROOT: Final = "/bench-http"
_LISTED: Final = 20  # names in each directory that is listed
_WARM_UP_S: Final = 2
_WARM_UP_MISSES_S: Final = 20  # the NameNode's warm-up had no missing paths
_IDLE_S: Final = 5.0
_IDLE_BEFORE: Final = 200  # the memory of the first ones belongs to the server itself
_IDLE_REQUESTS: Final = 6
_THREADS: Final = 8  # where each request has a connection of its own
_TIMEOUT_S: Final = 20.0
_FIRST_LINES: Final = {
    Shape.CONNECTION_EACH: "HTTP/1.1",
    Shape.CLOSE: "HTTP/1.1\r\nConnection: close",
    Shape.HTTP_1_0: "HTTP/1.0",
}
"""The rest of the head after the target, for shapes with a connection for each request."""
_TARGET: Final = f"/webhdfs/v1{ROOT}/%d/%d?op=GETFILESTATUS&user.name=joe"
_STATUS: Final = f'string.format("{_TARGET}", path % 10, path)'
_LISTING: Final = f'string.format("/webhdfs/v1{ROOT}/listed/%d?op=LISTSTATUS&user.name=joe", path % 10)'
_OUTSIDE: Final = f'string.format("/webhdfs/v1{ROOT}/listed/%d?op=GETFILESTATUS&user.name=joe", path % 10)'
_NEW: Final = f"/webhdfs/v1{ROOT}/%d/{{run}}-%d?op=GETFILESTATUS&user.name=joe"
_VARYING: Final = (
    '(requests[number]:gsub("\\r\\n\\r\\n", string.format('
    '"\\r\\ntraceparent: 00-%032x-%016x-01\\r\\n\\r\\n", math.random(2^30), math.random(2^30))))'
)


@benchmark("bench-http")
@click.option("--seconds", default=4, type=click.IntRange(1), help="Of load in each round.")
@click.option("--rounds", default=0, type=click.IntRange(0), help="Of each shape; 0: 10 or 5.")
@click.option(
    "--warm-up", default=60, type=click.IntRange(1), help="Seconds of load for the NameNode's JVM before."
)
@click.option("--only", default="", help="Only what has this in its text.")
def main(seconds: int, rounds: int, warm_up: int, only: str) -> BenchResult:
    """Measure requests per CPU second by the shape of the load, compared with nginx and HAProxy."""
    shapes = [shape for shape in Shape if only in shape]
    if not shapes and only not in IDLE:
        raise click.BadParameter(f"--only {only}: there are {'; '.join((*Shape, IDLE))}")
    find_programs("wrk", "nginx", "haproxy")
    allow_connections(max(CONNECTIONS.values()))
    found, idle_bytes = list[LoadRound](), dict[Name, float]()
    with servers() as (cached, forwarded):
        click.echo(f"warming the NameNode up for {warm_up} s")
        measure(Shape.FORWARDED, forwarded[Name.NAMENODE], warm_up)
        if only in IDLE:
            idle_bytes = {name: bytes_per_connection(cached[name]) for name in (Name.NGINX, Name.NNCACHE)}
        for shape in shapes:
            often = 10 if shape in (Shape.REPEATED, Shape.REPEATED_BY_MANY) else 5
            targets = forwarded if shape in WITHOUT_A_CACHE else cached
            found += _rounds(shape, [targets[name] for name in SERVERS[shape]], rounds or often, seconds)
    chart = draw(found) if found else None
    return BenchResult(figures=judge(found, idle_bytes), table=table(found), rounds=found, chart=chart)


def judge(rounds: Sequence[LoadRound], idle_bytes: Mapping[Name, float]) -> list[Figure]:
    """Judge the measured shapes, and skip the others; `idle_bytes` is the memory of an idle connection."""
    known = {key: of_key for key, sizes in by_server(rounds).items() for of_key in sizes.values()}
    failed = sum(each.failed for each in rounds if each.server == Name.NNCACHE)
    found = [none_of("requests through nncache that fail", failed)]
    for shape, than, in_median, in_worst in RATIOS:
        ours, theirs = known.get((shape, Name.NNCACHE)), known.get((shape, than))
        if ours and theirs:
            by = median(each.per_cpu_s for each in theirs)
            what = f"{shape}: requests per CPU-second by {than}'s"
            rates = [ratio(each.per_cpu_s, by) for each in ours]
            found.append(Figure(f"{what}, median", median(rates), least=in_median))
            found.append(Figure(f"{what}, worst of {len(rates)}", min(rates), least=in_worst))
    for shape, most in MAX_CPU.items():
        ours, theirs = known.get((shape, Name.NNCACHE)), known.get((shape, Name.NGINX))
        if ours and theirs:
            cpu = each_s(ours) / max(each_s(theirs), 1e-9)
            ours_s, theirs_s = (median(each.namenode_each_s for each in some) for some in (ours, theirs))
            at_namenode = ours_s / max(theirs_s, 1e-9)
            found.append(Figure(f"{shape}: CPU for each by nginx's", cpu, most=most))
            found.append(
                Figure(f"{shape}: the NameNode's CPU by that behind nginx", at_namenode, most=MAX_NAMENODE)
            )
    alone = [known.get((Shape.ALONE, name)) for name in (Name.NNCACHE, Name.NGINX, Name.NAMENODE)]
    if all(alone):
        ours_s, theirs_s, least_s = (median(each.p50_s for each in rounds or ()) for rounds in alone)
        added = (ours_s - least_s) / max(theirs_s - least_s, 1e-9)
        found.append(Figure(f"{Shape.ALONE}: p50 beyond the NameNode's by nginx's", added, most=MAX_ADDED))
        found.append(Figure(f"{Shape.ALONE}: p50 beyond the NameNode's", (ours_s - least_s) * 1e6, "µs"))
    for name, taken in idle_bytes.items():
        most = MAX_IDLE_BYTES if name is Name.NNCACHE else math.inf
        found.append(Figure(f"{IDLE}, {name}", taken, "bytes", most=most))
    return found


def draw(rounds: Sequence[LoadRound]) -> Chart:
    """Draw a panel for each shape: a bar for each server's median, a dot for each round."""
    known = {key: sizes[0] for key, sizes in by_server(rounds).items()}
    shapes = [shape for shape in Shape if any(what == shape for what, _ in known)]
    chart, found = panels([f"{shape}: requests per CPU-second of the server" for shape in shapes], 1.3)
    for axes, shape in zip(found, shapes, strict=True):
        names = [name for name in Name if (shape, name) in known][::-1]
        for at, name in enumerate(names):
            rates = [each.per_cpu_s for each in known[shape, name]]
            axes.barh(at, median(rates), color=COLOURS[name], height=0.7)
            axes.plot(rates, [at] * len(rates), "o", color="black", markersize=2.5, alpha=0.6)
        axes.set_yticks(range(len(names)), names)
        axes.set_xlim(left=0)
        axes.xaxis.set_major_formatter("{x:,.0f}")
    return chart


@contextmanager
def servers() -> Iterator[tuple[dict[Name, Target], dict[Name, Target]]]:
    """Start all servers; yield the ones that cache, and the ones that only forward."""
    with ExitStack() as running:
        hadoop = running.enter_context(cluster())
        namenode = hadoop.namenodes[0]
        make_directories(hadoop, (f"{ROOT}/{number % 10}/{number}" for number in range(PATHS)))
        listed = (f"{ROOT}/listed/{number}/{name}" for number in range(10) for name in range(_LISTED))
        make_directories(hadoop, listed)
        pid = namenode.process.running_pid
        ours = running.enter_context(nncache(hadoop, (f"{ROOT}/?/*",), Channel.DIRECT))
        cached = {
            Name.NGINX: running.enter_context(nginx(namenode.http, valid_s=3600)),
            Name.HAPROXY: running.enter_context(haproxy(namenode.http)),
            Name.FLOOR: running.enter_context(floor(namenode.http)),
            Name.NNCACHE: ours,
        }
        forwarded = {
            Name.NAMENODE: RunningServer(address=namenode.http, processes={"namenode": pid}),
            Name.NGINX: running.enter_context(nginx(namenode.http, valid_s=None)),
            Name.NNCACHE: ours,
        }
        first, second = (
            {name: Target(name, each, pid) for name, each in some.items()} for some in (cached, forwarded)
        )
        yield first, second


def _rounds(shape: Shape, targets: Sequence[Target], rounds: int, seconds: int) -> Iterator[LoadRound]:
    for target in targets:
        measure(shape, target, _WARM_UP_MISSES_S if shape is Shape.MISS else _WARM_UP_S)
    # The NameNode or the clients set the rate: the slower they are, the more background work each call would pay for.
    idle: dict[str, tuple[float, float]] = {}
    if shape in AT_THE_NAMENODE or shape in _FIRST_LINES:
        time.sleep(_IDLE_S)  # the JVM keeps compiling for a while
        idle = measure_idle(targets, _IDLE_S)
        click.echo("without load: " + ", ".join(f"{name} {own:.3f} CPUs" for name, (own, _) in idle.items()))
    yield from in_rounds(
        targets,
        rounds,
        lambda target, number: measure(shape, target, seconds, number, idle.get(target.name, (0.0, 0.0))),
    )


def measure_idle(targets: Collection[Target], seconds: float) -> dict[str, tuple[float, float]]:
    """Return the idle load in cores of each server and of the NameNode: polls, probes, a JVM's work."""
    begun, before = time.monotonic(), [each.cpu_s() for each in targets]
    time.sleep(seconds)
    took_s = time.monotonic() - begun
    return {
        each.name: ((each.cpu_s()[0] - own_s) / took_s, (each.cpu_s()[1] - namenode_s) / took_s)
        for each, (own_s, namenode_s) in zip(targets, before, strict=True)
    }


def measure(
    shape: Shape, target: Target, seconds: int, number: int = 0, idle: tuple[float, float] = (0.0, 0.0)
) -> LoadRound:
    """Load a server and return the result of the round."""
    load = _with_a_connection_each if shape in _FIRST_LINES else _with_wrk
    return measured(target, lambda: load(shape, target.running.address, seconds), shape, number, idle)


def _with_wrk(shape: Shape, address: str, seconds: int) -> Counted:
    match shape:
        case Shape.FORWARDED | Shape.ALONE:
            script = round_robin(_LISTING, PATHS)
        case Shape.OUTSIDE:
            script = round_robin(_OUTSIDE, PATHS)
        case Shape.VARYING:
            script = round_robin(_STATUS, PATHS, request=_VARYING)
        case Shape.MISS:  # missing paths, each requested once
            new = _NEW.format(run=uuid.uuid4().hex)
            request = f'wrk.format("GET", string.format("{new}", number % 10, number))'
            script = round_robin(_STATUS, PATHS, request=request, following="number + 1")
        case _:
            script = round_robin(_STATUS, PATHS)
    counted = ask_for(address, script, connections=CONNECTIONS[shape], seconds=seconds)
    if shape is Shape.MISS:  # the right answer is 404, which wrk counts as a failure
        return replace(counted, failed=abs(counted.requests - counted.failed))
    return counted


def _with_a_connection_each(shape: Shape, address: str, seconds: int) -> Counted:
    until, took, failed = time.monotonic() + seconds, list[float](), list[int]()

    def ask(first: int) -> None:
        number, lost = first, 0
        while (begun := time.monotonic()) < until:
            number += 1
            target = _TARGET % (number % PATHS % 10, number % PATHS)
            request = f"GET {target} {_FIRST_LINES[shape]}\r\nHost: {address}\r\n\r\n"
            try:
                with socket.create_connection(endpoint(address), timeout=_TIMEOUT_S) as sock:
                    sock.sendall(request.encode())
                    lost += not sock.recv(65_536).startswith(b"HTTP/1.1 200")
                    if shape is not Shape.CONNECTION_EACH:
                        sock.recv(65_536)  # until the server closes the connection
            except OSError:
                lost += 1
            took.append(time.monotonic() - begun)
        failed.append(lost)

    threads = [threading.Thread(target=ask, args=(number * 97,)) for number in range(_THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return Counted(len(took), sum(failed), median(took))


def bytes_per_connection(target: Target) -> float:
    """Return the server's memory per idle connection, in bytes, after a few requests answered from memory."""
    address = target.running.address

    def connect(number: int) -> None:
        sock = close.enter_context(socket.socket())
        sock.bind((f"127.0.0.{2 + number % 8}", 0))  # each address has its own range of ephemeral ports
        sock.settimeout(_TIMEOUT_S)
        sock.connect(endpoint(address))
        for _ in range(_IDLE_REQUESTS):
            sock.sendall(f"GET {_TARGET % (0, 0)} HTTP/1.1\r\nHost: {address}\r\n\r\n".encode())
            sock.recv(65_536)

    with ExitStack() as close:
        for number in range(_IDLE_BEFORE):
            connect(number)
        before = target.running.resident()
        for number in range(IDLE_CONNECTIONS):
            connect(number)
        return (target.running.resident() - before) / IDLE_CONNECTIONS


if __name__ == "__main__":
    main()
