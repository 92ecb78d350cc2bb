"""Run one attack, and measure its effect on other clients."""

import http.client
import json
import time
import urllib.request
from collections import Counter
from contextlib import nullcontext
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Final, Self

from tests.overload.attack import Aim, Attack, Tally
from tests.overload.attacker import Done
from tests.overload.attacker import attack as carry_out
from tests.overload.figures import Figures
from tests.overload.population import Population, population
from tests.overload.real_cluster import RealCluster, Site
from tests.overload.samples import Kind, Sample, SampleCounts, SampleResult, recovered_at, summed_up
from tests.real.beside import child, received
from tests.real.proc import cpu_s, sleep_until, watched_memory

_WARM_UP_S: Final = 40.0
_WARM_S: Final = 1.5
"""Seconds of nothing but hits for the pollers before measuring starts: one round of their paths."""

_QUIET_S: Final = 4.0
_ASK_EVERY_S: Final = 0.5
_START_S: Final = 30.0
_END_S: Final = 15.0
_STALLS: Final = "nncache_event_loop_stalls_total"
_BEAN: Final = "Hadoop:service=NameNode,name=NameNodeActivity"
_COUNTED: Final = ("FileInfoOps", "GetListingOps")
"""Counters of NameNodeMetrics (Hadoop 3.5.0); WebHDFS calls count like RPC calls."""

_JMX_TIMEOUT_S: Final = 2.0


@dataclass(frozen=True, slots=True)
class Counted:
    """The number of calls at a moment (`time.monotonic()`); None: the NameNode did not reply."""

    at: float
    calls: int | None

    @classmethod
    def now(cls, http: str) -> Self:
        """Query the NameNode at this address."""
        try:
            with urllib.request.urlopen(f"http://{http}/jmx?qry={_BEAN}", timeout=_JMX_TIMEOUT_S) as reply:
                (bean,) = json.load(reply)["beans"]
        except OSError:
            return cls(time.monotonic(), None)
        return cls(time.monotonic(), sum(bean[name] for name in _COUNTED))

    def rate_until(self, later: Self) -> float | None:
        """Return the calls a second between two moments."""
        if self.calls is None or later.calls is None:
            return None
        return (later.calls - self.calls) / (later.at - self.at)


def run_attack(site: Site, attack: Attack, *, seconds: float, recovery_s: float) -> Figures:
    """Start a proxy, attack it, and return the figures.

    For `recovery_s` after the attack the return of hits is observed.

    Raises:
        StartError: the proxy does not start with the settings of the attack.
        AssertionError: the pollers get no hits even before the attack.
    """
    if attack.needs_large:
        site.prepare_large()
    namenode, superuser = site.cluster.namenodes[0].http, site.cluster.superuser
    with (
        site.real_cluster(attack.setting) as real_cluster,
        population(real_cluster.proxy.address, namenode, superuser) as others,
    ):
        process = real_cluster.proxy.process
        warm = _await_hits(others, time.monotonic(), _WARM_UP_S, _WARM_S)
        assert warm is not None, f"no hits before the attack: {_outcomes(others.samples)}"
        quiet_since = time.monotonic()
        at_rest = Counted.now(namenode)
        sleep_until(quiet_since + _QUIET_S)
        with (
            nullcontext()
            if attack.body is None
            else child(carry_out, attack.body, _aim(real_cluster, seconds)) as pipe,
            watched_memory(process.running_pid) as peak,
        ):
            if pipe is not None:
                received(pipe, _START_S, "the attackers' process does not start")
            at_start = Counted.now(namenode)
            used = cpu_s(process.running_pid)
            began = time.monotonic()
            done = _attack(real_cluster, attack, pipe, seconds)
            ended = time.monotonic()
            at_end = Counted.now(namenode)
            is_alive = real_cluster.is_alive()
            cpu_share = (cpu_s(process.running_pid) - used) / (ended - began) if is_alive else 0.0
            recovered = _await_hits(others, ended, recovery_s, _WARM_S) if is_alive else None
        samples = others.take()
        return Figures(
            attack=attack.name,
            done=str(done.tally),
            quiet=_by_kind(samples, quiet_since, began),
            during=_by_kind(samples, began, ended),
            wrong=sum(sample.outcome is SampleResult.WRONG for sample in samples),
            idle_bytes=real_cluster.idle_bytes,
            peak_bytes=peak.bytes,
            bound_bytes=real_cluster.bound_bytes(attack.connections, attack.head_bytes),
            cpu_share=cpu_share,
            quiet_calls_s=at_rest.rate_until(at_start),
            calls_s=at_start.rate_until(at_end),
            recovery_s=None if recovered is None else recovered - ended,
            watched_s=recovery_s,
            stalls=_stalls(real_cluster),
            ended="" if real_cluster.is_alive() else process.last_words(),
            fault=done.fault,
        )


def _aim(real_cluster: RealCluster, seconds: float) -> Aim:
    namenode = real_cluster.cluster.namenodes[0]
    return Aim(
        proxy=real_cluster.proxy.address,
        admin=real_cluster.proxy.admin,
        namenode=namenode.http,
        rpc=namenode.rpc,
        filters_path=real_cluster.filters_path,
        registry=dict(real_cluster.registry),
        seconds=seconds,
    )


def _attack(real_cluster: RealCluster, attack: Attack, pipe: Connection | None, seconds: float) -> Done:
    with nullcontext() if attack.trouble is None else attack.trouble(real_cluster):
        if pipe is None:
            time.sleep(seconds)
            return Done(Tally())
        pipe.send(None)
        done = received(pipe, seconds + _END_S, "the attackers did not end in time")
        assert isinstance(done, Done)
        return done


def _await_hits(population: Population, since: float, within_s: float, quiet_s: float) -> float | None:
    """Wait until the pollers get only hits, and return the time of the last miss; None: not in time."""
    while True:
        time.sleep(_ASK_EVERY_S)
        recovered = recovered_at(population.take(), since, quiet_s=quiet_s)
        if recovered is not None or time.monotonic() > since + within_s:
            return recovered


def _by_kind(samples: list[Sample], since: float, until: float) -> dict[str, SampleCounts]:
    return {kind.value: summed_up(samples, {kind}, since, until) for kind in Kind}


def _outcomes(samples: list[Sample]) -> dict[str, int]:
    return dict(Counter(f"{sample.kind.value}: {sample.outcome.value}" for sample in samples))


def _stalls(real_cluster: RealCluster) -> float | None:
    """Return the proxy's count of event loop stalls; None if it has none."""
    try:
        return real_cluster.proxy.metrics().get(_STALLS)
    except (OSError, http.client.HTTPException):
        return None
