"""One server, and clients that wait there: what they cost, and what they see."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Final

import psutil

from nncache.bench.apart import apart, next_of
from nncache.bench.connects import pollers
from nncache.bench.connects.figures import Times, times_between, times_of
from nncache.bench.connects.pollers import Polled
from nncache.bench.inotify.namenode_calls import AGE_S, file_calls
from nncache.bench.servers.counters import beans, use_of
from nncache.bench.servers.running import Running
from nncache.bench.waiting.clients import Answered, Ask, Collect
from nncache.bench.waiting.figures import Delivered, Held
from nncache.bench.waiting.questions import Series
from nncache.bench.waiting.writer import Wave, make
from nncache.testbed import Cluster

ANSWER_TIMEOUT_S: Final = 10.0
"""After the last acknowledgement; those who have no answer then have none."""

TIMEOUT_S: Final = 60.0
_LOOK_S: Final = 0.05
_POLLERS: Final = 8
_RPC: Final = "Hadoop:service=NameNode,name=RpcDetailedActivityForPort*"
_OF_THE_GATE: Final = frozenset({"GetEditsFromTxidNumOps", "RollEditLogNumOps", "MsyncNumOps"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Stand:
    """What is measured.

    Attributes:
        cluster: the NameNode.
        running: nncache before it.
        clients: the processes of the clients.
        count: of the clients in all.
    """

    cluster: Cluster
    running: Running
    clients: Sequence[Connection]
    count: int

    @property
    def proxy_pid(self) -> int:
        """The proxy's process."""
        return self.running.processes["proxy"]

    @property
    def memory(self) -> int:
        """The proxy's proportional set size, in bytes (smaps of proc(5))."""
        return int(psutil.Process(self.proxy_pid).memory_full_info().pss)

    @property
    def cpu_s(self) -> float:
        """What the proxy has used of a CPU so far, in seconds."""
        return use_of(self.proxy_pid)[0]

    def ask(self, series: Series) -> None:
        """Have all clients wait for their files, and return when all are held."""
        for pipe in self.clients:
            pipe.send(Ask(series))
        for pipe in self.clients:
            next_of(pipe, TIMEOUT_S)
        until = time.monotonic() + TIMEOUT_S
        while (held := self.running.metrics()["nncache_waiters"]) < self.count:
            if time.monotonic() > until:
                raise TimeoutError(
                    f"{held:.0f} of {self.count} clients are held after {TIMEOUT_S:g} s: the machine is too busy"
                )
            time.sleep(_LOOK_S)


def hold(stand: Stand, series: Series, quiet_s: float, *, before_bytes: int) -> Held:
    """Have all wait, and count what that costs while nothing changes.

    `before_bytes` is what the proxy took before they connected.
    """
    idle_bytes, cpu_s, began = stand.memory, stand.cpu_s, time.monotonic()
    stand.ask(series)
    asked_s, asked_cpu_s = time.monotonic() - began, stand.cpu_s - cpu_s
    time.sleep(AGE_S)  # what the NameNode counts of the first questions
    http = stand.cluster.namenodes[0].http
    before, files, rpc, cpu_s = stand.running.metrics(), file_calls(http), _rpc_calls(http), stand.cpu_s
    waiting_bytes, probes = stand.memory, _of_gate(stand.running)
    time.sleep(quiet_s)
    cpu_s = stand.cpu_s - cpu_s
    after, probes = stand.running.metrics(), _of_gate(stand.running) - probes
    time.sleep(AGE_S)
    made = {name: count - rpc.get(name, 0) for name, count in _rpc_calls(http).items()}
    edits = sum(count for name, count in made.items() if name in _OF_THE_GATE)
    return Held(
        clients=stand.count,
        paths=series.paths,
        before_bytes=before_bytes,
        idle_bytes=idle_bytes,
        waiting_bytes=waiting_bytes,
        asked_s=asked_s,
        asked_cpu_s=asked_cpu_s,
        quiet_s=quiet_s,
        forwarded=_counted("upstream_calls", before, after),
        file_calls=file_calls(http) - files,
        rpc_calls=sum(made.values()) - edits,
        gate_calls=edits + probes,
        cpu_s=cpu_s,
    )


def deliver(stand: Stand, series: Series, waves: Sequence[Wave], how: str) -> Delivered:
    """Make the files for which all wait, and see when each client has its answer, and what others see meanwhile."""
    with apart(pollers.run, stand.running.address, _POLLERS) as polling:
        next_of(polling, TIMEOUT_S)
        before, cpu_s = stand.running.metrics(), stand.cpu_s
        acked = asyncio.run(make(stand.cluster, series, waves))
        for pipe in stand.clients:
            pipe.send(Collect(time.monotonic() + ANSWER_TIMEOUT_S))
        answers = [_answered(pipe) for pipe in stand.clients]
        cpu_s, after = stand.cpu_s - cpu_s, stand.running.metrics()
        polling.send(None)
        polled = next_of(polling, TIMEOUT_S)
        assert isinstance(polled, Polled)
    late, last = list[float](), 0.0
    for first, each in enumerate(answers):
        for place, at in enumerate(each.at):
            client = first + place * len(answers)
            if at is not None and each.is_there[place]:
                late.append(at - acked[series.path_of(client)])
                last = max(last, at)
    return Delivered(
        how=how,
        clients=stand.count,
        paths=series.paths,
        after_ack=times_of(late),
        failed=stand.count - len(late),
        files_s=max(acked) - min(acked),
        answers_s=last - min(acked),
        namenode_calls=_counted("upstream_calls", before, after),
        others=_between(polled, min(acked), last),
        stalls=_counted("event_loop_stalls", before, after),
        longest_s=after["nncache_event_loop_lag_max_seconds"],
        cpu_s=cpu_s,
        clients_cpu_s=sum(each.cpu_s for each in answers),
    )


def _answered(pipe: Connection) -> Answered:
    answered = next_of(pipe, ANSWER_TIMEOUT_S + TIMEOUT_S)
    assert isinstance(answered, Answered)
    return answered


def _between(polled: Polled, begin: float, end: float) -> Times:
    return times_between(polled.due, polled.took_s, begin, end)


def _counted(metric: str, before: Mapping[str, float], after: Mapping[str, float]) -> int:
    return int(after[f"nncache_{metric}_total"] - before[f"nncache_{metric}_total"])


def _of_gate(running: Running) -> int:
    """Return the gate's questions that are none of files or RPC."""
    return int(sum(running.upkeep().values()))


def _rpc_calls(http: str) -> dict[str, int]:
    """Return how often each method was called over RPC, at any port (RpcDetailedMetrics)."""
    calls: dict[str, int] = {}
    for bean in beans(http, _RPC):
        for name, count in bean.items():
            if name.endswith("NumOps") and not name.startswith("Overall"):  # the same calls, timed otherwise
                calls[name] = calls.get(name, 0) + int(count)
    return calls
