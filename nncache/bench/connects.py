"""What 10,000 connects within a second cost those who are connected already: `make bench-connects`.

Some connections poll a real nncache while many connects are made within a second, several times.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Final

import click

from nncache.bench import pollers, storm
from nncache.bench.pollers import PATHS, ROOT, Polled, path_of
from nncache.bench.servers.counters import use_of
from nncache.bench.shared.driver import (
    Figure,
    Result,
    answer_of,
    apart,
    benchmark,
    cluster,
    grown,
    make_directories,
    none_of,
    quantile,
)
from nncache.bench.storm import Stormed
from nncache.bench.wrk import let_open
from nncache.testbed import Cluster
from nncache.testbed.daemon import Proxy

MAX_CONNECTS_S: Final = 1.0
"""In which all connects are made; a storm that takes longer does not count."""
MAX_P99_S: Final = 0.1
"""Of the polls that were due meanwhile."""

_OURS: Final = "nncache"
_QUIET_S: Final = 1.0  # before each storm, for comparison
_AFTER_S: Final = 1.0  # after its end, while the connections go
_TIMEOUT_S: Final = 60.0
_TRIES: Final = 2  # for each round that is wanted: a busy machine makes some too slowly


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """What one storm did to one proxy; of times of requests p50, p99 and the longest.

    Attributes:
        program: which nncache was asked.
        connects_s: in what time the connects were made.
        answered_s: until all were answered.
        each: from connect to answer.
        before, meanwhile, after: the polls due in a quiet time before, until the last answer, and while the
            connections ended.
        late: by how much the polls meanwhile were late because the process that polls was.
        failed: connects and polls without a good answer.
        forwarded: answers that did not come from memory, since the gate was not open.
        probes, probes_failed: of the NameNode's state.
        edits, edits_failed: polls of the edits.
        edits_before_s, edits_meanwhile_s: what one took on average.
        stalls: of the proxy's event loop.
        cpu_s: of the proxy, of those who connect, and of those who poll.
    """

    program: str
    connects_s: float
    answered_s: float
    each: Sequence[float]
    before: Sequence[float]
    meanwhile: Sequence[float]
    after: Sequence[float]
    late: Sequence[float]
    failed: int
    forwarded: int
    probes: float
    probes_failed: float
    edits: float
    edits_failed: float
    edits_before_s: float
    edits_meanwhile_s: float
    stalls: float
    cpu_s: Sequence[float]

    @property
    def is_in_time(self) -> bool:
        """Whether the connects came as fast as they had to: on a busy machine they may not."""
        return self.connects_s <= MAX_CONNECTS_S

    @property
    def line(self) -> str:
        """The round for people."""
        times = (
            ("each", self.each),
            ("polls before", self.before),
            ("while they come", self.meanwhile),
            ("while they go", self.after),
            ("poller late", self.late),
            ("a poll of the edits before and meanwhile", (self.edits_before_s, self.edits_meanwhile_s)),
        )
        said = "; ".join(
            f"{name} {', '.join(f'{each * 1e3:.1f}' for each in some)} ms" for name, some in times
        )
        cpu = ", ".join(f"{each:.2f}" for each in self.cpu_s)
        made = f"connects made in {self.connects_s:.2f} s, answered in {self.answered_s:.2f} s"
        return (
            f"{self.program}: {made}; {said}; {self.stalls:.0f} stalls; CPU of proxy, connects, polls {cpu} s"
        )


@benchmark("bench-connects")
@click.option("--connects", default=10_000, type=click.IntRange(1), help="In each round.")
@click.option("--rounds", default=5, type=click.IntRange(1), help="How many of them, made in time.")
@click.option("--cold", is_flag=True, help="No two heads are alike, so that each is parsed.")
@click.option(
    "--other",
    type=click.Path(exists=True, dir_okay=False, resolve_path=True),
    help="Another nncache program, measured in turn with this one; it is not judged.",
)
def main(connects: int, rounds: int, other: str | None, *, cold: bool) -> Result:
    """Measure what many connects at once cost those who are connected already."""
    programs: dict[str, tuple[str, ...]] = {_OURS: ()}
    if other:
        programs["other"] = (other,)
    found = list[Round]()
    let_open(connects + 100)
    with ExitStack() as running:
        hadoop = running.enter_context(cluster())
        make_directories(hadoop, (path_of(number) for number in range(PATHS)))
        proxies = {name: running.enter_context(_proxy(hadoop, words)) for name, words in programs.items()}
        for _ in range(_TRIES * rounds):
            for name, proxy in proxies.items():
                found.append(measure(name, proxy, connects, is_cold=cold))
                click.echo(found[-1].line)
            if sum(each.is_in_time for each in found if each.program == _OURS) >= rounds:
                break
    return Result(figures=judge([each for each in found if each.program == _OURS], rounds), rounds=found)


def judge(rounds: Sequence[Round], wanted: int) -> list[Figure]:
    """Judge the rounds of one program, of which so many are wanted in time; the others count for what failed."""
    in_time = [each for each in rounds if each.is_in_time]
    p99s = [times[1] if times else float("inf") for each in in_time for times in (each.meanwhile, each.after)]
    return [
        Figure(f"storms whose connects are made within {MAX_CONNECTS_S:g} s", len(in_time), least=wanted),
        none_of("requests that fail", sum(each.failed for each in rounds)),
        Figure("probes of the NameNode", sum(each.probes for each in rounds), least=1),
        none_of("probes that are lost", sum(each.probes_failed for each in rounds)),
        Figure("polls of the edits", sum(each.edits for each in rounds), least=1),
        none_of("polls of the edits that are lost", sum(each.edits_failed for each in rounds)),
        none_of("answers not from memory: the gate was closed", sum(each.forwarded for each in rounds)),
        Figure(
            "p99 of the polls of connections that were there before, while others come and go, in the worst round",
            max(p99s, default=float("inf")) * 1e3,
            "ms",
            most=MAX_P99_S * 1e3,
        ),
    ]


def measure(name: str, proxy: Proxy, connects: int, *, is_cold: bool = False) -> Round:
    """Let some poll, then make that many connects."""
    pid = proxy.process.running_pid
    with (
        apart(pollers.run, proxy.address) as polling,
        apart(storm.run, proxy.address, connects, is_cold=is_cold) as storming,
    ):
        quiet, begin = proxy.metrics(), time.monotonic()
        time.sleep(_QUIET_S)
        end_of_quiet = time.monotonic()
        before, cpu_s = proxy.metrics(), use_of(pid)[0]
        stormed: Stormed = answer_of(storming, None, storm.TIMEOUT_S + _TIMEOUT_S)
        time.sleep(_AFTER_S)  # unobserved: its pages cost the proxy more than what is measured
        end = time.monotonic()
        proxy.process.await_that(
            lambda: proxy.metrics()["nncache_connections_open"] <= pollers.POLLERS, "keeps connections"
        )
        cpu_s = use_of(pid)[0] - cpu_s
        after = proxy.metrics()
        polled: Polled = answer_of(polling, None, _TIMEOUT_S)
    answered = stormed.begun + stormed.answered_s

    def seconds_of_a_poll(*looks: dict[str, float]) -> float:
        return grown("channel_poll_seconds_total", *looks) / max(1, grown("channel_polls_total", *looks))

    return Round(
        program=name,
        connects_s=stormed.connects_s,
        answered_s=stormed.answered_s,
        each=times_of(stormed.took),
        before=times_of(polled.took_between(begin, end_of_quiet)),
        meanwhile=times_of(polled.took_between(stormed.begun, answered)),
        after=times_of(polled.took_between(answered, end)),
        late=times_of(polled.late_between(stormed.begun, answered)),
        failed=stormed.failed + polled.failed,
        forwarded=stormed.forwarded + polled.forwarded,
        probes=grown("namenode_probes_total", before, after),
        probes_failed=grown("namenode_probes_failed_total", before, after),
        edits=grown("channel_polls_total", before, after),
        edits_failed=grown("channel_polls_failed_total", before, after),
        edits_before_s=seconds_of_a_poll(quiet, before),
        edits_meanwhile_s=seconds_of_a_poll(before, after),
        stalls=grown("event_loop_stalls_total", before, after),
        cpu_s=(cpu_s, stormed.cpu_s, polled.cpu_s),
    )


def times_of(took_s: Sequence[float]) -> tuple[float, ...]:
    """Return p50, p99 and the longest; nothing of nothing."""
    return tuple(quantile(took_s, share) for share in (0.5, 0.99, 1.0)) if took_s else ()


@contextmanager
def _proxy(hadoop: Cluster, program: tuple[str, ...]) -> Iterator[Proxy]:
    """Run a proxy that reads the edits itself, so that probes and polls are its own."""
    own = ("--channel", "direct", "--glob", f"{ROOT}/*")
    with Proxy(*hadoop.flags, *own, program=program) as proxy:
        proxy.await_gate()
        yield proxy


if __name__ == "__main__":
    main()
