"""The effect of 10,000 connects within a second on existing connections: `make bench-connects`.

Some connections poll a real nncache while a storm opens many connections within a second, several times.
"""

import gc
import select
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Final

import click

from nncache.bench import pollers
from nncache.bench.pollers import PATHS, ROOT, Polled, path_of
from nncache.bench.polling.client import allow_connections, request_of
from nncache.bench.polling.clock import endpoint
from nncache.bench.servers.counters import use_of
from nncache.bench.shared.driver import (
    BenchResult,
    Figure,
    answer_of,
    apart,
    benchmark,
    cluster,
    grown,
    make_directories,
    none_of,
    quantile,
)
from nncache.testbed.daemon import ProxyDaemon

MAX_CONNECTS_S: Final = 1.0  # limit for making all connects; a slower storm does not count
MAX_P99_S: Final = 0.1  # of the polls that were due during a storm
_QUIET_S: Final = 1.0  # before each storm, for comparison
_AFTER_S: Final = 1.0  # after each storm, while its connections close
_TIMEOUT_S: Final = 60.0
_TRIES: Final = 2  # for each requested round: a busy machine makes some too slow
STORM_S: Final = 30.0  # timeout of a storm; requests without an answer then have failed

STALLS: Final = "event_loop_stalls_total"
COUNTED: Final = (
    *("namenode_probes_total", "namenode_probes_failed_total"),
    *("channel_polls_total", "channel_polls_failed_total", STALLS),
)
_OK: Final = b"HTTP/1.1 200 "
_HIT: Final = b"\r\nCache-Status: nncache; hit\r\n"
_END: Final = b"}}"  # of a status; the polled statuses contain no other braces
_CONNECTS_PER_LOOK: Final = 32  # connects between two reads of answers
_LOCALS: Final = 8  # source addresses: each has its own range of ephemeral ports
_BIND_NO_PORT: Final = 24  # IP_BIND_ADDRESS_NO_PORT, ip(7): the port is chosen by connect
_READ_BYTES: Final = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """The effect of one storm on the proxy. A sequence of times holds p50, p99 and the maximum, in seconds."""

    connects_s: float  # duration of making the connects
    answered_s: float  # duration until all were answered
    each: Sequence[float]  # from connect to answer
    # Reply times of the polls due in the quiet time before, until the last answer, and while the connections closed.
    # `late` is the delay of polls during the storm that the polling process itself caused.
    before: Sequence[float]
    meanwhile: Sequence[float]
    after: Sequence[float]
    late: Sequence[float]
    failed: int  # connects and polls without a valid answer
    forwarded: int  # answers that did not come from memory, since the gate was closed
    grew: Mapping[str, float]  # the increase of each counter in COUNTED
    cpu_s: Sequence[float]  # of the proxy, of the storm's process, and of the polling process

    @property
    def is_in_time(self) -> bool:
        """Whether the connects were made fast enough; on a busy machine they may not be."""
        return self.connects_s <= MAX_CONNECTS_S

    @property
    def line(self) -> str:
        """The round as text."""
        latencies = "; ".join(
            f"{name} {', '.join(f'{each * 1e3:.1f}' for each in some)} ms"
            for name, some in (
                ("each", self.each),
                ("polls before", self.before),
                ("while they come", self.meanwhile),
                ("while they go", self.after),
                ("poller late", self.late),
            )
        )
        cpu = ", ".join(f"{each:.2f}" for each in self.cpu_s)
        made = f"connects made in {self.connects_s:.2f} s, answered in {self.answered_s:.2f} s"
        return f"{made}; {latencies}; {self.grew[STALLS]:.0f} stalls; CPU of proxy, connects, polls {cpu} s"


@benchmark("bench-connects")
@click.option("--connects", default=10_000, type=click.IntRange(1), help="In each round.")
@click.option("--rounds", default=5, type=click.IntRange(1), help="How many of them, made in time.")
@click.option("--cold", is_flag=True, help="No two heads are alike, so that each is parsed.")
def main(connects: int, rounds: int, *, cold: bool) -> BenchResult:
    """Measure the effect of many concurrent connects on existing connections."""
    found = list[Round]()
    allow_connections(connects)
    with cluster() as hadoop:
        make_directories(hadoop, (path_of(number) for number in range(PATHS)))
        # The proxy reads the edits itself, so that probes and polls of edits are its own.
        with ProxyDaemon(*hadoop.flags, "--channel", "direct", "--glob", f"{ROOT}/*") as proxy:
            proxy.await_gate()
            for _ in range(_TRIES * rounds):
                found.append(measure(proxy, connects, is_cold=cold))
                click.echo(found[-1].line)
                if sum(each.is_in_time for each in found) >= rounds:
                    break
    return BenchResult(figures=judge(found, rounds), rounds=found)


def judge(rounds: Sequence[Round], wanted: int) -> list[Figure]:
    """Judge the rounds; `wanted` of them must be in time, and the others count only for failures."""
    in_time = [each for each in rounds if each.is_in_time]
    grew = {metric: sum(each.grew[metric] for each in rounds) for metric in COUNTED}
    p99s = [times[1] if times else float("inf") for each in in_time for times in (each.meanwhile, each.after)]
    return [
        Figure(f"storms whose connects are made within {MAX_CONNECTS_S:g} s", len(in_time), least=wanted),
        none_of("requests that fail", sum(each.failed for each in rounds)),
        Figure("probes of the NameNode", grew["namenode_probes_total"], least=1),
        none_of("probes that are lost", grew["namenode_probes_failed_total"]),
        Figure("polls of the edits", grew["channel_polls_total"], least=1),
        none_of("polls of the edits that are lost", grew["channel_polls_failed_total"]),
        none_of("answers not from memory: the gate was closed", sum(each.forwarded for each in rounds)),
        Figure(
            "p99 of the polls of connections that were there before, while others come and go, in the worst round",
            max(p99s, default=float("inf")) * 1e3,
            "ms",
            most=MAX_P99_S * 1e3,
        ),
    ]


def measure(proxy: ProxyDaemon, connects: int, *, is_cold: bool = False) -> Round:
    """Start the pollers, then make the connects, and return the round."""
    pid = proxy.process.running_pid
    with (
        apart(pollers.run, proxy.address) as polling,
        apart(run, proxy.address, connects, is_cold=is_cold) as storming,
    ):
        begin = time.monotonic()
        time.sleep(_QUIET_S)
        end_of_quiet = time.monotonic()
        before, cpu_s = proxy.metrics(), use_of(pid)[0]
        stormed: Stormed = answer_of(storming, None, STORM_S + _TIMEOUT_S)
        time.sleep(_AFTER_S)  # without reading metrics: the page costs the proxy more than the measured load
        end = time.monotonic()
        proxy.process.await_that(
            lambda: proxy.metrics()["nncache_connections_open"] <= pollers.POLLERS, "keeps connections"
        )
        cpu_s = use_of(pid)[0] - cpu_s
        after = proxy.metrics()
        polled: Polled = answer_of(polling, None, _TIMEOUT_S)
    answered = stormed.begun + stormed.answered_s
    return Round(
        connects_s=stormed.connects_s,
        answered_s=stormed.answered_s,
        each=times_of(stormed.took),
        before=times_of(polled.between(begin, end_of_quiet, polled.took_s)),
        meanwhile=times_of(polled.between(stormed.begun, answered, polled.took_s)),
        after=times_of(polled.between(answered, end, polled.took_s)),
        late=times_of(polled.between(stormed.begun, answered, polled.late_s)),
        failed=stormed.failed + polled.failed,
        forwarded=stormed.forwarded + polled.forwarded,
        grew={metric: grown(metric, before, after) for metric in COUNTED},
        cpu_s=(cpu_s, stormed.cpu_s, polled.cpu_s),
    )


def times_of(took_s: Sequence[float]) -> tuple[float, ...]:
    """Return p50, p99 and the maximum; an empty tuple if there are no times."""
    return tuple(quantile(took_s, share) for share in (0.5, 0.99, 1.0)) if took_s else ()


# ---- a storm, in its own process: one thread and one epoll, since it shares the cores with the server ----------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Stormed:
    """The result of the connects; points in time are on the monotonic clock, which all processes share."""

    begun: float  # time of the first connect
    connects_s: float  # from then to the last connect
    answered_s: float  # from then to the last answer
    failed: int  # connects and requests with no answer, or with an answer that is not a status
    forwarded: int  # answers that did not come from memory
    took: Sequence[float]  # from connect to answer in seconds, for each connection
    cpu_s: float  # of this process


class _Connect:
    """One connection of a storm."""

    __slots__ = ("begun", "head", "read", "sock")

    def __init__(self, number: int, head: bytes) -> None:
        self.sock = socket.socket()
        self.sock.settimeout(0)
        self.sock.setsockopt(socket.IPPROTO_IP, _BIND_NO_PORT, 1)
        self.sock.bind((f"127.0.0.{2 + number % _LOCALS}", 0))
        self.head = head
        self.begun = 0.0
        self.read = b""  # of the answer

    def send(self) -> bool:
        """Send the request; return False if the socket is not connected yet."""
        try:
            self.sock.send(self.head)
        except BlockingIOError:
            return False
        except OSError:  # the read fails as well
            return True
        return True


class Storm:
    """Connects to one address. In a cold storm all requests differ, so that each is parsed."""

    def __init__(self, address: str, count: int, *, is_cold: bool) -> None:
        """Create the sockets and the requests in advance, so that the storm itself is faster."""
        self._at = endpoint(address)
        first = time.monotonic_ns()
        self._made: dict[int, _Connect] = {}
        for number in range(count):
            field = f"X-Number: {first + number}\r\n" if is_cold else ""
            made = _Connect(number, request_of(path_of(number), address, field))
            self._made[made.sock.fileno()] = made
        self._epoll = select.epoll()
        self._waiting = count
        self._took: list[float] = []
        self._failed = 0
        self._forwarded = 0

    def run(self) -> Stormed:
        """Connect, send the requests, read the answers, close, and return the result."""
        began = time.monotonic()
        cpu_s = time.process_time()
        for number, each in enumerate(self._made.values()):
            self._connect(each)
            if number % _CONNECTS_PER_LOOK == 0:
                self._look(0)
        connects_s = time.monotonic() - began
        while self._waiting and time.monotonic() < began + STORM_S:
            self._look(0.1)
        answered_s = time.monotonic() - began
        for each in self._made.values():
            each.sock.close()
        self._epoll.close()
        return Stormed(
            begun=began,
            connects_s=connects_s,
            answered_s=answered_s,
            failed=self._failed + self._waiting,
            forwarded=self._forwarded,
            took=self._took,
            cpu_s=time.process_time() - cpu_s,
        )

    def _connect(self, each: _Connect) -> None:
        each.begun = time.monotonic()
        each.sock.connect_ex(self._at)
        # Over the loopback it is connected by now, unless the server's backlog is full.
        self._epoll.register(each.sock, select.EPOLLIN if each.send() else select.EPOLLOUT)

    def _look(self, timeout_s: float) -> None:
        for descriptor, events in self._epoll.poll(timeout_s):
            each = self._made[descriptor]
            if events & select.EPOLLOUT:
                if each.send():
                    self._epoll.modify(descriptor, select.EPOLLIN)
                continue
            try:
                data = each.sock.recv(_READ_BYTES)
            except OSError:
                data = b""
            each.read += data
            if not data or each.read.endswith(_END):
                self._end(each)

    def _end(self, each: _Connect) -> None:
        self._epoll.unregister(each.sock)
        self._waiting -= 1
        self._took.append(time.monotonic() - each.begun)
        if not (each.read.startswith(_OK) and each.read.endswith(_END)):
            self._failed += 1
        elif _HIT not in each.read:
            self._forwarded += 1


def run(pipe: Connection, address: str, count: int, *, is_cold: bool = False) -> None:
    """Report to the parent that this process is ready, start at its message, and send back a `Stormed`."""
    allow_connections(count)
    storm = Storm(address, count, is_cold=is_cold)
    gc.disable()
    pipe.send(None)
    pipe.recv()
    pipe.send(storm.run())


if __name__ == "__main__":
    main()
