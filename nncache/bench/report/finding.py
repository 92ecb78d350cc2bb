"""The findings of a run, as sentences made from its figures."""

import math
from collections.abc import Callable, Iterable, Mapping
from itertools import chain, repeat
from typing import Final

from nncache.bench.report.rounding import counted, duration, number
from nncache.bench.report.savings import (
    all_calls_per_s,
    cores,
    foreign_upkeep_per_s,
    polls_asked_per_s,
)
from nncache.bench.shared.figures import AtPeriod, Mode, ModeFigures, RunInfo

Modes = tuple[ModeFigures, ...]

SAVED: Final = (
    "All calls are those that the NameNode answers for whatever reason: to read what has changed costs nncache about "
    "as much however often is polled, so the more often is polled, the larger is the share that it saves. Where "
    "a period was not run, or the generator could not keep its schedule, calls are computed from those at another one."
)
"""The explanation of the chart of savings."""


OTHERS: Final = (
    "A client calls checkAccess over RPC 20 times a second, on time. Queue, lock and processing times are the "
    "NameNode's own means over all calls to its RPC port: through nncache, these are mostly the polls of the edits. "
    "Polls over WebHDFS do not wait in the queue of the RPC server; they share its lock and its cores."
)
"""The explanation of the table of other clients."""

_WAYS: Final[Mapping[str, str]] = {
    Mode.DIRECT: "directly",
    Mode.WAITING: "by waiting",
    Mode.UNPOLLED: "without polls",
}


def pollers_of(info: RunInfo) -> str:
    """Return `10,000 pollers`."""
    pollers = info.workload.get("pollers")
    return counted(pollers, "poller") if isinstance(pollers, int) else "pollers"


def workload_name(info: RunInfo) -> str:
    """Return the workload's name."""
    return str(info.workload.get("name", "unnamed workload"))


def load(info: RunInfo, modes: Modes) -> str:
    """Return one sentence, without a full stop, on the number of calls that the NameNode answers, and its CPU."""
    head = f"{pollers_of(info)}, {number(polls_asked_per_s(info, info.period_s))} polls/s"
    if not modes:
        return f"{head}: nothing was measured"
    polled = [mode for mode in modes if mode.mode != Mode.UNPOLLED]
    answers = f"{head}: the NameNode answers {_each(polled, all_calls_per_s, 'calls/s')}"
    if any(math.isnan(cores(mode)) for mode in modes):
        return answers
    shares = ", ".join(f"{number(100 * cores(mode))} %" for mode in polled)
    alone = "".join(f"; {number(100 * cores(mode))} % {way(mode)}" for mode in modes if mode not in polled)
    return f"{answers}, and uses {shares} of a core{alone}"


def verdict(modes: Modes) -> str:
    """Return one sentence, without a full stop, that nncache costs more calls than it saves; empty if it does not."""
    direct, through = ([mode for mode in modes if mode.mode == name] for name in (Mode.DIRECT, Mode.NNCACHE))
    if not direct or not through or all_calls_per_s(through[0]) <= all_calls_per_s(direct[0]):
        return ""
    upkeep = sum(through[0].upkeep.values()) / through[0].duration_s
    return (
        f"At this load nncache costs the NameNode more calls than it saves: {number(all_calls_per_s(through[0]))} a "
        f"second in place of {number(all_calls_per_s(direct[0]))}; {number(upkeep)} of them read what has changed, "
        "however little is polled"
    )


def meanwhile(modes: Modes) -> str:
    """Return a sentence on nncache's calls to the NameNode during direct polls; empty if there were none."""
    upkeep = foreign_upkeep_per_s(modes)
    if not upkeep:
        return ""
    return (
        f"A publisher or a proxy of nncache ran while polls went straight to the NameNode: its {number(upkeep)} calls "
        "a second are left out of the figures of direct; their CPU is part of it"
    )


def ways(info: RunInfo, modes: Modes) -> str:
    """Return an explanation of the modes."""
    known: dict[str, str] = {
        Mode.DIRECT: "direct: it asks the NameNode itself.",
        Mode.NNCACHE: "nncache: through its proxy, which answers from memory and reads from the NameNode what changes.",
        Mode.WAITING: "waiting: through the same proxy, which holds each request until its answer differs "
        "(Prefer: wait); each asks again at once, without a period.",
        Mode.NGINX: f"nginx: through a cache that keeps each answer for {info.nginx_valid_s:g} s.",
        Mode.UNPOLLED: "unpolled: no one asks; what is left is the changes and the NameNode's own work.",
    }
    described = [known[mode.mode] for mode in modes if mode.mode in known]
    return " ".join(
        [
            f"Each poller asks for the status of its path every {info.period_s:g} s.",
            *described,
            "Calls are counted without those that make the changes, CPU with them.",
            f"Wrong is an answer that had been untrue for more than {info.bound_s:g} s, or never was true.",
        ]
    )


def freshness(modes: Modes) -> str:
    """Return one sentence, without a full stop, on the lateness of changes and the number of wrong answers."""
    seen = [f"{duration(mode.lateness_s.p99)} {way(mode)}" for mode in modes if mode.lateness_s.count]
    late = f"99 % of pollers see a change within {', '.join(seen)}" if seen else "No change was seen"
    wrong = ", ".join(f"{mode.wrong_count:,} {way(mode)}" for mode in modes if mode.mode != Mode.UNPOLLED)
    return f"{late}; wrong answers: {wrong}" if wrong else late


def schedule(modes: Modes) -> str:
    """Return a sentence that names the modes whose generator fell behind; empty if none did."""
    late = [mode.mode for mode in modes if not mode.kept_schedule]
    return f"The generator did not keep its schedule: {', '.join(late)}" if late else ""


def late_periods(also: tuple[AtPeriod, ...]) -> tuple[str, ...]:
    """Return a sentence for each further poll period at which the generator was late, with its lateness."""
    return tuple(
        f"At a poll period of {at.period_s:,g} s the generator was late: {'; '.join(late)}."
        for at in also
        if (late := [_lateness(mode) for mode in at.modes if not mode.kept_schedule])
    )


def way(mode: ModeFigures) -> str:
    """Return the way of a mode's polls, such as `directly` or `through nncache`."""
    return _WAYS.get(mode.mode, f"through {mode.mode}")


def _each(modes: Iterable[ModeFigures], value: Callable[[ModeFigures], float], unit: str) -> str:
    """Return the values of all modes as text; the first has the unit."""
    units = chain([f" {unit}"], repeat(""))
    return ", ".join(
        f"{number(value(mode))}{one} {way(mode)}" for mode, one in zip(modes, units, strict=False)
    )


def _lateness(mode: ModeFigures) -> str:
    late, unsent = mode.late_starts_s.p99, mode.due - mode.sent
    return f"{way(mode)} by p99 {number(late * 1e3)} ms, {unsent:,} of {mode.due:,} polls not sent"
