"""The rows of the table: one for each figure, with a cell for each mode. (bench/report/rows.py)"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from nncache.bench.figures import ModeFigures
from nncache.bench.report.rounding import NONE, duration, mebibytes, milliseconds, number, percent, ratio
from nncache.bench.report.savings import calls_per_s, direct_of, share_saved

SERVERS: Final = ("proxy", "publisher", "nginx")
"""Processes between pollers and NameNode, as `cpu_s` names them."""


PROOF: Final = "miss; no-grant"
"""The reply to a caller whose right to see the path had to be proven first, by a call of its own."""


@dataclass(frozen=True, slots=True)
class Row:
    """One figure of all modes; `alarms` says which of its cells are bad news."""

    label: str
    cells: tuple[str, ...]
    alarms: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Section:
    """Rows that belong together."""

    title: str
    rows: tuple[Row, ...]


def sections(modes: tuple[ModeFigures, ...]) -> tuple[Section, ...]:
    """Return the whole table."""
    return (
        Section("Polls", _polls(modes)),
        Section("Latency, from when a poll was due", _latency(modes)),
        Section("Freshness, from the NameNode's acknowledgement", _freshness(modes)),
        Section("The NameNode", _namenode(modes)),
        Section("Servers between", _servers(modes)),
        Section("The generator", _generator(modes)),
    )


def _row(
    modes: tuple[ModeFigures, ...],
    label: str,
    cell: Callable[[ModeFigures], str],
    is_alarm: Callable[[ModeFigures], bool] = lambda _: False,
) -> Row:
    return Row(label, tuple(map(cell, modes)), tuple(map(is_alarm, modes)))


def _polls(modes: tuple[ModeFigures, ...]) -> tuple[Row, ...]:
    return (
        _row(modes, "polls due", lambda mode: f"{mode.due:,}"),
        _row(modes, "polls sent", lambda mode: f"{mode.sent:,}", lambda mode: mode.sent < mode.due),
        _row(modes, "polls failed", lambda mode: f"{mode.failed:,}", lambda mode: mode.failed > 0),
        _row(modes, "replies per second", lambda mode: number(mode.polls_per_s)),
        _row(
            modes,
            "replies from memory (hits)",
            lambda mode: percent(ratio(mode.hits, mode.sent - mode.failed)),
        ),
        *(
            _row(modes, f'  replies said to be "{name}"', _of_answers(name))
            for name in sorted(_names(*(mode.answers for mode in modes)) - {"hit"})
        ),
    )


def _of_answers(name: str) -> Callable[[ModeFigures], str]:
    return lambda mode: f"{mode.answers.get(name, 0):,}" if mode.answers else NONE


def _latency(modes: tuple[ModeFigures, ...]) -> tuple[Row, ...]:
    return (
        _row(modes, "latency p50, ms", lambda mode: milliseconds(mode.latency_s.p50)),
        _row(modes, "latency p99, ms", lambda mode: milliseconds(mode.latency_s.p99)),
        _row(modes, "latency p99.9, ms", lambda mode: milliseconds(mode.latency_s.p999)),
        _row(modes, "latency max, ms", lambda mode: milliseconds(mode.latency_s.max)),
    )


def _freshness(modes: tuple[ModeFigures, ...]) -> tuple[Row, ...]:
    return (
        _row(modes, "changes", lambda mode: f"{mode.changes:,}"),
        _row(modes, "paths changed", lambda mode: f"{mode.changed_paths:,}"),
        _row(modes, "lateness p50, ms", lambda mode: milliseconds(mode.lateness_s.p50)),
        _row(modes, "lateness p99, ms", lambda mode: milliseconds(mode.lateness_s.p99)),
        _row(modes, "lateness max, ms", lambda mode: milliseconds(mode.lateness_s.max)),
        _row(modes, "lateness of the first to see it p99, ms", _first_lateness),
        _row(modes, "stale answers, not for too long", lambda mode: f"{mode.stale:,}"),
        _row(modes, "oldest stale answer", lambda mode: duration(mode.oldest_s) if mode.stale else NONE),
        _row(modes, "WRONG answers", lambda mode: f"{mode.wrong_count:,}", lambda mode: mode.wrong_count > 0),
    )


def _first_lateness(mode: ModeFigures) -> str:
    return milliseconds(mode.first_lateness_s.p99)


def _namenode(modes: tuple[ModeFigures, ...]) -> tuple[Row, ...]:
    direct = direct_of(modes)
    others = sorted(_names(*(mode.calls for mode in modes)) - {"getFileInfo", "isFileClosed"})
    return (
        _row(modes, "getFileInfo calls", lambda mode: f"{mode.calls.get('getFileInfo', 0):,}"),
        _row(modes, "  of them to prove a caller's right anew", _of_answers(PROOF)),
        _row(modes, "getFileInfo calls per second", lambda mode: number(calls_per_s(mode))),
        _row(
            modes,
            "getFileInfo calls per change",
            lambda mode: number(ratio(mode.calls.get("getFileInfo", 0), mode.changes)),
        ),
        _row(
            modes,
            "getFileInfo calls per path changed",
            lambda mode: number(ratio(mode.calls.get("getFileInfo", 0), mode.changed_paths)),
        ),
        _row(
            modes,
            "getFileInfo calls per poll",
            lambda mode: number(ratio(mode.calls.get("getFileInfo", 0), mode.sent)),
        ),
        _row(
            modes, "getFileInfo calls saved against direct", lambda mode: percent(share_saved(mode, direct))
        ),
        _row(modes, "isFileClosed calls", lambda mode: f"{mode.calls.get('isFileClosed', 0):,}"),
        *(_row(modes, f"{name} calls", _of_calls(name)) for name in others),
        _row(
            modes,
            "calls in all per change",
            lambda mode: number(ratio(sum(mode.calls.values()), mode.changes)),
        ),
        _row(
            modes,
            "calls in all per path changed",
            lambda mode: number(ratio(sum(mode.calls.values()), mode.changed_paths)),
        ),
        _row(modes, "upkeep calls, without any poll", lambda mode: f"{sum(mode.upkeep.values()):,}"),
        *(
            _row(modes, f"  of them {name}", _of_upkeep(name))
            for name in sorted(_names(*(mode.upkeep for mode in modes)))
        ),
        _row(modes, "NameNode CPU, s", _cpu("namenode")),
        _row(modes, "NameNode CPU per poll, µs", _cpu_per_poll("namenode")),
    )


def _servers(modes: tuple[ModeFigures, ...]) -> tuple[Row, ...]:
    there = _names(*(mode.cpu_s for mode in modes), *(mode.memory_bytes for mode in modes))
    return tuple(
        row
        for process in SERVERS
        if process in there
        for row in (
            _row(modes, f"{process} CPU, s", _cpu(process)),
            _row(modes, f"{process} CPU per poll, µs", _cpu_per_poll(process)),
            _row(modes, f"{process} memory at the end, MiB", _memory(process)),
        )
    )


def _generator(modes: tuple[ModeFigures, ...]) -> tuple[Row, ...]:
    return (
        _row(modes, "generator CPU, s", _cpu("generator")),
        _row(modes, "its polls sent late by p99, ms", lambda mode: milliseconds(mode.late_starts_s.p99)),
        _row(
            modes,
            "kept its schedule",
            lambda mode: "yes" if mode.kept_schedule else "NO",
            lambda mode: not mode.kept_schedule,
        ),
        _row(modes, "clocks off by at most, ms", lambda mode: milliseconds(mode.clock_error_s)),
    )


def _names(*tables: dict[str, int] | dict[str, float]) -> set[str]:
    return {name for table in tables for name in table}


def _of_calls(name: str) -> Callable[[ModeFigures], str]:
    return lambda mode: f"{mode.calls.get(name, 0):,}"


def _of_upkeep(name: str) -> Callable[[ModeFigures], str]:
    return lambda mode: f"{mode.upkeep.get(name, 0):,}"


def _cpu(process: str) -> Callable[[ModeFigures], str]:
    return lambda mode: number(mode.cpu_s[process]) if process in mode.cpu_s else NONE


def _cpu_per_poll(process: str) -> Callable[[ModeFigures], str]:
    return lambda mode: number(ratio(mode.cpu_s[process], mode.sent) * 1e6) if process in mode.cpu_s else NONE


def _memory(process: str) -> Callable[[ModeFigures], str]:
    return lambda mode: mebibytes(mode.memory_bytes[process]) if process in mode.memory_bytes else NONE
