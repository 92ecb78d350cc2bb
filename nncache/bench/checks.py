"""The limits that the figures of a run must meet."""

import math
from collections.abc import Iterator, Sequence
from typing import Final

from nncache.auditing.audit_judge import COMPARED, AuditOutcome
from nncache.bench.report.rounding import ratio
from nncache.bench.report.savings import all_calls_per_s, cores, share_of_poll_cpu_saved
from nncache.bench.shared.driver import Figure, none_of
from nncache.bench.shared.figures import SCHEDULE_S, AtPeriod, Mode, ModeFigures
from nncache.bench.shared.workload import Callers, Workload

GET_FILE_INFO_PER_CHANGE: Final = 1.3
CALLS_PER_CHANGE: Final = 2.6
LATENESS_BEYOND_PERIOD_S: Final = 0.1

WAITING_LATENESS_S: Final = 1.0  # p99 of the delay from a change to each client that waits for it

MAX_JOURNALNODE_CORES: Final = 0.02
"""Limit for each JournalNode that nncache reads edits from, including its work for the NameNodes."""

ALL_CALLS_PER_CHANGE: Final = 2.0
"""Limit under the design's load, upkeep included, if edits come from JournalNodes and no poll goes to the NameNode."""

POLL_CPU_SAVED: Final = 0.95
"""The share saved of the NameNode's CPU for polls, not counting its CPU without polls: one twentieth remains."""

DESIGN_CHANGES_PER_S: Final = 9.0
"""The least load at which both limits apply: the rate of probes does not fall with the rate of changes."""


def checks(modes: Sequence[ModeFigures], workload: Workload) -> tuple[Figure, ...]:
    """Return the checks of a run: its figures with their limits."""
    return tuple(check for mode in modes for check in _of_mode(mode, modes, workload))


def also_checks(also: Sequence[AtPeriod]) -> tuple[Figure, ...]:
    """Return the checks at further poll periods: no poll fails, and no answer is wrong.

    A generator that falls behind its schedule is a result there, not a failed check: the period is not measured then.
    """
    return tuple(
        check
        for at in also
        for mode in at.modes
        if mode.mode == Mode.NNCACHE
        for check in _failures(mode, f"nncache, poll period {at.period_s:g} s")
    )


def _failures(mode: ModeFigures, name: str) -> Iterator[Figure]:
    yield none_of(f"{name}: polls that fail", mode.failed)
    yield none_of(f"{name}: wrong answers", mode.wrong_count)
    if mode.audited:
        beyond = mode.audited.get(AuditOutcome.BEYOND, 0)
        yield none_of(f"{name}: differences beyond the bound that its auditor found", beyond)
        yield Figure(f"{name}: answers that its auditor compared", compared(mode), least=1)


def compared(mode: ModeFigures) -> int:
    """Return the number of answers from memory that the proxy compared with the NameNode's answer."""
    return sum(count for outcome, count in mode.audited.items() if outcome in COMPARED)


def _on_journalnodes(mode: ModeFigures, modes: Sequence[ModeFigures]) -> Iterator[Figure]:
    journalnodes = [name for name in mode.cpu_s if name.startswith("journalnode-")]
    for name in journalnodes:
        yield Figure(f"{mode.mode}: cores of {name}", cores(mode, name), most=MAX_JOURNALNODE_CORES)
    if journalnodes and ratio(mode.changes, mode.duration_s) >= DESIGN_CHANGES_PER_S:
        calls = all_calls_per_s(mode) * mode.duration_s / mode.changes
        yield Figure(f"{mode.mode}: calls of all kinds for each change", calls, most=ALL_CALLS_PER_CHANGE)
        saved = share_of_poll_cpu_saved(mode, tuple(modes))
        if not math.isnan(saved):
            yield Figure(f"{mode.mode}: saved of the NameNode's CPU for polls", saved, least=POLL_CPU_SAVED)


def _of_mode(mode: ModeFigures, modes: Sequence[ModeFigures], workload: Workload) -> Iterator[Figure]:
    if mode.mode == Mode.UNPOLLED:
        return
    late_ms, unsent = mode.late_starts_s.p99 * 1e3, mode.due - mode.sent
    yield Figure(f"{mode.mode}: polls sent late by the generator (p99)", late_ms, "ms", most=SCHEDULE_S * 1e3)
    yield none_of(f"{mode.mode}: polls not sent", unsent)
    if mode.mode not in {Mode.NNCACHE, Mode.WAITING}:
        return  # a peer's errors are a result, not a failure of the run
    yield from _failures(mode, mode.mode)
    period_s = workload.period_s + LATENESS_BEYOND_PERIOD_S
    wanted_s = WAITING_LATENESS_S if mode.mode == Mode.WAITING else period_s
    if mode.lateness_s.count:
        late_s = mode.lateness_s.p99
        yield Figure(f"{mode.mode}: a change is seen after (p99)", late_s, "s", most=wanted_s)
    of_changes = workload.callers is Callers.PER_GLOB and workload.changes_per_s and mode.changed_paths
    if mode.mode == Mode.NNCACHE and of_changes:
        asked, in_all = mode.calls.get("getFileInfo", 0), sum(mode.calls.values())
        what = f"{mode.mode}: calls for each changed path"
        yield from _on_journalnodes(mode, modes)
        yield Figure(f"{what}, getFileInfo", asked / mode.changed_paths, most=GET_FILE_INFO_PER_CHANGE)
        yield Figure(f"{what}, in all (upkeep apart)", in_all / mode.changed_paths, most=CALLS_PER_CHANGE)
