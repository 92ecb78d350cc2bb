"""The requirements, and the figures that do not meet them.

Latencies are compared with those just before the attack, since the machine may have other load.
"""

from typing import Final

from tests.overload.attack import Expected, Forwards
from tests.overload.figures import Figures, RequestCost
from tests.overload.real_cluster import TOLERANCE
from tests.overload.samples import Kind, SampleCounts
from tests.real.figures import percent
from tests.real.proc import MIB

MIN_HITS: Final = 0.99
MAX_FAILED: Final = 0.01
MAX_SLOWER: Final = 10.0
"""Factor on the p99 before the attack."""

HIT_P99_S: Final = 0.25
NEWCOMER_P99_S: Final = 1.0
"""A latency below this is good enough, even if it was lower before the attack."""

MAX_REQUEST_CPU_S: Final = 0.050


def shortfalls(figures: Figures, expected: Expected) -> list[str]:
    """Return each requirement that one attack's figures do not meet."""
    if figures.fault:
        return [f"the harness failed: {figures.fault.strip().splitlines()[-1]}"]
    short = []
    if figures.ended:
        short.append(f"the proxy ended: {figures.ended}")
    if figures.wrong:
        short.append(f"{figures.wrong} wrong answers")
    if figures.peak_bytes > TOLERANCE * figures.bound_bytes:
        short.append(
            f"{figures.peak_bytes / MIB:.0f} MiB resident, bound {figures.bound_bytes / MIB:.0f} MiB + 20 %"
        )
    if expected.hits_go_on:
        short += _of_hits("hits", figures, Kind.POLLER, HIT_P99_S)
        if expected.newcomers:
            short += _of_hits("newcomers", figures, Kind.NEWCOMER, NEWCOMER_P99_S)
    short += _of_forwards(figures, expected)
    if expected.more_calls_s is not None:
        short += _of_calls(figures, expected.more_calls_s)
    if expected.stalls is not None and (figures.stalls is None or figures.stalls > expected.stalls):
        short.append(f"the event loop was held {figures.stalls} times, not {expected.stalls}")
    if figures.recovery_s is None:
        short.append(f"hits not back within {figures.watched_s:.0f} s")
    elif figures.recovery_s > expected.recovery_s:
        short.append(f"hits back after {figures.recovery_s:.1f} s, not {expected.recovery_s:.0f} s")
    return short


def _of_hits(who: str, figures: Figures, kind: Kind, good_s: float) -> list[str]:
    seen, quiet = figures.during[kind.value], figures.quiet[kind.value]
    short = []
    if seen.hits < MIN_HITS:
        short.append(f"{who}: {percent(seen.hits)} hits")
    return short + _of_latency(who, seen, quiet, good_s)


def _of_forwards(figures: Figures, expected: Expected) -> list[str]:
    seen, quiet = figures.during[Kind.FORWARDED.value], figures.quiet[Kind.FORWARDED.value]
    short = []
    if expected.forwards is Forwards.MAY_WAIT:
        return []
    if seen.failed > MAX_FAILED:
        short.append(f"forwarded: {percent(seen.failed)} failed")
    if expected.forwards is Forwards.ANSWERED and seen.refused > MAX_FAILED:
        short.append(f"forwarded: {percent(seen.refused)} refused")
    return short + _of_latency("forwarded", seen, quiet, expected.forward_p99_s)


def _of_calls(figures: Figures, allowed_s: float) -> list[str]:
    if figures.calls_s is None or figures.quiet_calls_s is None:
        return ["the NameNode did not say how many calls it got"]
    more = figures.calls_s - figures.quiet_calls_s
    return [f"{more:.0f} calls/s more at the NameNode, not {allowed_s:.0f}"] if more > allowed_s else []


def _of_latency(who: str, seen: SampleCounts, quiet: SampleCounts, good_s: float) -> list[str]:
    if seen.p99_s > max(good_s, MAX_SLOWER * quiet.p99_s):
        return [f"{who}: p99 {1000 * seen.p99_s:.0f} ms, {1000 * quiet.p99_s:.0f} ms when quiet"]
    return []


def cost_shortfalls(cost: RequestCost) -> list[str]:
    """Return the requirement that one request's cost does not meet."""
    if cost.cpu_s > MAX_REQUEST_CPU_S:
        return [f"{1000 * cost.cpu_s:.0f} ms of CPU, not {1000 * MAX_REQUEST_CPU_S:.0f} ms at most"]
    return []
