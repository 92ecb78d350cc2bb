"""The share of the NameNode's calls that a cache saves, measured or computed."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from nncache.bench.report.rounding import ratio
from nncache.bench.shared.figures import AtPeriod, Mode, ModeFigures, RunInfo

PERIODS: Final = (1.0, 5.0, 30.0)  # poll periods of the table, seconds

FORMULA: Final = (
    "Computed: getFileInfo calls/s = changes/s \N{MULTIPLICATION SIGN} getFileInfo calls per change, both as measured "
    "here, but at most one call for each poll; all other calls/s as measured here, since they depend on changes and on "
    "time alone; calls/s direct = pollers \N{MULTIPLICATION SIGN} paths per poller / poll period; "
    "saved = 1 - calls/s / calls/s direct. "
    "This holds where calls come from changes and not from polls, so it says nothing of a cache with a time limit. "
    "CPU is not computed: it is given where it was measured and all polls were sent, even if some were late."
)
"""The explanation of the computed rows."""


_WITHOUT_UPKEEP: Final = (Mode.DIRECT, Mode.NGINX, Mode.UNPOLLED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Saving:
    """The savings of one mode for the NameNode at one poll period."""

    mode: str
    period_s: float
    direct_calls_per_s: float  # getFileInfo calls per second if every poll goes to the NameNode
    calls_per_s: float  # getFileInfo calls per second with this mode
    direct_all_per_s: float  # calls of all kinds per second if every poll goes to the NameNode
    all_per_s: float  # calls of all kinds per second with this mode, including polls of the edits and probes
    direct_cores: float  # the NameNode's cores if every poll goes to it; NaN if not measured
    cores: float  # the NameNode's cores with this mode
    # measured in this run, by a generator that kept its schedule; else computed by `FORMULA` from the figures at the
    # run's own period
    is_measured: bool

    @property
    def share(self) -> float:
        """The share saved of the direct calls; negative if calls increased; NaN without direct calls."""
        return 1 - ratio(self.calls_per_s, self.direct_calls_per_s)

    @property
    def share_of_all(self) -> float:
        """The share saved of calls of all kinds; see `share`."""
        return 1 - ratio(self.all_per_s, self.direct_all_per_s)

    @property
    def share_of_cpu(self) -> float:
        """The share saved of the NameNode's CPU; see `share`."""
        return 1 - ratio(self.cores, self.direct_cores)


def calls_per_s(mode: ModeFigures) -> float:
    """Return the getFileInfo calls per second that reached the NameNode."""
    return ratio(mode.calls.get("getFileInfo", 0), mode.duration_s)


def own_calls(mode: ModeFigures) -> dict[str, int]:
    """Return the calls that the NameNode answered because of this mode, by name, including those without a poll.

    Only nncache needs upkeep. Upkeep during another mode comes from a permanent publisher or proxy of nncache in front
    of an external cluster, and does not count.
    """
    upkeep = {} if mode.mode in _WITHOUT_UPKEEP else mode.upkeep
    return {name: mode.calls.get(name, 0) + upkeep.get(name, 0) for name in (*mode.calls, *upkeep)}


def foreign_upkeep_per_s(modes: tuple[ModeFigures, ...]) -> float:
    """Return the upkeep calls per second during polls that went directly to the NameNode."""
    direct = [mode for mode in modes if mode.mode == Mode.DIRECT]
    return sum(ratio(sum(mode.upkeep.values()), mode.duration_s) for mode in direct)


def all_calls_per_s(mode: ModeFigures) -> float:
    """Return the calls per second that the NameNode answered because of this mode."""
    return ratio(sum(own_calls(mode).values()), mode.duration_s)


def cores(mode: ModeFigures, process: str = "namenode") -> float:
    """Return the CPU seconds per second of a process; NaN if not measured."""
    return ratio(mode.cpu_s.get(process), mode.duration_s)


def share_saved(
    measure: Callable[[ModeFigures], float], mode: ModeFigures, modes: tuple[ModeFigures, ...]
) -> float:
    """Return the share of `measure` that `mode` saves against `direct`; NaN without it, or for direct and unpolled."""
    direct = next((measure(each) for each in modes if each.mode == Mode.DIRECT), math.nan)
    return math.nan if mode.mode in {Mode.DIRECT, Mode.UNPOLLED} else 1 - ratio(measure(mode), direct)


def cores_for_polls(mode: ModeFigures, modes: tuple[ModeFigures, ...]) -> float:
    """Return the NameNode's CPU seconds per second minus those without polls; NaN if these are unknown."""
    return next((cores(mode) - cores(each) for each in modes if each.mode == Mode.UNPOLLED), math.nan)


def share_of_poll_cpu_saved(mode: ModeFigures, modes: tuple[ModeFigures, ...]) -> float:
    """Return the share that `mode` saves of the NameNode's CPU for polls; NaN if unknown."""
    return share_saved(lambda each: cores_for_polls(each, modes), mode, modes)


def polls_asked_per_s(info: RunInfo, period_s: float) -> float:
    """Return the polls per second that the workload requests at a poll period; NaN if it does not define them."""
    pollers, paths = info.workload.get("pollers"), info.workload.get("paths_per_poller", 1)
    if not isinstance(pollers, int | float) or not isinstance(paths, int | float):
        return math.nan
    return ratio(pollers * paths, period_s)


def savings(
    modes: tuple[ModeFigures, ...],
    info: RunInfo,
    also: tuple[AtPeriod, ...] = (),
    periods: tuple[float, ...] = PERIODS,
) -> tuple[Saving, ...]:
    """Return the savings of each cache at each of `periods` and at the periods that were run, by period and mode.

    Caches with a time limit (nginx) and waiting clients, which have no period, have measured rows only.
    """
    run = {**{at.period_s: at.modes for at in also}, info.period_s: modes}
    others = {period for period in periods if not any(math.isclose(period, at) for at in run)}
    rows = []
    for period in sorted({*run, *others}):
        kept = {mode.mode: calls_per_s(mode) for mode in run.get(period, ()) if mode.kept_schedule}
        for mode in modes:
            is_measured = Mode.DIRECT in kept and mode.mode in kept
            by_period_alone = mode.mode in {Mode.NGINX, Mode.WAITING}
            if mode.mode == Mode.DIRECT or not mode.sent or (by_period_alone and not is_measured):
                continue
            direct = kept[Mode.DIRECT] if is_measured else polls_asked_per_s(info, period)
            # The calls of the run are changes/s times calls per change, also where nothing changed.
            calls = kept[mode.mode] if is_measured else min(calls_per_s(mode), direct)
            beside = all_calls_per_s(mode) - calls_per_s(mode)
            there = {each.mode: each for each in run.get(period, ())}
            rows.append(
                Saving(
                    mode=mode.mode,
                    period_s=period,
                    direct_calls_per_s=direct,
                    calls_per_s=calls,
                    direct_all_per_s=all_calls_per_s(there[Mode.DIRECT]) if is_measured else direct,
                    all_per_s=all_calls_per_s(there[mode.mode]) if is_measured else calls + beside,
                    direct_cores=_cores_of_all(there.get(Mode.DIRECT)),
                    cores=_cores_of_all(there.get(mode.mode)),
                    is_measured=is_measured,
                )
            )
    return tuple(rows)


def _cores_of_all(mode: ModeFigures | None) -> float:
    """Return the NameNode's cores if all polls were sent, else NaN."""
    return math.nan if mode is None or mode.sent < mode.due else cores(mode)
