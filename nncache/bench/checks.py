"""What the figures of a run must be at least."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from nncache.bench.figures import SCHEDULE_S, AtPeriod, ModeFigures
from nncache.bench.workload import Callers, Workload
from nncache.proxy.audit_judge import AuditOutcome

GET_FILE_INFO_PER_CHANGE: Final = 1.3
CALLS_PER_CHANGE: Final = 2.6
LATENESS_BEYOND_PERIOD_S: Final = 0.1

NNCACHE: Final = "nncache"
WAITING: Final = "waiting"

WAITING_LATENESS_S: Final = 1.0
"""From a change to each client that waits for it (p99)."""

COMPARED: Final = frozenset(
    {AuditOutcome.SAME, AuditOutcome.CHANGED, AuditOutcome.UNANNOUNCED, AuditOutcome.BEYOND}
)
"""Outcomes of an audit in which there was something to compare."""


@dataclass(frozen=True, slots=True)
class Check:
    """One demand on a run: what was wanted, what was measured, and whether that is enough."""

    name: str
    wanted: str
    measured: str
    is_met: bool


def checks(modes: Sequence[ModeFigures], workload: Workload) -> tuple[Check, ...]:
    """Return what is demanded of a run, and how it did."""
    return tuple(check for mode in modes for check in _of_mode(mode, workload))


def also_checks(also: Sequence[AtPeriod]) -> tuple[Check, ...]:
    """Return what is demanded at further poll periods: that nothing fails and nothing is wrong.

    Whether the generator keeps the schedule there is a result: what it does not keep is not called measured.
    """
    return tuple(
        check
        for at in also
        for mode in at.modes
        if mode.mode == NNCACHE
        for check in _failures(mode, f"nncache, poll period {at.period_s:g} s")
    )


def _failures(mode: ModeFigures, name: str) -> Iterator[Check]:
    yield Check(f"{name}: no poll fails", "0", f"{mode.failed:,}", mode.failed == 0)
    yield Check(f"{name}: no wrong answer", "0", f"{mode.wrong_count:,}", mode.wrong_count == 0)
    if mode.audited:
        beyond = mode.audited.get(AuditOutcome.BEYOND, 0)
        yield Check(
            f"{name}: its auditor finds no difference beyond the bound",
            "0 of at least 1 answer compared",
            f"{beyond:,} of {compared(mode):,}",
            beyond == 0 < compared(mode),
        )


def compared(mode: ModeFigures) -> int:
    """Return how many answers from memory the proxy compared with an answer of the NameNode."""
    return sum(count for outcome, count in mode.audited.items() if outcome in COMPARED)


def _of_mode(mode: ModeFigures, workload: Workload) -> Iterator[Check]:
    late_s = mode.late_starts_s.p99
    yield Check(
        f"{mode.mode}: the generator keeps its schedule",
        f"p99 of late starts at most {SCHEDULE_S * 1e3:.0f} ms, every poll sent",
        f"{late_s * 1e3:.1f} ms, {mode.due - mode.sent} of {mode.due:,} polls not sent",
        mode.kept_schedule,
    )
    if mode.mode not in {NNCACHE, WAITING}:
        return  # what a peer does wrong is a result, not a failure of the run
    yield from _failures(mode, mode.mode)
    if mode.mode == WAITING:
        if mode.lateness_s.count:
            yield Check(
                "waiting: a change is seen by each who waits for it (p99)",
                f"{WAITING_LATENESS_S:.2f} s",
                f"{mode.lateness_s.p99:.3f} s",
                mode.lateness_s.p99 <= WAITING_LATENESS_S,
            )
        return
    if mode.lateness_s.count:
        wanted_s = workload.real_period_s + LATENESS_BEYOND_PERIOD_S
        yield Check(
            "nncache: a change is seen within one poll period and 100 ms (p99)",
            f"{wanted_s:.2f} s",
            f"{mode.lateness_s.p99:.3f} s",
            mode.lateness_s.p99 <= wanted_s,
        )
    if workload.callers is Callers.PER_GLOB and workload.changes_per_s and mode.changed_paths:
        yield from _calls(mode)


def _calls(mode: ModeFigures) -> Iterator[Check]:
    changed = mode.changed_paths
    get_file_info, in_all = mode.calls.get("getFileInfo", 0) / changed, sum(mode.calls.values()) / changed
    yield Check(
        "nncache: getFileInfo calls for each changed path",
        f"at most {GET_FILE_INFO_PER_CHANGE}",
        f"{get_file_info:.2f}",
        get_file_info <= GET_FILE_INFO_PER_CHANGE,
    )
    yield Check(
        "nncache: calls in all for each changed path (upkeep apart)",
        f"at most {CALLS_PER_CHANGE}",
        f"{in_all:.2f}",
        in_all <= CALLS_PER_CHANGE,
    )
