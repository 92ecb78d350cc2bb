"""The growth of the CPU per hit with filters, entries, callers and connections: `make bench-growth`.

A separate nncache runs for each size; for connections also nginx and the `floor`, the least work that Python can do.
They are loaded in turn, while the others idle. A round measures each size once, directly after each other. The result
is the CPU per hit relative to the smallest size in the same round: changes in the machine's speed cancel out.

All connections are open before the first request. The server's count of answers and its CPU time are read twice under
load, so they exclude the cost of opening connections.
"""

import math
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from statistics import median
from typing import Final

import click
from matplotlib.figure import Figure as Chart

from nncache.bench.cost import COLOURS, LoadRound, Name, by_server, each_s, in_rounds, panels, table
from nncache.bench.polling.client import allow_connections
from nncache.bench.servers.caches import nginx
from nncache.bench.servers.counters import calls_of
from nncache.bench.servers.floor import floor
from nncache.bench.servers.nncache import Channel, nncache
from nncache.bench.servers.running import RunningServer
from nncache.bench.shared.driver import BenchResult, Figure, benchmark, cluster, make_directories, none_of
from nncache.bench.wrk import Counted, ask_times, held, loading, round_robin
from nncache.testbed import Cluster
from nncache.testbed.errors import ServerStartError
from nncache.testbed.programs import find_programs


class Growth(StrEnum):
    """The parameter that grows."""

    FILTERS = "filters"
    ENTRIES = "entries"
    CALLERS = "callers"
    HEADS = "different requests"
    CONNECTIONS = "connections"


class HitPath(StrEnum):
    """How a request is answered from memory."""

    KNOWN = "repeated"  # by its bytes: the same head has been answered before
    PARSED = "parsed"
    """By its meaning: a unique field makes each head a new one, which is parsed, answered and remembered."""


SIZES: Final = {
    Growth.FILTERS: (10, 100, 1_000),
    Growth.ENTRIES: (1_000, 10_000, 100_000, 1_000_000),
    Growth.CALLERS: (1, 100, 10_000),
    Growth.HEADS: (1_000, 10_000),
    Growth.CONNECTIONS: (64, 1_000, 10_000),
}
MAX_GROWTH: Final = {Growth.FILTERS: 1.1, Growth.ENTRIES: 1.1, Growth.CALLERS: 1.1}
"""Maximum CPU per hit relative to the smallest size; these growths are also measured with parsed heads."""
MAX_MISSES: Final = 0.001  # share of the requests: above it, the load is not one of hits

ROOT: Final = "/bench-growth"
DIRECTORIES: Final = 10
"""Parents of the paths; each caller that asks for a path in one gets a grant for it."""
PATHS: Final = 1_000
MOST_PATHS: Final = 10_000
CONNECTIONS: Final = 64
"""The number of connections unless it grows."""
FILLERS: Final = 64  # connections that fill a cache
AT_ONCE: Final = 2_000
"""Connections that are opened at a time. It is below the kernel's backlog of a listener: the kernel drops connects
beyond it, and clients retry only after seconds."""
HELD_S: Final = 300
"""Timeout after which the load starts in any case, so that it also ends if the measuring process has gone."""
FLAGS: Final = ("--grant-ttl-s", "36000", "--max-entry-age-s", "36000", "--poll-interval-s", "0.1")
"""Only hits are measured: no grant or entry expires, and idle servers use little CPU."""
_VALID_S: Final = 36_000
_SETTLE_S: Final = 0.5  # of load on all connections before anything is counted
_WARM_UP: Final = 4  # times that each request is sent before: fetched, answered from memory, and then known
_MIN_PER_S: Final = 100  # the least rate of any machine; a lower rate ends the measurement
_CONNECTED_S: Final = 60.0
_FILLED_S: Final = 60.0
_LOOK_S: Final = 0.1

_TARGET: Final = f'string.format("/webhdfs/v1{ROOT}/%d/%d?op=GETFILESTATUS&user.name=u%05d", '
_MISSING: Final = f'string.format("/webhdfs/v1{ROOT}/%d/none-%07d?op=GETFILESTATUS&user.name=u00000", '
_DIFFERING: Final = """\
local begun, made = os.time(), 0
local function differing(head)
  made = made + 1
  return string.format("%sX-Number: %d-%d\\r\\n\\r\\n", head:sub(1, -3), begun, made)
end
"""


@benchmark("bench-growth")
@click.option("--seconds", default=2.0, type=click.FloatRange(min=0.5), help="Of load in each round.")
@click.option("--rounds", default=6, type=click.IntRange(1), help="Of each growth.")
@click.option(
    "--warm-up", default=1.0, type=click.FloatRange(min=0.5), help="Seconds of load on each size before."
)
@click.option(
    "--max-entries", default=1_000_000, type=click.IntRange(1_000), help="Larger caches are left out."
)
@click.option("--only", default="", help="Only what has this in its text.")
def main(seconds: float, rounds: int, warm_up: float, max_entries: int, only: str) -> BenchResult:
    """Measure the CPU for each hit by filters, entries, callers and connections."""
    growths = [growth for growth in Growth if only in growth]
    if not growths:
        raise click.BadParameter(f"--only {only}: there are {'; '.join(Growth)}")
    find_programs("wrk", "nginx")
    allow_connections(max(SIZES[Growth.CONNECTIONS]))
    found = list[LoadRound]()
    with cluster() as hadoop:
        make_directories(hadoop, (f"{ROOT}/{number % DIRECTORIES}/{number}" for number in range(MOST_PATHS)))
        for growth in growths:
            found += _rounds(growth, hadoop, max_entries, rounds, seconds, warm_up)
    return BenchResult(figures=judge(found), table=table(found), rounds=found, chart=draw(found))


def judge(rounds: Sequence[LoadRound]) -> list[Figure]:
    """Judge the measured growths, and skip the others."""
    ours = [each for each in rounds if each.server == Name.NNCACHE]
    found = [
        none_of("requests through nncache that fail", sum(each.failed for each in ours)),
        Figure(
            "share of a round's requests that reach the NameNode, at the most",
            max((each.misses for each in rounds), default=0.0),
            most=MAX_MISSES,
        ),
    ]
    filled = [each.entries / each.size for each in ours if each.what.startswith(Growth.ENTRIES)]
    if filled:
        found.append(Figure("share of the entries said that are held, at the least", min(filled), least=1.0))
    known = {key: growth_at(sizes) for key, sizes in by_server(rounds).items()}
    of_nginx = known.get((_what(Growth.CONNECTIONS, HitPath.KNOWN), Name.NGINX))
    for (what, server), sizes in known.items():
        growth = next(growth for growth in Growth if what.startswith(growth))
        limit = MAX_GROWTH.get(growth)
        if growth is Growth.CONNECTIONS and of_nginx:
            limit = median(of_nginx[max(of_nginx)])  # no more growth than nginx's
        for size, ratios in sizes.items():
            if size == min(sizes) or server == Name.FLOOR:
                continue
            most = limit if limit is not None and server == Name.NNCACHE else math.inf
            what_grows = f"{what}, {server}: CPU at {size:,} by that at {min(sizes):,}"
            found.append(Figure(what_grows, median(ratios), most=most))
    return found


def growth_at(sizes: Mapping[int, Sequence[LoadRound]]) -> dict[int, list[float]]:
    """Return the CPU per hit of each size, relative to the smallest size in the same round."""
    least = {each.number: each.each_s for each in sizes[min(sizes)]}
    return {
        size: [each.each_s / least[each.number] for each in of_size if least.get(each.number)]
        for size, of_size in sizes.items()
    }


def draw(rounds: Sequence[LoadRound]) -> Chart:
    """Draw a panel for each growth: a line through the medians of each server and hit path, a dot for each round."""
    known = by_server(rounds)
    growths = [growth for growth in Growth if any(what.startswith(growth) for what, _ in known)]
    chart, found = panels([f"{growth}: CPU for each hit, by that with the fewest" for growth in growths], 2.2)
    for axes, growth in zip(found, growths, strict=True):
        for (what, server), sizes in known.items():
            if not what.startswith(growth):
                continue
            colour = "#d9a441" if what.endswith(HitPath.PARSED) else COLOURS[Name(server)]
            by_size, least_us = growth_at(sizes), each_s(sizes[min(sizes)]) * 1e6
            label = f"{server}, {what}: {least_us:,.1f} µs with {min(sizes):,}"
            axes.plot(
                list(by_size), [median(ratios) for ratios in by_size.values()], color=colour, label=label
            )
            for size, ratios in by_size.items():
                axes.plot([size] * len(ratios), ratios, "o", color=colour, markersize=2.5, alpha=0.6)
        if growth in MAX_GROWTH:
            axes.axhline(MAX_GROWTH[growth], color="black", linewidth=0.7, linestyle="dashed")
        axes.set_xscale("log")
        axes.set_ylim(bottom=0)
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.legend(fontsize=7, frameon=False, loc="lower left")
    return chart


def _what(growth: Growth, way: HitPath) -> str:
    return f"{growth}, {way}"


def _rounds(
    growth: Growth, hadoop: Cluster, max_entries: int, rounds: int, seconds: float, warm_up_s: float
) -> Iterator[LoadRound]:
    click.echo(f"{growth}: starting and filling all sizes")
    ways = tuple(HitPath) if growth in MAX_GROWTH else (HitPath.KNOWN,)
    with subjects_of(growth, hadoop, max_entries) as subjects:
        for each in subjects:
            ask(each.running.address, script(each, HitPath.KNOWN), _WARM_UP * each.paths)
            for way in ways:
                measure(each, way, 0, warm_up_s)
        asked = [(each, way) for way in ways for each in subjects]
        yield from in_rounds(asked, rounds, lambda each, number: measure(*each, number, seconds))


@dataclass(frozen=True, slots=True)
class Subject:
    """A server at one size, and its load: the number of paths, of callers and of connections."""

    growth: Growth
    size: int
    server: Name
    running: RunningServer
    namenode_http: str
    paths: int = PATHS
    callers: int = 1
    connections: int = CONNECTIONS


@contextmanager
def subjects_of(growth: Growth, hadoop: Cluster, most_entries: int) -> Iterator[Sequence[Subject]]:
    """Start the servers of each size, smallest first, and fill their caches."""
    namenode = hadoop.namenodes[0]

    def subject(size: int, running: RunningServer, name: Name = Name.NNCACHE, **asked: int) -> Subject:
        return Subject(growth, size, name, running, namenode.http, **asked)

    with ExitStack() as close:

        def proxy(these: Sequence[str] = (f"{ROOT}/?/*",)) -> RunningServer:
            return close.enter_context(nncache(hadoop, these, Channel.DIRECT, FLAGS))

        sizes = SIZES[growth]
        match growth:
            case Growth.FILTERS:
                yield [subject(size, proxy(globs(size))) for size in sizes]
            case Growth.ENTRIES:
                subjects = [subject(size, proxy()) for size in sizes if size <= max(most_entries, sizes[0])]
                for each in subjects:
                    fill(each)
                yield subjects
            case Growth.CALLERS:
                # The number of different requests is the same at each size: only the number of callers grows.
                yield [subject(size, proxy(), paths=MOST_PATHS, callers=size) for size in sizes]
            case Growth.HEADS:
                yield [subject(size, proxy(), paths=size) for size in sizes]
            case Growth.CONNECTIONS:
                beside = {
                    Name.NNCACHE: proxy(),
                    Name.NGINX: close.enter_context(nginx(namenode.http, valid_s=_VALID_S)),
                    Name.FLOOR: close.enter_context(floor(namenode.http)),
                }
                yield [
                    subject(size, running, name, connections=size)
                    for size in sizes
                    for name, running in beside.items()
                ]


def globs(filters: int) -> tuple[str, ...]:
    """Return this number of globs: one for each directory of requested paths; the others match no requested path.

    The others cover every directory, so that a matcher that tries globs in sequence would have to try all of them.
    """
    of_directories = (f"{ROOT}/{number}/*" for number in range(DIRECTORIES))
    others = (f"{ROOT}/?/part-{number:05}-*" for number in range(filters - DIRECTORIES))
    return *of_directories, *others


def script(subject: Subject, way: HitPath) -> str:
    """Return a wrk script that requests all paths of the subject repeatedly."""
    target = f"{_TARGET}path % {DIRECTORIES}, path, path % {subject.callers})"
    request = "requests[number]" if way is HitPath.KNOWN else "differing(requests[number])"
    return _DIFFERING + round_robin(target, subject.paths, request=request)


def filling(entries: int) -> str:
    """Return a wrk script that requests this number of paths once, including, evenly spread, the paths of `script`."""
    apart = entries // PATHS
    known = f"{_TARGET}number / {apart} % {DIRECTORIES}, number / {apart}, 0)"
    missing = f"{_MISSING}number % {DIRECTORIES}, number)"
    request = f'wrk.format("GET", number % {apart} == 0 and {known} or {missing})'
    return round_robin("nil", 0, request=request, following=f"(number + 1) % {entries}")


def fill(subject: Subject) -> None:
    """Fill the cache with as many replies as the subject's size, and wait until all connections are closed.

    Requests are repeated for missing entries: on a stalled machine the gate closes for a moment. Raises StartError on
    timeout.
    """
    until = time.monotonic() + _FILLED_S
    while True:
        ask(subject.running.address, filling(subject.size), subject.size)
        now = subject.running.progress()
        while now.connections and time.monotonic() < until:  # the last may still be open
            time.sleep(_LOOK_S)
            now = subject.running.progress()
        if now.entries >= subject.size and not now.connections:
            return
        if time.monotonic() > until:
            held_now = f"{now.entries:,} replies of {subject.size:,}, with {now.connections} connections"
            raise ServerStartError(f"{subject.server} holds {held_now}")


def ask(address: str, what: str, requests: int) -> None:
    """Send at least this number of requests, and wait for their answers."""
    more = 2 * FILLERS  # some early requests may be in flight when the last one is answered
    within_s = 60 + requests // _MIN_PER_S
    ask_times(address, what, connections=FILLERS, requests=requests + more, within_s=within_s)


def measure(subject: Subject, way: HitPath, number: int, seconds: float) -> LoadRound:
    """Load the subject and return the result of the round."""
    running = subject.running
    asked_before = calls_of(subject.namenode_http)["getFileInfo"]
    loads = list[list[Counted]]()
    with ExitStack() as close:
        gate = Path(close.enter_context(tempfile.TemporaryDirectory(prefix="nncache-gate-"))) / "open"
        what = held(script(subject, way), gate, HELD_S)
        for first in range(0, subject.connections, AT_ONCE):
            some = min(AT_ONCE, subject.connections - first)
            loads.append(close.enter_context(loading(running.address, what, connections=some)))
            _await_connections(subject, first + some)
        gate.touch()
        time.sleep(_SETTLE_S)
        before = running.progress().answered, running.cpu_s()
        time.sleep(seconds)
        after = running.progress(), running.cpu_s()
    counted = [each for (each,) in loads]
    misses = calls_of(subject.namenode_http)["getFileInfo"] - asked_before
    return LoadRound(
        what=_what(subject.growth, way),
        server=subject.server,
        size=subject.size,
        number=number,
        requests=after[0].answered - before[0],
        failed=sum(each.failed for each in counted),
        misses=misses / max(1, sum(each.requests for each in counted)),
        cpu_s=after[1] - before[1],
        entries=after[0].entries,
    )


def _await_connections(subject: Subject, wanted: int) -> None:
    until = time.monotonic() + _CONNECTED_S
    while (connected := subject.running.progress().connections) < wanted:
        if time.monotonic() > until:
            seen = f"{connected:,} connections of {wanted:,} after {_CONNECTED_S:.0f} s"
            raise ServerStartError(f"{subject.server} has {seen}")
        time.sleep(_LOOK_S)


if __name__ == "__main__":
    main()
