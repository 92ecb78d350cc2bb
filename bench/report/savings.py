"""The share of the NameNode's calls that a cache saves, measured and computed. (bench/report/savings.py)"""

import math
from dataclasses import dataclass
from typing import Final

from nncache.bench.figures import AtPeriod, ModeFigures, RunInfo
from nncache.bench.report.rounding import ratio

PERIODS: Final = (1.0, 5.0, 30.0)
"""Poll periods of the table, seconds."""

FORMULA: Final = (
    "Computed: calls/s = changes/s \N{MULTIPLICATION SIGN} getFileInfo calls per change, both as measured here, "
    "but at most one call for each poll; "
    "calls/s direct = pollers \N{MULTIPLICATION SIGN} paths per poller / poll period; "
    "saved = 1 - calls/s / calls/s direct. "
    "This holds where calls come from changes and not from polls, so it says nothing of a cache with a time limit."
)
"""How the computed rows come about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Saving:
    """What one mode saves the NameNode at one poll period.

    Attributes:
        direct_calls_per_s: getFileInfo calls a second if every poll goes to the NameNode.
        calls_per_s: the same through this mode.
        share: saved of the former; below 0 if there were more; NaN if there is nothing to save.
        is_measured: in this run, by a generator that kept its schedule; else computed by `FORMULA` from what was
            measured at the run's own period.
    """

    mode: str
    period_s: float
    direct_calls_per_s: float
    calls_per_s: float
    share: float
    is_measured: bool


def calls_per_s(mode: ModeFigures) -> float:
    """Return how many getFileInfo calls a second reached the NameNode."""
    return ratio(mode.calls.get("getFileInfo", 0), mode.duration_s)


def share_saved(mode: ModeFigures, direct: ModeFigures | None) -> float:
    """Return the share of the getFileInfo calls of `direct` that did not come through `mode`; NaN for itself."""
    if direct is None or mode.mode == direct.mode:
        return math.nan
    return 1 - ratio(calls_per_s(mode), calls_per_s(direct))


def direct_of(modes: tuple[ModeFigures, ...]) -> ModeFigures | None:
    """Return the mode without a cache, if it was run."""
    return next((mode for mode in modes if mode.mode == "direct"), None)


def polls_asked_per_s(info: RunInfo, period_s: float) -> float:
    """Return how many polls a second the workload asks for at a poll period; NaN if it does not say."""
    pollers = info.workload.get("pollers")
    paths = info.workload.get("paths_per_poller", 1)
    if not isinstance(pollers, int | float) or not isinstance(paths, int | float):
        return math.nan
    return ratio(pollers * paths, period_s)


def savings(
    modes: tuple[ModeFigures, ...],
    info: RunInfo,
    also: tuple[AtPeriod, ...] = (),
    periods: tuple[float, ...] = PERIODS,
) -> tuple[Saving, ...]:
    """Return what each cache saves at each of the periods and at those that were run, by period and mode.

    Caches with a time limit (nginx) have measured rows only.
    """
    run = {**{at.period_s: at.modes for at in also}, info.period_s: modes}
    rows = []
    for period in sorted(
        {*run, *(each for each in periods if not any(math.isclose(each, at) for at in run))}
    ):
        measured = {mode.mode: mode for mode in run.get(period, ())}
        direct = measured.get("direct")
        for mode in modes:
            if mode.mode == "direct" or not mode.sent:
                continue
            through = measured.get(mode.mode)
            if direct is not None and through is not None and direct.kept_schedule and through.kept_schedule:
                rows.append(_measured(through, direct, period))
            elif mode.mode != "nginx":
                rows.append(_computed(mode, info, period))
    return tuple(rows)


def _measured(mode: ModeFigures, direct: ModeFigures, period_s: float) -> Saving:
    return Saving(
        mode=mode.mode,
        period_s=period_s,
        direct_calls_per_s=calls_per_s(direct),
        calls_per_s=calls_per_s(mode),
        share=share_saved(mode, direct),
        is_measured=True,
    )


def _computed(mode: ModeFigures, info: RunInfo, period_s: float) -> Saving:
    direct = polls_asked_per_s(info, period_s)
    calls = calls_per_s(mode)  # is changes/s times calls per change, also where nothing changed
    calls = min(calls, direct)  # a cache asks at most once for each poll
    return Saving(
        mode=mode.mode,
        period_s=period_s,
        direct_calls_per_s=direct,
        calls_per_s=calls,
        share=1 - ratio(calls, direct),
        is_measured=False,
    )
