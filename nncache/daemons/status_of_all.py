"""The operators' view of several namespaces together.

Pure. The documents have the form of a single namespace's, with the sums of all, and a part for each namespace.
"""

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeVar

from nncache.admin.proxy_pages import ProxyReadiness
from nncache.cache.stats import CacheStats
from nncache.cache.store import RECENT_CHANGES
from nncache.daemons.history import History, Totals
from nncache.daemons.proxy_status import Json, StatusSnapshot, status_of
from nncache.daemons.settings_view import settings_view

ReasonT = TypeVar("ReasonT", bound=str)

_SUMMED: Final = ("entries", "grants", "bytes", "windows", "evictions")
"""The figures of a cache that the document sums."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadinessOfAll:
    """The readiness of a proxy and of each of its namespaces.

    The proxy is ready while one namespace is: clients of the others would be no better off elsewhere.

    Attributes:
        is_listening: clients can connect.
        is_stopping: the proxy was asked to stop.
        namespaces: the readiness of each namespace.
    """

    is_listening: bool
    is_stopping: bool
    is_gate_open: bool
    gate: str
    namespaces: Mapping[str, ProxyReadiness]

    @property
    def is_ready(self) -> bool:
        """Whether clients should be sent here."""
        return any(each.is_ready for each in self.namespaces.values())

    @property
    def reason(self) -> Literal["", "not-listening", "stopping", "no-active-namenode", "gate-closed"]:
        """The fault of the first namespace that has one. A closed gate counts only if there is no other fault."""
        return _worst(each.reason for each in self.namespaces.values())

    @property
    def state(self) -> str:
        """One line for operators."""
        return "; ".join(f"{name}: {each.state}" for name, each in self.namespaces.items())


def readiness_of(namespaces: Mapping[str, ProxyReadiness]) -> ReadinessOfAll:
    """Return the readiness of the whole proxy, which has at least one namespace."""
    first = next(iter(namespaces.values()))
    return ReadinessOfAll(
        is_listening=first.is_listening,
        is_stopping=first.is_stopping,
        is_gate_open=all(each.is_gate_open for each in namespaces.values()),
        gate=gate_of({name: each.gate for name, each in namespaces.items() if not each.is_gate_open}),
        namespaces=namespaces,
    )


def _worst(reasons: Iterable[ReasonT]) -> ReasonT | Literal[""]:
    """Return the first reason that is not empty. A closed gate comes last, since calls are then forwarded."""
    return min((each for each in reasons if each), key=lambda reason: reason == "gate-closed", default="")


def gate_of(closed: Mapping[str, str]) -> str:
    """Return the state of all gates together; `closed` has the states of the closed gates."""
    if not closed:
        return "open"
    return "closed: " + "; ".join(
        f"{name}: {state.removeprefix('closed: ')}" for name, state in closed.items()
    )


def total_of(totals: Iterable[Totals]) -> Totals:
    """Return the sum of each counter."""
    every = tuple(totals)
    forwarded = dict[str, int]()
    for each in every:
        for reason, count in each.forwarded.items():
            forwarded[reason] = forwarded.get(reason, 0) + count
    names = (field.name for field in dataclasses.fields(Totals) if field.name != "forwarded")
    return Totals(forwarded=forwarded, **{name: sum(getattr(each, name) for each in every) for name in names})


def status_of_all(
    namespaces: Mapping[str, StatusSnapshot],
    points: Mapping[str, str],
    refused: int,
    history: History[Totals],
) -> Json:
    """Return the document at `/status`.

    Args:
        namespaces: the data of each namespace, at least one.
        points: the names of the namespaces, by mount point.
        refused: requests that concern no namespace.
        history: the history of the sums.
    """
    document = status_of(_together(namespaces, refused, history))
    gate = document["gate"]
    assert isinstance(gate, dict)
    gate["covered_txid"] = None  # each has its own transactions
    closed = [name for name, seen in namespaces.items() if not seen.cache.is_open]
    if 0 < len(closed) < len(namespaces):  # the others are answered from memory
        gate["forwarded"] = f"every call for {', '.join(closed)} goes to the NameNode"
    settings = {name: settings_view(seen.settings) for name, seen in namespaces.items()}
    first, *others = settings.values()
    of_all = {key: value for key, value in first.items() if all(each[key] == value for each in others)}
    own = {
        name: {key: value for key, value in each.items() if key not in of_all}
        for name, each in settings.items()
    }
    document["edits"] = None  # each has its own
    rows = [_row(name, seen, points) | {"settings": own[name]} for name, seen in namespaces.items()]
    return document | {"namespaces": rows, "settings": of_all}


def _row(name: str, seen: StatusSnapshot, points: Mapping[str, str]) -> Json:
    document = status_of(seen)
    return {
        "name": name,
        "mounts": sorted(point for point, namespace in points.items() if namespace == name),
        "is_ready": seen.is_ready,
        "reason": seen.ready_reason,
        "gate": seen.gate,
        "edits": document["edits"],
        "saved": document["saved"],
    }


def _together(
    namespaces: Mapping[str, StatusSnapshot], refused: int, history: History[Totals]
) -> StatusSnapshot:
    every = tuple(namespaces.values())
    first = every[0]
    closed = {name: seen.gate for name, seen in namespaces.items() if not seen.cache.is_open}
    total = total_of(seen.totals for seen in every)
    return dataclasses.replace(
        first,
        is_ready=any(seen.is_ready for seen in every),
        ready_reason=_worst(seen.ready_reason for seen in every),
        max_cache_bytes=sum(seen.max_cache_bytes for seen in every),
        max_staleness_s=max(seen.max_staleness_s for seen in every),
        gate=gate_of(closed),
        totals=with_refused(total, refused),
        history=history,
        cache=_cache_of([seen.cache for seen in every]),
        globs={
            f"{name}:{id_}": glob for name, seen in namespaces.items() for id_, glob in seen.globs.items()
        },
        filter_names={
            f"{name}:{id_}": f"{name}: {seen.filter_names.get(id_, id_)}"
            for name, seen in namespaces.items()
            for id_ in seen.globs
        },
        changes=sorted((change for seen in every for change in seen.changes), key=lambda change: change.at)[
            -RECENT_CHANGES:
        ],
        namenodes=tuple(namenode for seen in every for namenode in seen.namenodes),
    )


def with_refused(totals: Totals, refused: int) -> Totals:
    """Return the sums plus the refused requests, which concern no namespace."""
    return dataclasses.replace(totals, requests=totals.requests + refused, refused=totals.refused + refused)


def _cache_of(caches: list[CacheStats]) -> CacheStats:
    sums = {name: sum(getattr(each, name) for each in caches) for name in _SUMMED}
    return CacheStats(
        is_open=all(each.is_open for each in caches),
        gate_age_s=max(each.gate_age_s for each in caches),
        **sums,
    )
