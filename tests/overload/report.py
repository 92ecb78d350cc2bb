"""The tables of a run as Markdown, and all figures as JSON."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from tests.overload.attack import Attack
from tests.overload.figures import Figures, RequestCost, Results
from tests.overload.samples import Kind, SampleCounts
from tests.overload.verdicts import cost_shortfalls, shortfalls
from tests.real.figures import percent, table
from tests.real.proc import MIB

_HEADER = (
    "attack",
    "hits kept",
    "new clients' hits",
    "wrong",
    "hits p50/p99/max ms",
    "quiet p99",
    "forwarded right/refused/failed",
    "forwarded p50/p99/max ms",
    "quiet p99",
    "memory MiB (bound)",
    "CPU",
    "stalls",
    "calls/s at the NameNode (quiet)",
    "hits back after",
    "verdict",
)


def markdown(results: Results, attacks: Mapping[str, Attack]) -> str:
    """Return both tables, with the attacks and their requirements."""
    parts = ["## Others under each attack", "", *table(_HEADER, _attack_rows(results, attacks)), ""]
    parts += ["What each attack does, and what less than everything is expected:", ""]
    for figures in results.figures:
        attack = attacks[figures.attack]
        why = f" Expected: {attack.expected.why}." if attack.expected.why else ""
        parts.append(f"- `{attack.name}` (finding {attack.finding}): {attack.what}; {figures.done}.{why}")
    parts += [f"- `{attack}` could not be run: {why}" for attack, why in results.not_run]
    if results.costs:
        header = ("shape", "bytes", "status", "CPU ms", "memory grew by KiB", "verdict")
        parts += ["", "## One request on an idle proxy", "", *table(header, _cost_rows(results.costs))]
    return "\n".join(parts) + "\n"


def all_shortfalls(results: Results, attacks: Mapping[str, Attack]) -> list[str]:
    """Return each requirement that is not met, with the name of the attack or shape."""
    return [
        *(
            f"{figures.attack}: {what}"
            for figures in results.figures
            for what in shortfalls(figures, attacks[figures.attack].expected)
        ),
        *(f"{attack}: not run: {why}" for attack, why in results.not_run),
        *(f"request {cost.shape!r}: {what}" for cost in results.costs for what in cost_shortfalls(cost)),
    ]


def write(results: Results, attacks: Mapping[str, Attack], place: Path) -> None:
    """Write both forms into a directory."""
    place.mkdir(parents=True, exist_ok=True)
    (place / "overload.md").write_text(markdown(results, attacks), encoding="utf-8")
    (place / "overload.json").write_text(json.dumps(asdict(results), indent=1), encoding="utf-8")


def _attack_rows(results: Results, attacks: Mapping[str, Attack]) -> Iterable[Sequence[str]]:
    for figures in results.figures:
        polled, fresh, passed = (
            figures.during[kind.value] for kind in (Kind.POLLER, Kind.NEWCOMER, Kind.FORWARDED)
        )
        yield (
            figures.attack,
            percent(polled.hits),
            percent(fresh.hits),
            str(figures.wrong),
            _latencies(polled),
            _ms(figures.quiet[Kind.POLLER.value].p99_s),
            f"{percent(passed.right)} / {percent(passed.refused)} / {percent(passed.failed)}",
            _latencies(passed),
            _ms(figures.quiet[Kind.FORWARDED.value].p99_s),
            f"{figures.peak_bytes / MIB:.0f} ({figures.bound_bytes / MIB:.0f})",
            percent(figures.cpu_share),
            "?" if figures.stalls is None else f"{figures.stalls:.0f}",
            f"{_rate(figures.calls_s)} ({_rate(figures.quiet_calls_s)})",
            _recovery(figures),
            "; ".join(shortfalls(figures, attacks[figures.attack].expected)) or "ok",
        )


def _cost_rows(costs: Iterable[RequestCost]) -> Iterable[Sequence[str]]:
    for cost in costs:
        yield (
            cost.shape,
            f"{cost.request_bytes:,}",
            str(cost.status),
            f"{1000 * cost.cpu_s:.1f}",
            f"{cost.grown_bytes / 1024:,.0f}",
            "; ".join(cost_shortfalls(cost)) or "ok",
        )


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:,.1f}"


def _latencies(seen: SampleCounts) -> str:
    return f"{_ms(seen.p50_s)} / {_ms(seen.p99_s)} / {_ms(seen.max_s)}"


def _rate(per_s: float | None) -> str:
    return "?" if per_s is None else f"{per_s:,.0f}"


def _recovery(figures: Figures) -> str:
    if figures.ended:
        return "never: it ended"
    return f"> {figures.watched_s:.0f} s" if figures.recovery_s is None else f"{figures.recovery_s:.1f} s"
