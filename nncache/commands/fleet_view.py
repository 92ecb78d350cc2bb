"""The output of `nncache fleet`: a line or a row for each proxy, sums, JSON."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.table import Table

from nncache.commands.fleet_client import MemberAnswer
from nncache.commands.top import columns, hottest_table, misses_table, percent, text

KINDS: Final = {"paths": "path", "callers": "caller", "addresses": "address"}
"""The kinds of hottest names, with the heading of each."""


def answers_as_json(answers: Sequence[MemberAnswer]) -> str:
    """Return the unchanged documents by the name of the proxy, and the reason of each failure."""
    return json.dumps(
        {
            "proxies": {each.name: each.document for each in answers if each.document is not None},
            "failed": {each.name: each.why for each in answers if each.document is None},
        },
        indent=2,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TopFigures:
    """The figures of a proxy in `nncache fleet top`."""

    is_ready: bool
    version: str
    gate: str
    requests_per_s: float
    from_memory_per_s: float
    ratio: float | None
    failed: int
    lag_s: float
    hottest: Mapping[str, Mapping[str, float]]  # requests a second by kind and name
    misses: Mapping[tuple[str, str], tuple[float, int]]  # requests a second and in all, by reason and meaning


def seen(document: Mapping[str, Any]) -> TopFigures:
    """Return the figures in a proxy's /status. A document of another form raises ValueError, KeyError and the like."""
    if document["daemon"] != "proxy":
        raise ValueError(f"it is a {document['daemon']}'s")
    minute = document["saved"]["last_minute"]
    requests_per_s = float(minute["requests_per_s"])
    return TopFigures(
        is_ready=bool(document["is_ready"]),
        version=str(document["version"]),
        gate=str(document["gate"]["state"]),
        requests_per_s=requests_per_s,
        from_memory_per_s=requests_per_s * (minute["ratio"] or 0.0),
        ratio=minute["ratio"],
        failed=int(document["saved"]["since_start"]["failed"]),
        lag_s=float(document["loop"]["lag_s"]),
        hottest={
            kind: {str(each["name"]): float(each["per_s"]) for each in document["hottest"][kind]}
            for kind in KINDS
        },
        misses={
            (str(each["reason"]), str(each["meaning"])): (float(each["per_s"]), int(each["requests"]))
            for each in document["misses"]
        },
    )


def status_row(document: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the cells of a proxy in `nncache fleet status`. docs/status.md describes the document."""
    one = seen(document)
    return (
        "ready" if one.is_ready else "not ready",
        f"gate {one.gate}",
        f"{one.requests_per_s:,.1f}/s",
        f"{percent(one.ratio)} from memory",
        f"nncache {one.version}",
    )


def screen(found: Sequence[tuple[MemberAnswer, TopFigures | None]], rows: int) -> Group:
    """Return the screen for all proxies together."""
    answered = [one for _, one in found if one is not None]
    per_s, from_memory_per_s = (
        (
            sum(each)
            for each in zip(*((one.requests_per_s, one.from_memory_per_s) for one in answered), strict=True)
        )
        if answered
        else (0.0, 0.0)
    )
    ratio = from_memory_per_s / per_s if per_s else None
    tables: list[RenderableType] = [
        hottest_table(
            singular,
            [
                {"name": name, "per_s": name_per_s}
                for name, name_per_s in summed([one.hottest[kind] for one in answered]).most_common(rows)
            ],
        )
        for kind, singular in KINDS.items()
    ]
    return Group(
        text(
            f"{len(answered)} of {len(found)} registered proxies answer: {per_s:,.1f} requests/s, {percent(ratio)} "
            "from memory in the last minute",
            "bold",
        ),
        _proxies(found),
        *tables,
        misses_table(_misses(answered)[:rows]),
    )


def summed(parts: Iterable[Mapping[str, float]]) -> Counter[str]:
    """Return the sum for each name."""
    total = Counter[str]()
    for part in parts:
        total.update(part)
    return total


def _misses(answered: Iterable[TopFigures]) -> list[dict[str, Any]]:
    total: dict[tuple[str, str], tuple[float, int]] = {}
    for one in answered:
        for key, (per_s, requests) in one.misses.items():
            before = total.get(key, (0.0, 0))
            total[key] = before[0] + per_s, before[1] + requests
    ranked = sorted(total.items(), key=lambda item: (-item[1][0], -item[1][1], item[0]))
    return [
        {"reason": reason, "meaning": meaning, "per_s": per_s, "requests": requests}
        for (reason, meaning), (per_s, requests) in ranked
    ]


def _proxies(found: Iterable[tuple[MemberAnswer, TopFigures | None]]) -> Table:
    table = columns("requests/s", "from memory", "failed", "lag", "proxy")
    for each, one in found:
        if one is None:
            table.add_row("", "", "", "", text(f"{each.name}: {each.why}", "bold red"))
        else:
            table.add_row(
                text(f"{one.requests_per_s:,.1f}"),
                text(percent(one.ratio)),
                text(f"{one.failed:,}"),
                text(f"{one.lag_s * 1000:.1f} ms"),
                text(f"{each.name}: gate {one.gate}", "" if one.gate == "open" else "bold red"),
            )
    return table
