"""Plausible figures of an imaginary run, for tests of the report."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from nncache.bench.shared.driver import Figure
from nncache.bench.shared.figures import AtPeriod, ModeFigures, OthersFigures, Quantiles, RunInfo, WrongAnswer

NOTHING: Final = Quantiles(count=0, mean=0.0, p50=0.0, p90=0.0, p99=0.0, p999=0.0, max=0.0)

CHECKS: Final = (
    Figure("getFileInfo calls per change", 1.12, most=1.3),
    Figure("wrong answers of nncache", 0, most=0),
    Figure("lateness p99 of nncache", 5_420, "ms", most=5_100),
)


def info() -> RunInfo:
    """Return the design scenario, run for a minute."""
    return RunInfo(
        date="2026-11-22T10:00:00Z",
        seed=7,
        workload={
            "name": "design",
            "description": "10,000 pollers wait for 6,000 files",
            "pollers": 10_000,
            "paths_per_poller": 1,
            "period_s": 5.0,
        },
        period_s=5.0,
        duration_s=60.0,
        warm_up_s=10.0,
        modes=("direct", "nncache", "nginx"),
        bound_s=3.0,
        nginx_valid_s=5.0,
        master="local[*]",
        machine={"processor": "Example CPU <2 GHz>", "cores": "2", "memory": "8 GiB"},
        versions={"nncache": "0.1.0", "hadoop": "3.4.1", "nginx": "1.22.1"},
        command="python -m nncache.bench.run_pollers --pollers 10000 --duration 60 --seed 7",
    )


def direct() -> ModeFigures:
    """Return the figures of polls to the NameNode itself: 2,000 calls a second."""
    return ModeFigures(
        mode="direct",
        duration_s=60.0,
        due=120_000,
        sent=120_000,
        failed=0,
        late_starts_s=latencies(0.004),
        kept_schedule=True,
        latency_s=latencies(0.0031),
        hits=0,
        changes=600,
        changed_paths=600,
        lateness_s=uniform(4.9),
        first_lateness_s=uniform(2.4),
        stale=3,
        oldest_s=0.0021,
        wrong=(),
        wrong_count=0,
        calls={"getFileInfo": 120_000},
        upkeep={},
        cpu_s={"namenode": 48.0, "generator": 36.0, "changer": 1.5},
        memory_bytes={"namenode": 400 * 2**20, "generator": 300 * 2**20},
        clock_error_s=0.0,
        others=OthersFigures(
            took_s=latencies(0.0021),
            failed=0,
            rpc_calls=1_200,
            queue_s=0.00042,
            lock_wait_s=0.00031,
            processing_s=0.00012,
        ),
    )


def nncache() -> ModeFigures:
    """Return the figures of nncache at its best: 672 calls for 600 changes."""
    return replace(
        direct(),
        mode="nncache",
        latency_s=latencies(0.0009),
        hits=119_000,
        lateness_s=uniform(4.95),
        first_lateness_s=uniform(2.45),
        stale=240,
        oldest_s=0.131,
        calls={"getFileInfo": 672, "isFileClosed": 300},
        audited={"same": 8, "changed": 1, "beyond": 0, "refused": 0},
        upkeep={"getEditsFromTxid": 1_200, "getServiceStatus": 60},
        cpu_s={"namenode": 2.4, "proxy": 9.6, "publisher": 0.6, "generator": 34.0, "changer": 1.5},
        memory_bytes={"namenode": 410 * 2**20, "proxy": 96 * 2**20, "publisher": 64 * 2**20},
    )


def nginx() -> ModeFigures:
    """Return the figures of a cache with a time limit: fewer calls, and stale answers."""
    return replace(
        direct(),
        mode="nginx",
        latency_s=latencies(0.0007),
        hits=84_000,
        lateness_s=uniform(9.8),
        first_lateness_s=uniform(7.0),
        stale=900,
        oldest_s=2.99,
        wrong=tuple(wrong_answer(number) for number in range(100)),
        wrong_count=1_234,
        calls={"getFileInfo": 36_000},
        cpu_s={"namenode": 15.0, "nginx": 3.0, "generator": 33.0, "changer": 1.5},
        memory_bytes={"namenode": 405 * 2**20, "nginx": 12 * 2**20},
    )


IDLE: Final[dict[str, Any]] = {
    **dict.fromkeys(("due", "sent", "stale"), 0),
    **dict.fromkeys(("late_starts_s", "latency_s", "lateness_s", "first_lateness_s"), NOTHING),
    "oldest_s": 0.0,
}
"""The figures of a mode without polls."""


def unpolled() -> ModeFigures:
    """Return the NameNode's figures without any poll."""
    cpu_s = {"namenode": 3.0, "generator": 0.0, "changer": 1.5}
    return replace(direct(), mode="unpolled", calls={"getFileInfo": 0}, cpu_s=cpu_s, **IDLE)


def nothing_happened() -> ModeFigures:
    """Return nncache's figures in a run without polls and changes."""
    empty: dict[str, Any] = {key: {} for key in ("calls", "upkeep", "cpu_s", "memory_bytes")}
    return replace(nncache(), hits=0, changes=0, changed_paths=0, **IDLE, **empty)


def wrong_answer(number: int) -> WrongAnswer:
    """Return a stale answer; the first one was never true."""
    return WrongAnswer(
        poller=4_000 + number,
        path_id=number,
        sent_s=12.5 + number,
        replied_s=12.501 + number,
        status=404,
        served="HIT",
        age_s=3.25 + number if number else None,
    )


def modes() -> tuple[ModeFigures, ...]:
    """Return all three modes."""
    return direct(), nncache(), nginx()


def uniform(longest_s: float) -> Quantiles:
    """Return times spread evenly from 0 to `longest_s`."""
    return _quantiles(lambda share: share * longest_s)


def latencies(median_s: float) -> Quantiles:
    """Return times with a long tail: p99 is 7 times the median, p99.9 19 times."""
    return _quantiles(lambda share: median_s * (0.5 / max(1 - share, 1e-4)) ** 0.5)


def _quantiles(at: Callable[[float], float]) -> Quantiles:
    shares = [*(step / 100 for step in range(100)), *(1 - 0.01 * 0.9**step for step in range(60))]
    return Quantiles(
        count=120_000,
        mean=at(0.5),
        p50=at(0.5),
        p90=at(0.9),
        p99=at(0.99),
        p999=at(0.999),
        max=at(1.0),
        cdf=(*((at(share), share) for share in shares), (at(1.0), 1.0)),
    )


def also() -> tuple[AtPeriod, ...]:
    """Return runs of 20 s at a period of 1 s, which the generator could not keep, and of 30 s, which it kept."""

    def short(mode: ModeFigures, due: int, sent: int, calls: int) -> ModeFigures:
        return replace(mode, duration_s=20.0, due=due, sent=sent, calls={"getFileInfo": calls})

    late = replace(short(direct(), 200_000, 198_766, 100_000), kept_schedule=False)
    often = late, short(nncache(), 200_000, 200_000, 200)
    rarely = short(direct(), 6_660, 6_660, 6_660), short(nncache(), 6_660, 6_660, 200)
    return AtPeriod(period_s=1.0, modes=often), AtPeriod(period_s=30.0, modes=rarely)
