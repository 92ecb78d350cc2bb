"""What a run found, in a sentence made from its figures. (bench/report/finding.py)"""

from nncache.bench.figures import AtPeriod, ModeFigures, RunInfo
from nncache.bench.report.rounding import counted, duration, milliseconds, number, seconds_of
from nncache.bench.report.savings import calls_per_s, polls_asked_per_s


def pollers_of(info: RunInfo) -> str:
    """Return `10,000 pollers`."""
    pollers = info.workload.get("pollers")
    return counted(pollers, "poller") if isinstance(pollers, int) else "pollers"


def workload_name(info: RunInfo) -> str:
    """Return the workload's name."""
    return str(info.workload.get("name", "unnamed workload"))


def load(info: RunInfo, modes: tuple[ModeFigures, ...]) -> str:
    """Say in one sentence, without a full stop, what the NameNode had to answer."""
    head = f"{pollers_of(info)}, {number(polls_asked_per_s(info, info.period_s))} polls/s"
    if not modes:
        return f"{head}: nothing was measured"
    first, *others = modes
    parts = [f"{number(calls_per_s(first))} calls/s {way(first)}"]
    parts += [f"{number(calls_per_s(mode))} {way(mode)}" for mode in others]
    return f"{head}: the NameNode answers {', '.join(parts)}"


def cpu(info: RunInfo, modes: tuple[ModeFigures, ...]) -> str:
    """Say in one sentence, without a full stop, what the NameNode's answers cost it."""
    known = [mode for mode in modes if "namenode" in mode.cpu_s]
    if not known:
        return f"CPU seconds by process in {seconds_of(info.duration_s)}"
    first, *others = known
    parts = [f"{number(first.cpu_s['namenode'])} CPU seconds {way(first)}"]
    parts += [f"{number(mode.cpu_s['namenode'])} {way(mode)}" for mode in others]
    return f"In {seconds_of(info.duration_s)} the NameNode takes {', '.join(parts)}"


def freshness(modes: tuple[ModeFigures, ...]) -> str:
    """Say in one sentence, without a full stop, how late changes were seen and how often what was said was wrong."""
    seen = [f"{duration(mode.lateness_s.p99)} {way(mode)}" for mode in modes if mode.lateness_s.count]
    wrong = [f"{mode.wrong_count:,} {way(mode)}" for mode in modes]
    parts = [f"99 % of pollers see a change within {', '.join(seen)}"] if seen else ["no change was seen"]
    if wrong:
        parts.append(f"wrong answers: {', '.join(wrong)}")
    return "; ".join(parts)


def schedule(modes: tuple[ModeFigures, ...]) -> str:
    """Name the modes whose generator fell behind; empty if none did."""
    late = [mode.mode for mode in modes if not mode.kept_schedule]
    return f"The generator did not keep its schedule: {', '.join(late)}" if late else ""


def tried(also: tuple[AtPeriod, ...]) -> tuple[str, ...]:
    """Say of each further period whose schedule was not kept by how much, in a sentence with a full stop."""
    said = []
    for at in also:
        late = [
            f"{way(mode)} by p99 {milliseconds(mode.late_starts_s.p99)} ms, "
            f"{mode.due - mode.sent:,} of {mode.due:,} polls not sent"
            for mode in at.modes
            if not mode.kept_schedule
        ]
        if late:
            said.append(
                f"At a poll period of {seconds_of(at.period_s)} the generator was late: {'; '.join(late)}."
            )
    return tuple(said)


def way(mode: ModeFigures) -> str:
    """Return `directly`, or through what."""
    return "directly" if mode.mode == "direct" else f"through {mode.mode}"
